"""Candidate and reference, measured in turns in one sitting."""

from tracekit.sitting.checks import check
from tracekit.sitting.errors import BudgetSpentError, ParityError
from tracekit.sitting.measuring import measure
from tracekit.sitting.prepared import Learned, Prepared, prepared
from tracekit.sitting.tracing import trace
from tracekit.sitting.values import overhead

__all__ = [
    "BudgetSpentError",
    "Learned",
    "ParityError",
    "Prepared",
    "check",
    "measure",
    "overhead",
    "prepared",
    "trace",
]
