"""The launches of a replay: their results, their effects, and the work for the roofline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracekit import machine, tables
from tracekit.base import KernelError, ToolError, tolerances
from tracekit.lab.msl.compile import compile_kernel
from tracekit.lab.msl.counting import compile_counted
from tracekit.lab.msl.edits import KernelText
from tracekit.lab.msl.program import Array, KernelProgram, Launched, Statistics, ThreadOrder
from tracekit.lab.msl.signature import Parameter
from tracekit.lab.replay.documents import DispatchModel, ResultComparison, WrittenArgument
from tracekit.lab.replay.memory import DispatchMemory, Octets, RecordedState
from tracekit.lab.verification.metal_file import LaunchWords
from tracekit.lab.verification.verify import (
    DEFECT,
    PASSED,
    KernelOutput,
    ProofVerdict,
    Question,
    VerifiedCase,
    arrays,
    error_and_place,
)

_ZERO = 0x00
_ONES = 0xFF


@dataclass(frozen=True, eq=False)
class DispatchEffect:
    """The effect on an argument, and a mask of the elements that were written."""

    parameter: Parameter
    argument: WrittenArgument
    mask: Array


class DispatchLauncher:
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
        self._touched: dict[str, Array] = {}
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
        touched = self._touched if watched else None
        results, statistics = self._run(
            state.copy_contents(), order=order, watched=watched, touched=touched
        )
        if watched:
            self.statistics = statistics
        self._results[state.name] = results
        program = self._compile(watched=watched)
        readable: list[Array] = []
        for parameter in _list_written(program):
            readable.append(_read(results[parameter.name], program.name_dtype(parameter)))  # noqa: PERF401
        with np.errstate(invalid="ignore"):  # of NaN that signal
            outputs = arrays(readable)
        return KernelOutput(outputs, (Launched(self.kernel, statistics),))

    def _compile(self, *, watched: bool = False) -> KernelProgram:
        return compile_kernel(self.kernel, checked=watched)

    def _run(
        self,
        contents: dict[str, Octets],
        *,
        order: ThreadOrder = ThreadOrder.ASCENDING,
        watched: bool = False,
        fill: int = _ONES,
        program: KernelProgram | None = None,
        touched: dict[str, Array] | None = None,
    ) -> tuple[dict[str, Array], Statistics]:
        """Run the kernel on contents, which it changes; return the arrays that it may write."""
        program = program or self._compile(watched=watched)
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
            touched=touched,
        )
        results = {parameter.name: bound[parameter.name] for parameter in _list_written(program)}
        return results, statistics

    def find_effects(self) -> list[DispatchEffect]:
        """Return the effect on each output: the kernel runs with two other contents of them.

        An element that keeps both is not written; one that ends differently depends on them.
        """
        program = self._compile(watched=True)
        state = self.memory.states[0]
        with_ones = self._run_filled(program, _ONES)
        with_zeros = self._run_filled(program, _ZERO)
        starts = self.memory.bind(program, state.contents)
        effects: list[DispatchEffect] = []
        for parameter in _list_written(program):
            result = self._results[state.name][parameter.name]
            mask = np.ones(result.shape, np.bool_)
            dependent = mask
            if with_ones is not None and with_zeros is not None:
                ones = _rows_of_bytes(with_ones[parameter.name])
                zeros = _rows_of_bytes(with_zeros[parameter.name])
                changes = _rows_of_bytes(result) != _rows_of_bytes(starts[parameter.name])
                used_bytes = self._find_used(program, parameter).reshape(ones.shape)
                keeps_ones = (ones == _ONES) | ~used_bytes
                keeps_zeros = (zeros == _ZERO) | ~used_bytes
                keeps = keeps_ones.all(axis=1) & keeps_zeros.all(axis=1)
                mask = (used_bytes.any(axis=1) & ~keeps) | changes.any(axis=1)
                dependent = mask & (ones != zeros).any(axis=1)
            argument = WrittenArgument(
                parameter.name,
                parameter.index,
                program.name_dtype(parameter),
                elements=result.size,
                written=int(mask.sum()),
                dependent=int(dependent.sum()),
            )
            effects.append(DispatchEffect(parameter, argument, mask))
        return effects

    def _find_used(self, program: KernelProgram, parameter: Parameter) -> Array:
        """Return a mask of the bytes of an argument that the kernel loads or stores through it.

        Accesses through a reference are not watched: then these are all bytes that no other
        argument uses.
        """
        touched = self._touched[parameter.name]
        place = self.memory.ranges.get(parameter.index)
        if place is None or not parameter.is_reference:
            return touched
        content = self.memory.states[0].contents[place.key]
        mask = np.ones(content.size, np.bool_)
        for neighbour in program.parameters:
            other_place = self.memory.ranges.get(neighbour.index)
            if neighbour.kind != "buffer" or neighbour is parameter or other_place is None:
                continue
            if other_place.key == place.key:
                other_touched = self._touched[neighbour.name]
                mask[other_place.start :][: other_touched.size] &= ~other_touched
        return mask[place.start :][: touched.size]

    def _run_filled(self, program: KernelProgram, octet: int) -> dict[str, Array] | None:
        """Run with one byte in all that the kernel uses of its outputs; None if it cannot run so.

        Other parts of an output's buffer may be inputs, and stay.
        """
        contents = self.memory.states[0].copy_contents()
        for parameter in _list_written(program):
            place = self.memory.ranges.get(parameter.index)
            if place is not None:
                used_bytes = self._find_used(program, parameter)
                contents[place.key][place.start :][: used_bytes.size][used_bytes] = octet
        try:
            return self._run(contents, watched=True)[0]
        except KernelError:
            return None

    def _run_from(self, state: RecordedState, *, fill: int = _ONES) -> dict[str, Array]:
        """Run from a state; watched first, because it may have indices outside the buffers."""
        self._run(state.copy_contents(), fill=fill, watched=True)
        return self._run(state.copy_contents(), fill=fill)[0]

    def judge_threadgroup_memory(self) -> ProofVerdict:
        """Judge whether the result depends on threadgroup memory that was never written."""
        state = self.memory.states[0]
        try:
            results = self._run_from(state, fill=_ZERO)
        except KernelError as error:
            reason = error.message.splitlines()[0].rstrip(":.")
            return ProofVerdict(
                Question.WRITTEN,
                DEFECT,
                f"if threadgroup memory that was never written is zeros: {reason}",
            )
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

    def compare(self, effects: Sequence[DispatchEffect]) -> tuple[ResultComparison, ...]:
        """Compare the result from each recorded state with each recorded state.

        A state from which the kernel leaves its buffers, or does not end, is not one of before it.
        """
        program = self._compile()
        comparisons: list[ResultComparison] = []
        for start in self.memory.states:
            if start.name not in self._results:
                try:
                    self._results[start.name] = self._run_from(start)
                except KernelError:
                    continue
            for recorded in self.memory.states:
                expected = self.memory.bind(program, recorded.contents)
                for effect in effects:
                    comparison = self._compare_one(
                        effect, start.name, recorded.name, expected[effect.parameter.name]
                    )
                    comparisons.append(comparison)
        return tuple(comparisons)

    def _compare_one(
        self, effect: DispatchEffect, start: str, recorded: str, expected: Array
    ) -> ResultComparison:
        argument = effect.argument
        result = self._results[start][argument.name][effect.mask]
        expected = expected[effect.mask]
        equal = (_rows_of_bytes(result) == _rows_of_bytes(expected)).all(axis=1)
        with np.errstate(invalid="ignore"):  # of NaN that signal
            error, _ = error_and_place(
                _read(result, argument.dtype), _read(expected, argument.dtype)
            )
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

    def model(self, chip_name: str) -> DispatchModel:
        """Return the work of the dispatch, and the least time for it on a chip."""
        moved = _count_touched(self.statistics)
        reasons: list[str] = []
        counts: Mapping[str, int] | None = None
        try:
            counts = self._count_operations()
        except ToolError as error:
            reasons.append(error.message.splitlines()[0])
        chip = machine.chips.chip(chip_name)
        operations = None if counts is None else sum(counts.values())
        half_operations = None if counts is None else counts["half"]
        idle_groups = 0
        if self.statistics is not None:
            idle_groups = self.statistics.idle_groups or 0
        groups = self._dispatch.group_count
        model = DispatchModel(
            groups, idle_groups, moved, operations, half_operations, chip_name, None
        )
        if chip.bandwidth.value is None:
            return replace(model, unknown=(*reasons, chip.bandwidth.reason))
        rate = chip.fp32.value
        if half_operations and operations == half_operations:
            rate = chip.fp16.value
        if operations is None:
            rate = None
        elif rate is None:
            reasons.append(f"The roof of arithmetic is not known: {chip.fp32.reason}")
        bound = machine.roofline.bound(
            operations or 0, moved, bandwidth=chip.bandwidth.value, rate=rate
        )
        return replace(
            model, least_seconds=bound.seconds, limit=str(bound.limit), unknown=tuple(reasons)
        )

    def _count_operations(self) -> Mapping[str, int]:
        """Return the floating-point operations by type; raise ToolError without clang."""
        program = compile_counted(self.kernel)
        contents = self.memory.states[0].copy_contents()
        _, statistics = self._run(contents, program=program)
        return statistics.operations

    def list_blank(self, effects: Sequence[DispatchEffect]) -> tuple[str, ...]:
        """Return the arguments whose last recorded contents are zeros where the kernel writes."""
        names: list[str] = []
        for effect in effects:
            *_, last_content = self._list_recorded(effect)
            if effect.argument.written and not last_content.any():
                names.append(effect.argument.name)
        return tuple(names)

    def list_lone(self, effects: Sequence[DispatchEffect]) -> tuple[str, ...]:
        """Return the arguments of which no two states differ where the kernel writes."""
        names: list[str] = []
        for effect in effects:
            contents = self._list_recorded(effect)
            if all(np.array_equal(contents[0], content) for content in contents):
                names.append(effect.argument.name)
        return tuple(names)

    def _list_recorded(self, effect: DispatchEffect) -> list[Array]:
        """Return the bytes of the elements that the kernel writes, in each recorded state."""
        program = self._compile()
        pieces: list[Array] = []
        for state in self.memory.states:
            recorded = self.memory.bind(program, state.contents)[effect.argument.name]
            pieces.append(_rows_of_bytes(recorded)[effect.mask])
        return pieces


def _count_touched(statistics: Statistics | None) -> int:
    if statistics is None:
        return 0
    return sum(traffic.touched for traffic in statistics.traffic.values())


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
