"""Which tracks a run has, from top to bottom: device, idle time, states, workload."""

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
        reason = (
            "the target's work covers all of the window" if gap_rows.is_known else gap_rows.absence
        )
        return f"No idle gaps: {reason.rstrip('.')}."
    causes = {str(cause): text for cause, text in analysis.CAUSES.items()}
    labels = gap_rows.frame["cause"].map(causes).fillna(gap_rows.frame["cause"])
    details = (
        words(
            "idle",
            gap_rows.frame["party"].map(
                {str(party): text for party, text in analysis.PARTIES.items()}
            ),
        ),
        words("meanwhile", gap_rows.frame["during"].replace("", pd.NA)),
    )
    note = "by cause; nothing of the target runs"
    return track("Idle gaps", Kind.IDLE, note, gap_rows.frame, labels, details=details)


_IDLE = "Idle"
_UNKNOWN = "state not stated"
_MARKED = "marked by the workload"


def states(tables: Tables) -> Iterator[Track]:
    """Make a track of each sort of state that the trace has; most traces lack some."""
    awake = rows(tables, "gpu_states").frame
    labels = awake["state"].fillna(_UNKNOWN)
    awake, labels = awake[labels != _IDLE], labels[labels != _IDLE]
    if len(awake):
        note = f"all processes; {_IDLE} is left out"
        yield track("GPU states", Kind.STATES, note, awake, labels)
    clock = rows(tables, "gpu_performance_states").frame  # by name, if the trace names them
    if clock.empty:
        clock = rows(tables, "gpu_device_performance_states").frame
        clock = clock.assign(state="state " + clock["state"].astype("string"))
    for name, note, frame in (
        ("GPU performance", "while the GPU is awake", clock),
        ("Thermal state", "of the machine", rows(tables, "thermal_states").frame),
    ):
        if len(frame):
            yield track(name, Kind.STATES, note, frame, frame["state"].fillna(_UNKNOWN))


def marks(tables: Tables) -> Iterator[Track | str]:
    """Make the tracks of phases, of steps and of spans, which a workload need not report.

    Reference work of the worker's own is left out: the levels show how long it took.
    """
    for table, kind, column in (("phases", Kind.PHASES, "name"), ("steps", Kind.STEPS, "phase")):
        table_rows = rows(tables, table)
        labels = table_rows.frame[column].fillna("step")
        yield (
            f"No {table}: {table_rows.absence}."
            if table_rows.absence
            else _marks(table.title(), kind, _MARKED, table_rows.frame, labels)
        )
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
    handed = [times("until handed over", frame["submitted"])] if "submitted" in frame else []
    note = "; ".join(filter(None, (note, left_out_note)))
    return track(name, kind, note, frame, labels, details=tuple(handed))


OTHERS_SHOWN = 5
_UNKNOWN_CHANNEL = "channel not stated"
_OWNERS = {"gpu": "GPU times of the trace", "host": "CPU work on the host's clock"}
_IDS = ("command_buffer", "encoder")


def device(tables: Tables) -> Iterator[Track | str]:
    """Make the tracks of what the target submitted and of what ran, a track for each channel."""
    sent, interval_rows = of_target(tables, "submissions"), of_target(tables, "gpu_intervals")
    if sent.absence:
        yield f"No submissions: {sent.absence}."
    else:
        frame = sent.frame
        labels = frame["label"].where(frame["label"].fillna("") != "", frame["event"])
        note = "on the CPU, from creation to commit"
        details = _belonging(frame, (sent, interval_rows), _IDS[:1])
        yield track("Submissions", Kind.SUBMISSIONS, note, frame, labels, details=details)
    if interval_rows.absence:
        yield f"No work of the target on the device: {interval_rows.absence}."
        return
    channels = interval_rows.frame["channel"].fillna(_UNKNOWN_CHANNEL).astype(str)
    for channel, part in interval_rows.frame.groupby(channels, sort=True):
        name = str(channel) if interval_rows.clock == "host" else f"GPU {channel}"
        note = f"the target's; {_OWNERS.get(interval_rows.clock, 'clock not stated')}"
        details = _belonging(part, (sent, interval_rows), _IDS)
        latency = lead("from submission to start", part["start_latency"])
        if (latency.numbers >= 0).any():
            details = (latency, *details)
        yield track(name, Kind.DEVICE, note, part, part["label"], details=details)


def compiles(tables: Tables) -> Iterator[Track | str]:
    """Make the tracks of what the shader compiler did and of pipelines that were new."""
    activity_rows = of_target(tables, "compiler_activity")
    if activity_rows.absence:
        yield f"No compiler activity: {activity_rows.absence}."
    else:
        labels = activity_rows.frame["program"].fillna(activity_rows.frame["compiler"])
        yield track("Compiler", Kind.COMPILER, "for the target", activity_rows.frame, labels)
    specialization_rows = rows(tables, "specializations")
    if not specialization_rows.absence:
        frame = specialization_rows.frame.assign(
            start=specialization_rows.frame["time"], duration=0
        )
        note = "first use, by the workload's marks"
        yield _marks("New pipelines", Kind.COMPILER, note, frame, frame["name"])


def drivers(tables: Tables) -> Iterator[Track | str]:
    """Make the track of what the driver did."""
    driver_rows = rows(tables, "driver_intervals")
    if driver_rows.absence:
        yield f"No driver intervals: {driver_rows.absence}."
        return
    target_rows = of_target(tables, "driver_intervals")
    frame, note = (
        (driver_rows.frame, "all processes")
        if target_rows.absence
        else (target_rows.frame, "for the target")
    )
    labels = frame["event"].fillna(frame["label"])
    yield track("Driver", Kind.DRIVER, note, frame, labels)


def track_other_processes(tables: Tables) -> Iterator[Track]:
    """Make a track for each of the processes that used the device most, and one for the rest."""
    frame = rows(tables, "gpu_intervals").frame
    frame = frame[~frame["target"].astype(bool)]
    names = frame["process"].fillna("process not stated").astype(str)
    groups = {str(name): part for name, part in frame.groupby(names)}
    ranked = sorted(groups, key=lambda name: (-analysis.busy(*analysis.spans(groups[name])), name))
    drawn_groups = {name: groups[name] for name in ranked[:OTHERS_SHOWN]}
    if remaining_names := ranked[OTHERS_SHOWN:]:
        drawn_groups[f"{len(remaining_names)} more processes"] = pd.concat(
            [groups[name] for name in remaining_names]
        )
    for name, part in drawn_groups.items():
        details = (words("process", part["process"]), words("channel", part["channel"]))
        yield track(name, Kind.OTHERS, "another process", part, part["label"], details=details)


def _belonging(
    frame: pd.DataFrame, tables: tuple[Rows, ...], columns: tuple[str, ...]
) -> tuple[Detail, ...]:
    """Number what rows belong to, alike on all tracks; what no row names is left out."""
    details: list[Detail] = []
    for column in columns:
        having = [table.frame[column].dropna() for table in tables if column in table.frame]
        known_ids = np.unique(np.concatenate([ids.to_numpy(np.uint64) for ids in having]))
        details.append(numbers(column.replace("_", " "), frame[column], known_ids))
    return tuple(detail for detail in details if detail.numbers.any())


def timeline(result: analysis.Result, tables: Tables) -> Timeline:
    """Lay all that the tables tell of a run on one axis."""
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
    tracks = (
        *_evidence(result.findings),
        *(entry for entry in entries if isinstance(entry, Track)),
    )
    absences = dict.fromkeys(entry for entry in entries if isinstance(entry, str) and entry)
    ends = [int(strip.ends.max()) for strip in tracks]
    begins = [int(strip.starts.min()) for strip in tracks]
    complete_timeline = Timeline(
        begin=min((0, *begins)),
        end=max((1, *ends)),
        tracks=tracks,
        steady=steady,
        absences=tuple(absences),
    )
    return thin_timeline(complete_timeline)


def _evidence(findings: tuple[analysis.Finding, ...]) -> Iterator[Track]:
    evidence = [(finding, window) for finding in findings for window in finding.evidence]
    if not evidence:
        return
    frame = pd.DataFrame(
        {
            "start": [window.start for _, window in evidence],
            "duration": [window.end - window.start for _, window in evidence],
        }
    )
    labels = [
        f"{finding.rule}{f' ({window.note})' if window.note else ''}: {finding.message}"
        for finding, window in evidence
    ]
    note = "windows of the findings"
    yield track("Evidence", Kind.EVIDENCE, note, frame, pd.Series(labels))
