"""How much of many windows a set of intervals covers, for all windows at once."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from tracekit.analysis.intervals import Times, union


@dataclass(frozen=True, eq=False)
class Coverage:
    """What intervals cover together: disjoint and ordered, with the sum before each of them."""

    starts: Times
    ends: Times
    before: Times

    @classmethod
    def of(cls, starts: Times, ends: Times) -> Self:
        """Join the intervals, given in any order; ns."""
        starts, ends = union(starts, ends)
        sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(ends - starts)))
        return cls(starts, ends, sums)

    def within(self, begins: Times, ends: Times) -> Times:
        """Return how many ns of each window [begin, end) are covered."""
        return self._until(ends) - self._until(begins)

    def _until(self, moments: Times) -> Times:
        begun = np.searchsorted(self.starts, moments, side="right")
        last = np.concatenate((np.full(1, np.iinfo(np.int64).min), self.ends))[begun]
        return self.before[begun] - np.maximum(last, moments) + moments
