"""The dispatch check that the guides ask for before a change to a kernel is kept.

Some answers hold for every kernel: a threadgroup is a multiple of the SIMD-group and at most 1,024
threads, all used arguments are bound and aligned, nothing is spilled. All others are facts.
"""

from collections.abc import Iterator

from tracekit.analysis.dispatches.answers import AnswerState, DispatchAnswer
from tracekit.analysis.dispatches.quantities import (
    NO_AIR,
    NO_CONSTANT,
    NO_LIMIT,
    NO_STATISTICS,
    find_shared_writes,
)
from tracekit.analysis.dispatches.recorded import (
    MIX,
    BoundArgument,
    RecordedDispatch,
    describe_size,
)
from tracekit.base import units
from tracekit.workload import threadgroups

_SHOWN_LINES = 3
ASKED = "as Metal said of the captured text, compiled anew."
NOT_SEEN = "read as public descriptions say; no real capture has shown such a record."


def check_dispatch(dispatch: RecordedDispatch) -> tuple[DispatchAnswer, ...]:
    """Return the answers about one dispatch, in the order of the guides' list."""
    return (
        *_check_specialization(dispatch),
        *_check_threadgroup(dispatch),
        _check_grid(dispatch),
        _check_memory(dispatch),
        *(check_argument(argument) for argument in dispatch.arguments),
        *_note_shared_writes(dispatch),
        _note_barriers(dispatch),
        *_check_registers(dispatch),
        *_note_instructions(dispatch),
        *_note_evidence(dispatch),
    )


def _note_evidence(dispatch: RecordedDispatch) -> Iterator[DispatchAnswer]:
    """Name the facts that are read as public descriptions say, and were in no real capture."""
    if dispatch.unseen:
        names = ", ".join(dispatch.unseen)
        yield DispatchAnswer("read, not seen", names, AnswerState.RECORDED, NOT_SEEN)


def _check_specialization(dispatch: RecordedDispatch) -> Iterator[DispatchAnswer]:
    if dispatch.function:
        yield DispatchAnswer("function", dispatch.function, AnswerState.RECORDED)
    else:
        note = "the capture does not name the function of this pipeline."
        yield DispatchAnswer("function", "", AnswerState.NOT_RECORDED, note)
    if dispatch.constants:
        names = ", ".join(dispatch.constants)
        yield DispatchAnswer("function constants", names, AnswerState.NOT_RECORDED, NO_CONSTANT)


def _check_threadgroup(dispatch: RecordedDispatch) -> Iterator[DispatchAnswer]:
    threads = dispatch.group_threads
    size = describe_size(dispatch.group)
    value = f"{size} = {threads:,} threads"
    idle_lanes = -threads % threadgroups.SIMDGROUP
    if not threads:
        yield DispatchAnswer("threadgroup", value, AnswerState.DEVIATING, "it has no threads.")
    elif threads > threadgroups.MOST_THREADS:
        note = f"more than the {threadgroups.MOST_THREADS:,} threads that Apple silicon allows."
        yield DispatchAnswer("threadgroup", value, AnswerState.DEVIATING, note)
    elif idle_lanes and dispatch.group_count == 1 and threads < threadgroups.SIMDGROUP:
        note = f"the whole grid: {threads} of the {threadgroups.SIMDGROUP} lanes of a SIMD-group."
        yield DispatchAnswer("threadgroup", value, AnswerState.RECORDED, note)
    elif idle_lanes:
        lanes = f"{idle_lanes} lanes of the last SIMD-group idle"
        note = f"not a multiple of {threadgroups.SIMDGROUP}: {lanes}."
        yield DispatchAnswer("threadgroup", value, AnswerState.DEVIATING, note)
    else:
        note = f"a multiple of {threadgroups.SIMDGROUP}, at most {threadgroups.MOST_THREADS:,}."
        yield DispatchAnswer("threadgroup", value, AnswerState.AS_EXPECTED, note)
    yield _check_limit(dispatch)


def _check_limit(dispatch: RecordedDispatch) -> DispatchAnswer:
    topic = "threads that the pipeline allows"
    limits = dispatch.limits
    if limits.most_threads is None:
        note = NO_LIMIT
        if limits.reason:
            note = f"Metal was asked, without an answer: {limits.reason}."
        return DispatchAnswer(topic, "", AnswerState.NOT_RECORDED, note)
    value = f"{limits.most_threads:,}"
    if limits.execution_width is not None:
        value = f"{value}, in SIMD-groups of {limits.execution_width}"
    if dispatch.group_threads > limits.most_threads:
        note = f"the threadgroup has {dispatch.group_threads:,}; {ASKED}"
        return DispatchAnswer(topic, value, AnswerState.DEVIATING, note)
    return DispatchAnswer(topic, value, AnswerState.AS_EXPECTED, ASKED)


def _check_grid(dispatch: RecordedDispatch) -> DispatchAnswer:
    size = describe_size(dispatch.groups)
    value = f"{size} = {dispatch.group_count:,} threadgroups"
    if not dispatch.group_count:
        return DispatchAnswer("grid", value, AnswerState.DEVIATING, "it launches no threadgroup.")
    partial = dispatch.partial_group_count
    if partial:
        grid = describe_size(dispatch.grid)
        note = f"partial: {partial:,}, because the grid of {grid} threads does not divide."
        return DispatchAnswer("grid", value, AnswerState.RECORDED, note)
    return DispatchAnswer("grid", value, AnswerState.RECORDED, "all are whole.")


def _check_memory(dispatch: RecordedDispatch) -> DispatchAnswer:
    if dispatch.memory is None or dispatch.static_memory is None:
        note = f"The encoder set {units.size(dispatch.dynamic_memory)}; {NO_AIR}"
        return DispatchAnswer("threadgroup memory", "", AnswerState.NOT_RECORDED, note)
    value = f"{dispatch.memory:,} of {threadgroups.MOST_BYTES:,} bytes"
    parts = f"{dispatch.static_memory:,} declared, {dispatch.dynamic_memory:,} set"
    if dispatch.memory > threadgroups.MOST_BYTES:
        return DispatchAnswer(
            "threadgroup memory", value, AnswerState.DEVIATING, f"too much: {parts}."
        )
    if not dispatch.memory:
        return DispatchAnswer(
            "threadgroup memory", value, AnswerState.AS_EXPECTED, "the kernel uses none."
        )
    fitting = threadgroups.MOST_BYTES // dispatch.memory
    plural = "" if fitting == 1 else "s"
    room = units.size(threadgroups.MOST_BYTES)
    note = f"{parts}; {room} would hold {fitting:,} such threadgroup{plural}."
    return DispatchAnswer("threadgroup memory", value, AnswerState.AS_EXPECTED, note)


def check_argument(argument: BoundArgument) -> DispatchAnswer:
    """Return the answer about one argument: bound, aligned and long enough, if it is used."""
    topic = f"binding {argument.title}"
    value = describe_argument(argument)
    if not argument.is_bound:
        return _answer_unbound(topic, value, argument.is_active)
    fault = _find_fault(argument)
    if fault:
        return DispatchAnswer(topic, value, AnswerState.DEVIATING, fault)
    if argument.is_active is None:
        note = "bound; the capture does not tell whether the kernel uses it."
        return DispatchAnswer(topic, value, AnswerState.RECORDED, note)
    if not argument.is_active:
        return DispatchAnswer(
            topic, value, AnswerState.RECORDED, "bound, and the kernel does not use it."
        )
    return DispatchAnswer(topic, value, AnswerState.AS_EXPECTED)


def _answer_unbound(topic: str, value: str, is_active: bool | None) -> DispatchAnswer:
    if is_active is None:
        note = "not bound; the capture does not tell whether the kernel uses it."
        return DispatchAnswer(topic, value, AnswerState.NOT_RECORDED, note)
    if is_active:
        return DispatchAnswer(
            topic, value, AnswerState.DEVIATING, "the kernel uses it, and it is not bound."
        )
    return DispatchAnswer(topic, value, AnswerState.AS_EXPECTED, "the kernel does not use it.")


def _find_fault(argument: BoundArgument) -> str:
    """Return the reason why a bound argument cannot work; empty if none is known."""
    place = argument.address
    if place is None:
        place = argument.offset
    if argument.alignment and place is not None and place % argument.alignment:
        return (
            f"it begins {place % argument.alignment} bytes after a multiple of its alignment, "
            f"{argument.alignment}."
        )
    if argument.length is None or argument.offset is None:
        return ""
    usable_bytes = argument.length - argument.offset
    if argument.offset and usable_bytes <= 0:
        return f"the offset {argument.offset:,} is past the end of {argument.length:,} bytes."
    if argument.data_size and usable_bytes < argument.data_size:
        return (
            f"only {usable_bytes:,} bytes from the offset on: less than one element of "
            f"{argument.data_size:,}."
        )
    return ""


def describe_argument(argument: BoundArgument) -> str:
    """Return the facts of an argument in words."""
    words = [f"{argument.kind} {argument.index}"]
    described = " ".join(filter(None, (argument.space, argument.type_name)))
    if described:
        words.append(described)
    if argument.access:
        words.append(argument.access.replace("_", " and "))
    if argument.buffer is not None:
        words.append(f"buffer no. {argument.buffer} at {argument.offset or 0:,}")
    if argument.length is not None:
        words.append(f"{argument.length:,} bytes")
    if argument.value is not None:
        words.append(f"value {_write_number(argument.value)}")
    return ", ".join(words)


def _write_number(value: float) -> str:
    return f"{value:,.0f}" if value.is_integer() else f"{value:g}"


def _note_shared_writes(dispatch: RecordedDispatch) -> Iterator[DispatchAnswer]:
    for argument, other in find_shared_writes(dispatch.arguments):
        value = f"{argument.title} and {other.title} share buffer no. {argument.buffer}"
        written_title = argument.title
        if other.is_written:
            written_title = other.title
        note = f"right only if no thread reads the part of {written_title} that another writes."
        yield DispatchAnswer("one buffer, bound twice", value, AnswerState.RECORDED, note)


def _note_barriers(dispatch: RecordedDispatch) -> DispatchAnswer:
    if dispatch.barriers is None or dispatch.loop_barriers is None:
        return DispatchAnswer("barriers", "", AnswerState.NOT_RECORDED, f"Not known: {NO_AIR}")
    value = f"{dispatch.barriers:,} in the kernel, {dispatch.loop_barriers:,} of them in loops"
    note = ""
    if dispatch.encoder_barriers == 1:
        note = "1 memory barrier of the encoder goes before it."
    elif dispatch.encoder_barriers:
        note = f"{dispatch.encoder_barriers:,} memory barriers of the encoder go before it."
    return DispatchAnswer("barriers", value, AnswerState.RECORDED, note)


def _check_registers(dispatch: RecordedDispatch) -> Iterator[DispatchAnswer]:
    counts = dispatch.counts
    if not counts:
        yield DispatchAnswer(
            "registers and spills", "", AnswerState.NOT_RECORDED, f"Not known: {NO_STATISTICS}"
        )
        return
    if "registers" in counts:
        value = f"{counts['registers']:,} temporary, {counts.get('uniform_registers', 0):,} uniform"
        yield DispatchAnswer("registers", value, AnswerState.RECORDED)
    spilled = counts.get("spilled")
    if spilled is None:
        yield DispatchAnswer("spills", "", AnswerState.NOT_RECORDED, f"Not known: {NO_STATISTICS}")
    elif spilled:
        note = "values that have no register go through memory."
        yield DispatchAnswer("spills", f"{spilled:,} bytes a thread", AnswerState.DEVIATING, note)
    else:
        yield DispatchAnswer("spills", "none", AnswerState.AS_EXPECTED)


def _note_instructions(dispatch: RecordedDispatch) -> Iterator[DispatchAnswer]:
    total = dispatch.counts.get("instructions")
    if total is None:
        return
    kinds: list[str] = []
    for name in MIX:
        if dispatch.counts.get(name):
            kinds.append(f"{dispatch.counts[name]:,} {name.replace('_', ' ')}")  # noqa: PERF401
    note = ""
    if kinds:
        note = f"static counts of the compiled code: {', '.join(kinds)}."
    yield DispatchAnswer("instructions", f"{total:,}", AnswerState.RECORDED, note)
    if dispatch.lines:
        line_texts: list[str] = []
        for line in dispatch.lines[:_SHOWN_LINES]:
            line_texts.append(f"{line.instructions:,} at {line.file}:{line.line}")  # noqa: PERF401
        note = "an unrolled loop counts at its first line."
        yield DispatchAnswer(
            "instructions by line", ", ".join(line_texts), AnswerState.RECORDED, note
        )
