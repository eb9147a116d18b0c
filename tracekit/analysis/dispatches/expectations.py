"""Expectations of a dispatch, such as `threadgroup==256`: read, and compared with a capture."""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tracekit.analysis.dispatches.answers import AnswerState, DispatchAnswer
from tracekit.analysis.dispatches.quantities import (
    AXES,
    MEANINGS,
    OF_BINDINGS,
    RecordedQuantity,
    Value,
    measure_dispatch,
)
from tracekit.analysis.dispatches.recorded import RecordedDispatch
from tracekit.base import UsageError, suggest_name

CONTAINS: Final = "~"
_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    CONTAINS: operator.contains,
}
_ORDERING = frozenset({"<=", ">=", "<", ">"})
_SELECTING = frozenset({"dispatch", "function", "label"})
_SIZES = frozenset({"threadgroup", "threads", "groups"})
_OF_TEXT = frozenset({"function", "label"})
_FORM = re.compile(r"\s*([a-z][\w.$-]*)\s*(==|!=|<=|>=|<|>|~)\s*(.+?)\s*", re.IGNORECASE)
_EXAMPLE = "An expectation is like 'threadgroup==256', 'spills==0' or 'function~paged_decode'."


@dataclass(frozen=True)
class Expectation:
    """A quantity, an operator and the expected value; `~` expects a part of a text.

    Those of `dispatch`, `function` and `label` choose the dispatches that all others are about.
    """

    quantity: str
    operator: str
    value: Value

    def __str__(self) -> str:
        """Return the expectation as it is written."""
        return f"{self.quantity}{self.operator}{self.value}"

    @property
    def is_selecting(self) -> bool:
        """Whether it chooses dispatches."""
        return self.quantity in _SELECTING

    def holds(self, value: Value) -> bool:
        """Tell whether a recorded value is as expected; a text is never less than a number."""
        expected = self.value
        if self.operator == CONTAINS or isinstance(value, str) or isinstance(expected, str):
            if self.operator in _ORDERING:
                return False
            return _OPERATORS[self.operator](str(value), str(expected))
        return _OPERATORS[self.operator](value, expected)


def read_expectation(text: str, names: Sequence[str] | None = None) -> Expectation:
    """Return an expectation from its text; `names` are the quantities, by default a dispatch's.

    Raises:
        UsageError: It has another form, or names an unknown quantity.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is not an expectation.", hint=_EXAMPLE)
    quantity, operator_text, value_text = match.groups()
    if names is None:
        _require_quantity(quantity)
    elif quantity not in names:
        raise UsageError(
            f"A launch has no quantity {quantity!r}.", hint=suggest_name(quantity, names)
        )
    value: Value = value_text
    if quantity not in _OF_TEXT:
        value = _read_value(value_text)
    if operator_text in _ORDERING and isinstance(value, str):
        raise UsageError(
            f"The expectation {text!r} compares a size with the text {value!r}.",
            hint="Give a number, such as 16384, or use ==, != or ~.",
        )
    return Expectation(quantity, operator_text, value)


def _require_quantity(name: str) -> None:
    head, _, of_head = name.partition(".")
    if head in {"bindings", "constants"} and of_head:
        return
    is_side = head in _SIZES and of_head in AXES
    if name not in MEANINGS and not is_side:
        names = (*MEANINGS, "constants.NAME", "bindings.NAME")
        raise UsageError(f"A dispatch has no quantity {name!r}.", hint=suggest_name(name, names))


def _read_value(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


@dataclass(frozen=True)
class DispatchCheck:
    """The answers to a set of expectations for one dispatch.

    `dispatch` is None if no dispatch of the capture was chosen.
    """

    dispatch: RecordedDispatch | None
    answers: tuple[DispatchAnswer, ...]


def check_dispatches(
    dispatches: Sequence[RecordedDispatch], expectations: Sequence[Expectation]
) -> list[DispatchCheck]:
    """Compare each chosen dispatch with all expectations; without a choice, every dispatch.

    If no dispatch is chosen, the one check says so and is not as expected.
    """
    selecting: list[Expectation] = []
    expected: list[Expectation] = []
    for expectation in expectations:
        if expectation.is_selecting:
            selecting.append(expectation)
        else:
            expected.append(expectation)
    checks: list[DispatchCheck] = []
    for dispatch in dispatches:
        quantities = measure_dispatch(dispatch)
        if all(_is_met(item, quantities) for item in selecting):
            answers = [compare_quantity(item, quantities) for item in (*selecting, *expected)]
            checks.append(DispatchCheck(dispatch, tuple(answers)))
    if checks:
        return checks
    return [DispatchCheck(None, (_explain_no_choice(selecting, dispatches),))]


def _is_met(expectation: Expectation, quantities: Mapping[str, RecordedQuantity]) -> bool:
    value = quantities[expectation.quantity].value
    return value is not None and expectation.holds(value)


def compare_quantity(
    expectation: Expectation, quantities: Mapping[str, RecordedQuantity]
) -> DispatchAnswer:
    """Answer one expectation from the quantities of a dispatch, or of a launch."""
    topic = str(expectation)
    quantity = quantities.get(expectation.quantity)
    if quantity is None:
        return _explain_unknown_name(expectation, quantities)
    if quantity.value is None:
        return DispatchAnswer(topic, "", AnswerState.NOT_RECORDED, quantity.reason)
    value_text = format_value(quantity.value)
    if expectation.holds(quantity.value):
        return DispatchAnswer(topic, value_text, AnswerState.AS_EXPECTED)
    return DispatchAnswer(topic, value_text, AnswerState.DEVIATING)


def _explain_unknown_name(
    expectation: Expectation, quantities: Mapping[str, RecordedQuantity]
) -> DispatchAnswer:
    """Answer an expectation of an argument or a constant that the dispatch does not have."""
    head, _, argument_name = expectation.quantity.partition(".")
    noun = "a constant"
    state = AnswerState.NOT_RECORDED
    if head == "bindings":
        noun = "an argument"
        state = AnswerState.DEVIATING
    for fact in OF_BINDINGS:
        argument_name = argument_name.removesuffix(f".{fact}")
    names: list[str] = []
    for quantity in quantities:
        quantity_head, _, quantity_rest = quantity.partition(".")
        if quantity_head == head and "." not in quantity_rest:
            names.append(quantity_rest)
    name_list = ", ".join(names) or "none"
    note = f"the dispatch does not have {noun} {argument_name}; it has: {name_list}."
    return DispatchAnswer(str(expectation), "", state, note)


def _explain_no_choice(
    selecting: Iterable[Expectation], dispatches: Sequence[RecordedDispatch]
) -> DispatchAnswer:
    topic = " ".join(str(item) for item in selecting) or "dispatches"
    functions = dict.fromkeys(dispatch.function or "(no name)" for dispatch in dispatches)
    function_list = ", ".join(functions) or "none"
    note = f"no dispatch of the capture is so; its functions are: {function_list}."
    return DispatchAnswer(topic, "", AnswerState.DEVIATING, note)


def format_value(value: Value) -> str:
    """Return a value in words: whole numbers without a fraction."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
