"""The interval of a change, drawn: a line from end to end, a dot at the best guess."""

from collections.abc import Sequence
from dataclasses import dataclass

from tracekit.compare.change import Change

WIDTH = 200
_LEAST = 0.15


@dataclass(frozen=True)
class Bar:
    """Places on 0 … WIDTH: the interval's ends, its middle, and no change; what it says."""

    low: float
    high: float
    middle: float
    none: float
    title: str


def reach(changes: Sequence[Change]) -> float:
    """Return the change at both edges of the drawing: twice the largest, at least 15 %."""
    known = [abs(one.change) for one in changes if one.relative and one.change is not None]
    return max(_LEAST, min(1.0, 2 * max(known, default=0.0)))


def bar(change: Change, edge: float, words: str) -> Bar | None:
    """Draw a change that is a ratio and has an interval; what lies beyond the edge is cut."""
    if not change.relative or change.low is None or change.high is None:
        return None
    assert change.change is not None
    low, high, middle = (_place(one, edge) for one in (change.low, change.high, change.change))
    return Bar(low, high, middle, WIDTH / 2, words)


def _place(change: float, edge: float) -> float:
    inside = max(-edge, min(edge, change))
    return round((inside / edge + 1) * WIDTH / 2, 1)
