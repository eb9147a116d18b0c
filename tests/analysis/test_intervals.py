"""The algebra of intervals, against a model that counts nanoseconds one by one."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysed import phases, table
from tracekit.analysis.idle.surroundings import union_target_rows as covered_by
from tracekit.analysis.intervals import (
    FOREVER,
    NEVER,
    IntervalSet,
    Window,
    busy,
    clip,
    gaps,
    grouped,
    lanes_of,
    overlap,
    spans,
    steady_window,
    union,
)

Pairs = list[tuple[int, int]]
pairs = st.lists(
    st.tuples(st.integers(-20, 40), st.integers(0, 12)).map(
        lambda pair: (pair[0], pair[0] + pair[1])
    ),
    max_size=12,
)
windows = st.tuples(st.integers(-25, 45), st.integers(-25, 45))


def arrays(intervals: Pairs) -> tuple[np.ndarray, np.ndarray]:
    bounds = np.array(intervals, dtype=np.int64).reshape(-1, 2)
    return bounds[:, 0], bounds[:, 1]


def find_moments(intervals: Pairs) -> set[int]:
    return {moment for start, end in intervals for moment in range(start, end)}


def pairs_of(bounds: tuple[np.ndarray, np.ndarray]) -> Pairs:
    return [(int(start), int(end)) for start, end in zip(*bounds, strict=True)]


def test_a_row_at_the_start_of_a_window_is_in_it_and_one_at_its_end_is_not() -> None:
    frame = pd.DataFrame({"start": [9, 10, 19, 20], "end": [10, 11, 20, 21]})
    assert Window(10, 20).rows(frame)["start"].tolist() == [10, 19]
    assert Window(10, 20).rows(frame, "end")["end"].tolist() == [10, 11]
    assert pairs_of(clip(*arrays([(0, 10), (20, 30), (12, 12)]), 10, 20)) == []


def test_union_joins_overlapping_and_touching_intervals() -> None:
    for given_pairs, expected in (
        ([], []),  # none
        ([(1, 4)], [(1, 4)]),  # one
        ([(5, 9), (1, 4)], [(1, 4), (5, 9)]),  # unordered
        ([(1, 4), (3, 9)], [(1, 9)]),  # overlapping
        ([(1, 4), (4, 9)], [(1, 9)]),  # touching
        ([(1, 9), (2, 3), (5, 6)], [(1, 9)]),  # nested
        ([(1, 9), (2, 3), (8, 12)], [(1, 12)]),  # nested-then-overlapping
        ([(4, 4), (7, 7)], []),  # no-length
    ):
        assert pairs_of(union(*arrays(given_pairs))) == expected, given_pairs


@given(pairs)
def test_busy_is_at_most_the_span_and_the_sum(intervals: Pairs) -> None:
    starts, ends = arrays(intervals)
    busy_time = busy(starts, ends)
    assert busy_time == len(find_moments(intervals))
    assert busy_time <= int((ends - starts).sum())
    if intervals:
        assert busy_time <= int(ends.max() - starts.min())


@given(pairs, windows)
def test_gaps_and_intervals_together_fill_the_window(
    intervals: Pairs, window: tuple[int, int]
) -> None:
    begin, end = window
    gap_pairs = pairs_of(gaps(*arrays(intervals), begin, end))
    assert find_moments(gap_pairs) == set(range(begin, end)) - find_moments(intervals)
    assert all(start < stop for start, stop in gap_pairs)


@given(pairs, windows, pairs)
def test_clip_keeps_the_inside_and_overlap_the_intersection(
    intervals: Pairs, window: tuple[int, int], other_intervals: Pairs
) -> None:
    begin, end = window
    clipped_pairs = pairs_of(clip(*arrays(intervals), begin, end))
    assert find_moments(clipped_pairs) == find_moments(intervals) & set(range(begin, end))
    shared_moments = find_moments(intervals) & find_moments(other_intervals)
    assert overlap(*arrays(intervals), *arrays(other_intervals)) == len(shared_moments)


def test_the_callers_arrays_stay_as_they_are() -> None:
    starts, ends = arrays([(5, 9), (1, 4)])
    union(starts, ends)
    gaps(starts, ends, 0, 10)
    clip(starts, ends, 2, 6)
    assert pairs_of((starts, ends)) == [(5, 9), (1, 4)]


def test_spans_read_a_row_without_duration_as_no_length() -> None:
    frame = table("start duration", (10, 5), (20, None), unit=1)
    assert pairs_of(spans(frame)) == [(10, 15), (20, 20)]


def test_the_steady_window_is_the_workloads_own_or_spans_the_rows(
    subtests: pytest.Subtests,
) -> None:
    marked, rows = phases(100, 50), table("start duration", (30, 1), (3, 40), unit=1)
    assert steady_window(marked, rows) == Window(100, 150, "the steady window")
    for marks in (None, marked[:1]):
        with subtests.test(marks=marks):
            window = steady_window(marks, rows)
            assert window is not None
            assert (window.start, window.end, window.length) == (3, 43, 40)
            assert window.name == "the time from the target's first to its last interval"
    assert steady_window(None, rows[:0]) is None


@given(pairs, pairs)
def test_each_window_is_covered_as_if_it_were_alone(intervals: Pairs, parts: Pairs) -> None:
    coverage = IntervalSet.from_spans(*arrays(intervals)).measure_within(*arrays(parts))
    assert coverage.tolist() == [busy(*clip(*arrays(intervals), *part)) for part in parts]
    start = 1_700_000_000_000_000_001  # of a real trace
    coverage = IntervalSet.from_spans(np.array([start]), np.array([start + 7]))
    assert coverage.measure_within(
        np.array([0, start + 3]), start + np.array([100, 5])
    ).tolist() == [7, 2]


def test_an_interval_holds_its_start_and_not_its_end(subtests: pytest.Subtests) -> None:
    for time, is_inside, begin, coming in (
        (9, False, NEVER, 10),
        (10, True, 10, 30),
        (19, True, 10, 30),
        (20, False, NEVER, 30),
        (30, True, 30, FOREVER),
        (40, False, NEVER, FOREVER),
    ):
        with subtests.test(at=time):
            two = IntervalSet.from_spans(np.array([10, 30, 12]), np.array([20, 40, 15]))
            moment = np.array([time])
            assert two.bounds.tolist() == [10, 30, 20, 40]
            assert two.contains(moment).tolist() == [is_inside]
            assert two.interval_start(moment).tolist() == [begin]
            assert two.next_start(moment).tolist() == [coming]
            assert not IntervalSet.empty().contains(moment).any()
            assert IntervalSet.empty().next_start(moment).tolist() == [FOREVER]


def test_only_the_targets_rows_count_where_rows_have_an_owner() -> None:
    frame = table("start duration", (0, 5), (10, 5), unit=1)
    assert covered_by(frame).bounds.tolist() == [0, 10, 5, 15]
    assert covered_by(frame.assign(target=[False, True])).bounds.tolist() == [10, 15]
    assert not covered_by(None).bounds.size


def test_the_lowest_free_lane_is_taken() -> None:
    for given_pairs, expected in (
        ([], []),  # none
        ([(0, 5), (5, 9)], [0, 0]),  # touching
        ([(0, 9), (1, 3), (3, 5)], [0, 1, 1]),  # nested
        ([(0, 4), (1, 9), (4, 6), (5, 7)], [0, 1, 0, 2]),  # lowest-free-lane
        ([(2, 2), (2, 2)], [0, 0]),  # no-length
    ):
        assert lanes_of(*arrays(given_pairs)).tolist() == expected, given_pairs


@given(pairs.map(sorted), st.integers(1, 5))
def test_no_lane_overlaps_and_none_is_left_out_needlessly(
    intervals: Pairs, lane_limit: int
) -> None:
    lanes = lanes_of(*arrays(intervals), lane_limit).tolist()
    placed_pairs = list(zip(intervals, lanes, strict=True))
    for lane in range(lane_limit):
        lane_pairs = [pair for pair, place in placed_pairs if place == lane]
        assert all(
            first_pair[1] <= next_pair[0] for first_pair, next_pair in pairwise(lane_pairs)
        ), lane
    for index, (pair, lane) in enumerate(placed_pairs):
        if lane < 0:
            busy = {
                other_lane
                for (_, end), other_lane in placed_pairs[:index]
                if other_lane >= 0 and end > pair[0]
            }
            assert len(busy) == lane_limit, index


PERCENTS = (0, 1, 50, 95, 99, 99.9, 100)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-(2**40), 2**40)), max_size=40))
def test_each_group_has_the_percentiles_that_numpy_says(values_of: Pairs) -> None:
    codes, values = arrays(values_of)
    groups = grouped(codes, values, PERCENTS)
    assert groups.codes.tolist() == sorted(set(codes.tolist()))
    for row, code in enumerate(groups.codes):
        group_values = values[codes == code]
        assert (groups.counts[row], groups.totals[row]) == (
            group_values.size,
            group_values.sum(),
        ), row
        assert groups.percentiles[row].tolist() == np.percentile(group_values, PERCENTS).tolist(), (
            row
        )


@pytest.mark.parametrize("huge", [1, 2**62])
def test_codes_and_values_need_not_fit_into_one_number(huge: int) -> None:
    groups = grouped(*arrays([(huge, 7), (0, 2**62), (huge, -(2**61)), (0, 0), (0, 1)]), [50])
    assert groups.codes.tolist() == [0, huge]
    assert groups.counts.tolist() == [3, 2]
    assert groups.totals.tolist() == [2**62 + 1, 7 - 2**61]
    assert groups.percentiles.tolist() == [[1.0], [(7 - 2**61) / 2]]
