"""Disjoint stretches of time, and what a moment finds there."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.intervals import Times, spans, union

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Stretches:
    """Disjoint, ordered, half-open stretches [start, end)."""

    starts: Times
    ends: Times

    @property
    def bounds(self) -> Times:
        """All moments at which one of them begins or ends."""
        return np.concatenate((self.starts, self.ends))

    def cover(self, moments: Times) -> Flags:
        """Return for each moment whether it lies in one of them."""
        if not self.starts.size:
            return np.zeros(moments.shape, dtype=bool)
        return self._until(moments) > moments

    def begun(self, moments: Times) -> Times:
        """Return for each moment the start of the stretch it lies in; NEVER where in none."""
        if not self.starts.size:
            return np.full(moments.shape, NEVER)
        place = np.searchsorted(self.starts, moments, side="right") - 1
        return np.where(self.cover(moments), self.starts[place], NEVER)

    def next_start(self, moments: Times) -> Times:
        """Return for each moment when the next one begins; FOREVER where none does."""
        ahead = np.append(self.starts, FOREVER)
        return ahead[np.searchsorted(self.starts, moments, side="right")]

    def _until(self, moments: Times) -> Times:
        """Return for each moment the end of the last one that began; NEVER before the first."""
        behind = np.concatenate((np.array([NEVER]), self.ends))
        return behind[np.searchsorted(self.starts, moments, side="right")]


NEVER = np.iinfo(np.int64).min
"""A moment that is not known, or before all others."""
FOREVER = np.iinfo(np.int64).max
"""A moment after all others."""


def stretches(starts: Times, ends: Times) -> Stretches:
    """Return what the intervals cover together."""
    return Stretches(*union(starts, ends))


def covered(frame: pd.DataFrame | None) -> Stretches:
    """Return what the target's rows of a table cover; nothing where there is no table."""
    if frame is None:
        return nothing()
    return stretches(*spans(frame[frame["target"]] if "target" in frame else frame))


def nothing() -> Stretches:
    """Return no stretch at all."""
    return Stretches(np.empty(0, np.int64), np.empty(0, np.int64))
