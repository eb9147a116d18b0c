"""Changes in words: with their sign, on their scale and in their unit."""

from dataclasses import dataclass
from typing import Literal

from tracekit.base.units import quantity
from tracekit.compare.spread import Interval

Scale = Literal["ratio", "difference"]


@dataclass(frozen=True)
class Shown:
    """The scale and the unit of one metric's changes.

    Changes are given on the plain scale: ratios less one, or differences.
    """

    scale: Scale
    unit: str

    def amount(self, size: float) -> str:
        """Return a size without a sign, as thresholds are: "3.0 %", "2.0 points"."""
        if self.scale == "ratio":
            return f"{size * 100:.1f} %"
        return f"{size * 100:.1f} points" if self.unit == "ratio" else quantity(size, self.unit)

    def change(self, change: float) -> str:
        """Return a change with its sign; nought, and what rounds to it, has none."""
        words = self.amount(abs(change))
        return words if words == self.amount(0.0) else f"{'-' if change < 0 else '+'}{words}"

    def between(self, low: float, high: float) -> str:
        """Return an interval: "+3.0 % … +5.2 %"."""
        return f"{self.change(low)} … {self.change(high)}"

    def whole(self, change: float, interval: Interval | None) -> str:
        """Return a change with its interval, if it has one: "+4.1 % [+3.0 % … +5.2 %]"."""
        if interval is None:
            return self.change(change)
        return f"{self.change(change)} [{self.between(interval.low, interval.high)}]"
