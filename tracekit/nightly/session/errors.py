"""How a sitting can end before it is done: beside the errors of `tracekit.base.errors`, these."""

from tracekit.base.errors import InconclusiveError, ToolError


class ParityError(ToolError):
    """What must hold before anything is measured does not: parity, or a check of the plan."""


class BudgetSpentError(InconclusiveError):
    """The night's time is spent; the pair that was begun is not counted, those before are whole."""
