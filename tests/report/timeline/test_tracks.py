from typing import Any

import pytest

from tracekit.analysis.given import Given
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.report.timeline.track import Kind, Timeline, Track
from tracekit.report.timeline.tracks import OTHERS_SHOWN, timeline

MS = 1_000_000


def laid(run: Any) -> Timeline:
    return timeline(run.result, Given(run.tables, run.result.provenance))


def named(line: Timeline, name: str) -> Track:
    return next(track for track in line.tracks if track.name == name)


def test_a_host_recording_has_its_tracks_in_order(host_run: Any) -> None:
    line = laid(host_run)
    assert [track.name for track in line.tracks] == [
        "Evidence",
        "Phases",
        "Steps",
        "Submissions",
        "CPU",
        "Idle gaps",
        "New pipelines",
    ]
    assert named(line, "CPU").note == "the target's; CPU work on the host's clock"
    assert (line.begin, line.end) == (0, 658 * MS)
    assert line.absences == (
        "No compiler activity: the recording has no table compiler_activity.",
        "No driver intervals: the recording has no table driver_intervals.",
    )


def test_a_trace_has_a_track_a_channel_and_others_apart(trace_run: Any) -> None:
    line = laid(trace_run)
    assert [(track.name, track.kind) for track in line.tracks] == [
        ("GPU Blit", Kind.DEVICE),
        ("GPU Compute", Kind.DEVICE),
        ("Idle gaps", Kind.IDLE),
        ("Compiler", Kind.COMPILER),
        ("Driver", Kind.DRIVER),
        ("WindowServer", Kind.OTHERS),
    ]
    compute = named(line, "GPU Compute")
    assert compute.texts == (
        "Command Buffer 0:Compute Command 0",
        "Command Buffer 0:Compute Command 1",
    )
    assert compute.details[0].numbers.tolist() == [80_000] * 3
    others = named(line, "WindowServer")
    assert others.lanes == (1, 1)
    assert [detail.texts for detail in others.details] == [
        ("WindowServer",),
        ("Fragment", "Vertex"),
    ]


def test_idle_gaps_are_the_targets_alone(trace_run: Any) -> None:
    gaps = named(laid(trace_run), "Idle gaps")
    assert gaps.starts.tolist() == [180_000]
    assert gaps.durations.tolist() == [20_000]


def test_idle_gaps_of_a_marked_run_have_its_lead_in_and_its_tail(host_run: Any) -> None:
    gaps = named(laid(host_run), "Idle gaps")
    ends = gaps.starts + gaps.durations
    assert (gaps.starts.min(), ends.max()) == (620 * MS, 651 * MS)
    assert gaps.durations.sum() == 17 * MS


def test_a_target_that_never_rests_has_no_track_of_gaps_but_a_sentence(trace_run: Any) -> None:
    table = trace_run.tables["gpu_intervals"].iloc[[0, 1]].assign(start_latency=0)
    tables = Given({"gpu_intervals": table}, trace_run.result.provenance)
    line = timeline(trace_run.result, tables)
    assert "Idle gaps" not in [track.name for track in line.tracks]
    assert any(
        absence.startswith("No idle gaps: the target's work covers all")
        for absence in line.absences
    )


def test_evidence_is_on_top_with_its_message(host_run: Any) -> None:
    first = laid(host_run).tracks[0]
    assert first.kind is Kind.EVIDENCE
    assert (first.starts.tolist(), first.durations.tolist()) == ([628 * MS], [13 * MS])
    assert first.texts[0].startswith("bubbles: The work of the target was idle")


def test_of_many_other_processes_the_busiest_are_shown_and_the_rest_is_counted(
    frame: Any, bare: Any
) -> None:
    many = [
        {
            "start": 10 * index,
            "duration": 100 - index,
            "process": f"app {index}",
            "channel": "Fragment",
            "target": False,
            "clock": "gpu",
        }
        for index in range(OTHERS_SHOWN + 3)
    ]
    line = timeline(bare.result, {"gpu_intervals": frame("gpu_intervals", many)})
    names = [track.name for track in line.tracks if track.kind is Kind.OTHERS]
    assert names == [f"app {index}" for index in range(OTHERS_SHOWN)] + ["3 more processes"]
    assert line.steady is None
    assert "No work of the target on the device: none of the 8 rows" in line.absences[3]


def test_the_drivers_rows_are_all_processes_where_none_is_the_targets(trace_run: Any) -> None:
    driver = trace_run.tables["driver_intervals"].assign(target=False)
    line = timeline(trace_run.result, {**trace_run.tables, "driver_intervals": driver})
    assert named(line, "Driver").note == "all processes"


@pytest.mark.parametrize(
    "name", ["phases", "steps", "submissions", "gpu_intervals", "specializations"]
)
def test_each_table_can_be_missing_or_empty(host_run: Any, name: str) -> None:
    full = laid(host_run)
    missing = timeline(host_run.result, host_run.without(name).tables)
    empty = timeline(host_run.result, {**host_run.tables, name: host_run.tables[name].iloc[:0]})
    assert len(missing.tracks) < len(full.tracks)
    assert [track.name for track in empty.tracks] == [track.name for track in missing.tracks]


def test_nothing_at_all_is_an_axis_without_tracks(bare: Any) -> None:
    line = timeline(bare.result, bare.tables)
    assert line.tracks == ()
    assert line.end > line.begin
    assert line.count == 0


def test_windows_before_the_trace_widen_the_axis(bare: Any) -> None:
    finding = Finding("r", Severity.NOTE, "m", "", (Evidence("steps", -5, 3),))
    line = timeline(bare.having(findings=(finding,)).result, {})
    assert (line.begin, line.end) == (-5, 3)


def test_what_the_host_did_within_steps_has_a_track(host_run: Any, frame: Any) -> None:
    did = [("admit", 620, 1), ("decode", 621, 7), ("decode", 641, 7)]
    spans = frame(
        "spans",
        [{"name": name, "start": at * MS, "duration": length * MS} for name, at, length in did],
    )
    line = timeline(host_run.result, {**host_run.tables, "spans": spans})
    names = [track.name for track in line.tracks]
    assert names.index("Spans") == names.index("Steps") + 1
    track = named(line, "Spans")
    assert [track.texts[code] for code in track.codes.tolist()] == ["admit", "decode", "decode"]
    assert track.note == "within steps, marked by the workload"
