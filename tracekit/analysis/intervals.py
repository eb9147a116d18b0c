"""The algebra of time: unions, gaps and overlaps of half-open intervals [start, end).

All functions take int64 arrays of nanoseconds, in any order, and leave them as they are.
Intervals of no length are nothing: they neither cover time nor split a gap.
"""

from dataclasses import dataclass

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
