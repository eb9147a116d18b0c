"""Which tracks a run has, and what stands on them."""

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from tracekit.analysis.finding import Finding
from tracekit.analysis.intervals import Window, busy, gaps, spans, steady_window
from tracekit.analysis.result import Result
from tracekit.report.panel import Tables
from tracekit.report.rows import of_others, of_target, rows
from tracekit.report.timeline.arrange import Heading, times, track, windows, words
from tracekit.report.timeline.marks import Marks, in_trace
from tracekit.report.timeline.track import Detail, Kind, Timeline, Track

OTHERS_SHOWN = 5
_UNKNOWN_CHANNEL = "channel not stated"
_OWNERS = {"gpu": "GPU times of the trace", "host": "CPU work on the host's clock"}


def timeline(result: Result, tables: Tables) -> Timeline:
    """Lay all that the tables tell of a run on one axis."""
    steady = _steady(tables)
    found = (
        _phases(tables),
        _steps(tables),
        _spans(tables),
        _submissions(tables),
        *_device(tables),
        _idle(tables, steady),
        *_compiler(tables),
        *_driver(tables),
        *_others(tables),
    )
    marked = tuple(one for one in (_evidence(result.findings),) if one)
    shown = (*marked, *(one for one in found if isinstance(one, Track)))
    absences = tuple(dict.fromkeys(one for one in found if isinstance(one, str) and one))
    ends = [int(one.ends.max()) for one in shown]
    begins = [int(one.starts.min()) for one in shown]
    return Timeline(
        begin=min((0, *begins)),
        end=max((1, *ends)),
        tracks=shown,
        steady=steady,
        absences=absences,
    )


def _steady(tables: Tables) -> Window | None:
    phases = rows(tables, "phases")
    own = of_target(tables, "gpu_intervals").frame
    return steady_window(None if phases.absence else phases.frame, own)


def _evidence(findings: tuple[Finding, ...]) -> Track | None:
    shown = [(finding, window) for finding in findings for window in finding.evidence]
    if not shown:
        return None
    frame = pd.DataFrame(
        {
            "start": pd.Series([window.start for _, window in shown], dtype="int64"),
            "duration": pd.Series(
                [window.end - window.start for _, window in shown], dtype="int64"
            ),
        }
    )
    labels = pd.Series([f"{finding.rule}: {finding.message}" for finding, _ in shown])
    return track(Heading("Evidence", Kind.EVIDENCE, "windows of the findings"), frame, labels)


def _phases(tables: Tables) -> Track | str:
    found = rows(tables, "phases")
    if found.absence:
        return f"No phases: {found.absence}."
    heading = Heading("Phases", Kind.PHASES, "marked by the workload")
    return _marked(heading, in_trace(found.frame, found.frame["name"]))


def _steps(tables: Tables) -> Track | str:
    found = rows(tables, "steps")
    if found.absence:
        return f"No steps: {found.absence}."
    marks = in_trace(found.frame, found.frame["phase"].fillna("step"))
    handed = times("until handed over", marks.frame["submitted"])
    return _marked(Heading("Steps", Kind.STEPS, "marked by the workload"), marks, (handed,))


def _spans(tables: Tables) -> Track | str:
    found = rows(tables, "spans")
    if found.absence:
        return ""
    marks = in_trace(found.frame, found.frame["name"].fillna("span"))
    return _marked(Heading("Spans", Kind.STEPS, "within steps, marked by the workload"), marks)


def _marked(heading: Heading, marks: Marks, details: tuple[Detail, ...] = ()) -> Track | str:
    if marks.frame.empty:
        return f"No {heading.name.lower()}: {marks.note}."
    note = "; ".join(filter(None, (heading.note, marks.note)))
    return track(replace(heading, note=note), marks.frame, marks.labels, details)


def _submissions(tables: Tables) -> Track | str:
    found = of_target(tables, "submissions")
    if found.absence:
        return f"No submissions: {found.absence}."
    frame = found.frame
    labels = frame["label"].where(frame["label"].fillna("") != "", frame["event"])
    return track(Heading("Submissions", Kind.SUBMISSIONS, "on the CPU"), frame, labels)


def _device(tables: Tables) -> Iterator[Track | str]:
    found = of_target(tables, "gpu_intervals")
    if found.absence:
        yield f"No work of the target on the device: {found.absence}."
        return
    for channel, part in found.frame.groupby(_channels(found.frame), sort=True):
        name = f"{channel}" if found.clock == "host" else f"GPU {channel}"
        heading = Heading(
            name, Kind.DEVICE, f"the target's; {_OWNERS.get(found.clock, 'clock not stated')}"
        )
        latency = times("from submission to start", part["start_latency"])
        details = (latency,) if (latency.numbers >= 0).any() else ()
        yield track(heading, part, part["label"], details)


def _idle(tables: Tables, steady: Window | None) -> Track | str:
    found = of_target(tables, "gpu_intervals")
    if found.absence or steady is None:
        return ""
    starts, ends = gaps(*spans(found.frame), steady.start, steady.end)
    if not starts.size:
        return f"No idle gaps: the target's work covers all of {steady.name}."
    heading = Heading("Idle gaps", Kind.IDLE, f"nothing of the target runs; within {steady.name}")
    return windows(heading, starts, ends, ("idle",) * starts.size)


def _compiler(tables: Tables) -> Iterator[Track | str]:
    found = of_target(tables, "compiler_activity")
    if found.absence:
        yield f"No compiler activity: {found.absence}."
    else:
        labels = found.frame["program"].fillna(found.frame["compiler"])
        yield track(Heading("Compiler", Kind.COMPILER, "for the target"), found.frame, labels)
    made = rows(tables, "specializations")
    if not made.absence:
        frame = made.frame.assign(start=made.frame["time"], duration=0)
        heading = Heading("New pipelines", Kind.COMPILER, "first use, by the workload's marks")
        yield _marked(heading, in_trace(frame, frame["name"]))


def _driver(tables: Tables) -> Iterator[Track | str]:
    found = rows(tables, "driver_intervals")
    if found.absence:
        yield f"No driver intervals: {found.absence}."
        return
    own = of_target(tables, "driver_intervals")
    frame, note = (found.frame, "all processes") if own.absence else (own.frame, "for the target")
    labels = frame["event"].fillna(frame["label"])
    yield track(Heading("Driver", Kind.DRIVER, note), frame, labels)


def _others(tables: Tables) -> Iterator[Track | str]:
    found = of_others(tables, "gpu_intervals")
    if found.absence:
        return
    names = found.frame["process"].fillna("process not stated").astype(str)
    groups = {str(name): part for name, part in found.frame.groupby(names)}
    ranked = sorted(groups, key=lambda name: (-busy(*spans(groups[name])), name))
    for name in ranked[:OTHERS_SHOWN]:
        yield _other(name, groups[name])
    if rest := ranked[OTHERS_SHOWN:]:
        yield _other(f"{len(rest)} more processes", pd.concat([groups[name] for name in rest]))


def _other(name: str, frame: pd.DataFrame) -> Track:
    details = (words("process", frame["process"]), words("channel", frame["channel"]))
    return track(Heading(name, Kind.OTHERS, "another process"), frame, frame["label"], details)


def _channels(frame: pd.DataFrame) -> pd.Series:
    return frame["channel"].fillna(_UNKNOWN_CHANNEL).astype(str)
