"""The tracks of a run, from top to bottom: device, idle time, states, workload."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit import analysis
from tracekit.analysis import tracks
from tracekit.pages.panel import Tables, rows, steady_or_busy_window
from tracekit.pages.timeline.readings import readings
from tracekit.pages.timeline.thinning import thin_timeline
from tracekit.pages.timeline.track import (
    Detail,
    Kind,
    Timeline,
    Track,
    in_trace,
    lead,
    numbers,
    times,
    track,
    words,
)
from tracekit.workload import REFERENCE


def idle(tables: Tables) -> Track | str:
    """Make the track of idle gaps, each piece with its cause."""
    gap_rows = rows(tables, "gaps")
    if gap_rows.absence:
        reason = gap_rows.absence
        if gap_rows.is_known:
            reason = "the target's work covers all of the window"
        return f"No idle gaps: {reason.rstrip('.')}."
    gaps = gap_rows.frame
    causes = {str(cause): text for cause, text in analysis.cause.CAUSES.items()}
    parties = {str(party): text for party, text in analysis.cause.PARTIES.items()}
    cause_texts = gaps["cause"].map(causes)
    labels = cause_texts.fillna(gaps["cause"])
    during = gaps["during"].replace("", pd.NA)
    details = (
        words("idle", gaps["party"].map(parties)),
        words("meanwhile", during),
    )
    events = tracks.EventTrack(gap_rows, "Idle gaps", labels)
    note = "by cause; nothing of the target runs"
    return track(events, Kind.IDLE, note, details=details)


_IDLE = "Idle"
_MARKED = "marked by the workload"


def states(tables: Tables) -> Iterator[Track]:
    """Make a track of each sort of state that the trace has; most traces lack some."""
    gpu = tracks.event_track(tables, "gpu_states")
    is_awake = (gpu.labels != _IDLE).to_numpy(bool)
    yield from _state_track(gpu.select(is_awake), f"all processes; {_IDLE} is left out")
    clock = tracks.event_track(tables, "gpu_performance_states")
    if clock.absence:  # then the trace may have the states without their names
        clock = tracks.event_track(tables, "gpu_device_performance_states")
    yield from _state_track(clock, "while the GPU is awake")
    yield from _state_track(tracks.event_track(tables, "thermal_states"), "of the machine")


def _state_track(events: tracks.EventTrack, note: str) -> Iterator[Track]:
    if len(events.frame):
        yield track(events, Kind.STATES, note)


def marks(tables: Tables) -> Iterator[Track | str]:
    """Make the tracks of phases, of steps and of spans, which a workload need not report.

    Reference work of the worker's own is left out: the levels show how long it took.
    """
    for table, kind in (("phases", Kind.PHASES), ("steps", Kind.STEPS)):
        events = tracks.event_track(tables, table)
        if events.absence:
            yield f"No {table}: {events.absence}."
            continue
        yield _marks(events, kind, _MARKED)
    spans = tracks.event_track(tables, "spans")
    is_of_workload = (spans.labels != REFERENCE).to_numpy(bool)
    spans = spans.select(is_of_workload)
    if len(spans.frame):
        yield _marks(spans, Kind.STEPS, f"within steps, {_MARKED}")


def _marks(events: tracks.EventTrack, kind: Kind, note: str) -> Track | str:
    """Make a track of marks, or say that all of them lie before the trace."""
    events, left_out_note = in_trace(events)
    if events.frame.empty:
        return f"No {events.title.lower()}: {left_out_note}."
    if left_out_note:
        note = f"{note}; {left_out_note}"
    details: tuple[Detail, ...] = ()
    if "submitted" in events.frame:
        details = (times("until handed over", events.frame["submitted"]),)
    return track(events, kind, note, details=details)


OTHERS_SHOWN = 5
_OWNERS = {"gpu": "GPU times of the trace", "host": "CPU work on the host's clock"}
_IDS = ("command_buffer", "encoder")


def device(tables: Tables) -> Iterator[Track | str]:
    """Make the tracks of the target's submissions and of its work, a track for each channel."""
    submissions = tracks.event_track(tables, "submissions", of_target_only=True)
    intervals = tracks.event_track(tables, "gpu_intervals", of_target_only=True)
    owners = _find_owners(submissions.frame, intervals.frame)
    if submissions.absence:
        yield f"No submissions: {submissions.absence}."
    else:
        note = "on the CPU, from creation to commit"
        details = _belonging(submissions.frame, {_IDS[0]: owners[_IDS[0]]})
        yield track(submissions, Kind.SUBMISSIONS, note, details=details)
    if intervals.absence:
        yield f"No work of the target on the device: {intervals.absence}."
        return
    clock = intervals.rows.clock
    note = f"the target's; {_OWNERS.get(clock, 'clock not stated')}"
    named_columns = [*_IDS, *("start", "duration", "start_latency", "channel")]
    work = intervals.frame[[name for name in named_columns if name in intervals.frame]]
    intervals = replace(intervals, rows=replace(intervals.rows, frame=work))
    for channel in intervals.split("channel", tracks.UNKNOWN_CHANNEL):
        events = channel
        if clock != "host":
            events = replace(channel, title=f"GPU {channel.title}")
        details = _belonging(events.frame, owners)
        latency = lead("from submission to start", events.frame["start_latency"])
        if (latency.numbers >= 0).any():
            details = (latency, *details)
        yield track(events, Kind.DEVICE, note, details=details)


def compiles(tables: Tables) -> Iterator[Track | str]:
    """Make the tracks of the shader compiler's work and of pipelines that were new."""
    compiler = tracks.event_track(tables, "compiler_activity", of_target_only=True)
    if compiler.absence:
        yield f"No compiler activity: {compiler.absence}."
    else:
        yield track(compiler, Kind.COMPILER, "for the target")
    specializations = rows(tables, "specializations")
    if not specializations.absence:
        frame = specializations.frame
        frame = frame.assign(start=frame["time"], duration=0)
        known_rows = replace(specializations, frame=frame)
        events = tracks.EventTrack(known_rows, "New pipelines", frame["name"])
        yield _marks(events, Kind.COMPILER, "first use, by the workload's marks")


def drivers(tables: Tables) -> Iterator[Track | str]:
    """Make the track of the driver's work: the target's, or that of all processes."""
    every_process = tracks.event_track(tables, "driver_intervals")
    if every_process.absence:
        yield f"No driver intervals: {every_process.absence}."
        return
    target = tracks.event_track(tables, "driver_intervals", of_target_only=True)
    if target.absence:
        yield track(every_process, Kind.DRIVER, "all processes")
    else:
        yield track(target, Kind.DRIVER, "for the target")


def track_other_processes(tables: Tables) -> Iterator[Track]:
    """Make a track for each of the processes that used the device most, and one for the rest."""
    intervals = tracks.event_track(tables, "gpu_intervals")
    is_of_target = intervals.frame["target"].astype(bool).to_numpy()
    processes = intervals.select(~is_of_target).split("process", "process not stated")
    processes.sort(
        key=lambda process: -analysis.intervals.busy(*analysis.intervals.spans(process.frame))
    )
    drawn_processes = processes[:OTHERS_SHOWN]
    remaining_processes = processes[OTHERS_SHOWN:]
    if remaining_processes:
        title = f"{len(remaining_processes)} more processes"
        drawn_processes.append(tracks.join_tracks(remaining_processes, title))
    for events in drawn_processes:
        frame = events.frame
        details = (words("process", frame["process"]), words("channel", frame["channel"]))
        yield track(events, Kind.OTHERS, "another process", details=details)


def _find_owners(*tables: pd.DataFrame) -> dict[str, NDArray[np.uint64]]:
    """Return the ids of the owners of rows, each once and in order, by the name of their column."""
    owners: dict[str, NDArray[np.uint64]] = {}
    for column in _IDS:
        id_columns = [table[column].dropna() for table in tables if column in table]
        heads = [np.empty(0, np.uint64)]
        for ids in id_columns:  # rows of one owner mostly follow one another
            numbers_of_rows = ids.to_numpy(np.uint64)
            heads.append(numbers_of_rows[analysis.intervals.heads_of(numbers_of_rows)])
        ordered_ids = np.sort(np.concatenate(heads))
        owners[column] = ordered_ids[analysis.intervals.heads_of(ordered_ids)]
    return owners


def _belonging(frame: pd.DataFrame, owners: Mapping[str, NDArray[np.uint64]]) -> tuple[Detail, ...]:
    """Number the owners of rows, alike on all tracks; an owner that no row names is left out."""
    details: list[Detail] = []
    for column, unique_ids in owners.items():
        detail_name = column.replace("_", " ")
        detail = numbers(detail_name, frame[column], unique_ids)
        if detail.numbers.any():
            details.append(detail)
    return tuple(details)


def timeline(result: analysis.Result, tables: Tables) -> Timeline:
    """Lay all events of a run's tables on one axis."""
    steady = steady_or_busy_window(tables)
    entries = (
        *marks(tables),
        *device(tables),
        idle(tables),
        *compiles(tables),
        *drivers(tables),
        *states(tables),
        *readings(tables),
        *track_other_processes(tables),
    )
    drawn_tracks = list(_evidence(result.findings))
    absences: dict[str, None] = {}  # an ordered set
    for entry in entries:
        if isinstance(entry, Track):
            drawn_tracks.append(entry)
        elif entry:
            absences[entry] = None
    begin = min((0, *(int(strip.starts.min()) for strip in drawn_tracks)))
    end = max((1, *(int(strip.ends.max()) for strip in drawn_tracks)))
    complete_timeline = Timeline(
        begin=begin,
        end=end,
        tracks=tuple(drawn_tracks),
        steady=steady,
        absences=tuple(absences),
    )
    return thin_timeline(complete_timeline)


def _evidence(findings: tuple[analysis.Finding, ...]) -> Iterator[Track]:
    """Make the track of all windows that findings name as their evidence."""
    windows = tracks.evidence_track(findings)
    if windows.absence:
        return
    labels: list[str] = []
    columns = (windows.frame["rule"], windows.frame["note"], windows.frame["finding"])
    for rule, note, message in zip(*columns, strict=True):
        place = rule
        if not pd.isna(note):
            place = f"{rule} ({note})"
        labels.append(f"{place}: {message}")
    events = windows.relabel(pd.Series(labels))
    yield track(events, Kind.EVIDENCE, "windows of the findings")
