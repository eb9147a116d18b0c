"""Turns in numbers: the values of metrics that steps alone tell, and what tracing costs."""

import math
import statistics
from collections.abc import Iterator, Sequence

import numpy as np

from tracekit.analysis import METRICS, Result
from tracekit.base import Overhead, ToolError
from tracekit.compare import quantile
from tracekit.nightly.history.night import Pair, Values
from tracekit.workload import Finished, StepTimes

ENOUGH = 100
"""Steps of a turn from which its 99th percentile is reported."""
STEP_TIME = "step_p50"
_SECOND = 1e9


def values_of(turns: Sequence[StepTimes], finished: Finished) -> Values:
    """Return the value of each metric in each turn, and what the workload measured itself.

    Metrics mean what they mean in `tracekit.analysis.metrics`: of steps of several variants,
    which are compared, no step time is given. A result of the workload's own has one value; one
    that is called like a metric is left out.
    """
    found: dict[str, list[float]] = {}
    for turn in turns:
        for name, value in _of_turn(turn):
            found.setdefault(name, []).append(value)
    own = {
        name: (float(one.value),)
        for name, one in finished.results.items()
        if one.value is not None and name not in METRICS
    }
    return {name: tuple(values) for name, values in found.items()} | own


def traced_values(result: Result) -> Values:
    """Return the numbers of a traced run, one value each."""
    known = {one.name: one.value for one in (*result.results, *result.metrics)}
    return {name: (float(value),) for name, value in known.items() if value is not None}


def require_steps(name: str, turn: StepTimes) -> StepTimes:
    """Return the turn; raise ToolError where it had no step that says anything."""
    if turn.times and turn.length > 0:
        return turn
    why = "had nothing left to do" if turn.exhausted else "made no step that did anything"
    raise ToolError(
        f"{name[0].upper()}{name[1:]} {why} in its turn.",
        hint="Give the workload more to do, or shorter turns; one that follows a schedule of its "
        "own needs together = false, so that it has one long turn.",
    )


def overhead(traced: Sequence[Pair], untraced: Sequence[Pair]) -> Overhead:
    """Compare the candidate's steps while traced with those that were not, in ns a step.

    The ratio is that of medians of pairs. Its spread takes a traced run to vary as pairs of
    untraced ones do, on a logarithmic scale, and Student's t for their number: several untraced
    pairs and one traced run are enough. Pairs that do not count are left out.
    """
    one, other = _step_times(traced), _step_times(untraced)
    if not one or not other:
        which = "traced" if not one else "untraced"
        return Overhead(reason=f"no {which} pair of this session tells the time of a step")
    if len(other) < 2:  # noqa: PLR2004  one pair shows nothing of how pairs differ
        return Overhead(reason="one untraced pair does not show how much pairs differ")
    deviation = statistics.stdev(math.log(value) for value in other)
    half = quantile(len(other) - 1) * deviation * math.sqrt(1 / len(one) + 1 / len(other))
    ratio = statistics.median(one) / statistics.median(other)
    return Overhead(
        ratio=ratio - 1,
        spread=ratio * math.sinh(half),
        recorded=round(statistics.median(one)),
        unrecorded=round(statistics.median(other)),
    )


def _step_times(pairs: Sequence[Pair]) -> list[float]:
    counted = [pair.candidate.get(STEP_TIME) for pair in pairs if not pair.contaminated]
    return [statistics.median(values) for values in counted if values]


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
