"""The verdict on each metric: how it changed, how sure that is, whether it matters, in words."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tracekit.analysis import Better, Measurement, Unavailable
from tracekit.base import (
    CERTAINTY,
    Interval,
    Scale,
    Sessions,
    Shown,
    Verdict,
    least_pairs,
    sentence_of,
    verdict_of,
)
from tracekit.compare.differences import differences
from tracekit.compare.paired import middle, shift
from tracekit.compare.samples import Order, Runs
from tracekit.compare.spread import Limits, Repetition, SideValues, interval, pair_changes


@dataclass(frozen=True)
class Change:
    """What became of one metric.

    `before` and `after` are the medians of the runs, None where they do not have it. `change` is
    what is judged: a ratio less one where `relative`, else a difference in the metric's unit, at
    equal machine pace where it is `corrected` by reference work or `paired` within runs that are
    neighbours in time; `low` and `high` hold the true change with 95 %. `measured` is the plain
    change of the medians, on the same scale. `verdict` is None where it is not judged, as a metric
    that is better in neither direction; `reason` says why it is unclear, or why there is no
    interval. Those that are `deciding` take part in the verdict over all.
    """

    metric: str
    unit: str
    better: Better
    before: float | None
    after: float | None
    verdict: Verdict | None = None
    change: float | None = None
    low: float | None = None
    high: float | None = None
    relative: bool = True
    corrected: bool = False
    deciding: bool = False
    reason: str = ""
    values_before: tuple[float, ...] = ()
    values_after: tuple[float, ...] = ()
    measured: float | None = None
    paired: bool = False


# What reference work depends on as much as steps do: it cannot show a change of these.
_MAKES_THE_PACE = frozenset(
    {"chip", "model", "cores", "memory", "architecture", "Rosetta", "Python", "MLX"}
)
_POWERS = {"ns": -1, "tokens/s": 1, "steps/s": 1}
# What a slower core does not make longer: a bound by the chip's figures, and a sum over a window.
_UNPACED = frozenset({"step_bound", "wire_time"})


@dataclass(frozen=True)
class Pace:
    """How the machine's pace differs between two sides.

    `is_known` says whether reference work shows it; `slowdown` is how much longer that work took
    after than before, as a logarithm. Of runs that were recorded `alternating`, neighbours in time
    share it; so many pairs of them are of the `first_session_pairs` of two sessions, 0 where there
    was one.
    """

    is_known: bool = False
    slowdown: float = 0.0
    alternating: bool = False
    first_session_pairs: int = 0

    def power(self, change: "Change") -> int:
        """Return how a metric goes with the pace, which is taken out; 0 does not.

        Lengths that are neither better nor worse are sums, as busy time, or as long as was asked.
        """
        if not self.is_known or change.better is Better.NEITHER or change.metric in _UNPACED:
            return 0
        return _POWERS.get(change.unit, 0)

    def find_run_deviation(self, limits: Limits) -> float:
        """Return how much equal runs are taken to differ once it is out, one deviation."""
        doubt = limits.doubt * abs(self.slowdown) / math.sqrt(2)  # two runs share it
        return math.hypot(min(limits.between, limits.paced), doubt)


def pace_of(
    runs_before: Runs, runs_after: Runs, order: Order, first_session_pairs: int = 0
) -> Pace:
    """Return the pace, if all runs did the same reference work, on like machines with like tools.

    Else a correction would take out the very change that one looks for, as that of a newer MLX.
    """
    unknown = Pace(alternating=order is Order.ALTERNATING, first_session_pairs=first_session_pairs)
    sides = (runs_before, runs_after)
    if not all(reference for side in sides for reference in side.references):
        return unknown
    sources = {block.reference_source() for side in sides for block in side.blocks}
    unlike = {
        difference.what for difference in differences(runs_before.samples, runs_after.samples)
    }
    if len(sources) > 1 or unlike & _MAKES_THE_PACE:
        return unknown
    old, new = (statistics.median(map(statistics.median, side.references)) for side in sides)
    return replace(unknown, is_known=True, slowdown=math.log(new / old))


_COUNTED = {"count", "ratio", ""}


def judge_metric(
    name: str, runs_before: Runs, runs_after: Runs, pace: Pace, limits: Limits
) -> Change:
    """Say what became of the metric `name`, of which at least one run knows the value."""
    old, new = runs_before.values(name), runs_after.values(name)
    first_measurement = next(
        metric
        for runs in (runs_before, runs_after)
        for sample in runs.samples
        if (metric := sample.measurement(name))
    )
    change = Change(
        metric=name,
        unit=first_measurement.unit,
        better=first_measurement.better,
        before=statistics.median(old) if old else None,
        after=statistics.median(new) if new else None,
        relative=first_measurement.unit not in _COUNTED,
        values_before=tuple(old),
        values_after=tuple(new),
    )
    if change.before is None or change.after is None:
        return replace(change, reason=_missing(name, runs_before, runs_after))
    scale = _Scale.from_change(change, pace, limits)
    if scale is None:
        odd = "a ratio takes values above 0"
        plain_change = change.after - change.before
        return replace(
            change, relative=False, measured=plain_change, change=plain_change, reason=odd
        )
    plain_change = (
        change.after / change.before - 1 if scale.relative else change.after - change.before
    )
    change = replace(change, measured=plain_change, corrected=scale.power != 0)
    return _judge_change(change, scale, (runs_before, runs_after), pace, limits)


@dataclass(frozen=True)
class _Scale:
    """Where changes add up: logarithms or plain values, times a power of the reference.

    `run_deviation` is how much equal runs are taken to differ on it beyond what they show, one
    deviation.
    """

    relative: bool
    power: int = 0
    run_deviation: float = 0.0

    @classmethod
    def from_change(cls, change: Change, pace: Pace, limits: Limits) -> "_Scale | None":
        if not change.relative:
            return cls(relative=False)
        if not all(0 < value < math.inf for value in (*change.values_before, *change.values_after)):
            return None
        power = pace.power(change)
        run_deviation = pace.find_run_deviation(limits) if power else limits.between
        return cls(relative=True, power=power, run_deviation=run_deviation)

    def scale_value(self, value: float, reference: float) -> float:
        if not self.relative:
            return value
        return math.log(value) + (self.power * math.log(reference) if self.power else 0.0)


def _judge_change(
    change: Change, scale: _Scale, sides: tuple[Runs, Runs], pace: Pace, limits: Limits
) -> Change:
    reasons: list[str] = []
    side_before, side_after = (_side(change.metric, runs, scale, reasons) for runs in sides)
    paired = pair_changes(side_before, side_after) if pace.alternating else {}
    pairs = shift([*paired.values()])
    change = replace(change, paired=pairs is not None)
    change_interval = pairs or interval(side_before, side_after, scale.run_deviation)
    to_plain = math.expm1 if scale.relative else float
    if change_interval is None:
        plain_middle = to_plain(side_after.middle - side_before.middle)
        if change.better is Better.NEITHER:
            return replace(change, change=plain_middle)
        if plain_middle == 0:
            return replace(change, change=plain_middle, verdict=Verdict.EQUIVALENT)
        reason = f"its spread is not known: {reasons[0].rstrip('.')}"
        return replace(change, change=plain_middle, verdict=Verdict.UNCLEAR, reason=reason)
    verdict, reason = None, ""
    if change.better is not Better.NEITHER:
        sessions = [
            [
                change
                for place, change in paired.items()
                if (place < pace.first_session_pairs) is is_first_session
            ]
            for is_first_session in (True, False)
        ]
        verdict, reason = judge_interval(change_interval, change, limits, sessions if pairs else ())
    certain = not change_interval.lower_bound <= 0 <= change_interval.upper_bound
    turned = certain and change_interval.middle * (change.measured or 0) <= 0
    if turned and (change.corrected or change.paired):
        reason = "the medians changed the other way, for the machine's pace changed more"
        if change.corrected and verdict not in {None, Verdict.EQUIVALENT}:
            verdict, reason = Verdict.UNCLEAR, "only taking the machine's pace out makes it seem so"
    return replace(
        change,
        change=to_plain(change_interval.middle),
        low=to_plain(change_interval.lower_bound),
        high=to_plain(change_interval.upper_bound),
        verdict=verdict,
        reason=reason,
    )


def judge_interval(
    change_interval: Interval,
    change: Change,
    limits: Limits,
    sessions: Sequence[Sequence[float]] = (),
) -> tuple[Verdict, str]:
    """Judge a change by its interval on its scale; say why where it is unclear.

    `sessions` are the changes of pairs that each of two sessions found; one with too few says
    nothing.
    """
    limit = limit_of(change, limits)
    scaled = math.log1p(limit) if change.relative else limit
    turn = 1 if change.better is Better.LOWER else -1
    both_sessions = None
    if len(sessions) > 1 and min(map(len, sessions)) >= least_pairs():
        sure = shift([change for session in sessions for change in session], (), CERTAINTY)
        both_sessions = Sessions([middle(session) for session in sessions], sure).orient(turn)
    verdict, doubt = verdict_of(change_interval.orient(turn), scaled, both_sessions)
    words = shown_of(change).limit(limit)
    return verdict, doubt.format(limit=words) if doubt else ""


def limit_of(change: Change, limits: Limits) -> float:
    """Return the least change that matters on the change's plain scale: counts change by one."""
    if change.relative or change.unit == "ratio":
        return limits.threshold
    return max(1.0, limits.threshold)


def shown_of(change: Change) -> Shown:
    """Return how a metric's changes are put into words."""
    scale: Scale = "ratio" if change.relative else "difference"
    return Shown(scale, change.unit)


def sentence(change: Change, limits: Limits) -> str:
    """Return the verdict on a metric with its interval, in words; why there is none without one."""
    if change.verdict is None or change.change is None:
        return change.reason
    change_bounds = (change.change, change.low, change.high)
    limit = limit_of(change, limits)
    return sentence_of(change.verdict, shown_of(change), change_bounds, limit, change.reason)


def _side(name: str, side: Runs, scale: _Scale, reasons: list[str]) -> SideValues:
    values: list[float] = []
    blocks: list[tuple[float, ...]] = []
    repetitions: list[Repetition] = []
    places: list[int] = []
    run_parts = zip(side.samples, side.blocks, side.references, strict=True)
    for place, (sample, run_blocks, references) in enumerate(run_parts):
        metric = sample.measurement(name)
        if metric is None or metric.value is None:
            continue
        reference = statistics.median(references) if references else 1.0
        values.append(scale.scale_value(metric.value, reference))
        places.append(place)
        if repetition := _find_repetition(metric, scale):
            repetitions.append(repetition)
            continue
        try:
            parts = run_blocks.values(name)
            blocks.append(_blocks(parts, references or (1.0,) * len(parts), metric.value, scale))
        except Unavailable as reason:
            reasons.append(str(reason))
    complete_blocks = tuple(blocks) if len(blocks) == len(values) else ()
    repeated = tuple(repetitions) if len(repetitions) == len(values) else ()
    kind = ("median" if name.endswith("_p50") else "mean") if scale.power != 0 else "block"
    return SideValues(tuple(values), complete_blocks, kind, tuple(places), repeated)


_FEWEST = 1
"""Degrees of freedom of a deviation that was stated without a number of repetitions: of two."""


def _find_repetition(metric: Measurement, scale: _Scale) -> Repetition | None:
    """Return how a program's own repetitions vary on the scale; None where it stated none."""
    samples, deviation, value = metric.samples, metric.deviation, metric.value
    if len(samples) > 1 and not (scale.relative and min(samples) <= 0):
        variance = statistics.variance(scale.scale_value(sample, 1.0) for sample in samples)
        return Repetition(variance, len(samples) - 1)
    if deviation is None or value is None:
        return None
    # The deviation of logarithms, as long as it is small beside the value.
    return Repetition((deviation / value if scale.relative else deviation) ** 2, _FEWEST)


def _blocks(
    parts: Sequence[float], references: Sequence[float], whole_value: float, scale: _Scale
) -> tuple[float, ...]:
    """Return the blocks' values on the scale; raise Unavailable if they are no parts of it."""
    if not min(parts) <= whole_value <= max(parts):
        raise Unavailable("its blocks are not like the whole, of which it is a sum or an end.")
    if scale.relative and min(parts) <= 0:
        raise Unavailable("it is 0 in a block.")
    return tuple(scale.scale_value(*pair) for pair in zip(parts, references, strict=True))


def _missing(name: str, runs_before: Runs, runs_after: Runs) -> str:
    for words, side in (("before", runs_before), ("after", runs_after)):
        if not side.values(name):
            measurement = next(filter(None, (run.measurement(name) for run in side.samples)), None)
            return (
                f"{words}: {measurement.reason if measurement else 'the result does not have it'}"
            )
    return ""
