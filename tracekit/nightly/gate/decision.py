"""What one or two sessions of a night say of a change: the rule of `base/verdicts.py` on pairs.

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
from functools import cached_property

from tracekit.analysis import Better
from tracekit.base import (
    AGREEMENT,
    CERTAINTY,
    CONFIDENCE,
    Doubt,
    Interval,
    Scale,
    Sessions,
    Shown,
    Verdict,
    least_pairs,
    verdict_of,
)
from tracekit.compare import middle, shift
from tracekit.nightly.history.night import Outcome, Pair, Side
from tracekit.nightly.plan.plan import Gated


@dataclass(frozen=True)
class Policy:
    """What it takes to decide. `bench/gate_simulation.py` shows what other values would do."""

    confidence: float = CONFIDENCE
    """Of intervals; a change whose interval leaves out 0 is significant."""
    certainty: float = CERTAINTY
    """Of the interval of both sessions together that must leave out 0 where it does not lie beyond
    the threshold as a whole: however much a machine varies, of equal nights half of what is left
    at most are false alarms."""
    agreement: float = AGREEMENT
    """The part of the threshold that the first session must show for a second to look again, and
    each of both for a change to be reproduced."""
    min_pairs: int = least_pairs()
    """How many pairs a metric needs at least to be judged by an interval."""


POLICY = Policy()


# Why a verdict is unclear that only sessions of a night have.
SHORT = "not confirmed, for {short}"
MIXED = "beyond your limit of {limit} in most pairs, but not in all"


@dataclass(frozen=True)
class Ruling:
    """What was found: a verdict; why it is unclear, a template over `limit` and `short`.

    `short` is which session has too few pairs that count. `reproduced` says whether a second
    session found it too, as `Judged.reproduced`.
    """

    verdict: Verdict
    doubt: str = ""
    reproduced: bool | None = None

    @property
    def outcome(self) -> Outcome:
        """How a metric of which this was found ended."""
        return OUTCOMES[self.verdict]


OUTCOMES = {
    Verdict.WORSE: Outcome.REGRESSION,
    Verdict.UNCLEAR: Outcome.INCONCLUSIVE,
    Verdict.BETTER: Outcome.OK,
    Verdict.SLIGHTLY_WORSE: Outcome.OK,
    Verdict.SLIGHTLY_BETTER: Outcome.OK,
    Verdict.EQUIVALENT: Outcome.OK,
}
"""How what was judged ends a night, or a gate: worse with exit code 1, unclear with 4."""


def decide(
    sittings: Sequence[Sequence[float]], expected: Sequence[float], threshold: float, policy: Policy
) -> Ruling | None:
    """Decide by an interval of what both sessions say together; None for too few changes.

    `sittings` are the changes of each session that there was, `expected` those of the accepted
    baseline; the threshold lies above 0.
    """
    all_changes = [change for session_changes in sittings for change in session_changes]
    interval = shift(all_changes, expected, policy.confidence)
    if (
        interval is None
        or len(all_changes) < policy.min_pairs
        or 0 < len(expected) < policy.min_pairs
    ):
        return None
    first_interval = shift(sittings[0], expected, policy.confidence)
    tripped = first_interval is not None and _suspicious(first_interval, threshold, policy)
    sessions, short = None, ""
    if len(sittings) > 1 and all(
        len(session_changes) >= policy.min_pairs for session_changes in sittings
    ):
        middles = [middle(session_changes, expected) for session_changes in sittings]
        sure = shift(all_changes, expected, policy.certainty)
        sessions = Sessions(middles, sure, policy.agreement)
    elif len(sittings) > 1:
        short = SHORT
    verdict, doubt = verdict_of(interval, threshold, sessions)
    reason = short if short and doubt is Doubt.UNREPEATED else str(doubt or "")
    confirmed = sessions is not None and verdict is Verdict.WORSE
    needs_repeat = verdict in {Verdict.UNCLEAR, Verdict.WORSE}
    if confirmed:
        reproduced = True
    elif needs_repeat or tripped or _suspicious(interval, threshold, policy):
        reproduced = False
    else:
        reproduced = None
    return Ruling(verdict, reason, reproduced)


def _suspicious(interval: Interval, threshold: float, policy: Policy) -> bool:
    """Tell whether one session's change is one to look at again."""
    significant = interval.lower_bound > 0 and interval.middle >= policy.agreement * threshold
    return significant or interval.middle >= threshold


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
    all_changes = [change for session_changes in sittings for change in session_changes]
    beyond = sum(change - worst >= threshold for change in all_changes)
    if not beyond:
        return Ruling(_decide_within(all_changes, worst, best, threshold))
    if len(sittings) == 1:
        return Ruling(Verdict.UNCLEAR, Doubt.UNREPEATED, reproduced=False)
    if not all(sittings):
        return Ruling(Verdict.UNCLEAR, SHORT, reproduced=False)
    if beyond == len(all_changes):
        return Ruling(Verdict.WORSE, reproduced=True)
    if 2 * beyond > len(all_changes):
        return Ruling(Verdict.UNCLEAR, MIXED, reproduced=False)
    within_expected = statistics.median(all_changes) <= worst
    return Ruling(
        Verdict.EQUIVALENT if within_expected else Verdict.SLIGHTLY_WORSE, reproduced=False
    )


def _decide_within(
    all_changes: Sequence[float], worst: float, best: float, threshold: float
) -> Verdict:
    """Return the verdict on counts of which no pair is beyond the threshold for the worse."""
    if all(change - best <= -threshold for change in all_changes):
        return Verdict.BETTER
    if all(change < best for change in all_changes):
        return Verdict.SLIGHTLY_BETTER
    if all(change > worst for change in all_changes):
        return Verdict.SLIGHTLY_WORSE
    return Verdict.EQUIVALENT


def changes(pairs: Sequence[Pair], metric: str, scale: Scale) -> tuple[float, ...]:
    """Return the change in each pair that counts, on a scale on which changes add up.

    A side's value is the median of its turns; a change is the logarithm of the ratio, else the
    difference. Pairs of which it is not known are left out, as contaminated ones are, and those
    with more turns of one side: drift falls on both alike only where all turns are known.
    """
    pair_changes = (
        change(pair, metric, scale) for pair in pairs_of(pairs, metric) if not pair.contaminated
    )
    return tuple(delta for delta in pair_changes if delta is not None)


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
        matching_pairs = tuple(pair for pair in pairs if pair.traced is traced)
        if any(
            metric in side for pair in matching_pairs for side in (pair.candidate, pair.reference)
        ):
            return matching_pairs
    return ()


def value(pair: Pair, metric: str, side: Side) -> float | None:
    """Return the median of a side's turns; None where there is none, or a turn is no number."""
    turns = (pair.candidate if side == "candidate" else pair.reference).get(metric, ())
    if not turns or not all(math.isfinite(turn) for turn in turns):
        return None
    return statistics.median(turns)


def values(pairs: Sequence[Pair], metric: str, side: Side) -> tuple[float, ...]:
    """Return a side's value in each pair that counts and knows it."""
    pair_values = (
        value(pair, metric, side) for pair in pairs_of(pairs, metric) if not pair.contaminated
    )
    return tuple(number for number in pair_values if number is not None)


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
    def metric_pairs(self) -> tuple[Pair, ...]:
        """The pairs that measure the metric, those that do not count included."""
        return pairs_of(self.pairs, self.gated.metric)

    @cached_property
    def sittings(self) -> tuple[tuple[float, ...], ...]:
        """The changes that each session found, of the one or the two that there were."""
        metric, scale = self.gated.metric, self.gated.scale
        first_changes = changes(
            [pair for pair in self.metric_pairs if pair.sitting == 1], metric, scale
        )
        if again := [pair for pair in self.metric_pairs if pair.sitting > 1]:
            return first_changes, changes(again, metric, scale)
        return (first_changes,)

    @property
    def changes(self) -> tuple[float, ...]:
        """The changes of both."""
        return tuple(change for session_changes in self.sittings for change in session_changes)

    @property
    def first_pair_count(self) -> int:
        """How many pairs the first session had, those that do not count included."""
        return sum(pair.sitting == 1 for pair in self.metric_pairs)

    @property
    def has_few_traces(self) -> bool:
        """Whether there are traced pairs only, and fewer than an interval takes."""
        return self.first_pair_count < self.policy.min_pairs and any(
            pair.traced for pair in self.metric_pairs
        )

    @property
    def formatter(self) -> Shown:
        """How changes are put into words."""
        return Shown(self.gated.scale, self.unit)

    def values(self, side: Side) -> tuple[float, ...]:
        """Return a side's value in each pair that counts."""
        return values(self.metric_pairs, self.gated.metric, side)

    def middle(self, changes: Sequence[float]) -> float:
        """Return a change on the plain scale: a ratio less one, or a difference."""
        return plain_change(middle(changes, self.expected), self.gated.scale)

    def interval(self) -> Interval | None:
        """Return the change of both sessions on the plain scale; None for too few pairs."""
        pair_count = min(len(self.changes), len(self.expected or self.changes))
        raw_interval = shift(self.changes, self.expected, self.policy.confidence)
        if raw_interval is None or pair_count < self.policy.min_pairs:
            return None
        ends = (raw_interval.middle, raw_interval.lower_bound, raw_interval.upper_bound)
        return Interval(*(plain_change(end, self.gated.scale) for end in ends))

    def ruling(self) -> Ruling | None:
        """Return what was found; None for too few pairs."""
        turn = -1 if self.better is Better.HIGHER else 1
        sittings = [
            [turn * change for change in session_changes] for session_changes in self.sittings
        ]
        expected = [turn * change for change in self.expected]
        ratio = self.gated.scale == "ratio"
        threshold = math.log1p(self.gated.threshold) if ratio else self.gated.threshold
        if self.has_few_traces:
            return decide_exactly(sittings, expected, threshold)
        return decide(sittings, expected, threshold, self.policy)
