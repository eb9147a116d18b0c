"""Pairs of fresh processes, stepped in turns: abba, baab, and so on; checked before, and traced.

What drifts over the seconds of a pair, as heat does, falls on both variants alike. What a process
happens to get and keeps, as the place of its memory, differs from process to process: so each
pair has processes of its own, and varies as nights do.

What is traced runs one after the other, as `tracekit capture` in the variant's own interpreter and
folder: recorded, exported and analyzed by the tracekit that the variant has.
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
from tracekit.nightly.gate.judge import Quantity
from tracekit.nightly.history.night import Pair, Values
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
"""Steps of a turn from which its 99th percentile is reported."""
STEP_TIME = "step_p50"
_SECOND = 1e9


def values_of(turns: Sequence[StepTimes], finished: Finished) -> Values:
    """Return the value of each metric in each turn, and what the workload measured itself.

    Of steps of several variants, which are compared, no step time is given. A result of the
    workload's own has one value; one that is called like a metric is left out.
    """
    turn_values: dict[str, list[float]] = {}
    for turn in turns:
        for name, value in _of_turn(turn):
            turn_values.setdefault(name, []).append(value)
    workload_values = {
        name: (float(result.value),)
        for name, result in finished.results.items()
        if result.value is not None and name not in METRICS
    }
    return {name: tuple(values) for name, values in turn_values.items()} | workload_values


def traced_values(result: Result) -> Values:
    """Return the numbers of a traced run, one value each."""
    numbers = {number.name: number.value for number in (*result.results, *result.metrics)}
    return {name: (float(value),) for name, value in numbers.items() if value is not None}


def require_steps(name: str, turn: StepTimes) -> StepTimes:
    """Return the turn; raise ToolError where it had no step that says anything."""
    if turn.times and turn.length > 0:
        return turn
    reason = "had nothing left to do" if turn.exhausted else "made no step that did anything"
    raise ToolError(
        f"{name[0].upper()}{name[1:]} {reason} in its turn.",
        hint="Give the workload more to do, or shorter turns; one that follows a schedule of its "
        "own needs together = false, so that it has one long turn.",
    )


def overhead(traced: Sequence[Pair], untraced: Sequence[Pair]) -> Overhead:
    """Compare the candidate's steps while traced with those that were not, in ns a step.

    The ratio is that of medians of pairs that count. Its spread takes a traced run to vary as
    pairs of untraced ones do, on a logarithmic scale, and Student's t for their number.
    """
    recorded, untraced_times = _step_times(traced), _step_times(untraced)
    if not recorded or not untraced_times:
        missing_kind = "traced" if not recorded else "untraced"
        return Overhead(reason=f"no {missing_kind} pair of this session tells the time of a step")
    if len(untraced_times) < 2:  # noqa: PLR2004  one pair shows nothing of how pairs differ
        return Overhead(reason="one untraced pair does not show how much pairs differ")
    deviation = statistics.stdev(math.log(value) for value in untraced_times)
    half = (
        quantile(len(untraced_times) - 1)
        * deviation
        * math.sqrt(1 / len(recorded) + 1 / len(untraced_times))
    )
    ratio = statistics.median(recorded) / statistics.median(untraced_times)
    return Overhead(
        ratio=ratio - 1,
        spread=ratio * math.sinh(half),
        recorded=round(statistics.median(recorded)),
        unrecorded=round(statistics.median(untraced_times)),
    )


def _step_times(pairs: Sequence[Pair]) -> list[float]:
    pair_values = [pair.candidate.get(STEP_TIME) for pair in pairs if not pair.contaminated]
    return [statistics.median(values) for values in pair_values if values]


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
"""Readings of which the greatest counts; of all others, such as a clock, the least does."""


def worst(states: Sequence[State]) -> State | None:
    """Return the worst of each reading, at the time of the last look; None without any."""
    if not states:
        return None
    readings: dict[str, float] = {}
    missing: dict[str, str] = {}
    for state in states:
        missing |= state.absences
        for name, value in state.readings.items():
            choose = max if name in MORE_IS_WORSE else min
            readings[name] = choose(value, readings.get(name, value))
    missing = {name: reason for name, reason in missing.items() if name not in readings}
    return State(states[-1].at, readings, missing)


OF_ATTENTION = frozenset({"paged", "sdpa", "flash", "paged-vs-sdpa", "serve", "kv-cache"})
"""Workloads whose code `tracekit parity` checks."""
_LIMIT = 3600.0  # seconds of one check, or traced capture: saving can take many minutes


def check(prepared: PreparedCapture) -> str:
    """Check what the capture asks for, with the candidate's interpreter and code.

    Parity runs once a night: captures after the first take its result, which lies in the night's
    folder. Return what was checked, in a sentence; empty where nothing was.
    """
    clauses = [_parity(prepared, grid)] if (grid := grid_of(prepared)) else []
    for number, argv in enumerate(prepared.capture.checks, start=1):
        _require(prepared, argv, f"check-{number}")
        clauses.append(f"{argv[0]} succeeded")
    words = "; ".join(clauses)
    return f"{words[0].upper()}{words[1:]}." if words else ""


def _require(
    prepared: PreparedCapture, argv: tuple[str, ...], name: str, output: Path | None = None
) -> None:
    """Run a program as the candidate; raise ParityError where it does not succeed."""
    variant, log = prepared.candidate, prepared.log_of(name)
    program = Program(argv, variant.env, variant.cwd, log, output)
    status = run(program, prepared.bounds, _LIMIT)
    if status != 0:
        raise ParityError(
            f"The check {program.line} ended with {exit_words(status)}.{last_words(log)}",
            hint=f"All that it said is in {log}.",
        )


def grid_of(prepared: PreparedCapture) -> str:
    """Return which grid of parity is checked: quick, full, or empty for none."""
    parity_choice = prepared.capture.parity
    if parity_choice == "auto":
        works = {variant.workload for variant in prepared.variants}
        return "quick" if works & OF_ATTENTION else ""
    return "" if parity_choice == "off" else parity_choice


def _parity(prepared: PreparedCapture, grid: str) -> str:
    result_file = prepared.folder / f"parity-{grid}.json"
    if not result_file.exists():
        quick = ("--quick",) if grid == "quick" else ()
        argv = (str(prepared.candidate.python), "-P", "-m", "tracekit", "parity", *quick, "--json")
        failed_file = result_file.with_suffix(".failed.json")
        _require(prepared, argv, "parity", failed_file)
        failed_file.rename(result_file)
    return f"parity holds in the {grid} grid"


LEAST = 5
"""Steps of a turn, at least."""
WAKE = 0.05
"""Seconds of unmeasured steps before a turn, at most; a sixth of the turn where that is less."""
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
    """Measure pairs, by default as many as the plan says; each one is whole when it comes.

    One that does not count is measured again by asking for more, with another `first_number`. No
    process of a pair outlives it, nor the calibration's the iterator. The machine is looked at
    before and after each pair where there is a `watch`; if `calibrate`, fixed work shows its pace.
    """
    count = prepared.capture.pairs if pairs is None else pairs
    with ExitStack() as stack:
        looks = _Looks(prepared, watch, stack, calibrate=calibrate)
        for variant in prepared.variants if prepared.candidate.argv else ():
            run_program(prepared, variant)  # unmeasured: it fills the caches of files
        for number in range(first_number, first_number + count):
            prepared.bounds.require_time(_BETWEEN)
            if prepared.candidate.argv:
                yield _program_pair(prepared, session, number, looks)
            else:
                yield _pair(prepared, session, number, looks)


def order_of(prepared: PreparedCapture, number: int) -> str:
    """Return the order of a pair's runs: a the candidate, b the reference."""
    single_order = "a" if prepared.reference is None else "ab" if number % 2 else "ba"
    twice = prepared.capture.together and not prepared.candidate.argv
    return single_order + single_order[::-1] if twice else single_order


def _pair(prepared: PreparedCapture, session: int, number: int, looks: "_Looks") -> Pair:
    """Measure a pair: both processes live at once, or one has one long run after the other."""
    order, capture = order_of(prepared, number), prepared.capture
    seconds = capture.turn if capture.together else 2 * capture.turn
    values: dict[str, Values] = {}
    states_before: list[State | None] = []
    states_after: list[State | None] = []
    for group in [order] if capture.together else [*order]:
        with ExitStack() as stack:
            children = _prepare_children(prepared, list(dict.fromkeys(group)), stack)
            runs: dict[str, list[StepTimes]] = {side: [] for side in children}
            states_before.append(looks.look_before(list(children.values())))
            for letter in group:
                runs[letter].append(_run(prepared, children[letter], seconds))
            states_after.append(looks.look_after(next(iter(children.values()))))
            for child in children.values():
                child.begin_finishing()
            for letter, child in children.items():
                finished = child.end_finishing()
                for name, result in finished.results.items():
                    prepared.results[name] = Quantity(result.unit, result.better)
                values[letter] = values_of(runs[letter], finished)
    return Pair(
        session,
        number,
        order,
        candidate=values["a"],
        reference=values.get("b", {}),
        before=worst([*filter(None, states_before)]),
        after=worst([*filter(None, states_after)]),
    )


def _program_pair(prepared: PreparedCapture, session: int, number: int, looks: "_Looks") -> Pair:
    """Run each program once; whose turn is first alternates from pair to pair."""
    order = order_of(prepared, number)
    values: dict[str, Values] = {}
    state_before = looks.look_before([])
    for letter in order:
        variant = prepared.candidate if letter == "a" else prepared.reference
        assert variant is not None
        values[letter] = run_program(prepared, variant)
    state_after = looks.look_after(None)
    prepared.capture = with_program_metrics(prepared)
    return Pair(
        session,
        number,
        order,
        candidate=values["a"],
        reference=values.get("b", {}),
        before=_without_gpu_others(state_before),
        after=_without_gpu_others(state_after),
    )


def _without_gpu_others(state: State | None) -> State | None:
    """Return a state without others' share of the GPU: ours has left when somebody looks."""
    if state is None:
        return None
    readings = {name: value for name, value in state.readings.items() if name != "gpu_others"}
    reason = "a program that has ended cannot be told from others."
    return State(state.at, readings, state.absences | {"gpu_others": reason})


@dataclass(frozen=True)
class PlantedPair:
    """A pair of the same work, and the same reference against work with a planted slowdown."""

    plain_pair: Pair
    planted: Pair


_PLANTED_ORDER = "abppba"  # each kind is in the middle: a drift falls on all alike


def measure_planted(
    prepared: PreparedCapture, share: float, *, pairs: int, watch: Watch | None, calibrate: bool
) -> Iterator[PlantedPair]:
    """Measure pairs in which the candidate also has turns that are longer by a share of a step."""
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
            step_times = [time for turn in runs["a"] for time in turn.times]
            planted = share * statistics.median(step_times) if letter == "p" else 0.0
            runs[letter].append(_run(prepared, child, prepared.capture.turn, planted))
        state_after = looks.look_after(children["a"])
        for child in children.values():
            child.begin_finishing()
        for child in children.values():
            child.end_finishing()
    values = {letter: values_of(turns, Finished()) for letter, turns in runs.items()}
    plain_pair = Pair(1, number, "abba", False, values["a"], values["b"], state_before, state_after)
    return PlantedPair(plain_pair, replace(plain_pair, order="bppb", candidate=values["p"]))


def _prepare_children(
    prepared: PreparedCapture, letters: Sequence[str], stack: ExitStack
) -> dict[str, RemoteWorkload]:
    """Start the processes of a pair, and let them prepare side by side, which nobody measures."""
    children: dict[str, RemoteWorkload] = {}
    variants: dict[str, CodeVariant] = {}
    for letter in letters:
        variant = prepared.candidate if letter == "a" else prepared.reference
        assert variant is not None
        variants[letter] = variant
        child = spawn_workload(
            prepared.name_variant(variant), variant, prepared.log_of(variant.role), prepared.bounds
        )
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
    task = RunSteps(seconds, LEAST, min(WAKE, seconds / 6), planted)
    turn = require_steps(child.name, child.run_steps(task))
    if turn.specializations:
        prepared.remark(f"Pipelines were made while {child.name} was measured, though it was warm.")
    return turn


class _Looks:
    """Looks at the machine before and after each pair.

    To see its pace, a third process does the same fixed work each time, on the device of the pair.
    """

    def __init__(
        self, prepared: PreparedCapture, watch: Watch | None, stack: ExitStack, *, calibrate: bool
    ) -> None:
        self._prepared, self._watch, self._stack = prepared, watch, stack
        self._calibrate = calibrate
        self._calibration: RemoteWorkload | None = None

    def look_before(self, children: Sequence[RemoteWorkload]) -> State | None:
        """Look before the runs of children."""
        if self._watch is None:
            return None
        pace = self._pace(children[0] if children else None)
        ours = {os.getpid(), *(workload.child.pid for workload in children)}
        if self._calibration is not None:
            ours.add(self._calibration.child.pid)
        return self._watch.before(ours, pace)

    def look_after(self, child: RemoteWorkload | None) -> State | None:
        """Look after the runs, by the device of a child."""
        return None if self._watch is None else self._watch.after(self._pace(child))

    def _pace(self, child: RemoteWorkload | None) -> int | None:
        """Return how long fixed work takes now, in ns, on the device of a variant's work."""
        if not self._calibrate:
            return None
        if self._calibration is None:
            prepared = self._prepared
            name, log = f"the calibration of {prepared.capture.name}", "calibration"
            self._calibration = self._stack.enter_context(
                start_workload(name, prepared.candidate, prepared.log_of(log), prepared.bounds)
            )
        if child is None:  # a program says nothing of its device
            return self._calibration.calibrate(Calibrate("cpu"))
        device = "cpu" if child.ready.backend == "cpu" else "gpu"
        return self._calibration.calibrate(Calibrate(device, mlx=bool(child.ready.mlx)))


def trace(
    prepared: PreparedCapture, *, session: int = 1, watch: Watch | None = None
) -> Iterator[Pair]:
    """Trace as many pairs as the plan says; each one is whole when it comes.

    A pair does not count where a trace may lack the target's work; `contaminated` says which.
    Odd pairs trace the candidate first, even ones the reference. Arguments are those of `measure`.
    """
    for number in range(1, prepared.capture.traced + 1):
        yield _traced_pair(prepared, session, number, watch)


def arguments_of(prepared: PreparedCapture, variant: CodeVariant, output: Path) -> tuple[str, ...]:
    """Return the command line that captures a variant into a folder."""
    capture = prepared.capture
    workload_options = (
        ("--workloads", str(variant.workloads)) if variant.workloads is not None else ()
    )
    templates = [word for template in capture.templates for word in ("--template", template)]
    return (
        *(str(variant.python), "-P", "-m", "tracekit", "capture"),
        *(
            "--workload",
            variant.workload,
            *workload_options,
            "--recorder",
            capture.recorder,
            *templates,
        ),
        *("--counters", capture.counters, "--telemetry", capture.telemetry),
        *("--time-limit", f"{capture.time_limit:.3f}s", "--warmup", str(capture.warmup)),
        *("--output", str(output), *options(variant.parameters)),
    )


def options(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a workload's parameters as options; what is None is left to its default."""
    words: list[str] = []
    for name, value in parameters.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        elif value is not None:
            items = value if isinstance(value, list | tuple) else (value,)
            words += [f"--{option}={item}" for item in items]
    return tuple(words)


def _traced_pair(prepared: PreparedCapture, session: int, number: int, watch: Watch | None) -> Pair:
    variants = prepared.variants if number % 2 else tuple(reversed(prepared.variants))
    values: dict[str, Values] = {}
    runs: dict[str, str] = {}
    reasons: list[str] = []
    state_before = watch.before() if watch is not None else None
    for variant in variants:
        name = f"{variant.role}-{session}-{number}"
        recording = Recording(prepared.own_folder / name)
        result, is_complete = _capture(prepared, variant, recording)
        for metric in result.results:
            prepared.results[metric.name] = Quantity(metric.unit, metric.better.value)
        values[variant.role] = traced_values(result)
        runs[variant.role] = f"{prepared.capture.name}/{name}"
        if not is_complete:
            reasons.append(f"The trace of the {variant.role} is not known to hold its work.")
    return Pair(
        session,
        number,
        order="".join("a" if side.role == "candidate" else "b" for side in variants),
        traced=True,
        candidate=values["candidate"],
        reference=values.get("reference", {}),
        before=state_before,
        after=watch.after() if watch is not None else None,
        contaminated=tuple(reasons),
        runs=tuple(runs[role] for role in ("candidate", "reference") if role in runs),
    )


def _capture(
    prepared: PreparedCapture, variant: CodeVariant, recording: Recording
) -> tuple[Result, bool]:
    place = prepared.log_of(recording.folder.name)
    argv = arguments_of(prepared, variant, recording.folder.resolve())
    program = Program(argv, variant.env, variant.cwd, place, place.with_suffix(".out"))
    status = run(program, prepared.bounds, _LIMIT)
    if status not in {0, InconclusiveError.exit_code}:
        raise ToolError(
            f"The traced capture of {prepared.name_variant(variant)} ended with "
            f"{exit_words(status)}."
            f"{last_words(place)}",
            hint=f"What it kept is in {recording.folder}; the same line by hand: {program.line}",
        )
    try:
        return load(recording.result_file), status == 0
    except TracekitError as error:
        raise ToolError(
            f"The traced capture of {prepared.name_variant(variant)} left no result that can be "
            "read: "
            f"{error.message}",
            hint=error.hint,
        ) from error
