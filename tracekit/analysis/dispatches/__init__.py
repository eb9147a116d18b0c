"""The dispatches of a GPU frame capture: their facts, and whether these are as expected."""

from tracekit.analysis.dispatches.answers import AnswerState, DispatchAnswer
from tracekit.analysis.dispatches.checklist import check_dispatch
from tracekit.analysis.dispatches.differences import DispatchDifference, compare_dispatches
from tracekit.analysis.dispatches.expectations import (
    DispatchCheck,
    Expectation,
    check_dispatches,
    compare_quantity,
    read_expectation,
)
from tracekit.analysis.dispatches.quantities import RecordedQuantity
from tracekit.analysis.dispatches.recorded import (
    TABLES,
    PipelineLimits,
    RecordedDispatch,
    describe_size,
    list_dispatches,
)

__all__ = [
    "TABLES",
    "AnswerState",
    "DispatchAnswer",
    "DispatchCheck",
    "DispatchDifference",
    "Expectation",
    "PipelineLimits",
    "RecordedDispatch",
    "RecordedQuantity",
    "check_dispatch",
    "check_dispatches",
    "compare_dispatches",
    "compare_quantity",
    "describe_size",
    "list_dispatches",
    "read_expectation",
]
