"""Which events and readings of tables become tracks, and how they are named, split and laid out."""

import pytest

from tracekit.analysis.rows import rows
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.analysis.tracks import (
    EventTrack,
    LevelTrack,
    counter_tracks,
    event_track,
    evidence_track,
    gauge_tracks,
    join_tracks,
    memory_tracks,
)
from typed_rows import frames

OWN = {"process": "python3", "pid": 77, "target": True}
OTHER = {"process": "WindowServer", "pid": 42, "target": False}


def list_names(track: EventTrack) -> list[str]:
    return track.labels.tolist()


def list_readings(track: LevelTrack) -> list[tuple[int, int, float]]:
    columns = (track.starts.tolist(), track.ends.tolist(), track.values.tolist())
    return list(zip(*columns, strict=True))


def test_event_names_come_from_the_first_column_with_a_text() -> None:
    submissions = [
        {"start": 0, "label": "decode", "event": "Submission"},
        {"start": 1, "label": "", "event": "Submission"},
        {"start": 2, "label": None, "event": "Commit"},
    ]
    steps = [{"start": 0, "phase": "steady"}, {"start": 1, "phase": None}]
    states = [{"start": 0, "state": 1}, {"start": 1, "state": None}]
    tables = frames(submissions=submissions, steps=steps, gpu_device_performance_states=states)
    assert list_names(event_track(tables, "submissions")) == ["decode", "Submission", "Commit"]
    assert list_names(event_track(tables, "steps")) == ["steady", "step"]
    performance = event_track(tables, "gpu_device_performance_states")
    assert (performance.title, list_names(performance)) == (
        "GPU performance",
        ["state 1", "state not stated"],
    )
    with pytest.raises(KeyError):
        event_track(tables, "gauges")


def test_event_track_without_events_says_why() -> None:
    tables = frames(driver_intervals=[{"start": 0, "event": "Wire", **OTHER}], encoders=[])
    assert event_track(tables, "driver_intervals").absence == ""
    target = event_track(tables, "driver_intervals", of_target_only=True)
    expected = "none of the 1 rows of driver_intervals belongs to the target"
    assert (len(target.frame), target.absence) == (0, expected)
    assert event_track(tables, "encoders").absence == "the table encoders has no rows"
    assert event_track({}, "encoders").absence == "the recording has no table encoders"
    assert [rows(source, "encoders").is_known for source in (tables, {})] == [True, False]


def test_tracks_split_by_process_and_text_keep_their_rows() -> None:
    work = [
        {"start": 0, "label": "frame", "channel": "Vertex", **OTHER},
        {"start": 1, "label": "paged", "channel": "Compute", **OWN},
        {"start": 2, "label": "blit", "channel": None, **OWN},
        {"start": 3, "label": "lost", "channel": "Compute", "target": False},
    ]
    track = event_track(frames(gpu_intervals=work), "gpu_intervals")
    processes = [(part.process, part.pid, list_names(part)) for part in track.split_processes()]
    assert processes == [
        ("python3", 77, ["paged", "blit"]),
        ("WindowServer", 42, ["frame"]),
        ("unknown process", None, ["lost"]),
    ]
    channels = track.split("channel", "not stated")
    by_text = [(part.title, list_names(part)) for part in channels]
    assert by_text == [
        ("Compute", ["paged", "lost"]),
        ("Vertex", ["frame"]),
        ("not stated", ["blit"]),
    ]
    by_start = [part.title for part in track.split("channel", "not stated", sort=False)]
    assert by_start == ["Vertex", "Compute", "not stated"]
    joined = join_tracks(channels[1:], "rest")
    assert (joined.title, joined.frame["start"].tolist()) == ("rest", [0, 2])
    assert list_names(joined) == ["frame", "blit"]


def test_arranged_events_are_in_order_and_lanes_do_not_overlap() -> None:
    work = [
        {"start": 5, "duration": 2, "label": "b  ( python3 (77) )  0x2"},
        {"start": 0, "duration": 3, "label": "a  ( python3 (77) )  0x1"},
        {"start": 0, "duration": 9, "label": "b"},
        {"start": 1, "duration": None, "label": "a"},
    ]
    track = event_track(frames(encoders=work), "encoders")
    intervals = track.arrange()
    assert intervals.order.tolist() == [2, 1, 3, 0]
    assert intervals.starts.tolist() == [0, 0, 1, 5]
    assert intervals.ends.tolist() == [9, 3, 1, 7]
    assert [intervals.names[code] for code in intervals.codes] == ["b", "a", "a", "b"]
    assert intervals.lanes.tolist() == [0, 1, 2, 1]
    assert track.arrange(lane_limit=2).lanes.tolist() == [0, 1, -1, 1]


def test_evidence_has_a_row_for_each_window() -> None:
    windows = (Evidence("steps", 5, 9, "slow"), Evidence("steps", 0, 2))
    finding = Finding("step-spikes", Severity.NOTE, "Steps differ.", "", windows)
    track = evidence_track((finding,))
    assert list_names(track) == ["slow", "step-spikes"]
    columns = track.frame[["start", "duration", "rule", "finding"]]
    assert columns.to_numpy().tolist() == [
        [5, 4, "step-spikes", "Steps differ."],
        [0, 2, "step-spikes", "Steps differ."],
    ]
    assert track.frame["note"].isna().tolist() == [False, True]
    assert evidence_track(()).absence == "no finding names a window"


def test_readings_are_finite_in_order_and_have_their_unit() -> None:
    counters = [
        {"start": start, "duration": 0, "counter": "Occupancy", "value": value, "percentage": True}
        for start, value in ((20, 3.0), (0, 1.0), (10, None))
    ]
    counters.append({"start": 0, "duration": 5, "counter": "Bandwidth", "value": 7.0})
    bandwidth, occupancy = counter_tracks(frames(gpu_counters=counters))
    assert (bandwidth.name, bandwidth.unit, list_readings(bandwidth)) == (
        "Bandwidth",
        "",
        [(0, 5, 7.0)],
    )
    assert (occupancy.name, occupancy.unit) == ("Occupancy", "%")
    assert list_readings(occupancy) == [(0, 20, 1.0), (20, 40, 3.0)]
    gauges = [
        {"time": time, "name": "power", "value": value, "unit": unit, "source": "macmon"}
        for time, value, unit in ((-5, 1.0, None), (4, 2.0, "W"))
    ]
    [power] = gauge_tracks(frames(gauges=gauges))
    assert (power.name, power.unit, power.source) == ("power", "W", "macmon")
    assert list_readings(power) == [(-5, 4, 1.0), (4, 4, 2.0)]
    assert list(counter_tracks({})) == list(gauge_tracks({})) == list(memory_tracks({})) == []


def test_memory_has_a_track_for_each_process_the_target_first() -> None:
    samples = [{"time": 0, "memory": 5, **OTHER}, {"time": 3, "memory": 6, **OWN}]
    sizes = [{"start": 0, "duration": 2, "size": 9, **OWN}]
    tracks = list(memory_tracks(frames(process_samples=samples, allocated_sizes=sizes)))
    owners = [(track.name, track.process, track.pid, track.is_of_target) for track in tracks]
    assert owners == [
        ("Metal memory", "python3", 77, True),
        ("Resident memory", "python3", 77, True),
        ("Resident memory", "WindowServer", 42, False),
    ]
    assert list_readings(tracks[0]) == [(0, 2, 9.0)]
    assert {track.unit for track in tracks} == {"bytes"}
