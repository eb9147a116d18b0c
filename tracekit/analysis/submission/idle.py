"""Idle time of the device, and which of it passed while submitted work waited to start."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.coverage import Coverage
from tracekit.analysis.intervals import Times, Window, gaps, spans
from tracekit.analysis.submission.flights import Waits

LATE = 100_000
"""A start is late if submitted work waited longer than this while the device was idle; ns.

Rules that look at other waits leave longer ones to late-start, so that no time counts twice.
"""


@dataclass(frozen=True, eq=False)
class IdleGaps:
    """The gaps between the target's device intervals in a window; ns.

    `ready` is when the work that ends a gap had been submitted: the gap's end where that is not
    known or nothing follows. `others` is how long others used the device from then on.
    """

    starts: Times
    ends: Times
    ready: Times
    others: Times

    @classmethod
    def of(cls, gpu_intervals: pd.DataFrame, window: Window) -> Self:
        """Find the gaps of the target, lead-in and tail included."""
        target = gpu_intervals["target"]
        own = gpu_intervals[target].sort_values("start", kind="stable")
        starts, ends = gaps(*spans(own), window.start, window.end)
        ready = _ready(own, starts, ends)
        others = Coverage.of(*spans(gpu_intervals[~target])).within(ready, ends)
        return cls(starts, ends, ready, others)

    @property
    def lengths(self) -> Times:
        """How long each gap is."""
        return self.ends - self.starts

    @property
    def waited(self) -> Times:
        """How long submitted work waited in each gap for a device that nobody used."""
        return self.ends - self.ready - self.others

    @property
    def before(self) -> Times:
        """How long each gap is without a late start and others' work.

        late-start counts the one, gpu-contended the other.
        """
        return self.lengths - self.others - np.where(self.waited > LATE, self.waited, 0)

    def holding(self, waits: Waits) -> NDArray[np.int64]:
        """Return which gaps hold one of the waits; each once."""
        if self.starts.size == 0:
            return np.empty(0, np.int64)
        at = np.searchsorted(self.starts, waits.starts, side="right") - 1
        inside = (at >= 0) & (self.ends[at] > waits.starts)
        return np.unique(at[inside])


def _ready(own: pd.DataFrame, gap_starts: Times, gap_ends: Times) -> Times:
    """Return when what runs first after each gap had been submitted, the gap's start at least."""
    starts = own["start"].to_numpy(dtype=np.int64)
    latencies = own["start_latency"].fillna(0).to_numpy(dtype=np.int64)
    if starts.size == 0 or gap_starts.size == 0:
        return gap_ends
    at = np.minimum(np.searchsorted(starts, gap_ends, side="left"), starts.size - 1)
    follows = starts[at] == gap_ends
    return np.where(follows, np.maximum(gap_starts, gap_ends - latencies[at]), gap_ends)
