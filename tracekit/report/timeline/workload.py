"""What the workload told of itself: its phases, its steps, and what it did within them."""

from dataclasses import replace

from tracekit.report.panel import Tables
from tracekit.report.rows import rows
from tracekit.report.timeline.arrange import Heading, times, track
from tracekit.report.timeline.marks import Marks, in_trace
from tracekit.report.timeline.track import Detail, Kind, Track
from tracekit.workload.workload import REFERENCE


def phases(tables: Tables) -> Track | str:
    """Make the track of phases."""
    found = rows(tables, "phases")
    if found.absence:
        return f"No phases: {found.absence}."
    heading = Heading("Phases", Kind.PHASES, "marked by the workload")
    return marked(heading, in_trace(found.frame, found.frame["name"]))


def steps(tables: Tables) -> Track | str:
    """Make the track of steps."""
    found = rows(tables, "steps")
    if found.absence:
        return f"No steps: {found.absence}."
    marks = in_trace(found.frame, found.frame["phase"].fillna("step"))
    handed = times("until handed over", marks.frame["submitted"])
    return marked(Heading("Steps", Kind.STEPS, "marked by the workload"), marks, (handed,))


def spans_told(tables: Tables) -> Track | str:
    """Make the track of spans; a workload need not tell any.

    Reference work of the worker's own is left out: the levels show how long it took.
    """
    told = rows(tables, "spans").frame
    told = told[told["name"] != REFERENCE]
    if told.empty:
        return ""
    marks = in_trace(told, told["name"].fillna("span"))
    return marked(Heading("Spans", Kind.STEPS, "within steps, marked by the workload"), marks)


def marked(heading: Heading, marks: Marks, details: tuple[Detail, ...] = ()) -> Track | str:
    """Make a track of marks, or say that all of them lie before the trace."""
    if marks.frame.empty:
        return f"No {heading.name.lower()}: {marks.note}."
    note = "; ".join(filter(None, (heading.note, marks.note)))
    return track(replace(heading, note=note), marks.frame, marks.labels, details)
