"""The quantities of a dispatch that an expectation may name, and their values."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import prod

from tracekit.analysis.dispatches.recorded import MIX, BoundArgument, RecordedDispatch

Value = int | float | str
NO_AIR = "the capture has no readable AIR of the kernel, which holds it."
NO_STATISTICS = "the capture has no statistics of the compiler for this pipeline."
NO_CONSTANT = (
    "a capture is not known to hold the values of function constants; the name of a specialized "
    "function often shows them, so expect a part of it: function~NAME."
)
NO_LIMIT = (
    "A bundle does not hold the most threads that this pipeline allows "
    "(maxTotalThreadsPerThreadgroup); `tracekit capture --gputrace` asks Metal for them."
)
AXES = ("x", "y", "z")
BOUND = "bound"
UNBOUND = "unbound"


@dataclass(frozen=True)
class RecordedQuantity:
    """A value, or the reason why it was not recorded."""

    value: Value | None
    reason: str = ""


MEANINGS: Mapping[str, str] = {
    "dispatch": "number of the dispatch in the capture",
    "function": "name of the kernel's function",
    "label": "label of the encoder and debug groups around the dispatch",
    "threadgroup": "threads of a threadgroup; .x, .y and .z are its sizes",
    "threads": "threads of the grid; .x, .y and .z are its sizes",
    "groups": "threadgroups of the grid; .x, .y and .z are their numbers",
    "most_threads": "threads of a threadgroup that the pipeline allows, asked of Metal on a Mac",
    "partial_groups": "threadgroups with fewer threads than the others",
    "threadgroup_memory": "bytes of threadgroup memory, declared and set",
    "static_threadgroup_memory": "bytes that the kernel declares",
    "dynamic_threadgroup_memory": "bytes that the encoder set",
    "barriers": "threadgroup barriers in the kernel's code",
    "barriers_in_loops": "those of them in a loop",
    "encoder_barriers": "memory barriers of the encoder before the dispatch",
    "registers": "temporary registers of a thread",
    "uniform_registers": "uniform registers",
    "spills": "bytes that a thread spills",
    "instructions": "instructions of the compiled kernel",
    **{name: f"{name.replace('_', ' ')}, instructions" for name in MIX},
    "shared_writes": "arguments whose buffer another argument writes",
    "unused_bindings": "resources that are bound, and not used by the kernel",
    "missing_bindings": "arguments that the kernel uses, and that are not bound",
}
"""The quantities of each dispatch, by name. `constants.NAME` and `bindings.NAME` come on top."""

OF_BINDINGS = ("offset", "length", "buffer", "access", "alignment", "value")
"""The facts of an argument: `bindings.NAME.offset`. `bindings.NAME` is bound or unbound."""


def measure_dispatch(dispatch: RecordedDispatch) -> dict[str, RecordedQuantity]:
    """Return the quantities of a dispatch by name, those of its arguments and constants too."""
    quantities = {
        "dispatch": RecordedQuantity(dispatch.index),
        "function": RecordedQuantity(dispatch.function),
        "label": RecordedQuantity(dispatch.label),
        **_measure_size("threadgroup", dispatch.group_threads, dispatch.group),
        **_measure_size("threads", prod(dispatch.grid), dispatch.grid),
        **_measure_size("groups", dispatch.group_count, dispatch.groups),
        "most_threads": RecordedQuantity(
            dispatch.limits.most_threads, dispatch.limits.reason or NO_LIMIT
        ),
        "partial_groups": RecordedQuantity(dispatch.partial_group_count),
        "threadgroup_memory": RecordedQuantity(dispatch.memory, NO_AIR),
        "static_threadgroup_memory": RecordedQuantity(dispatch.static_memory, NO_AIR),
        "dynamic_threadgroup_memory": RecordedQuantity(dispatch.dynamic_memory),
        "barriers": RecordedQuantity(dispatch.barriers, NO_AIR),
        "barriers_in_loops": RecordedQuantity(dispatch.loop_barriers, NO_AIR),
        "encoder_barriers": RecordedQuantity(
            dispatch.encoder_barriers, "the capture does not tell."
        ),
        "shared_writes": RecordedQuantity(len(find_shared_writes(dispatch.arguments))),
        "spills": RecordedQuantity(dispatch.counts.get("spilled"), NO_STATISTICS),
    }
    for name in ("registers", "uniform_registers", "instructions", *MIX):
        quantities[name] = RecordedQuantity(dispatch.counts.get(name), NO_STATISTICS)
    quantities |= _measure_use(dispatch.arguments)
    for argument in dispatch.arguments:
        quantities |= _measure_argument(argument)
    for name in dispatch.constants or ():
        quantities.setdefault(f"constants.{name}", RecordedQuantity(None, NO_CONSTANT))
    return quantities


def find_shared_writes(
    arguments: tuple[BoundArgument, ...],
) -> list[tuple[BoundArgument, BoundArgument]]:
    """Return the pairs of arguments with one buffer, of which the kernel may write one.

    Resources that the kernel does not use are left out.
    """
    used_arguments: list[BoundArgument] = []
    for argument in arguments:
        if argument.buffer is None or argument.is_active is False:
            continue
        if argument.is_bound:
            used_arguments.append(argument)
    pairs: list[tuple[BoundArgument, BoundArgument]] = []
    for argument, other in combinations(used_arguments, 2):
        is_written = argument.is_written or other.is_written
        if argument.buffer == other.buffer and is_written:
            pairs.append((argument, other))
    return pairs


def _measure_size(
    name: str, total: int, sizes: tuple[int, int, int]
) -> dict[str, RecordedQuantity]:
    quantities = {name: RecordedQuantity(total)}
    for axis, size in zip(AXES, sizes, strict=True):
        quantities[f"{name}.{axis}"] = RecordedQuantity(size)
    return quantities


def _measure_use(arguments: tuple[BoundArgument, ...]) -> dict[str, RecordedQuantity]:
    unused = 0
    missing = 0
    for argument in arguments:
        if argument.is_active is None:
            reason = "the capture does not tell which arguments the kernel uses."
            unknown = RecordedQuantity(None, reason)
            return {"unused_bindings": unknown, "missing_bindings": unknown}
        unused += argument.is_bound and not argument.is_active
        missing += argument.is_active and not argument.is_bound
    return {
        "unused_bindings": RecordedQuantity(unused),
        "missing_bindings": RecordedQuantity(missing),
    }


def _measure_argument(argument: BoundArgument) -> dict[str, RecordedQuantity]:
    if not argument.name:
        return {}
    name = f"bindings.{argument.name}"
    facts: dict[str, Value | None] = {
        "offset": argument.offset,
        "length": argument.length,
        "buffer": argument.buffer,
        "access": argument.access or None,
        "alignment": argument.alignment,
        "value": argument.value,
    }
    quantities = {name: RecordedQuantity(BOUND if argument.is_bound else UNBOUND)}
    for fact in OF_BINDINGS:
        reason = f"the capture holds no {fact} of {argument.name}."
        quantities[f"{name}.{fact}"] = RecordedQuantity(facts[fact], reason)
    if argument.value is not None:
        quantities[f"constants.{argument.name}"] = RecordedQuantity(argument.value)
    return quantities
