"""Which tracks a run has, and how rows and readings are laid on them; drawn without a script."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from report_runs import bare, host_run, trace_run
from tracekit.analysis.given import Given
from tracekit.analysis.rows import Rows
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.analysis.tracks import EventTrack
from tracekit.pages.timeline.readings import COUNTERS_SHOWN, GAUGES_SHOWN, level_track, readings
from tracekit.pages.timeline.still import MOST_BINS, MOST_MARKS, SHADES, WIDTH, strips
from tracekit.pages.timeline.track import Kind, Timeline, Track, in_trace, times, track, words
from tracekit.pages.timeline.tracks import OTHERS_SHOWN, states, timeline
from typed_rows import frame, frames

OWN = {"process": "python3", "pid": 77, "target": True, "clock": "gpu"}


def list_intervals(drawn: Track) -> list[tuple[int, int, str]]:
    columns = (drawn.starts.tolist(), drawn.durations.tolist(), drawn.codes.tolist())
    return [
        (start, length, drawn.texts[code]) for start, length, code in zip(*columns, strict=True)
    ]


def find_track(line: Timeline, name: str) -> Track:
    return next(track for track in line.tracks if track.name == name)


def spans(*pairs: tuple[int, int | None]) -> pd.DataFrame:
    return pd.DataFrame(pairs, columns=["start", "duration"], dtype="Int64")


def laid(rows: pd.DataFrame, labels: list[str], **options: Any) -> Track:
    events = EventTrack(Rows("steps", rows), "Steps", pd.Series(labels))
    return track(events, Kind.STEPS, "marked", **options)


def test_a_trace_has_a_track_a_channel_and_others_apart() -> None:
    line = timeline(trace_run().result, Given(trace_run().tables, trace_run().result.provenance))
    names = ["GPU Blit", "GPU Compute", "Idle gaps", "Compiler", "Driver", "WindowServer"]
    assert [drawn.name for drawn in line.tracks] == names
    assert find_track(line, "GPU Compute").details[0].numbers.tolist() == [80_000] * 3
    assert [gap[:2] for gap in list_intervals(find_track(line, "Idle gaps"))] == [(180_000, 20_000)]
    theirs = find_track(line, "WindowServer")
    assert theirs.lanes == (1, 1)
    texts = [detail.texts for detail in theirs.details]
    assert texts == [("WindowServer",), ("Fragment", "Vertex")]


def test_a_target_that_never_rests_has_no_track_of_gaps_but_a_sentence() -> None:
    table = trace_run().tables["gpu_intervals"].iloc[[0, 1]].assign(start_latency=0)
    driver = trace_run().tables["driver_intervals"].assign(target=False)
    tables = {"gpu_intervals": table, "driver_intervals": driver}
    line = timeline(trace_run().result, Given(tables, trace_run().result.provenance))
    assert "No idle gaps: the target's work covers all of the window." in line.absences
    assert find_track(line, "Driver").note == "all processes"


def test_of_many_other_processes_the_busiest_are_shown_and_the_rest_is_counted() -> None:
    many = [
        {"start": 10 * index, "duration": 100 - index, "process": f"app {index}"}
        for index in range(OTHERS_SHOWN + 3)
    ]
    line = timeline(bare().result, frames(gpu_intervals=many))
    names = [drawn.name for drawn in line.tracks if drawn.kind is Kind.OTHERS]
    assert names == [*(f"app {index}" for index in range(OTHERS_SHOWN)), "3 more processes"]


@pytest.mark.parametrize(
    "name", ["phases", "steps", "submissions", "gpu_intervals", "specializations"]
)
def test_each_table_can_be_missing_or_empty(name: str) -> None:
    result, tables = host_run().result, dict(host_run().tables)
    full = timeline(result, tables)
    empty = timeline(result, tables | {name: tables[name][:0]})
    del tables[name]
    missing = timeline(result, tables)
    assert len(missing.tracks) < len(full.tracks)
    assert [track.name for track in empty.tracks] == [track.name for track in missing.tracks]


def test_windows_before_the_trace_widen_the_axis() -> None:
    finding = Finding("r", Severity.NOTE, "m", "", (Evidence("steps", -5, 3),))
    line = timeline(bare().having(findings=(finding,)).result, {})
    assert (line.begin, line.end, line.count) == (-5, 3, 1)
    assert timeline(bare().result, bare().tables).tracks == ()


def test_states_leave_idle_out_and_a_clock_has_its_name() -> None:
    def lasting(table: str, *rows: tuple[int, int, Any]) -> Any:
        columns = ("start", "duration", "state")
        return {table: frame(table, [dict(zip(columns, row, strict=True)) for row in rows])}

    [awake] = states(lasting("gpu_states", (0, 5, "Active"), (5, 7, "Idle"), (12, 3, None)))
    assert list_intervals(awake) == [(0, 5, "Active"), (12, 3, "state not stated")]
    assert list(states(lasting("gpu_states", (0, 5, "Idle")))) == []
    numbered = lasting("gpu_device_performance_states", (0, 9, 1))
    [by_number] = states(numbered)
    assert list_intervals(by_number) == [(0, 9, "state 1")]
    clocks = numbered | lasting("gpu_performance_states", (0, 9, "Minimum"))
    by_name, heat = states(clocks | lasting("thermal_states", (0, 50, "Nominal")))
    assert (list_intervals(by_name), list_intervals(heat)) == (
        [(0, 9, "Minimum")],
        [(0, 50, "Nominal")],
    )


def test_marks_from_before_the_trace_are_left_out_and_counted() -> None:
    for rows, kept_rows, note in (
        ([(0, 5), (5, 5)], [(0, 5, "a"), (5, 5, "b")], ""),
        (
            [(-90, 60), (-30, 30), (-5, 15), (10, 40)],
            [(0, 10, "c, begun before the trace"), (10, 40, "d")],
            "2 from before the trace left out",
        ),
        ([(-1, 0), (0, 0)], [(0, 0, "b")], "1 from before the trace left out"),
        ([(-9, 1)], [], "1 from before the trace left out"),
    ):
        labels = pd.Series(list("abcd"[: len(rows)]), dtype="string")
        marks, note_text = in_trace(EventTrack(Rows("steps", spans(*rows)), "Steps", labels))
        columns = (marks.frame["start"], marks.frame["duration"], marks.labels)
        assert list(zip(*columns, strict=True)) == kept_rows
        assert note_text == note, rows


def test_overlapping_rows_get_lanes_in_order_of_time_with_their_details() -> None:
    latency = times("latency", pd.Series([11, 7, None, 9], dtype="Int64"))
    process = words("process", pd.Series(["p", "p", "q", None], dtype="string"))
    rows, labels = spans((12, 1), (0, 10), (2, 3), (5, 2)), ["late", "long", "short", "short"]
    laid_track = laid(rows, labels, details=(latency, process))
    assert laid_track.lanes == (2, 2)
    assert list_intervals(laid_track) == [
        (0, 10, "long"),
        (12, 1, "late"),
        (2, 3, "short"),
        (5, 2, "short"),
    ]
    assert [detail.numbers.tolist() for detail in laid_track.details] == [
        [7, 11, -1, 9],
        [0, 0, 1, -1],
    ]
    assert laid_track.details[1].texts == ("p", "q")


def test_rows_that_find_no_lane_are_merged_and_those_without_a_duration_are_points() -> None:
    latency = times("latency", pd.Series([1, 2, 3, 4], dtype="Int64"))
    laid_track = laid(
        spans((0, 10), (1, 4), (2, 4), (8, 4)), ["a"] * 4, details=(latency,), max_lanes=1
    )
    assert laid_track.lanes == (1, 2)
    assert list_intervals(laid_track) == [
        (0, 10, "a"),
        (1, 5, "several, merged"),
        (8, 4, "several, merged"),
    ]
    assert laid_track.note.endswith("3 more that overlap are merged in the lowest lane")
    assert laid_track.details[0].numbers.tolist() == [1, -1, -1]
    points = laid(spans((3, None), (9, 1)), ["a", "b"])
    assert list_intervals(points) == [(3, 0, "a"), (9, 1, "b")]
    assert points.note == "marked; 1 without a duration, drawn as points"


def levels(drawn: Any) -> list[tuple[int, int, float]]:
    columns = (drawn.starts, drawn.ends, drawn.levels.values)  # noqa: PD011  no frame
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_work_in_flight_rises_by_commits_and_falls_by_completions_first() -> None:
    rows = [
        {"command_buffer": number, "committed": begin, "completed": end, **OWN}
        for number, (begin, end) in enumerate([(10, 40), (20, 60), (60, 70), (65, None)])
    ]
    [track] = readings(frames(command_buffers=rows))
    falls = [(60, 60, 0), (60, 70, 1), (70, 70, 0)]
    assert levels(track) == [(10, 20, 1), (20, 40, 2), (40, 60, 1), *falls]


def test_occupancy_comes_first_then_counters_by_height_and_the_rest_is_counted() -> None:
    heights = {"Kernel Occupancy": 5.0} | {f"Limiter {at}": 10.0 + at for at in range(9)}
    rows = [
        {"start": at, "duration": 10, "counter": name, "value": value, "percentage": True}
        for name, value in heights.items()
        for at in (0, 10)
    ]
    *tracks, remark = readings(frames(gpu_counters=rows))
    names = [drawn.name for drawn in tracks if isinstance(drawn, Track)]
    assert names == ["Kernel Occupancy", *(f"Limiter {at}" for at in range(8, 1, -1))]
    assert len(names) == COUNTERS_SHOWN
    assert remark == "2 more counters are read and not drawn: those with lower values."
    assert levels(tracks[0]) == [(0, 10, 0.05), (10, 20, 0.05)]


def test_samples_of_counters_last_until_the_next_one_is_due() -> None:
    rows = [
        {"start": start, "duration": 0, "counter": "Primitives", "value": 1200.0}
        for start in (0, 10, 20, 90, 100)
    ]
    [track] = readings(frames(gpu_counters=rows))
    assert [(begin, end) for begin, end, _ in levels(track)] == [
        *((0, 10), (10, 20), (20, 40), (90, 100), (100, 110))
    ]
    assert isinstance(track, Track)
    assert track.levels is not None
    assert (track.levels.unit, track.levels.highest) == ("", 1200.0)


def test_memory_and_gauges_last_until_the_next_one() -> None:
    sizes = [
        {"start": at, "duration": 10, "size": size, **OWN}
        for at, size in ((10, 300), (0, 100), (20, 200))
    ]
    [allocated] = readings(frames(allocated_sizes=sizes))
    assert levels(allocated) == [(0, 10, 100), (10, 20, 300), (20, 30, 200)]
    samples = [{"time": at, "memory": 1 << 20, **OWN} for at in (50, 0, 20)]
    [resident] = readings(frames(process_samples=samples))
    assert [(begin, end) for begin, end, _ in levels(resident)] == [(0, 20), (20, 50), (50, 50)]
    rows = [
        {"time": at, "name": f"gauge {name:02}", "value": 1.0, "source": "monitor"}
        for name in range(GAUGES_SHOWN + 3)
        for at in (-50, 0, 30)
    ]
    tracks = list(readings(frames(gauges=rows)))
    assert [drawn.name for drawn in tracks] == [f"gauge {at:02}" for at in range(GAUGES_SHOWN)]
    assert levels(tracks[0]) == [(0, 30, 1.0), (30, 30, 1.0)]


def heights(
    starts: list[int], ends: list[int], values: list[float], max_readings: int = 4_096
) -> Track:
    bounds = (np.array(starts, np.int64), np.array(ends, np.int64))
    return level_track(
        "Heat", "read", bounds, np.array(values, np.float64), "W", max_readings=max_readings
    )


def test_of_very_many_readings_each_part_keeps_its_lowest_and_highest() -> None:
    short_track = heights([0, 10, 20], [5, 30, 25], [1, 3, 2])
    assert levels(short_track) == [(0, 5, 1.0), (10, 20, 3.0), (20, 25, 2.0)]
    starts = list(range(0, 80, 10))
    thin = heights(
        starts, [start + 10 for start in starts], [5, 9, 1, 5, 4, 4, 8, 0], max_readings=4
    )
    assert levels(thin) == [(10, 20, 9), (20, 60, 1), (60, 70, 8), (70, 80, 0)]
    assert thin.note == "read; the lowest and highest of each 4 readings"


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=80), st.integers(2, 12))
def test_the_extremes_are_never_lost(values: list[float], max_readings: int) -> None:
    starts = list(range(0, 10 * len(values), 10))
    track = heights(starts, [start + 10 for start in starts], values, max_readings)
    assert track.levels is not None
    assert (track.levels.lowest, track.levels.highest) == (min(values), max(values))
    assert track.starts.size <= max_readings + 1
    assert (track.starts[1:] >= track.ends[:-1]).all()


def drawn(starts: list[int], durations: list[int], end: int) -> list[dict[str, Any]]:
    zeros, sizes = np.zeros(len(starts), np.int64), (len(starts),)
    columns = (np.array(starts), np.array(durations), zeros)
    [strip] = strips(Timeline(0, end, (Track("GPU", Kind.DEVICE, *columns, ("work",), sizes),)))
    return strip["marks"]


def test_few_intervals_are_drawn_each_and_many_as_shades() -> None:
    marks = drawn([0, 500], [250, 0], 1000)
    boxes = [(mark["x"], mark["width"], mark["shade"]) for mark in marks]
    assert boxes == [(0, 250, SHADES), (500, 1, SHADES)]
    assert marks[0]["title"] == "work: 250 ns from 0.000 000 s"
    [half] = drawn(list(range(0, 500_000, 1000)), [500] * 500, 1_000_000)
    assert (half["x"], half["width"], half["shade"]) == (0, WIDTH / 2, SHADES / 2)
    assert half["title"] == "0 ns to 500 µs: 50.0 % covered, 500 begin"
    [points] = drawn([10 * number for number in range(300)], [0] * 300, 3000)
    assert points["shade"] == 1
    assert "300 begin" in points["title"]


@given(st.integers(1, 40), st.integers(1, 400))
def test_there_are_never_more_marks_than_a_page_can_bear(tracks: int, size: int) -> None:
    starts, zeros = np.sort(np.random.default_rng(size).integers(0, 10**6, size)), [0] * size
    columns = (starts, np.array(zeros), np.array(zeros))
    work = Track("GPU", Kind.DEVICE, *columns, ("k",), (size,))
    marks = [strip["marks"] for strip in strips(Timeline(0, 10**6, (work,) * tracks))]
    assert sum(map(len, marks)) <= MOST_MARKS
    assert max(map(len, marks)) <= MOST_BINS
