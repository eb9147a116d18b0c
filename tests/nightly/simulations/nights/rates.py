"""How often something happened, with what chance leaves open, and tables of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_NORMAL = 1.96


@dataclass(frozen=True)
class Rate:
    """So many hits of so many trials."""

    hits: int
    of: int

    @property
    def value(self) -> float:
        """The share."""
        return self.hits / self.of

    @property
    def interval(self) -> tuple[float, float]:
        """What holds the true share with 95 %: Wilson's score interval."""
        square = _NORMAL**2
        middle = (self.hits + square / 2) / (self.of + square)
        part = self.value * (1 - self.value) / self.of + square / (4 * self.of**2)
        half = _NORMAL * math.sqrt(part) * self.of / (self.of + square)
        return max(0.0, middle - half), min(1.0, middle + half)

    @property
    def words(self) -> str:
        """The share in percent, as short as it can be said."""
        percent = 100 * self.value
        return f"{percent:.1f}" if 0 < percent < 100 else f"{percent:.0f}"

    @property
    def whole(self) -> str:
        """The same with its interval."""
        low, high = self.interval
        return f"{self.words} [{100 * low:.1f} … {100 * high:.1f}]"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of Markdown whose columns stand below each other; all but the first right."""
    wide = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    rule = ["-" * wide[0], *("-" * (one - 1) + ":" for one in wide[1:])]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, wide, strict=True)) + " |"
        for row in (head, rule, *rows)
    ]
    return "\n".join(lines)
