"""The differences of the dispatches of two captures, such as before and after a tile change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracekit.analysis.dispatches.quantities import Value, measure_dispatch
from tracekit.analysis.dispatches.recorded import RecordedDispatch

_OF_PLACE = frozenset({"dispatch", "label"})
_BUFFER = ".buffer"  # a number of a capture, which means nothing in another one
_LINE = "instructions at "


@dataclass(frozen=True)
class ChangedQuantity:
    """A quantity of two dispatches; None on the side that does not have it."""

    name: str
    value_before: Value | None
    value_after: Value | None


@dataclass(frozen=True)
class DispatchDifference:
    """Two dispatches and the quantities in which they differ; empty if none differs.

    `index_before` and `index_after` are the numbers of the dispatches, None for one without a
    counterpart.
    """

    index_before: int | None
    index_after: int | None
    function: str
    changes: tuple[ChangedQuantity, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether both sides have the dispatch, with the same recorded facts."""
        is_paired = self.index_before is not None and self.index_after is not None
        return is_paired and not self.changes


def compare_dispatches(
    dispatches_before: Sequence[RecordedDispatch], dispatches_after: Sequence[RecordedDispatch]
) -> list[DispatchDifference]:
    """Compare two captures: the dispatches of one function by their order.

    Functions that only one side has are paired by their order too, as a specialization with
    another name; those that are left have no counterpart.
    """
    pairs = _pair(dispatches_before, dispatches_after)
    return [_compare_pair(first, second) for first, second in pairs]


_Pair = tuple[RecordedDispatch | None, RecordedDispatch | None]


def _pair(
    dispatches_before: Sequence[RecordedDispatch], dispatches_after: Sequence[RecordedDispatch]
) -> list[_Pair]:
    by_function = _group_by_function(dispatches_after)
    pairs: list[_Pair] = []
    single_before: list[RecordedDispatch] = []
    for dispatch in dispatches_before:
        counterparts = by_function.get(dispatch.function)
        if counterparts:
            pairs.append((dispatch, counterparts.pop(0)))
        else:
            single_before.append(dispatch)
    single_after: list[RecordedDispatch] = []
    for counterparts in by_function.values():
        single_after += counterparts
    functions_before = {dispatch.function for dispatch in dispatches_before}
    for dispatch in sorted(single_after, key=lambda item: item.index):
        is_new_name = dispatch.function not in functions_before
        if is_new_name and single_before:
            pairs.append((single_before.pop(0), dispatch))
        else:
            pairs.append((None, dispatch))
    for dispatch in single_before:
        pairs.append((dispatch, None))  # noqa: PERF401
    pairs.sort(key=_place_of)
    return pairs


def _group_by_function(
    dispatches: Sequence[RecordedDispatch],
) -> dict[str, list[RecordedDispatch]]:
    groups: dict[str, list[RecordedDispatch]] = {}
    for dispatch in dispatches:
        groups.setdefault(dispatch.function, []).append(dispatch)
    return groups


def _place_of(pair: _Pair) -> tuple[int, int]:
    first, second = pair
    if first is not None:
        return 0, first.index
    return 1, 0 if second is None else second.index


def _compare_pair(
    dispatch_before: RecordedDispatch | None, dispatch_after: RecordedDispatch | None
) -> DispatchDifference:
    if dispatch_before is None or dispatch_after is None:
        lone_dispatch = dispatch_before or dispatch_after
        function = "" if lone_dispatch is None else lone_dispatch.function
        return DispatchDifference(_index_of(dispatch_before), _index_of(dispatch_after), function)
    facts_before = _list_facts(dispatch_before)
    facts_after = _list_facts(dispatch_after)
    changes: list[ChangedQuantity] = []
    for name in dict.fromkeys([*facts_before, *facts_after]):
        value_before = facts_before.get(name)
        value_after = facts_after.get(name)
        if value_before != value_after:
            changes.append(ChangedQuantity(name, value_before, value_after))
    return DispatchDifference(
        dispatch_before.index, dispatch_after.index, dispatch_after.function, tuple(changes)
    )


def _index_of(dispatch: RecordedDispatch | None) -> int | None:
    return None if dispatch is None else dispatch.index


def _list_facts(dispatch: RecordedDispatch) -> Mapping[str, Value | None]:
    """Return the recorded facts that can be compared between captures, by name."""
    facts: dict[str, Value | None] = {}
    for name, quantity in measure_dispatch(dispatch).items():
        if name not in _OF_PLACE and not name.endswith(_BUFFER):
            facts[name] = quantity.value
    for line in dispatch.lines:
        facts[f"{_LINE}{line.file}:{line.line}"] = line.instructions
    return facts
