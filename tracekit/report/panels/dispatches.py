"""The dispatch check of a GPU frame capture: each dispatch, and the answers about it."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace

from tracekit import analysis
from tracekit.analysis import Result
from tracekit.base import units
from tracekit.report.panel import DISPATCHES, Context, Tables, panel, rows

FIRST_ROWS = 8
"""The dispatches whose check is on the page at once; those behind them are folded together."""
MOST_ROWS = 60
_OTHERS = ("bindings", "functions", "pipelines", "source_lines", "capture_encoders")
SIGNS = {
    analysis.dispatches.AnswerState.DEVIATING: ("✕", "error"),
    analysis.dispatches.AnswerState.NOT_RECORDED: ("?", "abstained"),
    analysis.dispatches.AnswerState.AS_EXPECTED: ("✓", "passed"),
    analysis.dispatches.AnswerState.RECORDED: ("", "recorded"),
}


@panel("Dispatches of the capture", DISPATCHES, "source_lines", opens_on=(DISPATCHES,))
def dispatches(result: Result, tables: Tables) -> Context | None:  # noqa: ARG001  a panel's signature
    """List the dispatches, equal ones together, with their checks; None without a capture."""
    if rows(tables, DISPATCHES).absence:
        return None
    captured = list_captured(tables)
    entries: list[Context] = []
    deviating = 0
    for group in _group_equal(captured):
        entry = _describe(group)
        entries.append(entry)
        if entry["deviating"]:
            deviating += len(group)
    entries.sort(key=lambda entry: not entry["deviating"])
    functions = {dispatch.function for dispatch in captured}
    dispatch_count = _count(len(captured), "dispatch", "dispatches")
    gist = f"{dispatch_count} of {_count(len(functions), 'kernel')}"
    if deviating:
        gist += f", {units.count(deviating)} not as expected"
    return {
        "listed": entries[:MOST_ROWS],
        "first_rows": FIRST_ROWS,
        "more": max(0, len(entries) - MOST_ROWS),
        "gist": gist,
    }


def list_captured(tables: Tables) -> tuple[analysis.dispatches.RecordedDispatch, ...]:
    """Return the dispatches of a run's capture; empty without one."""
    names = [name for name in (DISPATCHES, *_OTHERS) if not rows(tables, name).absence]
    frames = {name: rows(tables, name).frame for name in names}
    return analysis.dispatches.list_dispatches(frames)


def _group_equal(
    captured: Sequence[analysis.dispatches.RecordedDispatch],
) -> list[list[analysis.dispatches.RecordedDispatch]]:
    """Return the dispatches in groups that differ in their number alone, in order."""
    groups: dict[Hashable, list[analysis.dispatches.RecordedDispatch]] = {}
    for dispatch in captured:
        groups.setdefault(_key_of(dispatch), []).append(dispatch)
    return list(groups.values())


def _key_of(dispatch: analysis.dispatches.RecordedDispatch) -> Hashable:
    """Return the facts that dispatches share if one line shows them; places do not count."""
    arguments = [
        replace(argument, buffer=None, address=None, offset=None) for argument in dispatch.arguments
    ]
    answers = analysis.dispatches.check_dispatch(dispatch)
    states = tuple(answer.state for answer in answers)
    counts = tuple(dispatch.counts.items())
    shape = (dispatch.grid, dispatch.group, dispatch.dynamic_memory, dispatch.static_memory)
    return dispatch.function, dispatch.label, shape, counts, tuple(arguments), states


def _describe(group: Sequence[analysis.dispatches.RecordedDispatch]) -> Context:
    dispatch = group[0]
    answers = analysis.dispatches.check_dispatch(dispatch)
    states = Counter(answer.state for answer in answers)
    memory = "not recorded"
    if dispatch.memory is not None:
        memory = units.size(dispatch.memory)
    return {
        "index": dispatch.index,
        "number": len(group),
        "function": dispatch.function or "not recorded",
        "label": dispatch.label,
        "group": _multiply(dispatch.group),
        "groups": _multiply(dispatch.groups),
        "memory": memory,
        "registers": _count_of(dispatch, "registers"),
        "instructions": _count_of(dispatch, "instructions"),
        "deviating": states[analysis.dispatches.AnswerState.DEVIATING],
        "answers": [_describe_answer(answer) for answer in answers],
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


def _multiply(sizes: tuple[int, int, int]) -> str:
    return " \N{MULTIPLICATION SIGN} ".join(units.count(size) for size in sizes)


def _count(number: int, noun: str, plural: str = "") -> str:
    if number == 1:
        return f"1 {noun}"
    return f"{units.count(number)} {plural or noun + 's'}"
