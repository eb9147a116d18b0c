"""Candidate and reference, measured in turns in one sitting."""

from tracekit.nightly.session.checks import check
from tracekit.nightly.session.errors import BudgetSpentError, ParityError
from tracekit.nightly.session.measuring import measure
from tracekit.nightly.session.prepared import Learned, Prepared, prepared
from tracekit.nightly.session.tracing import trace
from tracekit.nightly.session.values import overhead

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
