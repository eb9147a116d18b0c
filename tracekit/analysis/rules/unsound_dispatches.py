"""`unsound-dispatches`: dispatches of a GPU frame capture that are launched in a wrong way."""

from collections.abc import Sequence

from tracekit.analysis.dispatches.answers import AnswerState, DispatchAnswer
from tracekit.analysis.dispatches.checklist import check_dispatch
from tracekit.analysis.dispatches.recorded import RecordedDispatch
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.rule import Fact, Finding, Findings, finding
from tracekit.tables import Severity

_SPILLS = "spills"
_BINDING = "binding "
_SHOWN = 3


def unsound_dispatches(captured: tuple[RecordedDispatch, ...]) -> Findings:
    """Dispatches are launched in a way that cannot be meant.

    What it looks for:
        The dispatch check of each dispatch of a GPU frame capture. It fires for arguments that the
        kernel uses and that are not bound, misaligned or shorter than one element; for threadgroups
        that are empty, larger than 1,024 threads or not a multiple of the SIMD-group; for more than
        32 KiB of threadgroup memory; and for spilled registers. A dispatch of one threadgroup of
        fewer than 32 threads is left out.

    Why it matters:
        A kernel with a wrong binding computes wrong results or none. Lanes without a thread and
        spilled registers cost time in every threadgroup.

    What to do:
        Bind every argument that the kernel uses, at a multiple of its alignment, with at least one
        element behind the offset. Give threadgroups a multiple of 32 threads, at most 1,024, and
        at most 32 KiB of threadgroup memory. Keep fewer values alive in a thread that spills.

    When it abstains:
        When the recording is not a GPU frame capture: only a capture holds dispatches.
    """
    faults: dict[Mechanism, list[tuple[RecordedDispatch, DispatchAnswer]]] = {}
    for dispatch in captured:
        for answer in check_dispatch(dispatch):
            if answer.state is AnswerState.DEVIATING:
                faults.setdefault(_find_lever(answer), []).append((dispatch, answer))
    for lever, fault_list in faults.items():
        yield _describe(lever, fault_list, len(captured))


def _find_lever(answer: DispatchAnswer) -> Mechanism:
    if answer.topic.startswith(_BINDING):
        return Mechanism.WRONG_BINDINGS
    if answer.topic == _SPILLS:
        return Mechanism.SPILLS
    return Mechanism.UNSOUND_LAUNCH


def _describe(
    lever: Mechanism, faults: Sequence[tuple[RecordedDispatch, DispatchAnswer]], dispatch_count: int
) -> Finding:
    numbers: set[int] = set()
    functions: dict[str, None] = {}
    for dispatch, _ in faults:
        numbers.add(dispatch.index)
        functions[dispatch.function or "a function without a name"] = None
    listed = ", ".join([*functions][:_SHOWN])
    first_dispatch, first_answer = faults[0]
    facts = (
        Fact("dispatches", len(numbers)),
        Fact("all_dispatches", dispatch_count),
        Fact("functions", listed),
        Fact("more_functions", max(0, len(functions) - _SHOWN)),
        Fact("first", first_dispatch.index),
        Fact("topic", first_answer.topic),
        Fact("value", first_answer.value),
        Fact("reason", first_answer.note),
    )
    severity = Severity.WARNING
    if lever is Mechanism.WRONG_BINDINGS:
        severity = Severity.ERROR
    return finding(wording="unsound-dispatches", facts=facts, lever=lever, severity=severity)
