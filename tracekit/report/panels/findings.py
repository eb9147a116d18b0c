"""The findings, the worst first, each with its advice and its evidence."""

from tracekit.analysis import Result
from tracekit.report.panel import Context, Tables, panel
from tracekit.report.panels.verdict import verdict_of
from tracekit.tables import Severity

MOST_WINDOWS = 8
_SIGNS = {Severity.ERROR: "✕", Severity.WARNING: "▲", Severity.NOTE: "●"}


@panel("Findings")
def findings(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """List the findings in the order of the result; the verdict's advice is not repeated."""
    return {
        "findings": result.findings,
        "verdict_advice": verdict_of(result).message,
        "signs": _SIGNS,
        "most": MOST_WINDOWS,
        "checked": len(result.checks),
    }
