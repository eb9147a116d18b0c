"""Findings that rest on values of which it is not sure how a bundle stores them."""

from collections.abc import Iterable
from dataclasses import replace

from tracekit.analysis.finding import Finding
from tracekit.analysis.given import recorded_tables
from tracekit.analysis.rules import RULES
from tracekit.tables.bundle.cells.notes import uncompared

_COUNTERS = "gpu_counters"
_STATES = "gpu_performance_states"
_VALUES = frozenset(
    {
        ("gpu-counter-value", "value"),
        ("metal-gpu-counter-intervals", "value"),
        ("metal-gpu-counter-intervals", "percent-value"),
    }
)
_NAMES = frozenset({("gpu-performance-state-intervals", "gpu-performance-state")})
_UNSURE = (
    " {what} were read by an encoding that was never compared with an export: before acting on it, "
    "compare some with an export or in Instruments."
)


def doubted(findings: Iterable[Finding], warnings: Iterable[str]) -> list[Finding]:
    """Return the findings; those that rest on values that are not surely read say so.

    Such values are those of GPU counters, and the names of the GPU's performance states.

    Args:
        findings: What rules of tracekit found.
        warnings: What readers said of the tables that were read.
    """
    unsure = uncompared(warnings)
    told = list(findings)
    if unsure & _VALUES:
        told = [_told(one, "The values of the counters", _counts(one)) for one in told]
    if unsure & _NAMES:
        told = [_told(one, "The names of performance states", _is_seen(one)) for one in told]
    return told


def _told(finding: Finding, what: str, rests: bool) -> Finding:
    message = finding.message + _UNSURE.format(what=what)
    return replace(finding, message=message) if rests else finding


def _counts(finding: Finding) -> bool:
    """Tell whether the rule judges GPU counters."""
    rule = RULES.get(finding.rule)
    return rule is not None and _COUNTERS in recorded_tables(rule.judge)


def _is_seen(finding: Finding) -> bool:
    """Tell whether performance states are what shows it; many rules look at them besides."""
    return any(one.table == _STATES for one in finding.evidence)
