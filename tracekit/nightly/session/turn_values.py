"""The values that turns and traced captures give, and the worst state of several looks."""

import math
import statistics
from collections.abc import Iterator, Sequence

import numpy as np

from tracekit.analysis import METRICS, Result
from tracekit.base import Overhead, ToolError
from tracekit.comparison import quantile
from tracekit.machine import State
from tracekit.nightly.history.night import Pair, Values
from tracekit.workload import protocol

ENOUGH = 100
"""The least number of steps in a turn whose 99th percentile is reported."""
STEP_TIME = "step_p50"
_SECOND = 1e9


def values_of(turns: Sequence[protocol.StepTimes], finished: protocol.Finished) -> Values:
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


def require_steps(name: str, turn: protocol.StepTimes) -> protocol.StepTimes:
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


def _of_turn(turn: protocol.StepTimes) -> Iterator[tuple[str, float]]:
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
