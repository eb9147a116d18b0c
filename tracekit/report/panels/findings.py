"""What was found, the worst first, each with its advice and where to see it."""

from tracekit.analysis import Result, Severity, saving_range
from tracekit.report.panel import Context, Tables, panel

MOST_WINDOWS = 8
_SIGNS = {Severity.ERROR: "✕", Severity.WARNING: "▲", Severity.NOTE: "●"}


@panel("Findings")
def findings(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """List the findings, in the order of the result: the worst first."""
    return {
        "findings": result.findings,
        "saving_range": saving_range,
        "signs": _SIGNS,
        "most": MOST_WINDOWS,
        "checked": len(result.checks),
    }
