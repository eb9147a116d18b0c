"""Which tracks a run has, from top to bottom."""

import pandas as pd

from tracekit.analysis.result import Result
from tracekit.analysis.rule import Evidence, Finding
from tracekit.report.panel import Tables
from tracekit.report.phases import steady_or_busy_window
from tracekit.report.timeline.arrange import Heading, track
from tracekit.report.timeline.device import compiles, device, drivers, others
from tracekit.report.timeline.idle import idle
from tracekit.report.timeline.readings import readings
from tracekit.report.timeline.states import states
from tracekit.report.timeline.thinning import thinned
from tracekit.report.timeline.track import Kind, Timeline, Track
from tracekit.report.timeline.workload import phases, spans_told, steps


def timeline(result: Result, tables: Tables) -> Timeline:
    """Lay all that the tables tell of a run on one axis."""
    steady = steady_or_busy_window(tables)
    found = (
        phases(tables),
        steps(tables),
        spans_told(tables),
        *device(tables),
        idle(tables, steady),
        *compiles(tables),
        *drivers(tables),
        *states(tables),
        *readings(tables),
        *others(tables),
    )
    marked = tuple(one for one in (_evidence(result.findings),) if one)
    shown = (*marked, *(one for one in found if isinstance(one, Track)))
    absences = tuple(dict.fromkeys(one for one in found if isinstance(one, str) and one))
    ends = [int(one.ends.max()) for one in shown]
    begins = [int(one.starts.min()) for one in shown]
    whole = Timeline(
        begin=min((0, *begins)),
        end=max((1, *ends)),
        tracks=shown,
        steady=steady,
        absences=absences,
    )
    return thinned(whole)


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
    labels = pd.Series([_told(finding, window) for finding, window in shown])
    return track(Heading("Evidence", Kind.EVIDENCE, "windows of the findings"), frame, labels)


def _told(finding: Finding, window: Evidence) -> str:
    note = f" ({window.note})" if window.note else ""
    return f"{finding.rule}{note}: {finding.message}"
