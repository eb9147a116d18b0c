"""The tracks of a run, from top to bottom: device, idle time, states, workload."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from tracekit import analysis
from tracekit.report.panel import Rows, Tables, of_target, rows, steady_or_busy_window
from tracekit.report.timeline.readings import readings
from tracekit.report.timeline.thinning import thin_timeline
from tracekit.report.timeline.track import (
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
    causes = {str(cause): text for cause, text in analysis.CAUSES.items()}
    parties = {str(party): text for party, text in analysis.PARTIES.items()}
    labels = gaps["cause"].map(causes).fillna(gaps["cause"])
    details = (
        words("idle", gaps["party"].map(parties)),
        words("meanwhile", gaps["during"].replace("", pd.NA)),
    )
    note = "by cause; nothing of the target runs"
    return track("Idle gaps", Kind.IDLE, note, gaps, labels, details=details)


_IDLE = "Idle"
_UNKNOWN = "state not stated"
_MARKED = "marked by the workload"


def states(tables: Tables) -> Iterator[Track]:
    """Make a track of each sort of state that the trace has; most traces lack some."""
    gpu = rows(tables, "gpu_states").frame
    is_awake = gpu["state"].fillna(_UNKNOWN) != _IDLE
    note = f"all processes; {_IDLE} is left out"
    yield from _state_track("GPU states", note, gpu[is_awake])
    clock = rows(tables, "gpu_performance_states").frame  # by name, if the trace names them
    if clock.empty:
        clock = rows(tables, "gpu_device_performance_states").frame
        clock = clock.assign(state="state " + clock["state"].astype("string"))
    yield from _state_track("GPU performance", "while the GPU is awake", clock)
    thermal = rows(tables, "thermal_states").frame
    yield from _state_track("Thermal state", "of the machine", thermal)


def _state_track(name: str, note: str, frame: pd.DataFrame) -> Iterator[Track]:
    if len(frame):
        yield track(name, Kind.STATES, note, frame, frame["state"].fillna(_UNKNOWN))


def marks(tables: Tables) -> Iterator[Track | str]:
    """Make the tracks of phases, of steps and of spans, which a workload need not report.

    Reference work of the worker's own is left out: the levels show how long it took.
    """
    for table, kind, column in (("phases", Kind.PHASES, "name"), ("steps", Kind.STEPS, "phase")):
        table_rows = rows(tables, table)
        if table_rows.absence:
            yield f"No {table}: {table_rows.absence}."
            continue
        labels = table_rows.frame[column].fillna("step")
        yield _marks(table.title(), kind, _MARKED, table_rows.frame, labels)
    frame = rows(tables, "spans").frame
    frame = frame[frame["name"] != REFERENCE]
    if len(frame):
        labels = frame["name"].fillna("span")
        yield _marks("Spans", Kind.STEPS, f"within steps, {_MARKED}", frame, labels)


def _marks(name: str, kind: Kind, note: str, frame: pd.DataFrame, labels: pd.Series) -> Track | str:
    """Make a track of marks, or say that all of them lie before the trace."""
    frame, labels, left_out_note = in_trace(frame, labels)
    if frame.empty:
        return f"No {name.lower()}: {left_out_note}."
    if left_out_note:
        note = f"{note}; {left_out_note}"
    details: tuple[Detail, ...] = ()
    if "submitted" in frame:
        details = (times("until handed over", frame["submitted"]),)
    return track(name, kind, note, frame, labels, details=details)


OTHERS_SHOWN = 5
_UNKNOWN_CHANNEL = "channel not stated"
_OWNERS = {"gpu": "GPU times of the trace", "host": "CPU work on the host's clock"}
_IDS = ("command_buffer", "encoder")


def device(tables: Tables) -> Iterator[Track | str]:
    """Make the tracks of the target's submissions and of its work, a track for each channel."""
    submission_rows = of_target(tables, "submissions")
    interval_rows = of_target(tables, "gpu_intervals")
    owners = (submission_rows, interval_rows)
    if submission_rows.absence:
        yield f"No submissions: {submission_rows.absence}."
    else:
        frame = submission_rows.frame
        labels = frame["label"].where(frame["label"].fillna("") != "", frame["event"])
        note = "on the CPU, from creation to commit"
        details = _belonging(frame, owners, _IDS[:1])
        yield track("Submissions", Kind.SUBMISSIONS, note, frame, labels, details=details)
    if interval_rows.absence:
        yield f"No work of the target on the device: {interval_rows.absence}."
        return
    channels = interval_rows.frame["channel"].fillna(_UNKNOWN_CHANNEL).astype(str)
    for channel, part in interval_rows.frame.groupby(channels, sort=True):
        name = f"GPU {channel}"
        if interval_rows.clock == "host":
            name = str(channel)
        note = f"the target's; {_OWNERS.get(interval_rows.clock, 'clock not stated')}"
        details = _belonging(part, owners, _IDS)
        latency = lead("from submission to start", part["start_latency"])
        if (latency.numbers >= 0).any():
            details = (latency, *details)
        yield track(name, Kind.DEVICE, note, part, part["label"], details=details)


def compiles(tables: Tables) -> Iterator[Track | str]:
    """Make the tracks of the shader compiler's work and of pipelines that were new."""
    activity_rows = of_target(tables, "compiler_activity")
    if activity_rows.absence:
        yield f"No compiler activity: {activity_rows.absence}."
    else:
        labels = activity_rows.frame["program"].fillna(activity_rows.frame["compiler"])
        yield track("Compiler", Kind.COMPILER, "for the target", activity_rows.frame, labels)
    specialization_rows = rows(tables, "specializations")
    if not specialization_rows.absence:
        frame = specialization_rows.frame
        frame = frame.assign(start=frame["time"], duration=0)
        note = "first use, by the workload's marks"
        yield _marks("New pipelines", Kind.COMPILER, note, frame, frame["name"])


def drivers(tables: Tables) -> Iterator[Track | str]:
    """Make the track of the driver's work: the target's, or that of all processes."""
    driver_rows = rows(tables, "driver_intervals")
    if driver_rows.absence:
        yield f"No driver intervals: {driver_rows.absence}."
        return
    frame = driver_rows.frame
    note = "all processes"
    target_rows = of_target(tables, "driver_intervals")
    if not target_rows.absence:
        frame = target_rows.frame
        note = "for the target"
    labels = frame["event"].fillna(frame["label"])
    yield track("Driver", Kind.DRIVER, note, frame, labels)


def track_other_processes(tables: Tables) -> Iterator[Track]:
    """Make a track for each of the processes that used the device most, and one for the rest."""
    frame = rows(tables, "gpu_intervals").frame
    frame = frame[~frame["target"].astype(bool)]
    names = frame["process"].fillna("process not stated").astype(str)
    groups = {str(name): part for name, part in frame.groupby(names)}
    busy_times = {name: analysis.busy(*analysis.spans(part)) for name, part in groups.items()}
    ranked_names = sorted(groups, key=lambda name: (-busy_times[name], name))
    drawn_groups = [(name, groups[name]) for name in ranked_names[:OTHERS_SHOWN]]
    remaining_names = ranked_names[OTHERS_SHOWN:]
    if remaining_names:
        remaining_rows = pd.concat([groups[name] for name in remaining_names])
        drawn_groups.append((f"{len(remaining_names)} more processes", remaining_rows))
    for name, part in drawn_groups:
        details = (words("process", part["process"]), words("channel", part["channel"]))
        yield track(name, Kind.OTHERS, "another process", part, part["label"], details=details)


def _belonging(
    frame: pd.DataFrame, tables: tuple[Rows, ...], columns: tuple[str, ...]
) -> tuple[Detail, ...]:
    """Number the owners of rows, alike on all tracks; an owner that no row names is left out."""
    details: list[Detail] = []
    for column in columns:
        id_columns = [table.frame[column] for table in tables if column in table.frame]
        ids = [id_column.dropna().to_numpy(np.uint64) for id_column in id_columns]
        unique_ids = np.unique(np.concatenate(ids))
        detail = numbers(column.replace("_", " "), frame[column], unique_ids)
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
    tracks = list(_evidence(result.findings))
    absences: dict[str, None] = {}  # an ordered set
    for entry in entries:
        if isinstance(entry, Track):
            tracks.append(entry)
        elif entry:
            absences[entry] = None
    begin = min((0, *(int(strip.starts.min()) for strip in tracks)))
    end = max((1, *(int(strip.ends.max()) for strip in tracks)))
    complete_timeline = Timeline(
        begin=begin,
        end=end,
        tracks=tuple(tracks),
        steady=steady,
        absences=tuple(absences),
    )
    return thin_timeline(complete_timeline)


def _evidence(findings: tuple[analysis.Finding, ...]) -> Iterator[Track]:
    """Make the track of all windows that findings name as their evidence."""
    starts: list[int] = []
    durations: list[int] = []
    labels: list[str] = []
    for finding in findings:
        for window in finding.evidence:
            starts.append(window.start)
            durations.append(window.end - window.start)
            place = finding.rule
            if window.note:
                place = f"{place} ({window.note})"
            labels.append(f"{place}: {finding.message}")
    if not starts:
        return
    frame = pd.DataFrame({"start": starts, "duration": durations})
    note = "windows of the findings"
    yield track("Evidence", Kind.EVIDENCE, note, frame, pd.Series(labels))
