import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.report.timeline.track import assign


@pytest.mark.parametrize(
    ("spans", "lanes"),
    [
        pytest.param([], [], id="none"),
        pytest.param([(5, 9)], [0], id="one"),
        pytest.param([(0, 5), (5, 9), (9, 9)], [0, 0, 0], id="touching"),
        pytest.param([(0, 10), (2, 4), (5, 6), (10, 12)], [0, 1, 1, 0], id="nested"),
        pytest.param(
            [(0, 9), (1, 9), (2, 9), (3, 9)], [0, 1, -1, -1], id="more than there is room"
        ),
    ],
)
def test_an_interval_takes_the_first_free_lane(
    spans: list[tuple[int, int]], lanes: list[int]
) -> None:
    starts = np.array([start for start, _ in spans], np.int64)
    ends = np.array([end for _, end in spans], np.int64)
    assert assign(starts, ends, most=2).tolist() == lanes


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=40), st.integers(1, 5))
def test_no_two_of_a_lane_overlap_and_none_is_left_out_needlessly(
    spans: list[tuple[int, int]], most: int
) -> None:
    spans = sorted(spans)
    starts = np.array([start for start, _ in spans], np.int64)
    ends = starts + np.array([length for _, length in spans], np.int64)
    lanes = assign(starts, ends, most)
    for lane in range(most):
        inside = lanes == lane
        assert (starts[inside][1:] >= ends[inside][:-1]).all()
    for at in np.flatnonzero(lanes < 0):
        before = np.arange(starts.size) < at
        running = before & (lanes >= 0) & (ends > starts[at])
        assert len(set(lanes[running].tolist())) == most
