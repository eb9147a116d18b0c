"""Parity: paged attention against dense attention, and both against float64, over a grid."""

from tracekit.lab.parity.cases import GRID, Case, Heads, named
from tracekit.lab.parity.compare import Outcome, Parity, run_parity
from tracekit.lab.parity.document import document, repeat, rows
from tracekit.lab.parity.implementations import IMPLEMENTATIONS, Implementation, available, chosen

__all__ = [
    "GRID",
    "IMPLEMENTATIONS",
    "Case",
    "Heads",
    "Implementation",
    "Outcome",
    "Parity",
    "available",
    "chosen",
    "document",
    "named",
    "repeat",
    "rows",
    "run_parity",
]
