"""In which order things are measured, and how often."""

import math
from collections.abc import Sequence
from typing import TypeVar

from tracekit.base.paired import least_pairs

T = TypeVar("T")

LEAST_ROUNDS = least_pairs()
MOST_CALLS = 64
_SAMPLE = 20_000_000  # ns that a sample should last, for clocks and schedulers to be small beside
ORDER = "round-robin, every other round backwards, so that drift hits all alike (ABBA)"


def in_turn(things: Sequence[T], number: int) -> list[T]:
    """Return the order of round `number`: forwards, then backwards, and so on.

    Of any two things, two rounds measure them as ABBA: what drifts evenly cancels out.
    """
    return list(things) if number % 2 == 0 else list(reversed(things))


def calls_of(duration: float) -> int:
    """Return how many calls of so many nanoseconds make up a sample: 1 to 64."""
    return max(1, min(MOST_CALLS, math.ceil(_SAMPLE / max(duration, 1.0))))


def rounds_of(budget: float, costs: Sequence[float], most: int) -> int:
    """Return how many rounds fit.

    Args:
        budget: Nanoseconds for each thing; slower ones take of what quicker ones leave.
        costs: Nanoseconds that a round takes for each thing.
        most: Rounds at most.

    Returns:
        At least 6, as many as an interval takes, however little time there is, unless `most` is
        less.
    """
    fitting = math.floor(budget * len(costs) / max(sum(costs), 1.0))
    return max(1, min(most, max(LEAST_ROUNDS, fitting)))
