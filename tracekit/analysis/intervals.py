"""The algebra of time: unions, gaps, overlaps, coverage of half-open intervals [start, end).

All functions take int64 arrays of nanoseconds, in any order, and do not change them. Intervals
without length are ignored: they neither cover time nor split a gap.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Times = NDArray[np.int64]


@dataclass(frozen=True)
class Window:
    """A stretch of the trace's time, and its name in a sentence."""

    start: int
    end: int
    name: str = "the window"

    @property
    def length(self) -> int:
        """Nanoseconds between start and end."""
        return max(0, self.end - self.start)

    def rows(self, frame: pd.DataFrame, column: str = "start") -> pd.DataFrame:
        """Return the rows of a table that begin in the window, by the column `column`."""
        times = frame[column].to_numpy(dtype=np.int64, na_value=self.end)
        return choose_rows(frame, (times >= self.start) & (times < self.end))


def choose_rows(frame: pd.DataFrame, chosen: NDArray[np.bool_]) -> pd.DataFrame:
    """Return the chosen rows of a table.

    Mostly they follow one another: such a part takes a fifth of the time of a selection by rows.
    """
    places = np.flatnonzero(chosen)
    if not places.size:
        return frame.iloc[:0]
    first = int(places[0])
    end = int(places[-1]) + 1
    if end - first == places.size:
        return frame.iloc[first:end]
    return frame[chosen]


def spans(frame: pd.DataFrame) -> tuple[Times, Times]:
    """Return the starts and ends of a table's rows; a row without duration has no length."""
    starts = frame["start"].to_numpy(dtype=np.int64)
    durations = frame["duration"].to_numpy(dtype=np.int64, na_value=0)
    return starts, starts + durations


def in_order(frame: pd.DataFrame, column: str = "start") -> pd.DataFrame:
    """Return a table's rows in the order of a column of times."""
    if frame[column].is_monotonic_increasing:
        return frame
    return frame.sort_values(column, kind="stable")


def union(starts: Times, ends: Times) -> tuple[Times, Times]:
    """Return the disjoint, ordered intervals that cover the same time as the given ones.

    Intervals that touch are joined.
    """
    real = ends > starts
    if not real.all():
        starts = starts[real]
        ends = ends[real]
    if starts.size == 0:
        return starts.copy(), ends.copy()
    # No interval covers the k-th start exactly if k intervals have ended before it, and these are
    # the k that started before it. So starts and ends can be sorted independently.
    starts = sort_times(starts)
    ends = sort_times(ends)
    apart = starts[1:] > ends[:-1]
    is_first = np.concatenate(([True], apart))
    is_last = np.concatenate((apart, [True]))
    return starts[is_first], ends[is_last]


def sort_times(times: Times) -> Times:
    """Return the times in order; a check takes a tenth of a sort's time, and most are sorted."""
    is_ascending = (times[1:] >= times[:-1]).all()
    return times if is_ascending else np.sort(times)


def distinct(times: Times) -> Times:
    """Return the times in order, each once; np.unique takes several times as long."""
    times = sort_times(times)
    is_new = np.append(np.array([True]), times[1:] != times[:-1])
    return times[is_new[: times.size]]


def busy(starts: Times, ends: Times) -> int:
    """Return the nanoseconds that the intervals cover together."""
    starts, ends = union(starts, ends)
    return int((ends - starts).sum())


def lanes_of(starts: Times, ends: Times, lane_limit: int | None = None) -> Times:
    """Return the lane of each interval, from 0: the lowest that is free when it starts.

    Intervals are ordered by start. If none of `lane_limit` lanes is free, the lane is -1.
    """
    latest_ends = np.maximum.accumulate(ends)[:-1]
    if not (starts[1:] < latest_ends).any():
        return np.zeros(starts.size, np.int64)
    busy_lanes: list[tuple[int, int]] = []
    free_lanes: list[int] = []
    lanes: list[int] = []
    interval_times = zip(starts.tolist(), ends.tolist(), strict=True)
    for start, end in interval_times:
        while busy_lanes and busy_lanes[0][0] <= start:
            heapq.heappush(free_lanes, heapq.heappop(busy_lanes)[1])
        if not free_lanes and len(busy_lanes) == lane_limit:
            lanes.append(-1)
            continue
        lane = heapq.heappop(free_lanes) if free_lanes else len(busy_lanes)
        heapq.heappush(busy_lanes, (end, lane))
        lanes.append(lane)
    return np.array(lanes, np.int64)


def clip(starts: Times, ends: Times, begin: int, end: int) -> tuple[Times, Times]:
    """Return the parts of the intervals that lie in [begin, end)."""
    starts = np.maximum(starts, begin)
    ends = np.minimum(ends, end)
    is_inside = ends > starts
    if is_inside.all():
        return (starts, ends)
    return (starts[is_inside], ends[is_inside])


def gaps(starts: Times, ends: Times, begin: int, end: int) -> tuple[Times, Times]:
    """Return the parts of [begin, end) that no interval covers, lead-in and tail included."""
    if end <= begin:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    clipped = clip(starts, ends, begin, end)
    starts, ends = union(*clipped)
    first_edge = np.array([begin], np.int64)
    left_edges = np.concatenate((first_edge, ends))
    last_edge = np.array([end], np.int64)
    right = np.concatenate((starts, last_edge))
    real = right > left_edges
    return left_edges[real], right[real]


def idle_before(starts: Times, ends: Times) -> Times:
    """Return the idle time right before each interval; the intervals are ordered by start."""
    started_ends = np.concatenate((starts[:1], ends[:-1]))
    latest_ends = np.maximum.accumulate(started_ends)
    return np.maximum(starts - latest_ends, 0)


def overlap(starts: Times, ends: Times, other_starts: Times, other_ends: Times) -> int:
    """Return the nanoseconds that both sets of intervals cover."""
    all_starts = np.concatenate((starts, other_starts))
    all_ends = np.concatenate((ends, other_ends))
    union_time = busy(all_starts, all_ends)
    own_time = busy(starts, ends)
    other_time = busy(other_starts, other_ends)
    return own_time + other_time - union_time


def marked_window(phases: pd.DataFrame | None) -> Window | None:
    """Return the phase `steady` of the table `phases`; None without one."""
    if phases is None:
        return None
    is_steady = (phases["name"] == "steady").to_numpy(np.bool_, na_value=False)
    return _window_of(choose_rows(phases, is_steady), "the steady window")


def steady_window(phases: pd.DataFrame | None, frame: pd.DataFrame) -> Window | None:
    """Return the window in which the workload ran steadily.

    This is the phase `steady` that the workload marked. Without marks it is the span of the given
    rows, from the first start to the last end. None without either.
    """
    name = "the time from the target's first to its last interval"
    return marked_window(phases) or _window_of(frame, name)


def _window_of(frame: pd.DataFrame, name: str) -> Window | None:
    starts, ends = spans(frame)
    if not starts.size:
        return None
    first_start = int(starts.min())
    last_end = int(ends.max())
    return Window(first_start, last_end, name)


NEVER = np.iinfo(np.int64).min
"""A moment that is not known, or before all others."""
FOREVER = np.iinfo(np.int64).max
"""A moment after all others."""


@dataclass(frozen=True, eq=False)
class IntervalSet:
    """Disjoint, ordered intervals [start, end); ns."""

    starts: Times
    ends: Times

    @classmethod
    def from_spans(cls, starts: Times, ends: Times) -> Self:
        """Return the time that the intervals, given in any order, cover together."""
        return cls(*union(starts, ends))

    @classmethod
    def empty(cls) -> Self:
        """Return the empty set."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64))

    @classmethod
    def union_of(cls, sets: Sequence["IntervalSet"]) -> Self:
        """Return the time that several sets cover together."""
        if not sets:
            return cls.empty()
        starts = np.concatenate([intervals.starts for intervals in sets])
        ends = np.concatenate([intervals.ends for intervals in sets])
        return cls.from_spans(starts, ends)

    def without(self, other_set: "IntervalSet") -> "IntervalSet":
        """Return the time that this set covers and the other does not."""
        all_bounds = np.concatenate((self.bounds, other_set.bounds))
        bounds = distinct(all_bounds)
        starts = bounds[:-1]
        is_in_other = other_set.contains(starts)
        is_kept = self.contains(starts) & ~is_in_other
        kept_ends = bounds[1:][is_kept]
        return IntervalSet.from_spans(starts[is_kept], kept_ends)

    @property
    def bounds(self) -> Times:
        """All moments at which an interval begins or ends."""
        return np.concatenate((self.starts, self.ends))

    def contains(self, moments: Times) -> NDArray[np.bool_]:
        """Return for each moment whether an interval contains it."""
        if not self.starts.size:
            return np.zeros(moments.shape, bool)
        return self._latest(self.ends, moments) > moments

    def interval_start(self, moments: Times) -> Times:
        """Return for each moment the start of the interval that contains it, or NEVER."""
        start_counts = self._count_started(moments)
        starts, ends = (np.append(NEVER, times)[start_counts] for times in (self.starts, self.ends))
        return np.where(ends > moments, starts, NEVER)

    def next_start(self, moments: Times) -> Times:
        """Return for each moment the start of the next interval; FOREVER without one."""
        next_starts = np.append(self.starts, FOREVER)
        return next_starts[self._count_started(moments)]

    def measure_within(self, begins: Times, ends: Times) -> Times:
        """Return how many ns of each window [begin, end) are covered."""
        return self._until(ends) - self._until(begins)

    def _until(self, moments: Times) -> Times:
        summed_lengths = np.cumsum(self.ends - self.starts)
        no_time = np.zeros(1, np.int64)
        sums = np.concatenate((no_time, summed_lengths))
        last_ends = self._latest(self.ends, moments)
        return sums[self._count_started(moments)] - np.maximum(last_ends, moments) + moments

    def _latest(self, times: Times, moments: Times) -> Times:
        """Return for each moment the time of the last interval that has begun, or NEVER."""
        if not times.size:
            return np.full(moments.shape, NEVER)
        start_counts = self._count_started(moments)
        return np.where(start_counts > 0, times[start_counts - 1], NEVER)

    def _count_started(self, moments: Times) -> NDArray[np.intp]:
        """Return for each moment the number of intervals that have begun by then.

        For few intervals and many ordered moments, it is faster to look up the intervals among the
        moments and to count.
        """
        has_few_intervals = self.starts.size < moments.size / _MANY_MOMENTS
        if has_few_intervals and bool((moments[1:] >= moments[:-1]).all()):
            first_moments = np.searchsorted(moments, self.starts, side="left")
            return np.cumsum(np.bincount(first_moments, minlength=moments.size + 1))[: moments.size]
        return np.searchsorted(self.starts, moments, side="right")


_MANY_MOMENTS = 2
Integers = NDArray[np.int64]
Ids = NDArray[np.int64] | NDArray[np.uint64]
_BITS = 63


def heads_of(keys: Ids) -> NDArray[np.intp]:
    """Return the places at which a key differs from the one before it, the first place included."""
    fresh = np.ones(keys.size, np.bool_)
    fresh[1:] = keys[1:] != keys[:-1]
    return np.flatnonzero(fresh)


@dataclass(frozen=True, eq=False)
class EqualRuns:
    """Rows in groups of one key each, ascending by the `keys`.

    `order` is the order of rows that puts each group together, in the original order within a
    group; None if the rows are already grouped. `heads` is the start of each group in that order.
    """

    keys: Ids
    heads: NDArray[np.intp]
    number: int
    order: NDArray[np.intp] | None = None

    @classmethod
    def from_keys(cls, keys: Ids) -> Self:
        """Group rows by their keys; ascending keys need no sort."""
        order = None
        if (keys[1:] < keys[:-1]).any():
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
        heads = heads_of(keys)
        return cls(keys[heads], heads, keys.size, order)

    @property
    def sizes(self) -> Integers:
        """The number of rows of each group."""
        run_bounds = np.append(self.heads, self.number)
        return np.diff(run_bounds)

    @property
    def first_rows(self) -> NDArray[np.intp]:
        """The place of the first row of each group."""
        if self.order is None:
            return self.heads
        return self.order[self.heads]

    def list_rows(self) -> Iterator[NDArray[np.intp]]:
        """Yield the places of the rows of each group, ascending."""
        run_bounds = np.append(self.heads, self.number)
        for begin, end in pairwise(run_bounds.tolist()):
            if self.order is None:
                yield np.arange(begin, end)
            else:
                yield self.order[begin:end]

    def reduce(self, way: np.ufunc, values: Integers) -> Integers:
        """Return each group's values, reduced by a ufunc such as `np.minimum`."""
        if not values.size:
            return values
        ordered_values = values if self.order is None else values[self.order]
        return way.reduceat(ordered_values, self.heads)


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of values, ascending by `codes`: their numbers, sums and percentiles.

    `percentiles` has a row for each group and a column for each requested percentile.
    """

    codes: Integers
    counts: Integers
    totals: Integers
    percentiles: NDArray[np.float64]


def grouped(codes: Integers, values: Integers, percents: Sequence[float]) -> Groups:
    """Group values by their codes (0 or more), with the percentiles that numpy would return."""
    codes, values = _sort_by_code(codes, values)
    is_start = np.concatenate((codes[:1] >= 0, codes[1:] != codes[:-1]))
    starts = np.flatnonzero(is_start)
    run_bounds = np.append(starts, codes.size)
    counts = np.diff(run_bounds)
    totals = np.add.reduceat(values, starts) if starts.size else values
    shares = np.asarray(percents, np.float64) / 100
    last_ranks = (counts - 1)[:, np.newaxis]
    ranks = last_ranks * shares
    lower_ranks = np.floor(ranks).astype(np.int64)
    first_places = starts[:, np.newaxis]
    lower = values[first_places + lower_ranks]
    upper_ranks = np.ceil(ranks).astype(np.int64)
    upper = values[starts[:, np.newaxis] + upper_ranks]
    percentiles = _interpolate(lower, upper, ranks - lower_ranks)
    return Groups(codes[starts], counts, totals, percentiles)


def _sort_by_code(codes: Integers, values: Integers) -> tuple[Integers, Integers]:
    """Sort by code and then by value: in one sort of combined numbers, if they fit."""
    if codes.size == 0:
        return codes, values
    minimum = int(values.min())
    bits = (int(values.max()) - minimum).bit_length()
    code_bits = int(codes.max()).bit_length()
    if bits + code_bits > _BITS:
        order = np.lexsort((values, codes))
        return codes[order], values[order]
    packed = (codes << bits) | (values - minimum)
    packed_keys = np.sort(packed)
    low_bits = packed_keys & ((1 << bits) - 1)
    return packed_keys >> bits, low_bits + minimum


def _interpolate(
    lower: Integers, upper: Integers, share: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Interpolate as numpy does, from the nearer side."""
    apart = upper - lower
    near_lower = lower + apart * share
    near_upper = upper - apart * (1 - share)
    return np.where(share < 0.5, near_lower, near_upper)  # noqa: PLR2004  # the middle
