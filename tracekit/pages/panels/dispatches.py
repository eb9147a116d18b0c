"""The dispatch check of a GPU frame capture: each dispatch, and the answers about it."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from tracekit import analysis
from tracekit.analysis import Result
from tracekit.base import units
from tracekit.pages.panel import DISPATCHES, Context, Tables, panel, rows

FIRST_ROWS = 8
"""The dispatches whose check is on the page at once; those behind them are folded together."""
MOST_ROWS = 60
SIGNS = {
    analysis.dispatches.AnswerState.DEVIATING: ("✕", "error"),
    analysis.dispatches.AnswerState.NOT_RECORDED: ("?", "abstained"),
    analysis.dispatches.AnswerState.AS_EXPECTED: ("✓", "passed"),
    analysis.dispatches.AnswerState.RECORDED: ("", "recorded"),
}


@panel("Dispatches of the capture", DISPATCHES, opens_on=(DISPATCHES,))
def dispatches(result: Result, tables: Tables) -> Context | None:  # noqa: ARG001  a panel's signature
    """List the dispatches, equal ones together, with their checks; None without a capture."""
    if rows(tables, DISPATCHES).absence:
        return None
    captured: tuple[analysis.dispatches.RecordedDispatch, ...] = tables["captured"]
    groups: dict[Hashable, _EqualDispatches] = {}
    for dispatch in captured:
        answers = analysis.dispatches.check_dispatch(dispatch)
        group = groups.setdefault(_key_of(dispatch, answers), _EqualDispatches(dispatch, answers))
        group.number += 1
    ordered = sorted(groups.values(), key=lambda group: not group.is_deviating)
    deviating = sum(group.number for group in ordered if group.is_deviating)
    functions = {dispatch.function for dispatch in captured}
    dispatch_count = analysis.wording.pluralize(len(captured), "dispatch", "dispatches")
    gist = f"{dispatch_count} of {analysis.wording.pluralize(len(functions), 'kernel')}"
    if deviating:
        gist += f", {units.count(deviating)} not as expected"
    return {
        "listed": list(map(_describe, ordered[:MOST_ROWS])),
        "first_rows": FIRST_ROWS,
        "more": max(0, len(ordered) - MOST_ROWS),
        "gist": gist,
    }


@dataclass
class _EqualDispatches:
    """Dispatches that differ in their place alone: the first of them, its answers, their number."""

    first: analysis.dispatches.RecordedDispatch
    answers: tuple[analysis.dispatches.DispatchAnswer, ...]
    number: int = 0

    @property
    def is_deviating(self) -> bool:
        states = [answer.state for answer in self.answers]
        return analysis.dispatches.AnswerState.DEVIATING in states


def _key_of(
    dispatch: analysis.dispatches.RecordedDispatch,
    answers: Sequence[analysis.dispatches.DispatchAnswer],
) -> Hashable:
    """Return the facts that dispatches share if one line shows them; places do not count."""
    arguments = [
        replace(argument, buffer=None, address=None, offset=None) for argument in dispatch.arguments
    ]
    states = tuple(answer.state for answer in answers)
    counts = tuple(dispatch.counts.items())
    shape = (dispatch.grid, dispatch.group, dispatch.dynamic_memory, dispatch.static_memory)
    barriers = dispatch.encoder_barriers
    return dispatch.function, dispatch.label, shape, barriers, counts, tuple(arguments), states


def _describe(group: _EqualDispatches) -> Context:
    dispatch = group.first
    memory = "not recorded"
    if dispatch.memory is not None:
        memory = units.size(dispatch.memory)
    return {
        "index": dispatch.index,
        "number": group.number,
        "function": dispatch.function or "not recorded",
        "label": dispatch.label,
        "group": analysis.dispatches.describe_size(dispatch.group),
        "groups": analysis.dispatches.describe_size(dispatch.groups),
        "memory": memory,
        "registers": _count_of(dispatch, "registers"),
        "instructions": _count_of(dispatch, "instructions"),
        "deviating": group.is_deviating,
        "answers": list(map(_describe_answer, group.answers)),
    }


def _describe_answer(answer: analysis.dispatches.DispatchAnswer) -> Context:
    sign, tone = SIGNS[answer.state]
    return {
        "topic": answer.topic,
        "value": answer.value,
        "note": answer.note,
        "state": str(answer.state),
        "sign": sign,
        "tone": tone,
    }


def _count_of(dispatch: analysis.dispatches.RecordedDispatch, name: str) -> str:
    if name not in dispatch.counts:
        return "not recorded"
    return units.count(dispatch.counts[name])
