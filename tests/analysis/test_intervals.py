"""The algebra of intervals, against a model that counts nanoseconds one by one."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.intervals import (
    Window,
    busy,
    clip,
    gaps,
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


def test_what_touches_a_window_leaves_nothing_of_no_length() -> None:
    assert pairs_of(clip(*arrays([(0, 10), (20, 30), (12, 12)]), 10, 20)) == []


@pytest.mark.parametrize(
    ("given_pairs", "expected"),
    [
        pytest.param([], [], id="none"),
        pytest.param([(1, 4)], [(1, 4)], id="one"),
        pytest.param([(5, 9), (1, 4)], [(1, 4), (5, 9)], id="unordered"),
        pytest.param([(1, 4), (3, 9)], [(1, 9)], id="overlapping"),
        pytest.param([(1, 4), (4, 9)], [(1, 9)], id="touching"),
        pytest.param([(1, 9), (2, 3), (5, 6)], [(1, 9)], id="nested"),
        pytest.param([(1, 9), (2, 3), (8, 12)], [(1, 12)], id="nested-then-overlapping"),
        pytest.param([(4, 4), (7, 7)], [], id="no-length"),
    ],
)
def test_union_joins_what_overlaps_or_touches(given_pairs: Pairs, expected: Pairs) -> None:
    assert pairs_of(union(*arrays(given_pairs))) == expected


@pytest.mark.parametrize("seed", range(3))
def test_union_of_many_is_what_a_loop_over_them_makes(seed: int) -> None:
    random = np.random.default_rng(seed)
    starts = random.integers(0, 10**6, 3000)
    ends = starts + random.integers(0, 700, 3000)
    joined: list[list[int]] = []
    for start, end in sorted(pairs_of((starts, ends))):
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        elif end > start:
            joined.append([start, end])
    assert len(joined) > 100
    assert pairs_of(union(starts, ends)) == [(start, end) for start, end in joined]


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


@given(pairs, windows)
def test_clip_keeps_what_lies_inside(intervals: Pairs, window: tuple[int, int]) -> None:
    begin, end = window
    kept = pairs_of(clip(*arrays(intervals), begin, end))
    assert covered(kept) == covered(intervals) & set(range(begin, end))


@given(pairs, pairs)
def test_overlap_is_what_both_cover(ours: Pairs, theirs: Pairs) -> None:
    both = covered(ours) & covered(theirs)
    assert overlap(*arrays(ours), *arrays(theirs)) == len(both)


def test_the_callers_arrays_stay_as_they_are() -> None:
    starts, ends = arrays([(5, 9), (1, 4)])
    union(starts, ends)
    gaps(starts, ends, 0, 10)
    clip(starts, ends, 2, 6)
    assert pairs_of((starts, ends)) == [(5, 9), (1, 4)]


def test_nanoseconds_of_a_long_trace_do_not_overflow() -> None:
    day = 86_400 * 10**9
    assert busy(*arrays([(0, day), (day // 2, 2 * day)])) == 2 * day


def test_spans_read_a_row_without_duration_as_no_length() -> None:
    frame = pd.DataFrame({"start": [10, 20], "duration": pd.array([5, None], dtype="Int64")})
    assert pairs_of(spans(frame)) == [(10, 15), (20, 20)]


def test_the_steady_window_is_the_workloads_own_where_it_marked_one() -> None:
    phases = pd.DataFrame({"name": ["warm-up", "steady"], "start": [0, 100], "duration": [100, 50]})
    rows = pd.DataFrame({"start": [3], "duration": [4]})
    assert steady_window(phases, rows) == Window(100, 150, "the steady window")


def test_without_marks_the_steady_window_spans_the_rows() -> None:
    rows = pd.DataFrame({"start": [30, 3], "duration": [1, 40]})
    found = steady_window(None, rows)
    assert found is not None
    assert (found.start, found.end, found.length) == (3, 43, 40)
    assert found.name == "the time from the target's first to its last interval"


def test_without_marks_and_rows_there_is_no_window() -> None:
    nothing = pd.DataFrame({"start": [], "duration": []}, dtype="int64")
    assert steady_window(nothing.assign(name=[]), nothing) is None
