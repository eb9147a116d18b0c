"""What is said of a metric: its change with its interval, and why it ended as it did."""

from collections.abc import Sequence
from dataclasses import dataclass

from tracekit.history.gate.decision import Found
from tracekit.history.spread import Interval
from tracekit.nightplan import Scale
from tracekit.units import quantity


@dataclass(frozen=True)
class Shown:
    """Changes in words, on the scale and in the unit of one metric.

    They are given on the plain scale: ratios less one, or differences.
    """

    scale: Scale
    unit: str

    def amount(self, size: float) -> str:
        """Return a size without a sign, as thresholds are: "3.0 %", "2.0 points"."""
        if self.scale == "ratio":
            return f"{size * 100:.1f} %"
        return f"{size * 100:.1f} points" if self.unit == "ratio" else self._plain(size)

    def change(self, change: float) -> str:
        """Return a change with its sign."""
        words = self.amount(abs(change))
        return words if words == self.amount(0.0) else f"{'-' if change < 0 else '+'}{words}"

    def whole(self, change: float, interval: Interval | None) -> str:
        """Return a change with its interval, if it has one: "+4.1 % [+3.0 % … +5.2 %]"."""
        if interval is None:
            return self.change(change)
        return f"{self.change(change)} [{self.change(interval.low)} … {self.change(interval.high)}]"

    def _plain(self, size: float) -> str:
        return f"{size:,g}" if self.unit in {"count", ""} else quantity(size, self.unit)


def reason(found: Found, change: str, parts: Sequence[str], threshold: str) -> str:
    """Say why a metric ended as it did.

    Args:
        found: What was found.
        change: The change of all sittings together, in words.
        parts: That of each sitting.
        threshold: The threshold in words.
    """
    whole = change
    if len(parts) > 1:
        whole = f"{parts[0]} at first, {parts[1]} when repeated; together {change}"
    return {
        Found.SAME: f"{change}: not worse by {threshold}.",
        Found.BETTER: f"{change}: better by at least {threshold}.",
        Found.UNREPEATED: f"{whole}: no whole second sitting has shown whether this is so.",
        Found.GONE: f"{whole}: not worse by {threshold} when all pairs are counted.",
        Found.APART: f"{whole}: worse by {threshold}, but not in both sittings.",
        Found.WIDE: f"{whole}: so uncertain that a change of {threshold} could hide in it.",
        Found.WORSE: f"{whole}: worse by at least {threshold}, in both sittings.",
    }[found]
