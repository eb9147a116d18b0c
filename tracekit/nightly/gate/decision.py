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
from enum import Enum
from functools import cached_property

from tracekit.analysis import Better
from tracekit.base import CONFIDENCE, least_pairs
from tracekit.compare import Interval, Scale, Shown, middle, shift
from tracekit.nightly.history.night import Outcome, Pair, Side
from tracekit.nightly.plan.plan import Gated


@dataclass(frozen=True)
class Policy:
    """What it takes to decide. `bench/gate_simulation.py` shows what other values would do."""

    confidence: float = CONFIDENCE
    """Of intervals; a change whose interval leaves out 0 is significant."""
    certainty: float = 0.99
    """Of the interval of both sessions together that must leave out 0 for a regression: however
    much a machine varies, of equal nights half of what is left at most are false alarms."""
    spread: float = 1.0
    """The multiple of the threshold beyond which a half of an interval decides nothing."""
    agreement: float = 0.5
    """The part of the threshold that the first session must show for a second to look again, and
    each of both for a change to be reproduced."""
    least: int = least_pairs()
    """How many pairs a metric needs at least to be judged by an interval."""


POLICY = Policy()


class Ruling(Enum):
    """What was found, and how it is said of a change, of all that sessions say, and a threshold.

    `short` says which session has too few pairs that count.
    """

    SAME = "{change}: not worse by {threshold}."
    UNSHOWN = "{change}: not shown to be worse by {threshold}."
    BETTER = "{change}: better, beyond the threshold of {threshold}."
    GONE = "{whole}: not shown to be worse by {threshold} when all pairs are counted."
    UNREPEATED = "{whole}: no second session has shown whether this is so."
    SHORT = "{whole}: not confirmed, for {short}."
    APART = (
        "{whole}: worse by {threshold} only if both are taken together; "
        "one of them alone shows less than half of that."
    )
    MIXED = "{whole}: worse by {threshold} in most pairs, but not in all."
    UNSURE = "{whole}: beyond the threshold of {threshold}, and it may still be chance."
    WIDE = "{whole}: so uncertain that a change of {threshold} could hide in it."
    WORSE = "{whole}: worse, beyond the threshold of {threshold}, and both sessions show it."

    @property
    def outcome(self) -> Outcome:
        """How a metric of which this was found ended."""
        if self is Ruling.WORSE:
            return Outcome.REGRESSION
        return Outcome.OK if self in {*_SETTLED, Ruling.GONE} else Outcome.INCONCLUSIVE

    @property
    def reproduced(self) -> bool | None:
        """Whether a second session found it too, as `Judged.reproduced`."""
        return None if self in _SETTLED else self is Ruling.WORSE


_SETTLED = {Ruling.SAME, Ruling.UNSHOWN, Ruling.BETTER}  # no second session is needed


def decide(
    sittings: Sequence[Sequence[float]], expected: Sequence[float], threshold: float, policy: Policy
) -> Ruling | None:
    """Decide by an interval of what both sessions say together; None for too few changes.

    `sittings` are the changes of each session that there was, `expected` those of the accepted
    baseline; the threshold lies above 0.
    """
    together = [change for each in sittings for change in each]
    found = shift(together, expected, policy.confidence)
    if found is None or len(together) < policy.least or 0 < len(expected) < policy.least:
        return None
    before = shift(sittings[0], expected, policy.confidence)
    tripped = before is not None and _suspicious(before, threshold, policy)
    if len(sittings) == 1 or any(len(each) < policy.least for each in sittings):
        if tripped or _suspicious(found, threshold, policy):
            return Ruling.UNREPEATED if len(sittings) == 1 else Ruling.SHORT
        return _unsuspicious(found, threshold, policy)
    if found.middle >= threshold:
        sure = shift(together, expected, policy.certainty)
        if sure is None or sure.low <= 0:
            return Ruling.UNSURE
        least = policy.agreement * threshold
        reproduced = all(middle(each, expected) >= least for each in sittings)
        return Ruling.WORSE if reproduced else Ruling.APART
    ended = _unsuspicious(found, threshold, policy)
    return Ruling.GONE if tripped and ended is not Ruling.WIDE else ended


def _unsuspicious(found: Interval, threshold: float, policy: Policy) -> Ruling:
    """Decide where nothing is to be looked at again, unless it is too uncertain."""
    if found.high - found.low > 2 * policy.spread * threshold:
        return Ruling.WIDE
    if found.high < 0 and found.middle <= -threshold:
        return Ruling.BETTER
    return Ruling.SAME if found.high < threshold else Ruling.UNSHOWN


def _suspicious(found: Interval, threshold: float, policy: Policy) -> bool:
    """Tell whether one session's change is one to look at again."""
    significant = found.low > 0 and found.middle >= policy.agreement * threshold
    return significant or found.middle >= threshold


_COUNTS = {"count", "level", ""}


def is_exact(sides: Sequence[float], unit: str) -> bool:
    """Tell whether all values of both sides are counts: whole numbers, in a unit of counts."""
    return unit in _COUNTS and bool(sides) and all(float(side).is_integer() for side in sides)


def decide_exactly(
    sittings: Sequence[Sequence[float]], expected: Sequence[float], threshold: float
) -> Ruling:
    """Decide by whether each pair is beyond the threshold; arguments as of `decide`.

    What was expected is the worst of the baseline's changes for a change for the worse, and the
    best of them for one for the better.
    """
    worst, best = max(expected, default=0.0), min(expected, default=0.0)
    together = [change for each in sittings for change in each]
    beyond = sum(change - worst >= threshold for change in together)
    if not beyond:
        better = all(change - best <= -threshold for change in together)
        return Ruling.BETTER if better else Ruling.SAME
    if len(sittings) == 1:
        return Ruling.UNREPEATED
    if not all(sittings):
        return Ruling.SHORT
    if beyond == len(together):
        return Ruling.WORSE
    return Ruling.MIXED if 2 * beyond > len(together) else Ruling.GONE


def changes(pairs: Sequence[Pair], metric: str, scale: Scale) -> tuple[float, ...]:
    """Return the change in each pair that counts, on a scale on which changes add up.

    A side's value is the median of its turns; a change is the logarithm of the ratio, else the
    difference. Pairs of which it is not known are left out, as contaminated ones are, and those
    with more turns of one side: drift falls on both alike only where all turns are known.
    """
    found = (
        change(pair, metric, scale) for pair in pairs_of(pairs, metric) if not pair.contaminated
    )
    return tuple(delta for delta in found if delta is not None)


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


def value(pair: Pair, metric: str, side: Side) -> float | None:
    """Return the median of a side's turns; None where there is none, or a turn is no number."""
    turns = (pair.candidate if side == "candidate" else pair.reference).get(metric, ())
    if not turns or not all(math.isfinite(turn) for turn in turns):
        return None
    return statistics.median(turns)


def values(pairs: Sequence[Pair], metric: str, side: Side) -> tuple[float, ...]:
    """Return a side's value in each pair that counts and knows it."""
    found = (value(pair, metric, side) for pair in pairs_of(pairs, metric) if not pair.contaminated)
    return tuple(number for number in found if number is not None)


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
        metric, scale = self.gated.metric, self.gated.scale
        first = changes([pair for pair in self.own if pair.sitting == 1], metric, scale)
        if again := [pair for pair in self.own if pair.sitting > 1]:
            return first, changes(again, metric, scale)
        return (first,)

    @property
    def changes(self) -> tuple[float, ...]:
        """The changes of both."""
        return tuple(change for each in self.sittings for change in each)

    @property
    def planned(self) -> int:
        """How many pairs the first session had, those that do not count included."""
        return sum(pair.sitting == 1 for pair in self.own)

    @property
    def few(self) -> bool:
        """Whether there are traced pairs only, and fewer than an interval takes."""
        return self.planned < self.policy.least and any(pair.traced for pair in self.own)

    @property
    def shown(self) -> Shown:
        """How changes are put into words."""
        return Shown(self.gated.scale, self.unit)

    def values(self, side: Side) -> tuple[float, ...]:
        """Return a side's value in each pair that counts."""
        return values(self.own, self.gated.metric, side)

    def middle(self, changes: Sequence[float]) -> float:
        """Return a change on the plain scale: a ratio less one, or a difference."""
        return plain_change(middle(changes, self.expected), self.gated.scale)

    def interval(self) -> Interval | None:
        """Return the change of both sessions on the plain scale; None for too few pairs."""
        least = min(len(self.changes), len(self.expected or self.changes))
        found = shift(self.changes, self.expected, self.policy.confidence)
        if found is None or least < self.policy.least:
            return None
        ends = (found.middle, found.low, found.high)
        return Interval(*(plain_change(end, self.gated.scale) for end in ends))

    def ruling(self) -> Ruling | None:
        """Return what was found; None for too few pairs."""
        turn = -1 if self.better is Better.HIGHER else 1
        sittings = [[turn * change for change in each] for each in self.sittings]
        expected = [turn * change for change in self.expected]
        ratio = self.gated.scale == "ratio"
        threshold = math.log1p(self.gated.threshold) if ratio else self.gated.threshold
        if self.few:
            return decide_exactly(sittings, expected, threshold)
        return decide(sittings, expected, threshold, self.policy)
