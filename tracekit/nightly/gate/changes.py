"""A metric, the pairs that measured it, and how far the candidate is from what is expected."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from tracekit.analysis import Better
from tracekit.compare import Interval, Scale, Shown, middle, shift
from tracekit.nightly.gate.decision import Policy
from tracekit.nightly.history.night import Judged, Pair, Side
from tracekit.nightly.plan.plan import Gated


def changes(pairs: Sequence[Pair], metric: str, scale: Scale) -> tuple[float, ...]:
    """Return the change in each pair that counts, on a scale on which changes add up.

    A side's value is the median of its turns; a change is the logarithm of the ratio where the
    metric is compared by ratio, else the difference. Pairs in which either is not known, or not in
    as many turns as the other, or of which there is no ratio, are left out, as contaminated ones
    are: drift falls on both sides alike only where all turns are known.
    """
    found = (change(pair, metric, scale) for pair in pairs_of(pairs, metric) if counts(pair))
    return tuple(one for one in found if one is not None)


def change(pair: Pair, metric: str, scale: Scale) -> float | None:
    """Return the change in one pair; None where there is none."""
    new, old = value(pair, metric, "candidate"), value(pair, metric, "reference")
    if new is None or old is None:
        return None
    if len(pair.candidate[metric]) != len(pair.reference[metric]):
        return None
    if scale == "difference":
        return new - old
    return math.log(new) - math.log(old) if new > 0 and old > 0 else None


def plain_change(change: float, scale: Scale) -> float:
    """Return a change of the scale on which changes add up as a ratio less one, or a difference."""
    return math.expm1(change) if scale == "ratio" else change


def pairs_of(pairs: Sequence[Pair], metric: str) -> tuple[Pair, ...]:
    """Return the pairs that measure a metric, those that do not count included.

    They are the untraced ones where any of them knows it, for tracing costs time; else those that
    were traced.
    """
    for traced in (False, True):
        own = tuple(pair for pair in pairs if pair.traced is traced)
        if any(metric in side for pair in own for side in (pair.candidate, pair.reference)):
            return own
    return ()


def counts(pair: Pair) -> bool:
    """Tell whether the machine was as it must be."""
    return not pair.contaminated


def value(pair: Pair, metric: str, side: Side) -> float | None:
    """Return the median of a side's turns; None where there is none, or a turn is no number."""
    turns = (pair.candidate if side == "candidate" else pair.reference).get(metric, ())
    if not turns or not all(math.isfinite(turn) for turn in turns):
        return None
    return statistics.median(turns)


def values(pairs: Sequence[Pair], metric: str, side: Side) -> tuple[float, ...]:
    """Return a side's value in each pair that counts and knows it."""
    found = (value(pair, metric, side) for pair in pairs_of(pairs, metric) if counts(pair))
    return tuple(one for one in found if one is not None)


@dataclass(frozen=True)
class MetricPairs:
    """What is judged.

    Attributes:
        gated: The metric, its threshold and its scale.
        pairs: All pairs of the capture.
        unit: The metric's unit.
        better: Which direction is good news.
        expected: The changes of the accepted baseline; empty where no change is expected.
        policy: What it takes to decide.
    """

    gated: Gated
    pairs: tuple[Pair, ...]
    unit: str
    better: Better
    expected: tuple[float, ...]
    policy: Policy

    @cached_property
    def own(self) -> tuple[Pair, ...]:
        """The pairs that measure the metric, those that do not count included."""
        return pairs_of(self.pairs, self.gated.metric)

    @cached_property
    def sittings(self) -> tuple[tuple[float, ...], ...]:
        """The changes that each session found, of the one or the two that there were."""
        last = max((pair.sitting for pair in self.own), default=1)
        parts = ([p for p in self.own if (p.sitting == 1) is early] for early in (True, False))
        found = tuple(self._changes(part) for part in parts)
        return found if last > 1 else found[:1]

    @property
    def changes(self) -> tuple[float, ...]:
        """The changes of both."""
        return tuple(one for each in self.sittings for one in each)

    @property
    def planned(self) -> int:
        """How many pairs the first session had, those that do not count included."""
        return sum(pair.sitting == 1 for pair in self.own)

    @property
    def few(self) -> bool:
        """Whether there are traced pairs only, and fewer than an interval takes."""
        return self.planned < self.policy.least and any(pair.traced for pair in self.own)

    @property
    def contaminated(self) -> tuple[Pair, ...]:
        """The pairs that do not count."""
        return tuple(pair for pair in self.own if not counts(pair))

    @property
    def turn(self) -> int:
        """What changes are multiplied by so that those above 0 are for the worse."""
        return -1 if self.better is Better.HIGHER else 1

    @property
    def threshold(self) -> float:
        """The threshold on the scale on which changes add up."""
        return math.log1p(self.gated.threshold) if self._ratio else self.gated.threshold

    @property
    def limit(self) -> str:
        """The threshold in words; of a rate also what it is of a rate."""
        words = self.shown.amount(self.gated.threshold)
        if not self._ratio or self.better is not Better.HIGHER:
            return words
        fewer = self.shown.amount(-math.expm1(-self.threshold))
        return words if fewer == words else f"{words} ({fewer} of a rate)"

    @property
    def values(self) -> tuple[float, ...]:
        """All that is compared: values of both sides of pairs that count, and what is expected."""
        sides: tuple[Side, ...] = ("candidate", "reference")
        found = (one for side in sides for one in values(self.own, self.gated.metric, side))
        return (*self.expected, *found)

    @property
    def shown(self) -> Shown:
        """How changes are put into words."""
        return Shown(self.gated.scale, self.unit)

    def turned(self, changes: Sequence[float]) -> tuple[float, ...]:
        """Return changes so that those above 0 are for the worse."""
        return tuple(self.turn * one for one in changes)

    def middle(self, changes: Sequence[float]) -> float:
        """Return a change on the plain scale: a ratio less one, or a difference."""
        return plain_change(middle(changes, self.expected), self.gated.scale)

    def expectation(self) -> float:
        """Return the change from the reference that is expected, on the plain scale."""
        return plain_change(middle(self.expected), self.gated.scale) if self.expected else 0.0

    def interval(self) -> Interval | None:
        """Return the change of both sessions on the plain scale; None for too few pairs."""
        least = min(len(self.changes), len(self.expected or self.changes))
        found = shift(self.changes, self.expected, self.policy.confidence)
        if found is None or least < self.policy.least:
            return None
        ends = (found.middle, found.low, found.high)
        return Interval(*(plain_change(end, self.gated.scale) for end in ends))

    def known(self) -> Judged:
        """Return what is known of the metric before anything is decided."""
        new, old = (values(self.own, self.gated.metric, s) for s in ("candidate", "reference"))
        return Judged(
            metric=self.gated.metric,
            unit=self.unit,
            better=self.better.value,
            scale=self.gated.scale,
            threshold=self.gated.threshold,
            gated=self.gated.gate,
            candidate=median(new) if new else None,
            reference=median(old) if old else None,
            pairs=len(self.changes) if old else len(new),
        )

    @property
    def _ratio(self) -> bool:
        return self.gated.scale == "ratio"

    def _changes(self, pairs: Sequence[Pair]) -> tuple[float, ...]:
        metric, scale = self.gated.metric, self.gated.scale
        found = (change(pair, metric, scale) for pair in pairs if counts(pair))
        return tuple(one for one in found if one is not None)
