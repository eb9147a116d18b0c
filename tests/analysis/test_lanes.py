"""Slices that overlap get lanes of their own."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.intervals import lanes_of

Pairs = list[tuple[int, int]]


def placed(pairs: Pairs) -> list[int]:
    both = np.array(pairs, np.int64).reshape(-1, 2)
    return lanes_of(both[:, 0], both[:, 1]).tolist()


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        pytest.param([], [], id="none"),
        pytest.param([(0, 5), (5, 9)], [0, 0], id="touching"),
        pytest.param([(0, 9), (1, 3), (3, 5)], [0, 1, 1], id="nested"),
        pytest.param([(0, 4), (1, 9), (4, 6), (5, 7)], [0, 1, 0, 2], id="lowest-free-lane"),
        pytest.param([(2, 2), (2, 2)], [0, 0], id="no-length"),
    ],
)
def test_the_lowest_free_lane_is_taken(pairs: Pairs, expected: list[int]) -> None:
    assert placed(pairs) == expected


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)), max_size=25))
def test_no_lane_overlaps_and_no_more_are_used_than_needed(drawn: Pairs) -> None:
    pairs = sorted((start, start + length) for start, length in drawn)
    lanes = placed(pairs)
    for lane in set(lanes):
        own = [pair for pair, place in zip(pairs, lanes, strict=True) if place == lane]
        assert all(before[1] <= after[0] for before, after in pairwise(own))
    deepest = max((sum(a <= t < max(b, a + 1) for a, b in pairs) for t, _ in pairs), default=0)
    assert max(lanes, default=-1) + 1 <= deepest


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=40), st.integers(1, 5))
def test_no_two_of_a_lane_overlap_and_none_is_left_out_needlessly(
    spans: list[tuple[int, int]], most: int
) -> None:
    spans = sorted(spans)
    starts = np.array([start for start, _ in spans], np.int64)
    ends = starts + np.array([length for _, length in spans], np.int64)
    lanes = lanes_of(starts, ends, most)
    for lane in range(most):
        inside = lanes == lane
        assert (starts[inside][1:] >= ends[inside][:-1]).all()
    for at in np.flatnonzero(lanes < 0):
        before = np.arange(starts.size) < at
        running = before & (lanes >= 0) & (ends > starts[at])
        assert len(set(lanes[running].tolist())) == most
