"""A plan rehearsed on this machine: its noise, and whether a planted slowdown would be seen.

Each capture is measured against itself, and against itself with work planted into its steps that
makes them longer by one threshold. The difference of pairs at 0 % is the noise. It determines how
often a session of so many pairs shows a slowdown of one threshold, and how many pairs it takes.
"""

import math
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tracekit.analysis import METRICS
from tracekit.base import InconclusiveError, paired, system, units, verdicts
from tracekit.comparison import shifts
from tracekit.machine import State, Watch, busy, find_rejections
from tracekit.nightly.history.night import Pair
from tracekit.nightly.history.pairs import changes
from tracekit.nightly.plan.followed import UNTRACED
from tracekit.nightly.plan.plan import Capture, Gated, NightPlan
from tracekit.nightly.session.child import PreparedCapture
from tracekit.nightly.session.measuring import PlantedPair, measure_planted
from tracekit.nightly.session.program import Bounds
from tracekit.nightly.session.variants import candidate_of
from tracekit.record import Progress, Supervisor, quiet

LIMIT = 170.0  # seconds for all captures
_MOST = 12  # pairs of a capture
_SURE = 0.95  # of nights, in which a slowdown of one threshold is to be seen
_DRAWS = 300
_COUNTS = (6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200)


@dataclass(frozen=True)
class PlantedMetric:
    """The rehearsal of a metric that decides.

    `noise` is the standard deviation of a pair at 0 %, on the scale where changes add up.
    `unchanged` and `planted` are the changes measured at 0 % and at one threshold, for the worse
    above 0, with their 95 % intervals. `seen` is the share of sessions of the plan's pairs that
    would show a slowdown of one threshold. `needed` is how many pairs it takes for 95 %; None for
    more than 200.
    """

    metric: str
    threshold: float
    noise: float
    unchanged: tuple[float, float, float]
    planted: tuple[float, float, float]
    seen: float
    needed: int | None


@dataclass(frozen=True)
class Rehearsal:
    """The rehearsal of one capture: its pairs, how many count, and the seconds of one pair.

    `reason` says why there is no result, or why the pairs do not count.
    """

    capture: str
    planned: int
    measured: int = 0
    counting: int = 0
    seconds: float = 0.0
    metrics: tuple[PlantedMetric, ...] = ()
    reason: str = ""

    @property
    def needed_pairs(self) -> int | None:
        """The number of pairs for all of its metrics; None for too many, or if it is not known."""
        needed = 0
        for metric in self.metrics:
            if metric.needed is None:
                return None
            needed = max(needed, metric.needed)
        return needed or None


def rehearse_plan(
    plan: NightPlan, *, limit: float = LIMIT, progress: Progress = quiet
) -> tuple[Rehearsal, ...]:
    """Rehearse the captures of a plan, in `limit` seconds at most; nothing is kept."""
    system.require_processes("A rehearsal")
    deadline = time.monotonic() + limit
    rehearsals: list[Rehearsal] = []
    for place, capture in enumerate(plan.captures):
        remaining_seconds = deadline - time.monotonic()
        share = remaining_seconds / (len(plan.captures) - place)
        rehearsals.append(_rehearse(capture, plan, time.monotonic() + share, progress))
    return tuple(rehearsals)


def _deciding(capture: Capture) -> list[Gated]:
    deciding: list[Gated] = []
    for metric in capture.metrics:
        is_measured = metric.metric in UNTRACED and metric.scale == "ratio"
        if metric.gate and is_measured:
            deciding.append(metric)
    return deciding


def _rehearse(capture: Capture, plan: NightPlan, deadline: float, progress: Progress) -> Rehearsal:
    deciding = _deciding(capture)
    rehearsal = Rehearsal(capture.name, capture.pairs)
    if capture.program:
        return replace(rehearsal, reason="work cannot be planted into a program")
    if not deciding:
        return replace(rehearsal, reason="no metric that turns measure decides")
    pairs: list[PlantedPair] = []
    start = time.monotonic()
    with ExitStack() as stack:
        prepared = _prepare(capture, plan, deadline, stack)
        watch = stack.enter_context(Watch(capture.telemetry))
        calibrate = plan.state.calibration is not None
        progress(f"{capture.name}: pair 1 of {_MOST}")
        try:
            for pair in measure_planted(
                prepared, deciding[0].threshold, pairs=_MOST, watch=watch, calibrate=calibrate
            ):
                pairs.append(pair)
                if pair.plain_pair.number < _MOST:
                    progress(f"{capture.name}: pair {pair.plain_pair.number + 1} of {_MOST}")
        except InconclusiveError:  # the time is spent; the pairs before are whole
            pass
    elapsed = time.monotonic() - start
    seconds = elapsed / max(1, len(pairs))
    measured = replace(rehearsal, measured=len(pairs), seconds=seconds)
    return _judge(measured, capture, plan, pairs)


def _prepare(
    capture: Capture, plan: NightPlan, deadline: float, stack: ExitStack
) -> PreparedCapture:
    """Return the capture ready to be measured against itself."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tracekit-rehearse-")))
    bounds = Bounds(stack.enter_context(Supervisor(folder)), deadline=deadline)
    candidate = candidate_of(capture, plan)
    itself = replace(candidate, role="reference")
    twin_capture = replace(capture, together=True)
    return PreparedCapture(twin_capture, folder, candidate, itself, bounds)


def _judge(
    rehearsal: Rehearsal, capture: Capture, plan: NightPlan, pairs: Sequence[PlantedPair]
) -> Rehearsal:
    counting, reason = _part_counting(pairs, plan)
    rehearsal = replace(rehearsal, counting=len(counting))
    minimum_pairs = paired.least_pairs()
    if len(pairs) < minimum_pairs:
        pair_duration = units.duration(rehearsal.seconds * 1e9)
        shortage = (
            f"only {len(pairs)} pairs fit into the time, of {pair_duration} each; it takes "
            f"{minimum_pairs}"
        )
        return replace(rehearsal, reason=shortage)
    if len(counting) < minimum_pairs:
        reason = reason.rstrip(".")
        busiest = busy.busy_words(busy.find_busiest())
        if busiest:
            reason = f"{reason}; {busiest}"
        rehearsal = replace(rehearsal, reason=reason)
        counting = list(pairs)
    metrics: list[PlantedMetric] = []
    for gated in _deciding(capture):
        metric = _judge_metric(gated, capture, counting)
        if metric is not None:
            metrics.append(metric)
    return replace(rehearsal, metrics=tuple(metrics))


def _part_counting(pairs: Sequence[PlantedPair], plan: NightPlan) -> tuple[list[PlantedPair], str]:
    """Return the pairs that count, and why the first of the others does not."""
    looks: list[State] = []
    for pair in pairs:
        states = (pair.plain_pair.before, pair.plain_pair.after)
        looks += filter(None, states)
    counting: list[PlantedPair] = []
    first_reason = ""
    for pair in pairs:
        plain_pair = pair.plain_pair
        reasons = find_rejections(plain_pair.before, plain_pair.after, looks, plan.state)
        if not reasons:
            counting.append(pair)
        elif not first_reason:
            first_reason = reasons[0]
    return counting, first_reason


def _judge_metric(
    gated: Gated, capture: Capture, pairs: Sequence[PlantedPair]
) -> PlantedMetric | None:
    better = gated.better or METRICS[gated.metric].better.value
    turn = -1 if better == "higher" else 1
    plain_pairs = [pair.plain_pair for pair in pairs]
    unchanged = _changes(plain_pairs, gated, turn)
    planted_pairs = [pair.planted for pair in pairs]
    planted = _changes(planted_pairs, gated, turn)
    unchanged_interval = shifts.find_interval(unchanged)
    planted_interval = shifts.find_interval(planted)
    if unchanged_interval is None or planted_interval is None:
        return None
    middle = statistics.median(unchanged)
    distances = [abs(change - middle) for change in unchanged]
    noise = shifts.NORMAL_MAD * statistics.median(distances)
    threshold = math.log1p(gated.threshold)
    needed = _find_needed(noise, threshold)
    return PlantedMetric(
        metric=gated.metric,
        threshold=gated.threshold,
        noise=noise,
        unchanged=_as_ratios(unchanged_interval),
        planted=_as_ratios(planted_interval),
        seen=chance_seen(noise, threshold, capture.pairs),
        needed=needed,
    )


def _as_ratios(interval: verdicts.Interval) -> tuple[float, float, float]:
    middle = math.expm1(interval.middle)
    lower_bound = math.expm1(interval.lower_bound)
    upper_bound = math.expm1(interval.upper_bound)
    return (
        middle,
        lower_bound,
        upper_bound,
    )


def _find_needed(noise: float, threshold: float) -> int | None:
    """Return the least number of pairs that is sure to show a change of one threshold."""
    for count in _COUNTS:
        if count >= paired.least_pairs() and chance_seen(noise, threshold, count) >= _SURE:
            return count
    return None


def _changes(pairs: Sequence[Pair], gated: Gated, turn: int) -> list[float]:
    return [turn * change for change in changes(pairs, gated.metric, gated.scale)]


def chance_seen(noise: float, change: float, pairs: int) -> float:
    """Return the share of sessions whose 95 % interval is above 0 if `change` is true.

    Pairs deviate by `noise`, normally, on the scale where changes add up; the draws are the same
    each time.
    """
    generator = np.random.default_rng(1)
    draws = generator.normal(change, noise, (_DRAWS, pairs))
    seen_count = 0
    for session in draws.tolist():
        interval = shifts.find_interval(session)
        if interval is not None and interval.lower_bound > 0:
            seen_count += 1
    return seen_count / _DRAWS


def rehearsal_lines(rehearsal: Rehearsal) -> Iterator[str]:
    """Yield the results of a rehearsal, a sentence a line."""
    name = rehearsal.capture
    if not rehearsal.metrics:
        yield f"{name}: not rehearsed, because {rehearsal.reason}."
        return
    if rehearsal.reason:
        yield f"{name}: the numbers below do not count. {rehearsal.reason}."
    for metric in rehearsal.metrics:
        threshold = units.percent(metric.threshold)
        unchanged = _describe_change(metric.unchanged)
        planted = _describe_change(metric.planted)
        deviation = units.percent(metric.noise)
        yield (
            f"{name}: {metric.metric} at 0 %: {unchanged}; with {threshold} planted: {planted}. "
            f"A pair deviates by {deviation}."
        )
        chance = units.percent(metric.seen)
        yield (
            f"{name}: a slowdown of {threshold} would be seen in {chance} of the "
            f"nights with {rehearsal.planned} pairs."
        )
    yield _advice(rehearsal)


def _describe_change(change: tuple[float, float, float]) -> str:
    middle, lower_bound, upper_bound = change
    return f"{100 * middle:+.1f} % [{100 * lower_bound:+.1f} … {100 * upper_bound:+.1f}]"


def _advice(rehearsal: Rehearsal) -> str:
    name = rehearsal.capture
    needed = rehearsal.needed_pairs
    if needed is None:
        largest_count = _COUNTS[-1]
        return (
            f"{name}: even {largest_count} pairs do not suffice here. Let the machine be quiet, "
            "make `turn` longer, or raise the threshold."
        )
    takes = units.duration(needed * rehearsal.seconds * 1e9)
    if needed > rehearsal.planned:
        return f"{name}: it takes {needed} pairs, which are {takes} of a session."
    if needed < rehearsal.planned:
        return f"{name}: {needed} pairs suffice, which are {takes} of a session."
    return f"{name}: the plan is right as it is."


def offered_lines(rehearsals: Sequence[Rehearsal]) -> list[str]:
    """Return the lines to put into a plan, for captures that need another number of pairs."""
    lines: list[str] = []
    for rehearsal in rehearsals:
        needed = rehearsal.needed_pairs
        if needed is not None and needed != rehearsal.planned and not rehearsal.reason:
            lines += ["[[nightly.capture]]", f'name = "{rehearsal.capture}"', f"pairs = {needed}"]
    return lines
