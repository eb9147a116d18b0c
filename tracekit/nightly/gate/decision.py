"""The rule itself: what one or two sittings say of a change for the worse.

All changes are turned so that those above 0 are for the worse, on a scale on which they add up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tracekit.compare.spread import Interval
from tracekit.nightly.gate.policy import Policy
from tracekit.nightly.gate.shift import middle, shift
from tracekit.nightly.history.night import Outcome


class Found(StrEnum):
    """What was found, which decides how it ended and what is said of it."""

    SAME = "same"
    BETTER = "better"
    UNREPEATED = "unrepeated"  # something to look at again, and one sitting so far
    SHORT = "short"  # the same, and one of both sittings has too few pairs that count
    GONE = "gone"  # what the first sitting found is not there in both together
    APART = "apart"  # both together are beyond the threshold, and one of them alone is not near
    MIXED = "mixed"  # a count is beyond the threshold in most pairs, and not in all
    UNSURE = "unsure"  # both together are beyond the threshold, and it may be chance
    WIDE = "wide"
    WORSE = "worse"

    @property
    def outcome(self) -> Outcome:
        """How a metric of which this was found ended."""
        if self is Found.WORSE:
            return Outcome.REGRESSION
        return Outcome.OK if self in _HARMLESS else Outcome.INCONCLUSIVE


_HARMLESS = {Found.SAME, Found.BETTER, Found.GONE}


@dataclass(frozen=True)
class Decision:
    """What was found, and whether a second sitting found it too.

    `reproduced` is None where no second sitting was needed, and False where one is needed and
    was not had yet.
    """

    found: Found
    reproduced: bool | None = None


def decide(
    sittings: Sequence[Sequence[float]],
    expected: Sequence[float],
    threshold: float,
    policy: Policy,
) -> Decision | None:
    """Decide by an interval of what both sittings say together; None for too few changes.

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
        open_ = Found.UNREPEATED if len(sittings) == 1 else Found.SHORT
        suspicious = tripped or _suspicious(found, threshold, policy)
        return Decision(open_, False) if suspicious else _unsuspicious(found, threshold, policy)
    reproduced = all(middle(each, expected) >= policy.agreement * threshold for each in sittings)
    sure = shift(together, expected, policy.certainty)
    if found.middle >= threshold and sure is not None and sure.low > 0:
        return Decision(Found.WORSE if reproduced else Found.APART, reproduced)
    if found.middle >= threshold:
        return Decision(Found.UNSURE, False)
    ended = _unsuspicious(found, threshold, policy)
    return Decision(Found.GONE, False) if tripped and ended.found is not Found.WIDE else ended


def _unsuspicious(found: Interval, threshold: float, policy: Policy) -> Decision:
    """Decide where nothing is to be looked at again, unless it is too uncertain to tell."""
    if _too_wide(found, threshold, policy):
        return Decision(Found.WIDE, False)
    better = found.high < 0 and found.middle <= -threshold
    return Decision(Found.BETTER if better else Found.SAME)


def _suspicious(found: Interval, threshold: float, policy: Policy) -> bool:
    """Tell whether one sitting's change is one to look at again."""
    significant = found.low > 0 and found.middle >= policy.agreement * threshold
    return significant or found.middle >= threshold


def _too_wide(found: Interval, threshold: float, policy: Policy) -> bool:
    """Tell whether a change of the threshold's size could hide in the interval."""
    return found.high - found.low > 2 * policy.spread * threshold
