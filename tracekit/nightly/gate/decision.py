"""The rule itself: what one or two sessions say of a change for the worse.

All changes are turned so that those above 0 are for the worse, on a scale on which they add up.

A count that repeats exactly needs no statistics, and one or two traces allow none. So where
whole numbers are compared by their difference, in fewer pairs than an interval takes, a change
is one if every pair shows it, of both sessions. Times and sizes are whole numbers too, of ns and
of bytes, and vary: only what is counted is a count.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from statistics import median

from tracekit.analysis import Better
from tracekit.base import CONFIDENCE, least_pairs
from tracekit.compare import Interval, Scale, Shown, middle, shift
from tracekit.nightly.history.night import Judged, Outcome, Pair, Side
from tracekit.nightly.plan.plan import Gated


@dataclass(frozen=True)
class Policy:
    """What it takes to decide. `bench/gate_simulation.py` shows what other values would do.

    Attributes:
        confidence: Of intervals; a change whose interval leaves out 0 is significant.
        certainty: The same, of the interval of both sessions together that must leave out 0 for a
            regression: however much a machine varies, no more of equal nights than half of what is
            left are false alarms.
        spread: An interval that reaches further to either side than this multiple of the
            threshold decides nothing, for a change of that size could hide in it.
        agreement: Which part of the threshold a session must show by itself: the first one, for a
            second to look again, and either of both, for a change to be reproduced.
        least: How many pairs a metric needs at least to be judged by an interval.
    """

    confidence: float = CONFIDENCE
    certainty: float = 0.99
    spread: float = 1.0
    agreement: float = 0.5
    least: int = least_pairs()


POLICY = Policy()


class Ruling(StrEnum):
    """What was found, which decides how it ended and what is said of it."""

    SAME = "same"  # the whole interval lies below the threshold
    UNSHOWN = "unshown"  # not shown to be worse, and the interval reaches the threshold
    BETTER = "better"
    UNREPEATED = "unrepeated"  # something to look at again, and one session so far
    SHORT = "short"  # the same, and one of both sessions has too few pairs that count
    GONE = "gone"  # what the first session found is not there in both together
    APART = "apart"  # both together are beyond the threshold, and one of them alone is not near
    MIXED = "mixed"  # a count is beyond the threshold in most pairs, and not in all
    UNSURE = "unsure"  # both together are beyond the threshold, and it may be chance
    WIDE = "wide"
    WORSE = "worse"

    @property
    def outcome(self) -> Outcome:
        """How a metric of which this was found ended."""
        if self is Ruling.WORSE:
            return Outcome.REGRESSION
        return Outcome.OK if self in _HARMLESS else Outcome.INCONCLUSIVE


_HARMLESS = {Ruling.SAME, Ruling.UNSHOWN, Ruling.BETTER, Ruling.GONE}


@dataclass(frozen=True)
class Decision:
    """What was found, and whether a second session found it too.

    `reproduced` is None where no second session was needed, and False where one is needed and
    was not had yet.
    """

    found: Ruling
    reproduced: bool | None = None


def decide(
    sittings: Sequence[Sequence[float]],
    expected: Sequence[float],
    threshold: float,
    policy: Policy,
) -> Decision | None:
    """Decide by an interval of what both sessions say together; None for too few changes.

    `sittings` are the changes of each session that there was, `expected` those of the accepted
    baseline; the threshold lies above 0.
    """
    together = [one for each in sittings for one in each]
    found = shift(together, expected, policy.confidence)
    if found is None or len(together) < policy.least or 0 < len(expected) < policy.least:
        return None
    before = shift(sittings[0], expected, policy.confidence)
    tripped = before is not None and _suspicious(before, threshold, policy)
    if len(sittings) == 1 or any(len(each) < policy.least for each in sittings):
        open_ = Ruling.UNREPEATED if len(sittings) == 1 else Ruling.SHORT
        suspicious = tripped or _suspicious(found, threshold, policy)
        return Decision(open_, False) if suspicious else _unsuspicious(found, threshold, policy)
    reproduced = all(middle(each, expected) >= policy.agreement * threshold for each in sittings)
    sure = shift(together, expected, policy.certainty)
    if found.middle >= threshold and sure is not None and sure.low > 0:
        return Decision(Ruling.WORSE if reproduced else Ruling.APART, reproduced)
    if found.middle >= threshold:
        return Decision(Ruling.UNSURE, False)
    ended = _unsuspicious(found, threshold, policy)
    return Decision(Ruling.GONE, False) if tripped and ended.found is not Ruling.WIDE else ended


def _unsuspicious(found: Interval, threshold: float, policy: Policy) -> Decision:
    """Decide where nothing is to be looked at again, unless it is too uncertain."""
    if _too_wide(found, threshold, policy):
        return Decision(Ruling.WIDE, False)
    if found.high < 0 and found.middle <= -threshold:
        return Decision(Ruling.BETTER)
    return Decision(Ruling.SAME if found.high < threshold else Ruling.UNSHOWN)


def _suspicious(found: Interval, threshold: float, policy: Policy) -> bool:
    """Tell whether one session's change is one to look at again."""
    significant = found.low > 0 and found.middle >= policy.agreement * threshold
    return significant or found.middle >= threshold


def _too_wide(found: Interval, threshold: float, policy: Policy) -> bool:
    """Tell whether a change of the threshold's size could hide in the interval."""
    return found.high - found.low > 2 * policy.spread * threshold


_COUNTS = {"count", "level", ""}


def is_exact(sides: Sequence[float], unit: str) -> bool:
    """Tell whether all values of both sides are counts: whole numbers, in a unit of counts."""
    return unit in _COUNTS and bool(sides) and all(float(side).is_integer() for side in sides)


def decide_exactly(
    sittings: Sequence[Sequence[float]], expected: Sequence[float], threshold: float
) -> Decision:
    """Decide by whether each pair is beyond the threshold; arguments as of `decide`.

    What was expected is the worst of the baseline's changes for a change for the worse, and the
    best of them for one for the better.
    """
    worst, best = max(expected, default=0.0), min(expected, default=0.0)
    beyond = [[one - worst >= threshold for one in each] for each in sittings]
    together = [one for each in beyond for one in each]
    if len(sittings) == 1:
        if any(together):
            return Decision(Ruling.UNREPEATED, False)
    elif not all(sittings):
        if any(together):
            return Decision(Ruling.SHORT, False)
    elif all(together):
        return Decision(Ruling.WORSE, True)
    elif 2 * sum(together) > len(together):
        return Decision(Ruling.MIXED, False)
    elif any(together):
        return Decision(Ruling.GONE, False)
    changes = [one for each in sittings for one in each]
    better = all(change - best <= -threshold for change in changes)
    return Decision(Ruling.BETTER if better else Ruling.SAME)


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
    """A metric and all pairs of its capture; `expected` are changes of the accepted baseline."""

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
