"""Whether a night's numbers are a regression, and how sure that is."""

from tracekit.history.gate.changes import changes
from tracekit.history.gate.entry import Quantity, judge_entry
from tracekit.history.gate.judge import judge
from tracekit.history.gate.outcomes import (
    findings_outcome,
    needs_second_sitting,
    night_outcome,
    outcome_of,
)
from tracekit.history.gate.policy import POLICY, Policy

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
