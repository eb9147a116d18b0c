"""An axis: how numbers become places on a chart, and which of them are written beside it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from leather.ticks import ScoreTicker

Words = Callable[[float], str]

_DECADE = (1, 2, 5)
_FEW = 3
_BINARY = 1024


@dataclass(frozen=True)
class Axis:
    """One axis of a chart; leather takes it as a scale.

    Attributes:
        title: What is counted along it, with its unit where ticks do not say it.
        low: The number at its beginning.
        high: The number at its end, greater than `low`.
        marks: The numbers that are written beside it.
        words: Puts a number into words.
        logarithmic: Whether equal ways stand for equal ratios.
    """

    title: str
    low: float
    high: float
    marks: tuple[float, ...]
    words: Words
    logarithmic: bool = False

    def contains(self, value: float) -> bool:
        """Tell whether a number has a place on the axis."""
        return self.low <= value <= self.high

    def project(self, value: float, begin: float, end: float) -> float:
        """Return the place of a number between those of the axis' ends; none lies outside."""
        low, high = self._way(self.low), self._way(self.high)
        share = (self._way(value) - low) / (high - low)
        return begin + (end - begin) * min(1.0, max(0.0, share))

    def ticks(self) -> list[float]:
        """Return the numbers that are written beside the axis."""
        return list(self.marks)

    def format_tick(self, value: float, place: int, count: int) -> str:  # noqa: ARG002  leather's
        """Put the number of a tick into words."""
        return self.words(value)

    def _way(self, value: float) -> float:
        return math.log10(max(value, self.low)) if self.logarithmic else value


def linear(title: str, low: float, high: float, words: Words) -> Axis:
    """Return an axis with round ticks that holds both numbers."""
    if high <= low:
        high = low + (abs(low) or 1.0)
    marks = tuple(float(tick) for tick in ScoreTicker(Decimal(low), Decimal(high)).ticks)
    return Axis(title, marks[0], marks[-1], marks, words)


def binary(title: str, low: float, high: float, words: Words) -> Axis:
    """Return an axis of bytes from nought or more, whose ticks are round in KiB, MiB, GiB …."""
    unit = 1
    while high >= unit * _BINARY:
        unit *= _BINARY
    shown = linear(title, low / unit, high / unit, words)
    marks = tuple(mark * unit for mark in shown.marks)
    return Axis(title, marks[0], marks[-1], marks, words)


def span(title: str, low: float, high: float, words: Words) -> Axis:
    """Return an axis that ends just where the numbers end, as time does; ticks lie within."""
    wide = linear(title, low, high, words)
    high = max(high, low + 1)
    inside = tuple(mark for mark in wide.marks if low <= mark <= high)
    return Axis(title, low, high, inside, words)


def logarithmic(title: str, low: float, high: float, words: Words) -> Axis:
    """Return an axis over whole decades that holds both numbers, which are above nought.

    Ticks are at 1, 2 and 5 of each decade where there are few decades.
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    last = max(last, first + 1)
    within = _DECADE if last - first < _FEW else _DECADE[:1]
    decades = range(first, last + 1)
    marks = [factor * 10.0**decade for decade in decades for factor in within]
    end = 10.0**last
    return Axis(
        title, 10.0**first, end, tuple(one for one in marks if one <= end), words, logarithmic=True
    )
