"""Pairs of fresh processes that take turns: abba, baab, and so on; with checks and traced pairs.

A drift over the seconds of a pair, such as heat, affects both variants alike. Some conditions stay
with a process for its whole life, such as the place of its memory, and differ from process to
process: so each pair has processes of its own, and varies as nights do.

Traced runs follow one another, as `tracekit capture` in the variant's own interpreter and folder:
the variant's own tracekit records, exports and analyzes them.
"""

import os
import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from tracekit.machine import State, Watch
from tracekit.nightly.history.night import Pair, Quantity, Values
from tracekit.nightly.session.child import (
    PreparedCapture,
    RemoteWorkload,
    spawn_workload,
    start_workload,
)
from tracekit.nightly.session.program_runs import run_program, with_program_metrics
from tracekit.nightly.session.turn_values import require_steps, values_of, worst
from tracekit.nightly.session.variants import CodeVariant
from tracekit.workload import protocol

LEAST = 5
"""The least number of steps in a turn."""
WAKE = 0.05
"""The most seconds of unmeasured steps before a turn; a sixth of the turn if that is less."""
_BETWEEN = "between its pairs"


def measure(
    prepared: PreparedCapture,
    *,
    session: int = 1,
    first_number: int = 1,
    pairs: int | None = None,
    watch: Watch | None = None,
    calibrate: bool = True,
) -> Iterator[Pair]:
    """Measure pairs, by default as many as the plan says, and yield each when it is complete.

    To replace a pair that does not count, ask for more pairs with another `first_number`. The
    processes of a pair end with it, that of the calibration with the iterator. A `watch` looks at
    the machine before and after each pair; with `calibrate`, fixed work shows the machine's pace.
    """
    count = prepared.capture.pairs if pairs is None else pairs
    with ExitStack() as stack:
        looks = _Looks(prepared, watch, stack, calibrate=calibrate)
        if prepared.candidate.argv:
            for variant in prepared.variants:
                run_program(prepared, variant)  # unmeasured: it fills the file caches
        for number in range(first_number, first_number + count):
            prepared.bounds.require_time(_BETWEEN)
            if prepared.candidate.argv:
                yield _program_pair(prepared, session, number, looks)
            else:
                yield _pair(prepared, session, number, looks)


def order_of(prepared: PreparedCapture, number: int) -> str:
    """Return the order of a pair's runs: a for the candidate, b for the reference."""
    if prepared.reference is None:
        single_order = "a"
    elif number % 2:
        single_order = "ab"
    else:
        single_order = "ba"
    if prepared.capture.together and not prepared.candidate.argv:
        return single_order + single_order[::-1]
    return single_order


def _pair(prepared: PreparedCapture, session: int, number: int, looks: "_Looks") -> Pair:
    """Measure a pair.

    Either both processes are alive at once and take turns, or each has one long turn, one process
    after the other.
    """
    capture = prepared.capture
    order = order_of(prepared, number)
    if capture.together:
        groups = [order]
        seconds = capture.turn
    else:
        groups = [*order]
        seconds = 2 * capture.turn
    values: dict[str, Values] = {}
    states_before: list[State] = []
    states_after: list[State] = []
    for group in groups:
        run_group = _run_group(prepared, group, seconds, looks)
        values |= run_group.values
        if run_group.before is not None:
            states_before.append(run_group.before)
        if run_group.after is not None:
            states_after.append(run_group.after)
    worst_before = worst(states_before)
    worst_after = worst(states_after)
    return Pair(
        session,
        number,
        order,
        candidate=values["a"],
        reference=values.get("b", {}),
        before=worst_before,
        after=worst_after,
    )


@dataclass(frozen=True)
class _RunGroup:
    """The values of processes that were alive at once, by letter, and the machine's states."""

    values: dict[str, Values]
    before: State | None
    after: State | None


def _run_group(
    prepared: PreparedCapture, letters: str, seconds: float, looks: "_Looks"
) -> _RunGroup:
    """Start the processes of these letters, give each its turns in this order, and end them."""
    values: dict[str, Values] = {}
    with ExitStack() as stack:
        unique_letters = list(dict.fromkeys(letters))
        children = _prepare_children(prepared, unique_letters, stack)
        runs: dict[str, list[protocol.StepTimes]] = {letter: [] for letter in children}
        state_before = looks.look_before(list(children.values()))
        for letter in letters:
            step_times = _run(prepared, children[letter], seconds)
            runs[letter].append(step_times)
        first_child = next(iter(children.values()))
        state_after = looks.look_after(first_child)
        for child in children.values():
            child.begin_finishing()
        for letter, child in children.items():
            finished = child.end_finishing()
            for name, result in finished.results.items():
                prepared.results[name] = Quantity(result.unit, result.better)
            values[letter] = values_of(runs[letter], finished)
    return _RunGroup(values, state_before, state_after)


def _program_pair(prepared: PreparedCapture, session: int, number: int, looks: "_Looks") -> Pair:
    """Run each program once; the order alternates from pair to pair."""
    order = order_of(prepared, number)
    values: dict[str, Values] = {}
    state_before = looks.look_before([])
    for letter in order:
        variant = _variant_of(prepared, letter)
        values[letter] = run_program(prepared, variant)
    state_after = looks.look_after(None)
    prepared.capture = with_program_metrics(prepared)
    worst_before = _without_gpu_others(state_before)
    worst_after = _without_gpu_others(state_after)
    return Pair(
        session,
        number,
        order,
        candidate=values["a"],
        reference=values.get("b", {}),
        before=worst_before,
        after=worst_after,
    )


def _variant_of(prepared: PreparedCapture, letter: str) -> CodeVariant:
    """Return the variant of a letter: a for the candidate, b for the reference."""
    variant = prepared.candidate if letter == "a" else prepared.reference
    assert variant is not None
    return variant


def _without_gpu_others(state: State | None) -> State | None:
    """Return a state without the GPU share of others: our program has ended before the look."""
    if state is None:
        return None
    readings = dict(state.readings)
    readings.pop("gpu_others", None)
    absences = dict(state.absences)
    absences["gpu_others"] = "a program that has ended cannot be distinguished from others."
    return State(state.at, readings, absences)


@dataclass(frozen=True)
class PlantedPair:
    """A plain pair, and the same reference against a candidate with a planted slowdown."""

    plain_pair: Pair
    planted: Pair


_PLANTED_ORDER = "abppba"  # symmetric, so that a drift affects all alike


def measure_planted(
    prepared: PreparedCapture, share: float, *, pairs: int, watch: Watch | None, calibrate: bool
) -> Iterator[PlantedPair]:
    """Measure pairs in which the candidate also has turns whose steps are longer by a share."""
    with ExitStack() as stack:
        looks = _Looks(prepared, watch, stack, calibrate=calibrate)
        for number in range(1, pairs + 1):
            prepared.bounds.require_time(_BETWEEN)
            yield _planted_pair(prepared, share, number, looks)


def _planted_pair(
    prepared: PreparedCapture, share: float, number: int, looks: "_Looks"
) -> PlantedPair:
    runs: dict[str, list[protocol.StepTimes]] = {"a": [], "b": [], "p": []}
    with ExitStack() as stack:
        children = _prepare_children(prepared, ["a", "b"], stack)
        state_before = looks.look_before(list(children.values()))
        for letter in _PLANTED_ORDER:
            child = children["b" if letter == "b" else "a"]
            planted = 0.0
            if letter == "p":
                planted = share * _median_step_time(runs["a"])
            step_times = _run(prepared, child, prepared.capture.turn, planted)
            runs[letter].append(step_times)
        state_after = looks.look_after(children["a"])
        for child in children.values():
            child.begin_finishing()
        for child in children.values():
            child.end_finishing()
    values: dict[str, Values] = {}
    for letter, turns in runs.items():
        values[letter] = values_of(turns, protocol.Finished())
    plain_pair = Pair(1, number, "abba", False, values["a"], values["b"], state_before, state_after)
    planted_pair = replace(plain_pair, order="bppb", candidate=values["p"])
    return PlantedPair(plain_pair, planted_pair)


def _median_step_time(turns: Sequence[protocol.StepTimes]) -> float:
    step_times: list[int] = []
    for turn in turns:
        step_times.extend(turn.times)
    return statistics.median(step_times)


def _prepare_children(
    prepared: PreparedCapture, letters: Sequence[str], stack: ExitStack
) -> dict[str, RemoteWorkload]:
    """Start the processes of a pair, and let them prepare at the same time, unmeasured."""
    children: dict[str, RemoteWorkload] = {}
    variants: dict[str, CodeVariant] = {}
    for letter in letters:
        variant = _variant_of(prepared, letter)
        variants[letter] = variant
        name = prepared.name_variant(variant)
        log = prepared.log_of(variant.role)
        child = spawn_workload(name, variant, log, prepared.bounds)
        children[letter] = stack.enter_context(child)
    warmup = prepared.capture.warmup
    for letter, child in children.items():
        variant = variants[letter]
        child.greet(variant.python)
        parameters = dict(variant.parameters)
        task = protocol.Prepare(variant.workload, variant.workloads, parameters, warmup)
        child.begin_preparing(task)
    for letter, child in children.items():
        ready = child.end_preparing()
        if letter == "a":
            prepared.backend = ready.backend
        for warning in ready.warnings:
            prepared.remark(f"{warning.rstrip('.')}, in {child.name}.")
    return children


def _run(
    prepared: PreparedCapture, child: RemoteWorkload, seconds: float, planted: float = 0.0
) -> protocol.StepTimes:
    prepared.bounds.require_time(_BETWEEN)
    longest_wake = min(WAKE, seconds / 6)
    task = protocol.RunSteps(seconds, LEAST, longest_wake, planted)
    turn = require_steps(child.name, child.run_steps(task))
    if turn.specializations:
        prepared.remark(f"Pipelines were made while {child.name} was measured, though it was warm.")
    return turn


class _Looks:
    """Looks at the machine before and after each pair.

    To see the machine's pace, a third process does the same fixed work each time, on the device
    of the pair.
    """

    def __init__(
        self, prepared: PreparedCapture, watch: Watch | None, stack: ExitStack, *, calibrate: bool
    ) -> None:
        self._prepared = prepared
        self._watch = watch
        self._stack = stack
        self._calibrate = calibrate
        self._calibration: RemoteWorkload | None = None

    def look_before(self, children: Sequence[RemoteWorkload]) -> State | None:
        """Look before the runs of children."""
        if self._watch is None:
            return None
        pace = self._pace(children[0] if children else None)
        our_processes = {os.getpid()}
        for workload in children:
            our_processes.add(workload.child.pid)
        if self._calibration is not None:
            our_processes.add(self._calibration.child.pid)
        return self._watch.before(our_processes, pace)

    def look_after(self, child: RemoteWorkload | None) -> State | None:
        """Look after the runs; the pace is that of the child's device."""
        if self._watch is None:
            return None
        return self._watch.after(self._pace(child))

    def _pace(self, child: RemoteWorkload | None) -> int | None:
        """Return the time that fixed work takes now, in ns, on the device of the child."""
        if not self._calibrate:
            return None
        calibration = self._started_calibration()
        if child is None:  # the device of a program is not known
            return calibration.calibrate(protocol.Calibrate("cpu"))
        device = "cpu" if child.ready.backend == "cpu" else "gpu"
        request = protocol.Calibrate(device, mlx=bool(child.ready.mlx))
        return calibration.calibrate(request)

    def _started_calibration(self) -> RemoteWorkload:
        """Return the process of the calibration; the first call starts it."""
        if self._calibration is None:
            prepared = self._prepared
            name = f"the calibration of {prepared.capture.name}"
            log = prepared.log_of("calibration")
            workload = start_workload(name, prepared.candidate, log, prepared.bounds)
            self._calibration = self._stack.enter_context(workload)
        return self._calibration
