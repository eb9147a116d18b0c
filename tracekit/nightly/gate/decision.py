"""Rulings on a change over one or two sessions of a night: the rule of `base/verdicts.py` on pairs.

All changes are turned so that those above 0 are for the worse, on a scale on which they add up.

A count that repeats exactly needs no statistics, and one or two traces allow none. If whole
numbers are compared by their difference, in fewer pairs than an interval takes, a change is real
if every pair of both sessions shows it. Times and sizes are whole numbers too, of ns and of bytes,
but they vary, so they are not counts.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from tracekit.analysis import Better
from tracekit.base import Verdict, paired, verdicts
from tracekit.comparison import shifts
from tracekit.nightly.history.night import Outcome, Pair, Side
from tracekit.nightly.history.pairs import changes, pairs_of, plain_change, values
from tracekit.nightly.plan.plan import Gated


@dataclass(frozen=True)
class Policy:
    """The requirements of a decision.

    `tests/nightly/simulations/gate_simulation.py` shows the effect of others.
    """

    confidence: float = paired.CONFIDENCE
    """Confidence of intervals; a change whose interval leaves out 0 is significant."""
    certainty: float = verdicts.CERTAINTY
    """Confidence of the interval of both sessions together, which must leave out 0 unless all of
    it lies beyond the threshold: however much a machine varies, at most half of the rest of equal
    nights are false alarms."""
    agreement: float = verdicts.AGREEMENT
    """The part of the threshold that the first session must show for a second to look again, and
    each of both for a change to be reproduced."""
    min_pairs: int = paired.least_pairs()
    """The least number of pairs for a judgement by an interval."""


POLICY = Policy()


# Reasons for an unclear verdict that only sessions of a night have.
SHORT = "not confirmed, for {short}"
MIXED = "beyond your limit of {limit} in most pairs, but not in all"


@dataclass(frozen=True)
class Ruling:
    """A verdict, and the reason why it is unclear: a template over `limit` and `short`.

    `short` names the session that has too few pairs that count. `reproduced` says whether a second
    session shows the same, as `Judged.reproduced`.
    """

    verdict: Verdict
    doubt: str = ""
    reproduced: bool | None = None

    @property
    def outcome(self) -> Outcome:
        """The outcome of a metric with this verdict."""
        return OUTCOMES[self.verdict]


OUTCOMES = {
    Verdict.WORSE: Outcome.REGRESSION,
    Verdict.UNCLEAR: Outcome.INCONCLUSIVE,
    Verdict.BETTER: Outcome.OK,
    Verdict.SLIGHTLY_WORSE: Outcome.OK,
    Verdict.SLIGHTLY_BETTER: Outcome.OK,
    Verdict.EQUIVALENT: Outcome.OK,
}
"""Outcomes of a night, or a gate, by verdict: worse has exit code 1, unclear 4."""


def decide(
    sessions: Sequence[Sequence[float]], expected: Sequence[float], threshold: float, policy: Policy
) -> Ruling | None:
    """Decide by an interval over the changes of all sessions; None for too few changes.

    `sessions` are the changes of each session, `expected` those of the accepted baseline; the
    threshold lies above 0.
    """
    all_changes = list(chain.from_iterable(sessions))
    interval = shifts.find_interval(all_changes, expected, policy.confidence)
    if interval is None or len(all_changes) < policy.min_pairs:
        return None
    if 0 < len(expected) < policy.min_pairs:
        return None
    first_interval = shifts.find_interval(sessions[0], expected, policy.confidence)
    is_suspicious = _suspicious(interval, threshold, policy)
    if first_interval is not None and _suspicious(first_interval, threshold, policy):
        is_suspicious = True
    repetition = _compare_sessions(sessions, expected, policy)
    verdict, doubt = verdicts.verdict_of(interval, threshold, repetition)
    reason = str(doubt or "")
    if len(sessions) > 1 and repetition is None and doubt is verdicts.Doubt.UNREPEATED:
        reason = SHORT
    if repetition is not None and verdict is Verdict.WORSE:
        reproduced = True
    elif is_suspicious or verdict in {Verdict.UNCLEAR, Verdict.WORSE}:
        reproduced = False
    else:
        reproduced = None
    return Ruling(verdict, reason, reproduced)


def _compare_sessions(
    sessions: Sequence[Sequence[float]], expected: Sequence[float], policy: Policy
) -> verdicts.Sessions | None:
    """Return the change of each of two sessions; None for one, or if one has too few changes."""
    if len(sessions) == 1 or min(map(len, sessions)) < policy.min_pairs:
        return None
    middles = [shifts.find_middle(session_changes, expected) for session_changes in sessions]
    all_changes = list(chain.from_iterable(sessions))
    sure = shifts.find_interval(all_changes, expected, policy.certainty)
    return verdicts.Sessions(middles, sure, policy.agreement)


def _suspicious(interval: verdicts.Interval, threshold: float, policy: Policy) -> bool:
    """Tell whether the change of one session needs a second session."""
    significant = interval.lower_bound > 0 and interval.middle >= policy.agreement * threshold
    return significant or interval.middle >= threshold


_COUNTS = {"count", "level", ""}


def is_exact(sides: Sequence[float], unit: str) -> bool:
    """Tell whether all values of both sides are counts: whole numbers, in a unit of counts."""
    if unit not in _COUNTS or not sides:
        return False
    return all(float(side).is_integer() for side in sides)


def decide_exactly(
    sessions: Sequence[Sequence[float]], expected: Sequence[float], threshold: float
) -> Ruling:
    """Decide by the number of pairs beyond the threshold; the arguments are those of `decide`.

    A change for the worse is expected up to the worst of the baseline's changes, one for the better
    up to the best of them.
    """
    worst = max(expected, default=0.0)
    best = min(expected, default=0.0)
    all_changes = list(chain.from_iterable(sessions))
    are_beyond = [change - worst >= threshold for change in all_changes]
    beyond = sum(are_beyond)
    if not beyond:
        return Ruling(_decide_within(all_changes, worst, best, threshold))
    if len(sessions) == 1:
        return Ruling(Verdict.UNCLEAR, verdicts.Doubt.UNREPEATED, reproduced=False)
    if not all(sessions):
        return Ruling(Verdict.UNCLEAR, SHORT, reproduced=False)
    if beyond == len(all_changes):
        return Ruling(Verdict.WORSE, reproduced=True)
    if 2 * beyond > len(all_changes):
        return Ruling(Verdict.UNCLEAR, MIXED, reproduced=False)
    verdict = Verdict.SLIGHTLY_WORSE
    if statistics.median(all_changes) <= worst:
        verdict = Verdict.EQUIVALENT
    return Ruling(verdict, reproduced=False)


def _decide_within(
    all_changes: Sequence[float], worst: float, best: float, threshold: float
) -> Verdict:
    """Return the verdict on counts of which no pair is worse by the threshold."""
    are_better = [change - best <= -threshold for change in all_changes]
    if all(are_better):
        return Verdict.BETTER
    if all(change < best for change in all_changes):
        return Verdict.SLIGHTLY_BETTER
    if all(change > worst for change in all_changes):
        return Verdict.SLIGHTLY_WORSE
    return Verdict.EQUIVALENT


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
        """The pairs that measure the metric, including those that do not count."""
        return pairs_of(self.pairs, self.gated.metric)

    @cached_property
    def sessions(self) -> tuple[tuple[float, ...], ...]:
        """The changes of each session, of one or two."""
        metric = self.gated.metric
        scale = self.gated.scale
        first_pairs: list[Pair] = []
        later_pairs: list[Pair] = []
        for pair in self.metric_pairs:
            session_pairs = later_pairs if pair.session > 1 else first_pairs
            session_pairs.append(pair)
        first_changes = changes(first_pairs, metric, scale)
        if not later_pairs:
            return (first_changes,)
        return first_changes, changes(later_pairs, metric, scale)

    @property
    def changes(self) -> tuple[float, ...]:
        """The changes of all sessions."""
        return tuple(chain.from_iterable(self.sessions))

    @property
    def first_pair_count(self) -> int:
        """The number of pairs in the first session, including those that do not count."""
        return sum(pair.session == 1 for pair in self.metric_pairs)

    @property
    def has_few_traces(self) -> bool:
        """Whether there are only traced pairs, and fewer than an interval takes."""
        if self.first_pair_count >= self.policy.min_pairs:
            return False
        return any(pair.traced for pair in self.metric_pairs)

    @property
    def formatter(self) -> verdicts.Shown:
        """The formatter of changes."""
        return verdicts.Shown(self.gated.scale, self.unit)

    def values(self, side: Side) -> tuple[float, ...]:
        """Return a side's value in each pair that counts."""
        return values(self.metric_pairs, self.gated.metric, side)

    def middle(self, changes: Sequence[float]) -> float:
        """Return the middle of changes on the plain scale: a ratio less one, or a difference."""
        middle_change = shifts.find_middle(changes, self.expected)
        return plain_change(middle_change, self.gated.scale)

    def interval(self) -> verdicts.Interval | None:
        """Return the change of all sessions on the plain scale; None for too few pairs."""
        interval = shifts.find_interval(self.changes, self.expected, self.policy.confidence)
        pair_count = len(self.changes)
        if self.expected:
            pair_count = min(pair_count, len(self.expected))
        if interval is None or pair_count < self.policy.min_pairs:
            return None
        scale = self.gated.scale
        middle_change = plain_change(interval.middle, scale)
        lower_bound = plain_change(interval.lower_bound, scale)
        upper_bound = plain_change(interval.upper_bound, scale)
        return verdicts.Interval(
            middle_change,
            lower_bound,
            upper_bound,
        )

    def ruling(self) -> Ruling | None:
        """Return the ruling on the metric; None for too few pairs."""
        turn = 1
        if self.better is Better.HIGHER:
            turn = -1
        sessions = [_turn_changes(session_changes, turn) for session_changes in self.sessions]
        expected = _turn_changes(self.expected, turn)
        threshold = self.gated.threshold
        if self.gated.scale == "ratio":
            threshold = math.log1p(threshold)
        if self.has_few_traces:
            return decide_exactly(sessions, expected, threshold)
        return decide(sessions, expected, threshold, self.policy)


def _turn_changes(changes: Sequence[float], turn: int) -> list[float]:
    return [turn * change for change in changes]
