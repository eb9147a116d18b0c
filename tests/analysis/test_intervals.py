"""The algebra of intervals, against a model that counts nanoseconds one by one."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysed import phases, table
from tracekit.analysis.idle.work import covered as covered_by
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
    st.tuples(st.integers(-20, 40), st.integers(0, 12)).map(lambda one: (one[0], one[0] + one[1])),
    max_size=12,
)
windows = st.tuples(st.integers(-25, 45), st.integers(-25, 45))


def arrays(intervals: Pairs) -> tuple[np.ndarray, np.ndarray]:
    both = np.array(intervals, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def covered(intervals: Pairs) -> set[int]:
    return {moment for start, end in intervals for moment in range(start, end)}


def pairs_of(found: tuple[np.ndarray, np.ndarray]) -> Pairs:
    return [(int(start), int(end)) for start, end in zip(*found, strict=True)]


def test_a_row_at_the_start_of_a_window_is_in_it_and_one_at_its_end_is_not() -> None:
    frame = pd.DataFrame({"start": [9, 10, 19, 20], "end": [10, 11, 20, 21]})
    assert Window(10, 20).rows(frame)["start"].tolist() == [10, 19]
    assert Window(10, 20).rows(frame, "end")["end"].tolist() == [10, 11]
    assert pairs_of(clip(*arrays([(0, 10), (20, 30), (12, 12)]), 10, 20)) == []


def test_union_joins_what_overlaps_or_touches() -> None:
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
    taken = busy(starts, ends)
    assert taken == len(covered(intervals))
    assert taken <= int((ends - starts).sum())
    if intervals:
        assert taken <= int(ends.max() - starts.min())


@given(pairs, windows)
def test_gaps_and_intervals_together_fill_the_window(
    intervals: Pairs, window: tuple[int, int]
) -> None:
    begin, end = window
    found = pairs_of(gaps(*arrays(intervals), begin, end))
    assert covered(found) == set(range(begin, end)) - covered(intervals)
    assert all(start < stop for start, stop in found)


@given(pairs, windows, pairs)
def test_clip_keeps_what_lies_inside_and_overlap_what_both_cover(
    intervals: Pairs, window: tuple[int, int], others: Pairs
) -> None:
    begin, end = window
    kept = pairs_of(clip(*arrays(intervals), begin, end))
    assert covered(kept) == covered(intervals) & set(range(begin, end))
    both = covered(intervals) & covered(others)
    assert overlap(*arrays(intervals), *arrays(others)) == len(both)


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
            found = steady_window(marks, rows)
            assert found is not None
            assert (found.start, found.end, found.length) == (3, 43, 40)
            assert found.name == "the time from the target's first to its last interval"
    assert steady_window(None, rows[:0]) is None


@given(pairs, pairs)
def test_each_window_is_covered_as_if_it_were_alone(intervals: Pairs, parts: Pairs) -> None:
    found = IntervalSet.of(*arrays(intervals)).within(*arrays(parts))
    assert found.tolist() == [busy(*clip(*arrays(intervals), *part)) for part in parts]
    start = 1_700_000_000_000_000_001  # of a real trace
    found = IntervalSet.of(np.array([start]), np.array([start + 7]))
    assert found.within(np.array([0, start + 3]), start + np.array([100, 5])).tolist() == [7, 2]


def test_an_interval_holds_its_start_and_not_its_end(subtests: pytest.Subtests) -> None:
    for at, inside, begun, coming in (
        (9, False, NEVER, 10),
        (10, True, 10, 30),
        (19, True, 10, 30),
        (20, False, NEVER, 30),
        (30, True, 30, FOREVER),
        (40, False, NEVER, FOREVER),
    ):
        with subtests.test(at=at):
            two = IntervalSet.of(np.array([10, 30, 12]), np.array([20, 40, 15]))
            moment = np.array([at])
            assert two.bounds.tolist() == [10, 30, 20, 40]
            assert two.contains(moment).tolist() == [inside]
            assert two.interval_start(moment).tolist() == [begun]
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
def test_no_lane_overlaps_and_none_is_left_out_needlessly(intervals: Pairs, most: int) -> None:
    lanes = lanes_of(*arrays(intervals), most).tolist()
    placed = list(zip(intervals, lanes, strict=True))
    for lane in range(most):
        own = [pair for pair, place in placed if place == lane]
        assert all(before[1] <= after[0] for before, after in pairwise(own)), lane
    for at, (pair, lane) in enumerate(placed):
        if lane < 0:
            busy = {one for (_, end), one in placed[:at] if one >= 0 and end > pair[0]}
            assert len(busy) == most, at


PERCENTS = (0, 1, 50, 95, 99, 99.9, 100)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-(2**40), 2**40)), max_size=40))
def test_each_group_has_the_percentiles_that_numpy_says(values_of: Pairs) -> None:
    codes, values = arrays(values_of)
    found = grouped(codes, values, PERCENTS)
    assert found.codes.tolist() == sorted(set(codes.tolist()))
    for row, code in enumerate(found.codes):
        own = values[codes == code]
        assert (found.counts[row], found.totals[row]) == (own.size, own.sum()), row
        assert found.percentiles[row].tolist() == np.percentile(own, PERCENTS).tolist(), row


@pytest.mark.parametrize("huge", [1, 2**62])
def test_codes_and_values_need_not_fit_into_one_number(huge: int) -> None:
    found = grouped(*arrays([(huge, 7), (0, 2**62), (huge, -(2**61)), (0, 0), (0, 1)]), [50])
    assert found.codes.tolist() == [0, huge]
    assert found.counts.tolist() == [3, 2]
    assert found.totals.tolist() == [2**62 + 1, 7 - 2**61]
    assert found.percentiles.tolist() == [[1.0], [(7 - 2**61) / 2]]
