"""Run a recorded dispatch again on this processor, and compare it with its recorded result.

The kernel starts from the recorded contents of its buffers, with the recorded sizes and bindings.
Whether contents were taken before or after the work is not established: the result of each recorded
state is compared with each recorded state, and the comparison that fits is named. Contents stay
private: a replay reports numbers of elements, errors and bytes, never values.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from tracekit import machine, tables
from tracekit.base import KernelError, UsageError, tolerances
from tracekit.lab.msl.compile import compile_kernel
from tracekit.lab.msl.edits import KernelText
from tracekit.lab.msl.program import Array, KernelProgram, Launched, Statistics, ThreadOrder
from tracekit.lab.msl.signature import Parameter
from tracekit.lab.replay.memory import DispatchMemory, Octets
from tracekit.lab.replay.source import find_kernel_text, read_kernel_text
from tracekit.lab.verification.metal_file import LaunchWords
from tracekit.lab.verification.verify import (
    DEFECT,
    PASSED,
    KernelOutput,
    MovedBytes,
    ProofVerdict,
    Question,
    VerifiedCase,
    arrays,
    error_and_place,
    verify,
)


class ReplayOutcome(StrEnum):
    """Whether the result of a replay is the recorded one."""

    AGREES = "agrees"
    DIFFERS = "differs"
    DEFECT = "defect"
    UNDECIDED = "not decided"


@dataclass(frozen=True)
class WrittenArgument:
    """The effect of a replay on an argument: numbers of its elements.

    `dependent` elements are written, and depend on what the buffer held before, or on elements
    that do. `kept` ones were not written.
    """

    name: str
    index: int
    dtype: str
    elements: int
    written: int
    dependent: int

    @property
    def kept_elements(self) -> int:
        """The number of elements that the kernel did not write."""
        return self.elements - self.written


@dataclass(frozen=True)
class ResultComparison:
    """The result of an argument against a recorded content.

    `start` is the recorded state that the replay began with, `recorded` the one that its result is
    compared with. `equal` counts the elements with the same bits, of those that the kernel wrote.
    `error` is the largest one, a share of the largest recorded magnitude; None if it is infinite.
    """

    name: str
    start: str
    recorded: str
    compared: int
    equal: int
    error: float | None
    bound: float

    @property
    def fits(self) -> bool:
        """Whether the result is the recorded content, within the bound."""
        return self.error is not None and self.error <= self.bound


@dataclass(frozen=True)
class DispatchModel:
    """The work of a dispatch for the roofline.

    `moved` counts each byte once that memory must deliver or take. The least time on the chip of
    the capture is in seconds; None, with the reason in `unknown`, if its bandwidth is not known.
    """

    moved: int
    chip: str
    least_seconds: float | None
    unknown: str = ""


@dataclass(frozen=True)
class DispatchReplay:
    """A dispatch that was run again; `source` is the place of the kernel's text.

    `reading` says which recorded contents fit. `verdicts` answer the questions of `kernel verify`.
    """

    capture: str
    dispatch: int
    function: str
    source: str
    outcome: ReplayOutcome
    verdict: str
    reading: str
    arguments: tuple[WrittenArgument, ...]
    comparisons: tuple[ResultComparison, ...]
    verdicts: tuple[ProofVerdict, ...]
    traffic: tuple[MovedBytes, ...]
    model: DispatchModel | None
    format: int = 1


@dataclass(frozen=True)
class ReplayChoices:
    """The choices of a user.

    `source` is a file with the kernel; None takes it out of the capture. With `partial`, a kernel
    of a file may leave elements as they were. `launch` has the function, template arguments,
    function constants, folders of included files, the bound, leniency and patience.
    """

    dispatch: int | None = None
    source: Path | None = None
    partial: bool = False
    launch: LaunchWords = field(default_factory=LaunchWords)


def replay_dispatch(bundle: Path, choices: ReplayChoices) -> DispatchReplay:
    """Run a dispatch of a capture again, and compare its result with the recorded one.

    Raises:
        UsageError: There is no such dispatch or no source, or the emulator lacks a feature.
        InputError: The capture or the source cannot be read.
        InconclusiveError: The contents of a buffer were not recorded.
        ToolError: There is no compiler here.
    """
    capture = tables.captures.open_capture(bundle)
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
    launcher = _DispatchLauncher(kernel, dispatch, memory, choices.launch)
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
        model=_model(capture, launcher.statistics),
    )
    defects = [verdict for verdict in replayed.verdicts if verdict.outcome is DEFECT]
    if defects:
        return replace(replayed, verdict=_describe_defects(defects))
    doubts = _Doubts(
        is_blank=memory.states[0].is_blank(),
        is_partial_allowed=choices.partial or choices.source is None,
        blank_arguments=launcher.list_blank(effects),
        other_writers=_list_other_writers(capture, dispatch),
    )
    return _judge(replayed, doubts)


_OTHERWISE = (Question.WRITTEN, Question.ERROR, Question.TRAFFIC)
"""The questions that a replay answers otherwise: by launches and comparisons of its own."""


def _choose(
    capture: "tables.captures.FrameCapture", number: int | None
) -> "tables.captures.CapturedDispatch":
    dispatches = capture.commands.dispatches
    count = len(dispatches)
    if not count:
        raise UsageError(f"{capture.name} has no dispatches.")
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


_ZERO = 0x00
_ONES = 0xFF


@dataclass(frozen=True, eq=False)
class _Effect:
    """The effect on an argument, and a mask of the elements that were written."""

    parameter: Parameter
    argument: WrittenArgument
    mask: Array


class _DispatchLauncher:
    """Runs one dispatch from recorded states; keeps the results and the statistics."""

    def __init__(
        self,
        kernel: KernelText,
        dispatch: "tables.captures.CapturedDispatch",
        memory: DispatchMemory,
        launch: LaunchWords,
    ) -> None:
        self.kernel = kernel
        self.memory = memory
        self.statistics: Statistics | None = None
        self._dispatch = dispatch
        self._launch = launch
        self._results: dict[str, dict[str, Array]] = {}

    def make_case(self) -> VerifiedCase:
        """Return the case that `verify` runs, with the recorded contents as expected ones."""
        return VerifiedCase(
            name=self.kernel.function,
            parameters={},
            launch=self._run_ordered,
            sources=lambda: (self.kernel,),
            bound=self._launch.bound or 0.0,
        )

    def _run_ordered(self, order: ThreadOrder, watched: bool) -> KernelOutput:
        state = self.memory.states[0]
        results, statistics = self._run(state.copy_contents(), order=order, watched=watched)
        if watched:
            self.statistics = statistics
        self._results[state.name] = results
        program = self._compile(watched=watched)
        readable: list[Array] = []
        for parameter in _list_written(program):
            readable.append(_read(results[parameter.name], program.name_dtype(parameter)))  # noqa: PERF401
        return KernelOutput(arrays(readable), (Launched(self.kernel, statistics),))

    def _compile(self, *, watched: bool = False) -> KernelProgram:
        return compile_kernel(self.kernel, checked=watched)

    def _run(
        self,
        contents: dict[str, Octets],
        *,
        order: ThreadOrder = ThreadOrder.ASCENDING,
        watched: bool = False,
        fill: int = _ONES,
    ) -> tuple[dict[str, Array], Statistics]:
        """Run the kernel on contents, which it changes; return the arrays that it may write."""
        program = self._compile(watched=watched)
        bound = self.memory.bind(program, contents)
        statistics = program.run(
            bound,
            grid=self._dispatch.threads,
            threadgroup=self._dispatch.group,
            order=order,
            threadgroup_bytes=self._dispatch.threadgroup_memory,
            lenient=self._launch.lenient,
            patience=self._launch.patience,
            fill=fill,
        )
        results = {parameter.name: bound[parameter.name] for parameter in _list_written(program)}
        return results, statistics

    def find_effects(self) -> list[_Effect]:
        """Return what the kernel writes: it runs with two other contents of its outputs.

        An element that keeps both is not written; one that ends differently depends on them.
        """
        program = self._compile(watched=True)
        with_ones = self._run_filled(program, _ONES)
        with_zeros = self._run_filled(program, _ZERO)
        effects: list[_Effect] = []
        for parameter in _list_written(program):
            result = self._results[self.memory.states[0].name][parameter.name]
            mask = np.ones(result.shape, np.bool_)
            dependent = mask
            if with_ones is not None and with_zeros is not None:
                ones = _rows_of_bytes(with_ones[parameter.name])
                zeros = _rows_of_bytes(with_zeros[parameter.name])
                keeps = (ones == _ONES).all(axis=1) & (zeros == _ZERO).all(axis=1)
                mask = ~keeps
                dependent = mask & (ones != zeros).any(axis=1)
            argument = WrittenArgument(
                parameter.name,
                parameter.index,
                program.name_dtype(parameter),
                elements=result.size,
                written=int(mask.sum()),
                dependent=int(dependent.sum()),
            )
            effects.append(_Effect(parameter, argument, mask))
        return effects

    def _run_filled(self, program: KernelProgram, octet: int) -> dict[str, Array] | None:
        """Run with one byte in all that the kernel may write; None if it cannot run so."""
        contents = self.memory.states[0].copy_contents()
        for parameter in _list_written(program):
            place = self.memory.ranges.get(parameter.index)
            if place is not None:
                contents[place.key][place.start :] = octet
        try:
            return self._run(contents, watched=True)[0]
        except KernelError:
            return None

    def judge_threadgroup_memory(self) -> ProofVerdict:
        """Judge whether the result depends on threadgroup memory that was never written."""
        state = self.memory.states[0]
        results, _ = self._run(state.copy_contents(), fill=_ZERO)
        for name, result in self._results[state.name].items():
            differs = (_rows_of_bytes(result) != _rows_of_bytes(results[name])).any(axis=1)
            if differs.any():
                return ProofVerdict(
                    Question.WRITTEN,
                    DEFECT,
                    f"{differs.sum():,} elements of {name} depend on threadgroup memory that was "
                    "never written",
                )
        return ProofVerdict(Question.WRITTEN, PASSED, "the same with other threadgroup memory")

    def compare(self, effects: Sequence[_Effect]) -> tuple[ResultComparison, ...]:
        """Compare the result from each recorded state with each recorded state."""
        program = self._compile()
        comparisons: list[ResultComparison] = []
        for start in self.memory.states:
            if start.name not in self._results:
                self._results[start.name] = self._run(start.copy_contents())[0]
            for recorded in self.memory.states:
                expected = self.memory.bind(program, recorded.contents)
                for effect in effects:
                    comparison = self._compare_one(
                        effect, start.name, recorded.name, expected[effect.parameter.name]
                    )
                    comparisons.append(comparison)
        return tuple(comparisons)

    def _compare_one(
        self, effect: _Effect, start: str, recorded: str, expected: Array
    ) -> ResultComparison:
        argument = effect.argument
        result = self._results[start][argument.name][effect.mask]
        expected = expected[effect.mask]
        equal = (_rows_of_bytes(result) == _rows_of_bytes(expected)).all(axis=1)
        error, _ = error_and_place(_read(result, argument.dtype), _read(expected, argument.dtype))
        bound = self._launch.bound
        if bound is None:
            bound = tolerances.BOUNDS.get(argument.dtype, 0.0)
        return ResultComparison(
            argument.name,
            start,
            recorded,
            compared=int(effect.mask.sum()),
            equal=int(equal.sum()),
            error=error if np.isfinite(error) else None,
            bound=bound,
        )

    def list_blank(self, effects: Sequence[_Effect]) -> tuple[str, ...]:
        """Return the arguments whose recorded contents are zeros wherever the kernel writes."""
        program = self._compile()
        names: list[str] = []
        for effect in effects:
            is_blank = True
            for state in self.memory.states:
                recorded = self.memory.bind(program, state.contents)[effect.argument.name]
                is_blank = is_blank and not recorded[effect.mask].any()
            if is_blank and effect.argument.written:
                names.append(effect.argument.name)
        return tuple(names)


def _list_written(program: KernelProgram) -> list[Parameter]:
    return [
        parameter
        for parameter in program.parameters
        if parameter.kind == "buffer" and parameter.writable
    ]


def _rows_of_bytes(array: Array) -> Array:
    """Return a row of bytes for each element."""
    contiguous = np.ascontiguousarray(array)
    return contiguous.view(np.uint8).reshape(array.size, array.itemsize)


def _read(array: Array, dtype: str) -> Array:
    """Return elements as numbers that numpy can compute with: bfloat16 from its bits."""
    if dtype != "bfloat16":
        return array
    high_halves = array.astype(np.uint32) << 16
    return high_halves.view(np.float32)


@dataclass(frozen=True)
class _Doubts:
    """What makes a comparison say less than it seems to."""

    is_blank: bool
    is_partial_allowed: bool
    blank_arguments: tuple[str, ...]
    other_writers: tuple[int, ...]


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


def _judge(replayed: DispatchReplay, doubts: _Doubts) -> DispatchReplay:
    """Return the replay with its outcome, the verdict, and the contents that fit."""
    if doubts.is_blank:
        return _leave_undecided(
            replayed,
            "all recorded buffers are zeros, as in a redacted copy, so there is nothing to compute "
            "with",
        )
    writing = [argument for argument in replayed.arguments if argument.written]
    if not writing:
        return _leave_undecided(replayed, "the kernel writes nothing")
    pairs = _list_fitting(replayed.comparisons)
    if not pairs:
        return _judge_difference(replayed, writing, doubts)
    incomplete = [argument for argument in replayed.arguments if argument.kept_elements]
    if incomplete and not doubts.is_partial_allowed:
        parts = [f"{entry.kept_elements:,} elements of {entry.name}" for entry in incomplete]
        names = ", ".join(parts)
        return _leave_undecided(
            replayed,
            f"all written elements agree, but the kernel leaves {names} as they were; --partial "
            "accepts that",
        )
    reading = _describe_fit(pairs, replayed)
    fits = [pair for pair in replayed.comparisons if (pair.start, pair.recorded) == pairs[0]]
    words = "; ".join(_describe_comparison(comparison) for comparison in fits)
    return replace(
        replayed, outcome=ReplayOutcome.AGREES, verdict=f"Agrees: {words}.", reading=reading
    )


def _leave_undecided(replayed: DispatchReplay, reason: str) -> DispatchReplay:
    return replace(replayed, outcome=ReplayOutcome.UNDECIDED, verdict=f"Not decided: {reason}.")


Pair = tuple[str, str]
"""The state that a replay started from, and the one that its result is compared with."""


def _list_fitting(comparisons: Sequence[ResultComparison]) -> list[Pair]:
    """Return the pairs whose comparisons all fit, those of two different states first."""
    fits: dict[Pair, bool] = {}
    for comparison in comparisons:
        pair = (comparison.start, comparison.recorded)
        fits[pair] = fits.get(pair, True) and comparison.fits
    fitting = [pair for pair, is_fitting in fits.items() if is_fitting]
    return sorted(fitting, key=lambda pair: pair[0] == pair[1])


def _judge_difference(
    replayed: DispatchReplay, writing: Sequence[WrittenArgument], doubts: _Doubts
) -> DispatchReplay:
    worst = next(comparison for comparison in replayed.comparisons if not comparison.fits)
    words = _describe_comparison(worst)
    if doubts.other_writers:
        numbers = ", ".join(map(str, doubts.other_writers[:_LISTED]))
        return _leave_undecided(
            replayed,
            f"{words}, but other dispatches may write the same buffers ({numbers}), and whether "
            "contents were taken before or after them is not established",
        )
    if doubts.blank_arguments:
        names = ", ".join(doubts.blank_arguments)
        return _leave_undecided(
            replayed,
            f"the recorded contents of {names} are zeros, perhaps those before the work",
        )
    dependent = [argument.name for argument in writing if argument.dependent]
    if dependent and len({comparison.start for comparison in replayed.comparisons}) == 1:
        names = ", ".join(dependent)
        return _leave_undecided(
            replayed,
            f"{words}, but the result depends on the earlier contents of {names}, which were "
            "recorded once: before or after the work",
        )
    return replace(
        replayed,
        outcome=ReplayOutcome.DIFFERS,
        verdict=f"Differs: {words}.",
        reading=(
            "No recorded contents are the result: the kernel computes something else, or all "
            "contents were taken before the work."
        ),
    )


_LISTED = 5


def describe_verdicts(verdicts: Sequence[ProofVerdict]) -> Iterator[str]:
    """Yield a line for each answer, and the place of a defect below it."""
    for verdict in verdicts:
        yield f"  {verdict.question:<30}{verdict.outcome:<13}{verdict.detail}".rstrip()
        for line in verdict.excerpt:
            yield f"      {line}"


def _describe_comparison(comparison: ResultComparison) -> str:
    words = f"{comparison.equal:,} of {comparison.compared:,} written elements of {comparison.name}"
    words += " are equal to the bit"
    if comparison.equal == comparison.compared:
        return words
    error = "infinite" if comparison.error is None else f"{comparison.error:.2g}"
    return f"{words}, largest error {error} of {comparison.bound:g} allowed"


def _describe_fit(pairs: Sequence[Pair], replayed: DispatchReplay) -> str:
    is_dependent = any(argument.dependent for argument in replayed.arguments)
    start, recorded = pairs[0]
    if is_dependent and start != recorded:
        return (
            f"The contents of the {start} were taken before the work, those of the {recorded} "
            "after it."
        )
    if is_dependent:
        return "The work leaves the recorded contents as they are: before and after both fit."
    fitting = {pair[1] for pair in pairs}
    unfit = {comparison.recorded for comparison in replayed.comparisons} - fitting
    reading = (
        "The recorded contents are the result: they were taken after the work, or the same work "
        "had been done before."
    )
    if unfit:
        reading = (
            f"The contents of the {', '.join(sorted(fitting))} are the result, those of the "
            f"{', '.join(sorted(unfit))} are not: they are of before the work."
        )
    return reading


def _model(
    capture: "tables.captures.FrameCapture", statistics: Statistics | None
) -> DispatchModel | None:
    if statistics is None:
        return None
    moved = sum(traffic.touched for traffic in statistics.traffic.values())
    name = capture.machine.get("chip", "")
    chip = machine.chips.chip(name)
    bandwidth = chip.bandwidth
    if bandwidth.value is None:
        return DispatchModel(moved, name, None, bandwidth.reason)
    return DispatchModel(moved, name, moved / bandwidth.value)
