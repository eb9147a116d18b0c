"""The verdict on each metric: its change, the certainty, and whether it matters, in words."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from tracekit.analysis import Better, Measurement, Unavailable
from tracekit.base import Verdict, paired, verdicts
from tracekit.comparison.differences import differences
from tracekit.comparison.samples import Order, Runs
from tracekit.comparison.spread import Kind, Limits, Repetition, SideValues, interval, pair_changes


@dataclass(frozen=True)
class Change:
    """The change of one metric.

    `before` and `after` are the medians of the runs, None if no run has the metric. `change` is
    the judged change: a ratio less one if `relative`, else a difference in the metric's unit. It is
    at equal machine pace if it is `corrected` by reference work, or `paired` within runs that are
    neighbours in time. `low` and `high` are its 95 % interval. `measured` is the plain change of
    the medians, on the same scale. `verdict` is None for a metric that is not judged, because it is
    better in neither direction. `reason` explains an unclear verdict, or a missing interval.
    Changes that are `deciding` take part in the overall verdict.
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

    @property
    def formatter(self) -> verdicts.Shown:
        """The wording of changes of the metric."""
        scale: verdicts.Scale = "ratio" if self.relative else "difference"
        return verdicts.Shown(scale, self.unit)

    def limit(self, limits: Limits) -> float:
        """Return the least change that matters on the plain scale: counts change by one."""
        if self.relative or self.unit == "ratio":
            return limits.threshold
        return max(1.0, limits.threshold)

    def judge_interval(
        self,
        change_interval: verdicts.Interval,
        limits: Limits,
        sessions: Sequence[Sequence[float]] = (),
    ) -> tuple[Verdict, str]:
        """Judge the change by its interval on its scale; the reason explains an unclear verdict.

        `sessions` are the changes of pairs of each of two sessions. If one has too few, neither
        counts.
        """
        limit = self.limit(limits)
        scaled_limit = math.log1p(limit) if self.relative else limit
        turn = 1
        if self.better is not Better.LOWER:
            turn = -1
        both_sessions = None
        if len(sessions) > 1 and min(map(len, sessions)) >= paired.least_pairs():
            from tracekit.comparison import shifts  # noqa: PLC0415  with numpy

            all_changes = list(chain.from_iterable(sessions))
            certain_interval = shifts.find_interval(all_changes, (), verdicts.CERTAINTY)
            middles = list(map(shifts.find_middle, sessions))
            both_sessions = verdicts.Sessions(middles, certain_interval).orient(turn)
        oriented_interval = change_interval.orient(turn)
        verdict, doubt = verdicts.verdict_of(oriented_interval, scaled_limit, both_sessions)
        if not doubt:
            return verdict, ""
        limit_words = self.formatter.limit(limit)
        return verdict, doubt.format(limit=limit_words)

    def describe(self, limits: Limits) -> str:
        """Describe the verdict with its interval; without a verdict, return the reason."""
        if self.verdict is None or self.change is None:
            return self.reason
        change_bounds = (self.change, self.low, self.high)
        limit = self.limit(limits)
        formatter = self.formatter
        return verdicts.sentence_of(self.verdict, formatter, change_bounds, limit, self.reason)


# Reference work depends on these as much as steps do, so it cannot show their changes.
_MAKES_THE_PACE = frozenset(
    {"chip", "model", "cores", "memory", "architecture", "Rosetta", "Python", "MLX"}
)
_POWERS = {"ns": -1, "tokens/s": 1, "steps/s": 1}
# A slower core does not make these longer: a bound by the chip's figures, a sum over a window.
_UNPACED = frozenset({"step_bound", "wire_time"})


@dataclass(frozen=True)
class Pace:
    """The difference of the machine's pace between two sides.

    It `is_known` if reference work shows it; `slowdown` is how much longer that work took after
    than before, as a logarithm. Runs that were recorded `alternating` share the pace with their
    neighbours in time. `first_session_pairs` is how many pairs of them are of the first of two
    sessions, 0 if there was only one session.
    """

    is_known: bool = False
    slowdown: float = 0.0
    alternating: bool = False
    first_session_pairs: int = 0

    def power(self, change: "Change") -> int:
        """Return the power of the pace that a metric follows; 0 if it does not depend on it.

        Lengths that are neither better nor worse are sums, such as busy time, or were asked for.
        """
        if not self.is_known or change.better is Better.NEITHER or change.metric in _UNPACED:
            return 0
        return _POWERS.get(change.unit, 0)

    def find_run_deviation(self, limits: Limits) -> float:
        """Return the deviation that equal runs are assumed to have once the pace is taken out."""
        total_doubt = limits.doubt * abs(self.slowdown)
        doubt = total_doubt / math.sqrt(2)  # two runs share it
        return math.hypot(min(limits.between, limits.paced), doubt)


def pace_of(
    runs_before: Runs, runs_after: Runs, order: Order, first_session_pairs: int = 0
) -> Pace:
    """Return the pace, if all runs did the same reference work, on like machines with like tools.

    Otherwise a correction would take out the very change that is looked for, such as a newer MLX.
    """
    unknown = Pace(alternating=order is Order.ALTERNATING, first_session_pairs=first_session_pairs)
    all_references = (*runs_before.references, *runs_after.references)
    if not all(all_references) or not _have_the_same_reference_work(runs_before, runs_after):
        return unknown
    reference_ratio = _median_reference(runs_after) / _median_reference(runs_before)
    slowdown = math.log(reference_ratio)
    return replace(unknown, is_known=True, slowdown=slowdown)


def _have_the_same_reference_work(runs_before: Runs, runs_after: Runs) -> bool:
    all_blocks = (*runs_before.blocks, *runs_after.blocks)
    sources = {block.reference_source() for block in all_blocks}
    if len(sources) > 1:
        return False
    for difference in differences(runs_before.samples, runs_after.samples):
        if difference.what in _MAKES_THE_PACE:
            return False
    return True


def _median_reference(side: Runs) -> float:
    """Return the median over runs of the median time of reference work."""
    return statistics.median(map(statistics.median, side.references))


_COUNTED = {"count", "ratio", ""}


def judge_metric(
    name: str, runs_before: Runs, runs_after: Runs, pace: Pace, limits: Limits
) -> Change:
    """Judge the metric `name`, whose value at least one run knows."""
    old = runs_before.values(name)
    new = runs_after.values(name)
    first_measurement = _first_measurement(name, runs_before, runs_after)
    median_before = None
    if old:
        median_before = statistics.median(old)
    median_after = None
    if new:
        median_after = statistics.median(new)
    change = Change(
        metric=name,
        unit=first_measurement.unit,
        better=first_measurement.better,
        before=median_before,
        after=median_after,
        relative=first_measurement.unit not in _COUNTED,
        values_before=tuple(old),
        values_after=tuple(new),
    )
    if change.before is None or change.after is None:
        return replace(change, reason=_missing(name, runs_before, runs_after))
    difference = change.after - change.before
    scale = _Scale.from_change(change, pace, limits)
    if scale is None:
        odd = "a value is not above 0, so the values have no ratio"
        return replace(change, relative=False, measured=difference, change=difference, reason=odd)
    if scale.relative:
        ratio = change.after / change.before
        change = replace(change, measured=ratio - 1)
    else:
        change = replace(change, measured=difference)
    change = replace(change, corrected=scale.power != 0)
    return _judge_change(change, scale, (runs_before, runs_after), pace, limits)


def _first_measurement(name: str, runs_before: Runs, runs_after: Runs) -> Measurement:
    for sample in (*runs_before.samples, *runs_after.samples):
        measurement = sample.measurement(name)
        if measurement:
            return measurement
    raise LookupError(name)


@dataclass(frozen=True)
class _Scale:
    """The scale on which changes add up: logarithms or plain values, times a reference's power.

    `run_deviation` is the deviation on it that equal runs are assumed to have beyond their spread.
    """

    relative: bool
    power: int = 0
    run_deviation: float = 0.0

    @classmethod
    def from_change(cls, change: Change, pace: Pace, limits: Limits) -> "_Scale | None":
        if not change.relative:
            return cls(relative=False)
        all_values = (*change.values_before, *change.values_after)
        if not all(0 < value < math.inf for value in all_values):
            return None
        power = pace.power(change)
        run_deviation = pace.find_run_deviation(limits) if power else limits.between
        return cls(relative=True, power=power, run_deviation=run_deviation)

    def scale_value(self, value: float, reference: float) -> float:
        if not self.relative:
            return value
        if not self.power:
            return math.log(value)
        log_reference = math.log(reference)
        return math.log(value) + self.power * log_reference

    def to_plain(self, value: float) -> float:
        if not self.relative:
            return value
        return math.expm1(value)


def _judge_change(
    change: Change, scale: _Scale, sides: tuple[Runs, Runs], pace: Pace, limits: Limits
) -> Change:
    reasons: list[str] = []
    runs_before, runs_after = sides
    side_before = _side(change.metric, runs_before, scale, reasons)
    side_after = _side(change.metric, runs_after, scale, reasons)
    changes_by_pair: dict[int, float] = {}
    if pace.alternating:
        changes_by_pair = pair_changes(side_before, side_after)
    paired_interval = _find_paired_interval(list(changes_by_pair.values()))
    change = replace(change, paired=paired_interval is not None)
    if paired_interval is not None:
        change_interval: verdicts.Interval | None = paired_interval
        sessions = _part_sessions(changes_by_pair, pace)
    else:
        change_interval = interval(side_before, side_after, scale.run_deviation)
        sessions = ()
    if change_interval is None:
        plain_middle = scale.to_plain(side_after.middle - side_before.middle)
        change = replace(change, change=plain_middle)
        if plain_middle == 0 and _have_the_same_recordings(runs_before, runs_after):
            return replace(change, verdict=Verdict.EQUIVALENT)
        return _judge_without_interval(change, reasons)
    verdict = None
    reason = ""
    if change.better is not Better.NEITHER:
        verdict, reason = change.judge_interval(change_interval, limits, sessions)
    if _is_turned(change, change_interval):
        reason = "the medians changed the other way, because the machine's pace changed more"
        if change.corrected and verdict not in {None, Verdict.EQUIVALENT}:
            verdict = Verdict.UNCLEAR
            reason = "only taking the machine's pace out makes it seem so"
    plain_change = scale.to_plain(change_interval.middle)
    low = scale.to_plain(change_interval.lower_bound)
    high = scale.to_plain(change_interval.upper_bound)
    return replace(
        change,
        change=plain_change,
        low=low,
        high=high,
        verdict=verdict,
        reason=reason,
    )


def _find_paired_interval(changes: Sequence[float]) -> verdicts.Interval | None:
    """Return the interval of the changes of pairs; None if there are too few for one."""
    if len(changes) < paired.least_pairs():
        return None
    from tracekit.comparison import shifts  # noqa: PLC0415  with numpy

    return shifts.find_interval(changes)


def _part_sessions(
    changes_by_pair: Mapping[int, float], pace: Pace
) -> tuple[list[float], list[float]]:
    """Return the changes of pairs of the first session, and of the second."""
    first_session: list[float] = []
    second_session: list[float] = []
    for place, pair_change in changes_by_pair.items():
        if place < pace.first_session_pairs:
            first_session.append(pair_change)
        else:
            second_session.append(pair_change)
    return first_session, second_session


def _have_the_same_recordings(runs_before: Runs, runs_after: Runs) -> bool:
    if runs_before.samples == runs_after.samples:
        return True
    recordings_before = [sample.recording for sample in runs_before.samples]
    recordings_after = [sample.recording for sample in runs_after.samples]
    return all(recordings_before) and recordings_before == recordings_after


def _judge_without_interval(change: Change, reasons: Sequence[str]) -> Change:
    if change.better is Better.NEITHER:
        return change
    if change.change == 0 and change.unit == "count":  # it has no chance in it
        return replace(change, verdict=Verdict.EQUIVALENT)
    reason = f"its spread is not known: {reasons[0].rstrip('.')}"
    return replace(change, verdict=Verdict.UNCLEAR, reason=reason)


def _is_turned(change: Change, change_interval: verdicts.Interval) -> bool:
    """Tell whether the medians changed one way, and at equal pace certainly the other."""
    if not (change.corrected or change.paired):
        return False
    if change_interval.lower_bound <= 0 <= change_interval.upper_bound:
        return False
    return change_interval.middle * (change.measured or 0) <= 0


def _side(name: str, side: Runs, scale: _Scale, reasons: list[str]) -> SideValues:
    """Return the values of a side on the scale; append to `reasons` why a run has no blocks."""
    values: list[float] = []
    blocks: list[tuple[float, ...]] = []
    repetitions: list[Repetition] = []
    places: list[int] = []
    run_parts = zip(side.samples, side.blocks, side.references, strict=True)
    for place, (sample, run_blocks, references) in enumerate(run_parts):
        metric = sample.measurement(name)
        if metric is None or metric.value is None:
            continue
        reference = 1.0
        if references:
            reference = statistics.median(references)
        values.append(scale.scale_value(metric.value, reference))
        places.append(place)
        repetition = _find_repetition(metric, scale)
        if repetition:
            repetitions.append(repetition)
            continue
        try:
            parts = run_blocks.values(name)
            part_references = references or (1.0,) * len(parts)
            blocks.append(_blocks(parts, part_references, metric.value, scale))
        except Unavailable as reason:
            reasons.append(str(reason))
    complete_blocks = ()
    if len(blocks) == len(values):
        complete_blocks = tuple(blocks)
    complete_repetitions = ()
    if len(repetitions) == len(values):
        complete_repetitions = tuple(repetitions)
    kind = _kind_of_parts(name, scale)
    return SideValues(tuple(values), complete_blocks, kind, tuple(places), complete_repetitions)


def _kind_of_parts(name: str, scale: _Scale) -> Kind:
    if scale.power == 0:
        return "block"
    return "median" if name.endswith("_p50") else "mean"


_FEWEST = 1
"""Degrees of freedom of a deviation that has no number of repetitions: as of two repetitions."""


def _find_repetition(metric: Measurement, scale: _Scale) -> Repetition | None:
    """Return the variance on the scale of a program's own repetitions; None if it has none."""
    samples = metric.samples
    if len(samples) > 1 and not (scale.relative and min(samples) <= 0):
        scaled_samples = [scale.scale_value(sample, 1.0) for sample in samples]
        variance = statistics.variance(scaled_samples)
        return Repetition(variance, len(samples) - 1)
    if metric.deviation is None or metric.value is None:
        return None
    deviation = metric.deviation
    if scale.relative:  # the deviation of logarithms, as long as it is small
        deviation /= metric.value
    return Repetition(deviation**2, _FEWEST)


def _blocks(
    parts: Sequence[float], references: Sequence[float], whole_value: float, scale: _Scale
) -> tuple[float, ...]:
    """Return the blocks' values on the scale; raise Unavailable if they are not parts of it."""
    if not min(parts) <= whole_value <= max(parts):
        raise Unavailable("its blocks are not like the whole, of which it is a sum or an end.")
    if scale.relative and min(parts) <= 0:
        raise Unavailable("it is 0 in a block.")
    part_pairs = zip(parts, references, strict=True)
    return tuple(scale.scale_value(*pair) for pair in part_pairs)


def _missing(name: str, runs_before: Runs, runs_after: Runs) -> str:
    for words, side in (("before", runs_before), ("after", runs_after)):
        if not side.values(name):
            return f"{words}: {_reason_of_absence(name, side)}"
    return ""


def _reason_of_absence(name: str, side: Runs) -> str:
    for sample in side.samples:
        measurement = sample.measurement(name)
        if measurement:
            return measurement.reason
    return "the result does not have it"
