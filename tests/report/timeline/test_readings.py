from typing import Any

import pytest

from tracekit.report.timeline.readings import COUNTERS_SHOWN, GAUGES_SHOWN, readings
from tracekit.report.timeline.track import Track

OWN = {"process": "python3", "pid": 77, "target": True, "clock": "gpu"}


def levels(track: Track) -> list[tuple[int, int, float]]:
    assert track.levels is not None
    columns = (track.starts, track.ends, track.levels.values)
    return list(zip(*(one.tolist() for one in columns), strict=True))


def test_work_in_flight_rises_by_commits_and_falls_by_completions(frame: Any) -> None:
    rows = [
        {"command_buffer": at, "committed": begin, "completed": end, **OWN}
        for at, (begin, end) in enumerate([(10, 40), (20, 60), (60, 70)])
    ]
    rows.append({"command_buffer": 9, "committed": 65, **OWN})
    [track] = readings({"command_buffers": frame("command_buffers", rows)})
    assert isinstance(track, Track)
    assert levels(track) == [
        (10, 20, 1),
        (20, 40, 2),
        (40, 60, 1),
        (60, 60, 0),
        (60, 70, 1),
        (70, 70, 0),
    ]
    assert track.levels is not None
    assert track.levels.unit == "count"


def test_occupancy_comes_first_then_counters_by_height_and_the_rest_is_counted(frame: Any) -> None:
    heights = {"Kernel Occupancy": 5.0} | {f"Limiter {at}": 10.0 + at for at in range(9)}
    rows = [
        {"start": at, "duration": 10, "counter": name, "value": value, "percentage": True}
        for name, value in heights.items()
        for at in (0, 10)
    ]
    *tracks, said = readings({"gpu_counters": frame("gpu_counters", rows)})
    names = [one.name for one in tracks if isinstance(one, Track)]
    assert names == ["Kernel Occupancy", *(f"Limiter {at}" for at in range(8, 1, -1))]
    assert len(names) == COUNTERS_SHOWN
    assert said == "2 more counters are read and not drawn: those with lower values."
    assert levels(tracks[0]) == [(0, 10, 0.05), (10, 20, 0.05)]


def test_a_counter_that_is_no_share_has_no_unit(frame: Any) -> None:
    rows = [{"start": 0, "duration": 10, "counter": "Primitives", "value": 1200.0}]
    [track] = readings({"gpu_counters": frame("gpu_counters", rows)})
    assert levels(track) == [(0, 10, 1200.0)]
    assert track.levels.unit == ""


def test_samples_of_counters_last_until_the_next_one_is_due(frame: Any) -> None:
    rows = [
        {"start": at, "duration": 0, "counter": "Occupancy", "value": 50.0}
        for at in (0, 10, 20, 90, 100)
    ]
    [track] = readings({"gpu_counters": frame("gpu_counters", rows)})
    assert levels(track) == [
        (0, 10, 50),
        (10, 20, 50),
        (20, 40, 50),
        (90, 100, 50),
        (100, 110, 50),
    ]


def test_memory_is_one_track_a_process_whatever_its_levels_are_called(frame: Any) -> None:
    sizes = [
        {"start": at, "duration": 10, "size": size, "label": f"{size} Bytes", **OWN}
        for at, size in ((10, 300), (0, 100), (20, 200))
    ]
    [track] = readings({"allocated_sizes": frame("allocated_sizes", sizes)})
    assert levels(track) == [(0, 10, 100), (10, 20, 300), (20, 30, 200)]
    assert track.note == "memory of Metal's resources of the process 77"
    assert track.levels.unit == "bytes"


def test_samples_last_until_the_next_one(frame: Any) -> None:
    samples = [{"time": at, "memory": 1 << 20, **OWN} for at in (50, 0, 20)]
    [track] = readings({"process_samples": frame("process_samples", samples)})
    assert levels(track) == [(0, 20, 1 << 20), (20, 50, 1 << 20), (50, 50, 1 << 20)]
    assert (track.name, track.note) == (
        "Resident memory",
        "of the process 77, by the operating system",
    )


@pytest.mark.parametrize(("unit", "shown"), [("W", "W"), (None, "")])
def test_gauges_are_shown_from_the_begin_of_the_trace(
    frame: Any, unit: str | None, shown: str
) -> None:
    rows = [
        {"time": at, "name": "gpu power", "value": value, "unit": unit, "source": "macmon"}
        for at, value in ((-50, 9.0), (0, 1.0), (30, 2.0))
    ]
    [track] = readings({"gauges": frame("gauges", rows)})
    assert levels(track) == [(0, 30, 1.0), (30, 30, 2.0)]
    assert (track.note, track.levels.unit) == ("read by macmon", shown)


def test_of_many_gauges_the_first_by_name_are_shown(frame: Any) -> None:
    rows = [
        {"time": 0, "name": f"gauge {at:02}", "value": 1.0, "source": "monitor"}
        for at in range(GAUGES_SHOWN + 3)
    ]
    tracks = list(readings({"gauges": frame("gauges", rows)}))
    assert [one.name for one in tracks] == [f"gauge {at:02}" for at in range(GAUGES_SHOWN)]


def test_a_recording_in_which_nothing_was_read_has_none_of_these_tracks(bare: Any) -> None:
    assert list(readings(bare.tables)) == []
