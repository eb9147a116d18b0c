"""The rule itself: what one or two sessions say of a change for the worse.

All changes are turned so that those above 0 are for the worse, on a scale on which they add up.

A count that repeats exactly needs no statistics, and one or two traces allow none. So where
whole numbers are compared by their difference, in fewer pairs than an interval takes, a change
is one if every pair shows it, of both sessions. Times and sizes are whole numbers too, of ns and
of bytes, and vary: only what is counted is a count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tracekit.base import CONFIDENCE, least_pairs
from tracekit.compare import Interval, middle, shift
from tracekit.nightly.history.night import Outcome


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

    Args:
        sittings: The changes that each sitting found; a second one only where one was had.
        expected: The changes of the accepted baseline; empty where none is expected.
        threshold: The least change for the worse that matters, above 0.
        policy: What it takes.
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
