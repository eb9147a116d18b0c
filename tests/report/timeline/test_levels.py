import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracekit.report.timeline.readings import level_track
from tracekit.report.timeline.track import Track


def made(
    starts: list[int], ends: list[int], values: list[float], most: int = 4_096, unit: str = "W"
) -> Track:
    times = (np.array(starts, np.int64), np.array(ends, np.int64))
    heights = np.array(values, np.float64)
    return level_track("Heat", "read by a monitor", times, heights, unit, most=most)


def test_a_reading_lasts_until_its_end_or_until_the_next_one() -> None:
    track = made([0, 10, 20], [5, 30, 25], [1.0, 3.0, 2.0])
    assert track.starts.tolist() == [0, 10, 20]
    assert track.durations.tolist() == [5, 10, 5]
    assert track.levels is not None
    assert (track.levels.low, track.levels.high, track.levels.unit) == (1.0, 3.0, "W")
    assert (track.lanes, track.texts, track.note) == ((3,), ("Heat",), "read by a monitor")


def test_of_very_many_readings_each_part_keeps_its_lowest_and_highest() -> None:
    values = [5.0, 9.0, 1.0, 5.0, 4.0, 4.0, 8.0, 0.0]
    track = made(list(range(0, 80, 10)), list(range(10, 90, 10)), values, most=4)
    assert track.starts.tolist() == [10, 20, 60, 70]
    assert track.levels is not None
    assert track.levels.values.tolist() == [9.0, 1.0, 8.0, 0.0]
    assert track.note == "read by a monitor; the lowest and highest of each 4 readings"


def test_a_reading_that_stands_for_its_part_lasts_until_the_next_one_kept() -> None:
    track = made([0, 10, 20, 30, 40], [10, 20, 30, 40, 50], [1, 2, 3, 4, 5], most=4)
    assert track.starts.tolist() == [0, 20, 30, 40]
    assert track.ends.tolist() == [20, 30, 40, 50]


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=80), st.integers(2, 12))
def test_the_extremes_are_never_lost(values: list[float], most: int) -> None:
    starts = list(range(0, 10 * len(values), 10))
    track = made(starts, [one + 10 for one in starts], values, most)
    assert track.levels is not None
    assert (track.levels.low, track.levels.high) == (min(values), max(values))
    assert track.starts.size <= most + 1
    assert (track.starts[1:] >= track.ends[:-1]).all()
