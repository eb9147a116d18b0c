"""Findings that rest on values of which it is not sure how a bundle stores them."""

from collections.abc import Iterable
from dataclasses import replace

from tracekit.analysis.finding import Finding
from tracekit.analysis.given import recorded_tables
from tracekit.analysis.rules import RULES
from tracekit.tables.bundle.cells.notes import uncompared

_COUNTERS = "gpu_counters"
_VALUES = {
    ("gpu-counter-value", "value"),
    ("metal-gpu-counter-intervals", "value"),
    ("metal-gpu-counter-intervals", "percent-value"),
}
_UNSURE = (
    " The values of the counters were read by an encoding that was never compared with an export: "
    "before acting on it, compare some with an export or in Instruments."
)


def doubted(findings: Iterable[Finding], warnings: Iterable[str]) -> list[Finding]:
    """Return the findings; those that GPU counters prove say so where these are not surely read.

    Args:
        findings: What rules of tracekit found.
        warnings: What readers said of the tables that were read.
    """
    if not uncompared(warnings) & _VALUES:
        return [*findings]
    return [
        replace(one, message=one.message + _UNSURE) if _counts(one.rule) else one
        for one in findings
    ]


def _counts(rule: str) -> bool:
    return rule in RULES and _COUNTERS in recorded_tables(RULES[rule].judge)
