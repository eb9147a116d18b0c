"""Pairs of fresh processes that take turns: abba, baab, and so on; with checks and traced pairs.

A drift over the seconds of a pair, such as heat, affects both variants alike. Some conditions stay
with a process for its whole life, such as the place of its memory, and differ from process to
process: so each pair has processes of its own, and varies as nights do.

Traced runs follow one another, as `tracekit capture` in the variant's own interpreter and folder:
the variant's own tracekit records, exports and analyzes them.
"""

import math
import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tracekit.analysis import METRICS, Result, load
from tracekit.base import (
    InconclusiveError,
    Overhead,
    Recording,
    ToolError,
    TracekitError,
    exit_words,
)
from tracekit.compare import quantile
from tracekit.machine import State, Watch
from tracekit.nightly.history.night import Pair, Quantity, Values
from tracekit.nightly.session.child import (
    PreparedCapture,
    RemoteWorkload,
    spawn_workload,
    start_workload,
)
from tracekit.nightly.session.program import ParityError, Program, last_words, run
from tracekit.nightly.session.program_runs import run_program, with_program_metrics
from tracekit.nightly.session.variants import CodeVariant
from tracekit.workload import Calibrate, Finished, Prepare, RunSteps, StepTimes

ENOUGH = 100
"""The least number of steps in a turn whose 99th percentile is reported."""
STEP_TIME = "step_p50"
_SECOND = 1e9


def values_of(turns: Sequence[StepTimes], finished: Finished) -> Values:
    """Return the value of each metric in each turn, then the results of the workload itself.

    Turns that mix several variants, to compare them, give no step time. A result of the workload
    has one value; a result with the name of a metric is left out.
    """
    turn_values: dict[str, list[float]] = {}
    for turn in turns:
        for name, value in _of_turn(turn):
            turn_values.setdefault(name, []).append(value)
    values: Values = {}
    for name, numbers in turn_values.items():
        values[name] = tuple(numbers)
    for name, result in finished.results.items():
        if result.value is not None and name not in METRICS:
            values[name] = (float(result.value),)
    return values


def traced_values(result: Result) -> Values:
    """Return the numbers of a traced run, one value each."""
    numbers: dict[str, float | None] = {}
    for number in (*result.results, *result.metrics):
        numbers[number.name] = number.value
    return {name: (float(value),) for name, value in numbers.items() if value is not None}


def require_steps(name: str, turn: StepTimes) -> StepTimes:
    """Return the turn; raise ToolError if none of its steps did any work."""
    if turn.times and turn.length > 0:
        return turn
    reason = "made no step that did anything"
    if turn.exhausted:
        reason = "had nothing left to do"
    raise ToolError(
        f"{name[0].upper()}{name[1:]} {reason} in its turn.",
        hint="Give the workload more to do, or shorter turns; one that follows a schedule of its "
        "own needs together = false, so that it has one long turn.",
    )


def overhead(traced: Sequence[Pair], untraced: Sequence[Pair]) -> Overhead:
    """Compare the candidate's steps in traced pairs with those in untraced ones, in ns a step.

    The ratio is that of the medians over the pairs that count. Its spread assumes that traced runs
    vary as untraced pairs do, on a logarithmic scale, with Student's t for the number of pairs.
    """
    recorded = _step_times(traced)
    if not recorded:
        return Overhead(reason="no traced pair of this session tells the time of a step")
    unrecorded = _step_times(untraced)
    if not unrecorded:
        return Overhead(reason="no untraced pair of this session tells the time of a step")
    if len(unrecorded) < 2:  # noqa: PLR2004  one pair does not show how much pairs differ
        return Overhead(reason="one untraced pair does not show how much pairs differ")
    logarithms = [math.log(value) for value in unrecorded]
    deviation = statistics.stdev(logarithms)
    factor = math.sqrt(1 / len(recorded) + 1 / len(unrecorded))
    quantile_of_mean = quantile(len(unrecorded) - 1)
    half = quantile_of_mean * deviation * factor
    recorded_median = statistics.median(recorded)
    unrecorded_median = statistics.median(unrecorded)
    ratio = recorded_median / unrecorded_median
    spread = ratio * math.sinh(half)
    return Overhead(
        ratio=ratio - 1,
        spread=spread,
        recorded=round(recorded_median),
        unrecorded=round(unrecorded_median),
    )


def _step_times(pairs: Sequence[Pair]) -> list[float]:
    """Return the candidate's median step time in each pair that counts and has one, in ns."""
    step_times: list[float] = []
    for pair in pairs:
        if pair.rejections:
            continue
        turn_values = pair.candidate.get(STEP_TIME)
        if turn_values:
            step_times.append(statistics.median(turn_values))
    return step_times


def _of_turn(turn: StepTimes) -> Iterator[tuple[str, float]]:
    seconds = turn.length / _SECOND
    yield "step_rate", len(turn.times) / seconds
    if len(turn.variants) > 1:
        return
    times = np.array(turn.times)
    yield STEP_TIME, float(np.median(times))
    if len(times) >= ENOUGH:
        yield "step_p99", float(np.quantile(times, 0.99))
    if turn.tokens:
        yield "tokens_per_second", turn.tokens / seconds


MORE_IS_WORSE = frozenset({"calibration", "load", "gpu_others", "thermal_pressure", "low_power"})
"""Readings whose greatest value is the worst; the least is the worst of others, such as a clock."""


def worst(states: Sequence[State]) -> State | None:
    """Return the worst value of each reading, at the time of the last look; None without any."""
    if not states:
        return None
    readings: dict[str, float] = {}
    absences: dict[str, str] = {}
    for state in states:
        absences |= state.absences
        for name, value in state.readings.items():
            choose = max if name in MORE_IS_WORSE else min
            earlier_value = readings.get(name, value)
            readings[name] = choose(value, earlier_value)
    for name in readings:
        absences.pop(name, None)
    return State(states[-1].at, readings, absences)


OF_ATTENTION = frozenset({"paged", "sdpa", "flash", "paged-vs-sdpa", "serve", "kv-cache"})
"""Workloads whose code `tracekit parity` checks."""
_DOCUMENT = "form.template"  # what a recorder that is killed never writes into its bundle
_LIMIT = 3600.0  # seconds of one check, or traced capture: saving can take many minutes


def check(prepared: PreparedCapture) -> str:
    """Run the checks that the capture asks for, with the candidate's interpreter and code.

    Parity runs once a night: later captures reuse its result from the night's folder. Return a
    sentence that lists the checks; empty if there were none.
    """
    clauses: list[str] = []
    grid = grid_of(prepared)
    if grid:
        clauses.append(_parity(prepared, grid))
    for number, argv in enumerate(prepared.capture.checks, start=1):
        _require(prepared, argv, f"check-{number}")
        clauses.append(f"{argv[0]} succeeded")
    if not clauses:
        return ""
    words = "; ".join(clauses)
    return f"{words[0].upper()}{words[1:]}."


def _require(
    prepared: PreparedCapture, argv: tuple[str, ...], name: str, output: Path | None = None
) -> None:
    """Run a program as the candidate; raise ParityError if it does not succeed."""
    variant = prepared.candidate
    log = prepared.log_of(name)
    program = Program(argv, variant.env, variant.cwd, log, output)
    status = run(program, prepared.bounds, _LIMIT)
    if status != 0:
        raise ParityError(
            f"The check {program.line} ended with {exit_words(status)}.{last_words(log)}",
            hint=f"All that it said is in {log}.",
        )


def grid_of(prepared: PreparedCapture) -> str:
    """Return the grid of parity to check: quick or full; empty for none."""
    parity_choice = prepared.capture.parity
    if parity_choice == "off":
        return ""
    if parity_choice != "auto":
        return parity_choice
    if any(variant.workload in OF_ATTENTION for variant in prepared.variants):
        return "quick"
    return ""


def _parity(prepared: PreparedCapture, grid: str) -> str:
    """Check parity unless an earlier capture of the night did; return a clause that says so."""
    result_file = prepared.folder / f"parity-{grid}.json"
    if not result_file.exists():
        argv = [str(prepared.candidate.python), "-P", "-m", "tracekit", "parity"]
        if grid == "quick":
            argv.append("--quick")
        argv.append("--json")
        failed_file = result_file.with_suffix(".failed.json")
        _require(prepared, tuple(argv), "parity", failed_file)
        failed_file.rename(result_file)
    return f"parity holds in the {grid} grid"


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
        runs: dict[str, list[StepTimes]] = {letter: [] for letter in children}
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
    runs: dict[str, list[StepTimes]] = {"a": [], "b": [], "p": []}
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
        values[letter] = values_of(turns, Finished())
    plain_pair = Pair(1, number, "abba", False, values["a"], values["b"], state_before, state_after)
    planted_pair = replace(plain_pair, order="bppb", candidate=values["p"])
    return PlantedPair(plain_pair, planted_pair)


def _median_step_time(turns: Sequence[StepTimes]) -> float:
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
        task = Prepare(variant.workload, variant.workloads, parameters, warmup)
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
) -> StepTimes:
    prepared.bounds.require_time(_BETWEEN)
    longest_wake = min(WAKE, seconds / 6)
    task = RunSteps(seconds, LEAST, longest_wake, planted)
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
            return calibration.calibrate(Calibrate("cpu"))
        device = "cpu" if child.ready.backend == "cpu" else "gpu"
        request = Calibrate(device, mlx=bool(child.ready.mlx))
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


def trace(
    prepared: PreparedCapture, *, session: int = 1, watch: Watch | None = None
) -> Iterator[Pair]:
    """Trace as many pairs as the plan says, and yield each when it is complete.

    A pair does not count if one of its traces may lack the target's work; `rejections` names
    that trace. Odd pairs trace the candidate first, even pairs the reference. The arguments are
    those of `measure`.
    """
    for number in range(1, prepared.capture.traced + 1):
        yield _traced_pair(prepared, session, number, watch)


def arguments_of(prepared: PreparedCapture, variant: CodeVariant, output: Path) -> tuple[str, ...]:
    """Return the command line that captures a variant into a folder."""
    capture = prepared.capture
    words = [str(variant.python), "-P", "-m", "tracekit", "capture"]
    words += ["--workload", variant.workload]
    if variant.workloads is not None:
        words += ["--workloads", str(variant.workloads)]
    words += ["--recorder", capture.recorder]
    for template in capture.templates:
        words += ["--template", template]
    words += ["--counters", capture.counters]
    words += ["--telemetry", capture.telemetry]
    words += ["--time-limit", f"{capture.time_limit:.3f}s"]
    words += ["--warmup", str(capture.warmup)]
    words += ["--output", str(output)]
    words += options(variant.parameters)
    return tuple(words)


def options(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a workload's parameters as options; a value of None leaves the default."""
    words: list[str] = []
    for name, value in parameters.items():
        option = name.replace("_", "-")
        if value is True:
            words.append(f"--{option}")
        elif value is False:
            words.append(f"--no-{option}")
        elif isinstance(value, list | tuple):
            words += [f"--{option}={item}" for item in value]
        elif value is not None:
            words.append(f"--{option}={value}")
    return tuple(words)


def _traced_pair(prepared: PreparedCapture, session: int, number: int, watch: Watch | None) -> Pair:
    variants = prepared.variants
    if number % 2 == 0:
        variants = tuple(reversed(variants))
    values: dict[str, Values] = {}
    runs: dict[str, str] = {}
    order = ""
    reasons: list[str] = []
    state_before = None
    if watch is not None:
        state_before = watch.before()
    for variant in variants:
        name = f"{variant.role}-{session}-{number}"
        recording = Recording(prepared.own_folder / name)
        recording, is_complete = _capture(prepared, variant, recording)
        result = load(recording.result_file)
        for metric in result.results:
            prepared.results[metric.name] = Quantity(metric.unit, metric.better.value)
        values[variant.role] = traced_values(result)
        runs[variant.role] = f"{prepared.capture.name}/{recording.folder.name}"
        order += "a" if variant.role == "candidate" else "b"
        if recording.folder.name != name:
            reasons.append(f"The trace of the {variant.role} was recovered, incomplete.")
        elif not is_complete:
            reasons.append(f"The trace of the {variant.role} is not known to hold its work.")
    state_after = None
    if watch is not None:
        state_after = watch.after()
    existing_runs = tuple(runs[role] for role in ("candidate", "reference") if role in runs)
    return Pair(
        session,
        number,
        order,
        traced=True,
        candidate=values["candidate"],
        reference=values.get("reference", {}),
        before=state_before,
        after=state_after,
        rejections=tuple(reasons),
        runs=existing_runs,
    )


def _capture(
    prepared: PreparedCapture, variant: CodeVariant, recording: Recording
) -> tuple[Recording, bool]:
    """Capture a variant; return the run, and whether the trace holds the target's work.

    If the recorder was killed, the run is the one that was recovered of its raw data.
    """
    log = prepared.log_of(recording.folder.name)
    argv = arguments_of(prepared, variant, recording.folder.resolve())
    output = log.with_suffix(".out")
    program = Program(argv, variant.env, variant.cwd, log, output)
    status = run(program, prepared.bounds, _LIMIT)
    name = prepared.name_variant(variant)
    if status not in {0, InconclusiveError.exit_code}:
        recovered = _recover(prepared, variant, recording)
        if recovered is not None:
            return recovered, False
        raise ToolError(
            f"The traced capture of {name} ended with {exit_words(status)}.{last_words(log)}",
            hint=f"Its files are in {recording.folder}; to repeat it by hand: {program.line}",
        )
    try:
        load(recording.result_file)
    except TracekitError as error:
        raise ToolError(
            f"The traced capture of {name} left no result that can be read: {error.message}",
            hint=error.hint,
        ) from error
    return recording, status == 0


def _recover(
    prepared: PreparedCapture, variant: CodeVariant, recording: Recording
) -> Recording | None:
    """Recover a capture whose recorder was killed, and analyze it; None if that is impossible."""
    if not recording.bundle.is_dir() or (recording.bundle / _DOCUMENT).exists():
        return None
    recovered = Recording(recording.folder.with_name(f"{recording.folder.name}-recovered"))
    log = prepared.log_of(recovered.folder.name)
    for words in (
        ("recover", str(recording.folder.resolve()), "--output", str(recovered.folder.resolve())),
        ("analyze", str(recovered.folder.resolve())),
    ):
        argv = (str(variant.python), "-P", "-m", "tracekit", *words)
        program = Program(argv, variant.env, variant.cwd, log, log.with_suffix(".out"))
        if run(program, prepared.bounds, _LIMIT) not in {0, InconclusiveError.exit_code}:
            return None
    return recovered
