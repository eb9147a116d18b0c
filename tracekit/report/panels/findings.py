"""What was found, the worst first, each with its advice and where to see it."""

from collections.abc import Iterable

from tracekit.analysis import Finding, Result, Severity
from tracekit.report.panel import Context, Tables, panel

MOST_WINDOWS = 8
_RANKS = {severity: rank for rank, severity in enumerate(Severity)}
_SIGNS = {Severity.ERROR: "✕", Severity.WARNING: "▲", Severity.NOTE: "●"}


@panel("Findings")
def findings(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """List the findings, ranked."""
    return {
        "findings": ranked(result.findings),
        "signs": _SIGNS,
        "most": MOST_WINDOWS,
        "checked": len(result.checks),
    }


def ranked(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings by severity, then by what they could save; equal ones as they came."""
    return sorted(findings, key=lambda finding: (_RANKS[finding.severity], -(finding.saving or 0)))
