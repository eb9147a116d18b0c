"""The algebra of time: unions, gaps, overlaps, coverage of half-open intervals [start, end).

All functions take int64 arrays of nanoseconds, in any order, and leave them as they are.
Intervals of no length are nothing: they neither cover time nor split a gap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Times = NDArray[np.int64]


@dataclass(frozen=True)
class Window:
    """A stretch of the trace's time, and what it is called in a sentence."""

    start: int
    end: int
    name: str = "the window"

    @property
    def length(self) -> int:
        """Nanoseconds between start and end."""
        return max(0, self.end - self.start)


def spans(frame: pd.DataFrame) -> tuple[Times, Times]:
    """Return the starts and ends of a table's rows; a row without duration has no length."""
    starts = frame["start"].to_numpy(dtype=np.int64)
    durations = frame["duration"].fillna(0).to_numpy(dtype=np.int64)
    return starts, starts + durations


def union(starts: Times, ends: Times) -> tuple[Times, Times]:
    """Return the disjoint, ordered intervals that cover just what the given ones cover.

    Intervals that touch are joined.
    """
    real = ends > starts
    if not real.all():
        starts, ends = starts[real], ends[real]
    if starts.size == 0:
        return starts.copy(), ends.copy()
    # Nothing runs on into the k-th start just if k intervals have ended before it, and these
    # are the k that started before it. So starts and ends need not know of each other.
    starts, ends = np.sort(starts), np.sort(ends)
    apart = starts[1:] > ends[:-1]
    return starts[np.concatenate(([True], apart))], ends[np.concatenate((apart, [True]))]


def busy(starts: Times, ends: Times) -> int:
    """Return the nanoseconds that the intervals cover together."""
    starts, ends = union(starts, ends)
    return int((ends - starts).sum())


def clip(starts: Times, ends: Times, begin: int, end: int) -> tuple[Times, Times]:
    """Return the parts of the intervals that lie in [begin, end)."""
    starts, ends = np.maximum(starts, begin), np.minimum(ends, end)
    inside = ends > starts
    return starts[inside], ends[inside]


def gaps(starts: Times, ends: Times, begin: int, end: int) -> tuple[Times, Times]:
    """Return the parts of [begin, end) that no interval covers, lead-in and tail included."""
    if end <= begin:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    starts, ends = union(*clip(starts, ends, begin, end))
    left = np.concatenate((np.array([begin], np.int64), ends))
    right = np.concatenate((starts, np.array([end], np.int64)))
    real = right > left
    return left[real], right[real]


def intersection(
    starts: Times, ends: Times, other_starts: Times, other_ends: Times
) -> tuple[Times, Times]:
    """Return the disjoint, ordered intervals that both sets of intervals cover."""
    if starts.size == 0 or other_starts.size == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    begin, end = int(min(starts.min(), other_starts.min())), int(max(ends.max(), other_ends.max()))
    uncovered = gaps(starts, ends, begin, end)
    others = gaps(other_starts, other_ends, begin, end)
    left, right = (np.concatenate(pair) for pair in zip(uncovered, others, strict=True))
    return gaps(left, right, begin, end)


def overlap(starts: Times, ends: Times, other_starts: Times, other_ends: Times) -> int:
    """Return the nanoseconds that both sets of intervals cover."""
    together = busy(np.concatenate((starts, other_starts)), np.concatenate((ends, other_ends)))
    return busy(starts, ends) + busy(other_starts, other_ends) - together


def steady_window(phases: pd.DataFrame | None, frame: pd.DataFrame) -> Window | None:
    """Return the window in which the workload ran steadily.

    By the workload's own marks where it made them: its phase `steady`. Else the span of the
    given rows, from the first start to the last end. None where there is neither.
    """
    if phases is not None:
        steady = phases[phases["name"] == "steady"]
        starts, ends = spans(steady)
        if starts.size:
            return Window(int(starts.min()), int(ends.max()), "the steady window")
    starts, ends = spans(frame)
    if starts.size == 0:
        return None
    return Window(
        int(starts.min()), int(ends.max()), "the time from the target's first to its last interval"
    )


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


Integers = NDArray[np.int64]
_BITS = 63


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of values, ascending by `codes`: how many there are, their sum, their percentiles.

    `percentiles` has a row for each group and a column for each percentile asked for.
    """

    codes: Integers
    counts: Integers
    totals: Integers
    percentiles: NDArray[np.float64]


def grouped(codes: Integers, values: Integers, percents: Sequence[float]) -> Groups:
    """Group `values` by `codes`, and return what numpy.percentile would for each group.

    Args:
        codes: The group of each value, 0 or more; numbers may be missing.
        values: As many integers.
        percents: 0 … 100 each. Between two ranks a percentile is linear.
    """
    codes, values = _ordered(codes, values)
    starts = np.flatnonzero(np.concatenate((codes[:1] >= 0, codes[1:] != codes[:-1])))
    counts = np.diff(np.append(starts, codes.size))
    totals = np.add.reduceat(values, starts) if starts.size else values
    shares = np.asarray(percents, np.float64) / 100
    ranks = (counts - 1)[:, np.newaxis] * shares
    below = np.floor(ranks).astype(np.int64)
    lower = values[starts[:, np.newaxis] + below]
    upper = values[starts[:, np.newaxis] + np.ceil(ranks).astype(np.int64)]
    return Groups(codes[starts], counts, totals, _between(lower, upper, ranks - below))


def _ordered(codes: Integers, values: Integers) -> tuple[Integers, Integers]:
    """Order by code and then by value: one sort of both in one number, where they fit."""
    if codes.size == 0:
        return codes, values
    least = int(values.min())
    bits = (int(values.max()) - least).bit_length()
    if bits + int(codes.max()).bit_length() > _BITS:
        order = np.lexsort((values, codes))
        return codes[order], values[order]
    both = np.sort((codes << bits) | (values - least))
    return both >> bits, (both & ((1 << bits) - 1)) + least


def _between(lower: Integers, upper: Integers, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Interpolate as numpy does, from the nearer of both sides."""
    apart = upper - lower
    near_lower, near_upper = lower + apart * share, upper - apart * (1 - share)
    return np.where(share < 0.5, near_lower, near_upper)  # noqa: PLR2004  # the middle
