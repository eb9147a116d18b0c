"""What was found, the worst first, each with its advice and where to see it."""

from collections.abc import Iterable
from dataclasses import dataclass

from tracekit.analysis import Evidence, Finding, Result, Severity
from tracekit.report.panel import Context, Panel, Tables

MOST_WINDOWS = 8
_RANKS = {severity: rank for rank, severity in enumerate(Severity)}
_SIGNS = {Severity.ERROR: "✕", Severity.WARNING: "▲", Severity.NOTE: "●"}


@dataclass(frozen=True)
class Shown:
    """A finding as the page shows it: `more` windows are not listed."""

    finding: Finding
    sign: str
    windows: tuple[Evidence, ...]
    tables: tuple[str, ...]
    more: int


def context(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """List the findings, ranked."""
    return {
        "findings": [_shown(finding) for finding in ranked(result.findings)],
        "checked": len(result.checks),
    }


def ranked(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings by severity, then by what they could save; equal ones as they came."""
    return sorted(findings, key=lambda one: (_RANKS[one.severity], -(one.saving or 0)))


def _shown(finding: Finding) -> Shown:
    windows = finding.evidence[:MOST_WINDOWS]
    more = len(finding.evidence) - len(windows)
    tables = tuple(dict.fromkeys(one.table for one in finding.evidence))
    return Shown(finding, _SIGNS[finding.severity], windows, tables, more)


findings = Panel("findings", "Findings", context)
