"""The verdict on a change, in words: its interval compared with the least change that matters.

This is the one rule of `bench ab`, `bench run --against`, `compare`, nights and `gate`. The *limit*
is the least change that matters. A change is

- *worse* if its interval is wholly beyond the limit, unless one of two sessions shows less than
  half of it; or if its middle is, 0 is outside of the interval, and a second session agrees;
- *better* likewise;
- *slightly worse* or *slightly better* if 0 is outside of the interval, and it is neither;
- *equivalent* if the interval is wholly within the limit to both sides;
- else *unclear*.

A second session agrees if each of both shows half of the limit at least, and the interval of both
together leaves out 0 with more certainty. A change that seems worse beyond the limit and was not
confirmed is unclear, and never *slightly worse*: a slow-down must not pass by being uncertain.
`tests/nightly/simulations/verdict_simulation.py` counts how often each true change has each
verdict.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from tracekit.base.units import quantity

Scale = Literal["ratio", "difference"]
CERTAINTY = 0.99
"""Confidence of the interval of two sessions together that must leave out 0."""
AGREEMENT = 0.5
"""The part of the limit that each of two sessions must show."""


@dataclass(frozen=True)
class Interval:
    """A change on its scale: the best guess, and the bounds of the true one with 95 %."""

    middle: float
    lower_bound: float
    upper_bound: float

    @property
    def half(self) -> float:
        """Half of its width."""
        return (self.upper_bound - self.lower_bound) / 2

    def orient(self, turn: int) -> "Interval":
        """Return it as it is, or for a `turn` of -1 with its sign changed."""
        if turn > 0:
            return self
        return Interval(-self.middle, -self.upper_bound, -self.lower_bound)


class Verdict(StrEnum):
    """The outcome of a comparison; unclear if the measurements do not show it."""

    WORSE = "worse"
    BETTER = "better"
    SLIGHTLY_WORSE = "slightly-worse"
    SLIGHTLY_BETTER = "slightly-better"
    EQUIVALENT = "equivalent"
    UNCLEAR = "unclear"

    @property
    def words(self) -> str:
        """The verdict as a part of a sentence: "slightly worse"."""
        return self.value.replace("-", " ")

    @property
    def exit_code(self) -> int:
        """The exit code of a command with --exit-code: 1 worse, 4 unclear, else 0."""
        return {Verdict.WORSE: 1, Verdict.UNCLEAR: 4}.get(self, 0)


class Doubt(StrEnum):
    """The reason of an unclear verdict, as a template over the limit in words."""

    WIDE = "a change of {limit} could hide in it"
    CHANCE = "beyond your limit of {limit}, but it may still be chance"
    UNREPEATED = "it reaches below your limit of {limit}, and no second session has confirmed it"
    APART = "one of both sessions alone shows less than half of your limit of {limit}"


@dataclass(frozen=True)
class Sessions:
    """The change in each of two sessions, and the interval of both together with `CERTAINTY`.

    `sure` is None if there are too few pairs for such an interval.
    """

    middles: Sequence[float]
    sure: Interval | None
    agreement: float = AGREEMENT

    def orient(self, turn: int) -> "Sessions":
        """Return them as they are, or for a `turn` of -1 with their signs changed."""
        middles = [turn * middle for middle in self.middles]
        return replace(self, middles=middles, sure=self.sure and self.sure.orient(turn))

    def find_doubt(self, limit: float) -> Doubt | None:
        """Return None if both show a change for the worse by the limit, else the reason."""
        if self.sure is None or self.sure.lower_bound <= 0:
            return Doubt.CHANCE
        are_beyond = [middle >= self.agreement * limit for middle in self.middles]
        if all(are_beyond):
            return None
        return Doubt.APART


def verdict_of(
    change: Interval, limit: float, sessions: Sessions | None = None
) -> tuple[Verdict, Doubt | None]:
    """Judge a change, turned so that above 0 is for the worse; return the doubt if it is unclear.

    `limit` is at least 0 and on the scale of the change. `sessions` is None unless there were two.
    """
    if change.lower_bound > 0:
        return _judge_loss(change, limit, sessions)
    if change.upper_bound < 0:
        gain = change.orient(-1)
        verdict, _ = _judge_loss(gain, limit, sessions and sessions.orient(-1))
        if verdict is Verdict.WORSE:
            return Verdict.BETTER, None
        return Verdict.SLIGHTLY_BETTER, None
    if -limit <= change.lower_bound and change.upper_bound <= limit:
        return Verdict.EQUIVALENT, None
    if change.middle >= limit:
        return Verdict.UNCLEAR, Doubt.CHANCE
    return Verdict.UNCLEAR, Doubt.WIDE


def _judge_loss(
    change: Interval, limit: float, sessions: Sessions | None
) -> tuple[Verdict, Doubt | None]:
    """Judge a change whose interval is above 0."""
    if change.middle >= limit:
        doubt = Doubt.UNREPEATED
        if sessions is not None:
            doubt = sessions.find_doubt(limit)
        if doubt is None:
            return Verdict.WORSE, None
        if change.lower_bound >= limit and doubt is not Doubt.APART:
            return Verdict.WORSE, None
        return Verdict.UNCLEAR, doubt
    if change.half > limit:
        return Verdict.UNCLEAR, Doubt.WIDE
    return Verdict.SLIGHTLY_WORSE, None


@dataclass(frozen=True)
class Shown:
    """The scale and the unit of one metric's changes.

    Changes are given on the plain scale: ratios less one, or differences.
    """

    scale: Scale
    unit: str

    def amount(self, size: float) -> str:
        """Return a size without a sign: "3.0 %", "2.0 points"."""
        if self.scale == "ratio":
            return f"{size * 100:.1f} %"
        if self.unit == "ratio":
            return f"{size * 100:.1f} points"
        return quantity(size, self.unit)

    def limit(self, size: float) -> str:
        """Return a limit, with no more digits than it has: "3 %", "2.5 points"."""
        if self.scale == "ratio":
            return f"{size * 100:.3g} %"
        if self.unit == "ratio":
            return f"{size * 100:.3g} points"
        return quantity(size, self.unit)

    def change(self, change: float) -> str:
        """Return a change with its sign; a change that rounds to zero has none."""
        words = self.amount(abs(change))
        return self._with_sign(change, words)

    def _with_sign(self, change: float, words: str) -> str:
        """Return the words with the sign of the change; a change that rounds to 0 has none."""
        if self.amount(abs(change)) == self.amount(0.0):
            return words
        sign = "-" if change < 0 else "+"
        return f"{sign}{words}"

    def format_interval(self, lower_bound: float, upper_bound: float) -> str:
        """Return an interval: "+3.0 % … +5.2 %"."""
        return f"{self.change(lower_bound)} … {self.change(upper_bound)}"

    def format_change(
        self, change: float | None, lower_bound: float | None, upper_bound: float | None
    ) -> str:
        """Return a change with its interval, as far as they are known: "+4 % [+3 % … +5 %]"."""
        if change is None:
            return ""
        if lower_bound is None or upper_bound is None:
            return self.change(change)
        return f"{self.change(change)} [{self.format_interval(lower_bound, upper_bound)}]"

    def direction(self, change: float) -> str:
        """Return the direction of a change that is not 0: of times "slower" or "faster"."""
        is_time = self.unit == "ns" and self.scale == "ratio"
        if change > 0:
            return "slower" if is_time else "higher"
        return "faster" if is_time else "lower"

    def size(self, change: float, lower_bound: float | None, upper_bound: float | None) -> str:
        """Return a change without its direction: "2.9 % ± 0.4", or "2.9 % (1.0 % … 9.2 %)".

        Half a width is given only if both ends are about as far from the middle.
        """
        amount = self.amount(abs(change))
        if lower_bound is None or upper_bound is None:
            return amount
        distances = (change - lower_bound, upper_bound - change)
        near, far = sorted(distances)
        outside = lower_bound > 0 or upper_bound < 0
        hides = outside and far >= abs(change)  # half a width would then seem to reach 0
        if self.scale == "ratio" and not hides and far <= _LIKE * near + _ROUNDED:
            digits = 1
            if far < _ROUNDED and 0 < abs(change) < _SMALL:
                digits = 2
            return f"{abs(change) * 100:.{digits}f} % ± {far * 100:.{digits}f}"
        if outside:
            bound_sizes = (abs(lower_bound), abs(upper_bound))
            smaller_bound, larger_bound = sorted(bound_sizes)
            smaller_amount = self.amount(smaller_bound)
            larger_amount = self.amount(larger_bound)
            return f"{amount} ({smaller_amount} … {larger_amount})"
        return f"{amount} ({self.format_interval(lower_bound, upper_bound)})"

    def format_signed(
        self, change: float, lower_bound: float | None, upper_bound: float | None
    ) -> str:
        """Return the same with a sign: "+1.0 % ± 7.1"."""
        size = self.size(change, lower_bound, upper_bound)
        return self._with_sign(change, size)


_LIKE = 1.25  # times as far: one half width represents both ends up to here
_SMALL = 0.1  # below it a second digit is meaningful
_ROUNDED = 0.0005  # the rounding of ratios, half a tenth of a percent


def sentence_of(
    verdict: Verdict,
    formatter: Shown,
    estimate: tuple[float, float | None, float | None],
    limit: float,
    reason: str = "",
) -> str:
    """Return the verdict on a change with its interval, on the plain scale, and a limit.

    It has no subject, no verb and no full stop: "slower by 2.9 % ± 0.4, below your limit of 3 %".
    `reason` is that of an unclear verdict.
    """
    change = estimate[0]
    limit_text = formatter.limit(limit)
    if verdict is Verdict.EQUIVALENT:
        return f"equivalent within {limit_text}: {formatter.format_signed(*estimate)}"
    if verdict is Verdict.UNCLEAR:
        words = f"changed by {formatter.format_signed(*estimate)}"
        if not reason:
            return words
        return f"{words}; {reason}"
    size_words = formatter.size(*estimate)
    moved = f"{formatter.direction(change)} by {size_words}"
    if verdict in {Verdict.WORSE, Verdict.BETTER}:
        return f"{moved}, beyond your limit of {limit_text}"
    if abs(change) < limit:
        return f"{moved}, below your limit of {limit_text}"
    return f"{moved}; it is not certain to be beyond your limit of {limit_text}"
