from typing import Any

import numpy as np
import pytest

from tracekit.report.timeline.still import (
    MOST_BINS,
    MOST_MARKS,
    SHADES,
    WIDTH,
    strips,
    ticks,
)
from tracekit.report.timeline.track import Kind, Timeline, Track
from tracekit.report.timeline.tracks import timeline


def made(starts: list[int], durations: list[int], name: str = "GPU") -> Track:
    zeros = np.zeros(len(starts), np.int64)
    return Track(
        name, Kind.DEVICE, np.array(starts), np.array(durations), zeros, ("work",), (len(starts),)
    )


def test_few_intervals_are_drawn_each_with_its_words() -> None:
    line = Timeline(0, 1000, (made([0, 500], [250, 0]),))
    [strip] = strips(line)
    assert [(mark["x"], mark["width"], mark["shade"]) for mark in strip["marks"]] == [
        (0, 250, SHADES),
        (500, 1, SHADES),
    ]
    assert strip["marks"][0]["title"] == "work: 250 ns from 0.000 000 s"


def test_many_intervals_become_shades_of_what_they_cover() -> None:
    starts = list(range(0, 500_000, 1000))
    line = Timeline(0, 1_000_000, (made(starts, [500] * len(starts)),))
    [strip] = strips(line)
    [mark] = strip["marks"]
    assert (mark["x"], mark["width"], mark["shade"]) == (0, WIDTH / 2, SHADES / 2)
    assert mark["title"] == "0 ns to 500 µs: 50.0 % covered, 500 begin"


def test_points_that_cover_nothing_are_still_seen() -> None:
    starts = [10 * at for at in range(300)]
    [strip] = strips(Timeline(0, 3000, (made(starts, [0] * 300),)))
    assert [mark["shade"] for mark in strip["marks"]] == [1]
    assert "300 begin" in strip["marks"][0]["title"]


def test_there_are_never_more_marks_than_a_page_can_bear() -> None:
    rng = np.random.default_rng(3)
    starts = np.sort(rng.integers(0, 10**9, 5000)).tolist()
    tracks = tuple(
        made(starts, rng.integers(0, 10**5, 5000).tolist(), f"track {one}") for one in range(30)
    )
    drawn = strips(Timeline(0, 10**9, tracks))
    assert sum(len(strip["marks"]) for strip in drawn) <= MOST_MARKS
    assert max(len(strip["marks"]) for strip in drawn) <= MOST_BINS


def test_ticks_are_words_from_begin_to_end() -> None:
    assert ticks(0, 4_000_000) == ("0 ns", "1 ms", "2 ms", "3 ms", "4 ms")


@pytest.mark.parametrize("which", ["host_run", "trace_run"])
def test_all_tracks_of_a_run_are_drawn(request: pytest.FixtureRequest, which: str) -> None:
    run: Any = request.getfixturevalue(which)
    line = timeline(run.result, run.tables)
    drawn = strips(line)
    assert [strip["name"] for strip in drawn] == [track.name for track in line.tracks]
    for strip in drawn:
        assert strip["marks"]
        assert all(0 <= mark["x"] <= WIDTH and mark["width"] > 0 for mark in strip["marks"])
