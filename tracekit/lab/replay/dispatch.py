"""Run a recorded dispatch again on this processor, and compare it with its recorded result.

The kernel starts from the recorded contents of its buffers, with the recorded sizes and bindings.
Whether contents were taken before or after the work is not established: the result of each recorded
state is compared with each recorded state, and the comparison that fits is named. Contents stay
private: a replay reports numbers of elements, errors and bytes, never values.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tracekit import tables
from tracekit.base import InputError, UsageError
from tracekit.lab.replay.documents import DispatchReplay, ReplayOutcome
from tracekit.lab.replay.judgement import ReplayDoubts, judge_replay
from tracekit.lab.replay.launches import DispatchLauncher
from tracekit.lab.replay.memory import DispatchMemory
from tracekit.lab.replay.source import find_kernel_text, read_kernel_text
from tracekit.lab.verification.metal_file import LaunchWords
from tracekit.lab.verification.verify import DEFECT, ProofVerdict, Question, verify


@dataclass(frozen=True)
class ReplayChoices:
    """The choices of a user.

    `source` is a file with the kernel; None takes it out of the capture. With `partial`, a kernel
    of a file may leave elements as they were. With `is_after`, recorded contents are known to be
    of after the work, so that a difference from them counts. `launch` has the function, template
    arguments, function constants, folders of included files, the bound, leniency and patience.
    """

    dispatch: int | None = None
    source: Path | None = None
    partial: bool = False
    is_after: bool = False
    launch: LaunchWords = field(default_factory=LaunchWords)


def replay_dispatch(bundle: Path, choices: ReplayChoices) -> DispatchReplay:
    """Run a dispatch of a capture again, and compare its result with the recorded one.

    Losses of the capture are reported, whatever the dispatch needs of it.

    Raises:
        UsageError: There is no such dispatch or no source, or the emulator lacks a feature.
        InputError: The capture or the source cannot be read.
        InconclusiveError: The contents of a buffer were not recorded.
        ToolError: There is no compiler here.
    """
    capture = tables.captures.open_capture(bundle)
    tables.losses.report(capture.losses)
    dispatch = _choose(capture, choices.dispatch)
    pipeline = capture.pipelines.get(dispatch.pipeline)
    function = 0 if pipeline is None else pipeline.function
    captured = capture.functions.get(function)
    name = "" if captured is None else captured.name
    if choices.source is None:
        kernel = find_kernel_text(capture, function, choices.launch)
        source = f"the capture ({kernel.file})"
    else:
        kernel = read_kernel_text(choices.source, name, choices.launch)
        source = str(choices.source)
    memory = DispatchMemory(capture, dispatch)
    launcher = DispatchLauncher(kernel, dispatch, memory, choices.launch)
    verification = verify(launcher.make_case())
    shell = DispatchReplay(
        capture=str(bundle),
        dispatch=dispatch.number,
        function=name or kernel.function,
        source=source,
        outcome=ReplayOutcome.DEFECT,
        verdict="",
        reading="",
        arguments=(),
        comparisons=(),
        verdicts=tuple(
            verdict for verdict in verification.verdicts if verdict.question not in _OTHERWISE
        ),
        traffic=verification.traffic,
        model=None,
    )
    defects = [verdict for verdict in shell.verdicts if verdict.outcome is DEFECT]
    if not verification.kernels:
        return replace(shell, verdict=_describe_defects(defects))
    effects = launcher.find_effects()
    comparisons = launcher.compare(effects)
    replayed = replace(
        shell,
        arguments=tuple(effect.argument for effect in effects),
        comparisons=comparisons,
        verdicts=(*shell.verdicts, launcher.judge_threadgroup_memory()),
        model=launcher.model(capture.machine.get("chip", "")),
    )
    defects = [verdict for verdict in replayed.verdicts if verdict.outcome is DEFECT]
    if defects:
        return replace(replayed, verdict=_describe_defects(defects))
    doubts = ReplayDoubts(
        is_blank=memory.states[0].is_blank(),
        is_partial_allowed=choices.partial or choices.source is None,
        is_after=choices.is_after,
        blank_arguments=launcher.list_blank(effects),
        lone_arguments=launcher.list_lone(effects),
        other_writers=_list_other_writers(capture, dispatch),
    )
    return judge_replay(replayed, doubts)


_OTHERWISE = (Question.WRITTEN, Question.ERROR, Question.TRAFFIC)
"""The questions that a replay answers otherwise: by launches and comparisons of its own."""


def _choose(
    capture: "tables.captures.FrameCapture", number: int | None
) -> "tables.captures.CapturedDispatch":
    dispatches = capture.commands.dispatches
    count = len(dispatches)
    if not count:
        raise InputError(f"{capture.name} has no dispatches.")
    if number is None and count == 1:
        return dispatches[0]
    if number is None or not 0 <= number < count:
        problem = "Several dispatches" if number is None else f"No dispatch {number}"
        raise UsageError(
            f"{problem}: {capture.name} has those from 0 to {count - 1}.",
            hint="Choose one with --dispatch N; `tracekit kernel check` lists them.",
        )
    return dispatches[number]


def _describe_defects(defects: Sequence[ProofVerdict]) -> str:
    defect = defects[0]
    more = ""
    if len(defects) > 1:
        more = f" And {len(defects) - 1} more."
    return f"Defect, {defect.question}: {defect.detail}.{more}"


def _list_other_writers(
    capture: "tables.captures.FrameCapture", dispatch: "tables.captures.CapturedDispatch"
) -> tuple[int, ...]:
    """Return the numbers of other dispatches that may write a buffer of this one."""
    handles = {bound.handle for bound in dispatch.buffers.values() if bound.handle}
    numbers: list[int] = []
    for candidate in capture.commands.dispatches:
        if candidate.number == dispatch.number:
            continue
        for binding in tables.captures.list_bindings(capture, candidate):
            writes = "write" in (binding.access or "write")
            if writes and binding.is_bound and binding.buffer in handles:
                numbers.append(candidate.number)
                break
    return tuple(numbers)


def describe_verdicts(verdicts: Sequence[ProofVerdict]) -> Iterator[str]:
    """Yield a line for each answer, and the place of a defect below it."""
    for verdict in verdicts:
        yield f"  {verdict.question:<30}{verdict.outcome:<13}{verdict.detail}".rstrip()
        for line in verdict.excerpt:
            yield f"      {line}"
