"""Whether a night's numbers are a regression, and how sure that is."""

from tracekit.nightly.gate.changes import changes
from tracekit.nightly.gate.entry import Quantity, judge_entry
from tracekit.nightly.gate.judge import judge
from tracekit.nightly.gate.outcomes import (
    findings_outcome,
    needs_second_sitting,
    night_outcome,
    outcome_of,
)
from tracekit.nightly.gate.policy import POLICY, Policy

__all__ = [
    "POLICY",
    "Policy",
    "Quantity",
    "changes",
    "findings_outcome",
    "judge",
    "judge_entry",
    "needs_second_sitting",
    "night_outcome",
    "outcome_of",
]
