"""Where the phases of a run lie: when each begins, and the steady window."""

from tracekit.analysis.intervals import Window, steady_window
from tracekit.report.charts.course import Moment
from tracekit.report.panel import Tables
from tracekit.report.rows import of_target, rows


def phase_begins(tables: Tables) -> list[Moment]:
    """Return when each phase begins, with its name."""
    phases = rows(tables, "phases").frame
    return [
        Moment(float(at), str(name))
        for name, at in zip(phases["name"], phases["start"], strict=True)
    ]


def marked_window(tables: Tables) -> Window | None:
    """Return the steady window that the workload marked; None where it marked none."""
    phases = rows(tables, "phases").frame
    return steady_window(phases, phases.iloc[:0])


def steady_or_busy_window(tables: Tables) -> Window | None:
    """Return the marked window, else the time from the target's first to its last interval."""
    return steady_window(rows(tables, "phases").frame, of_target(tables, "gpu_intervals").frame)
