"""Within a session: how far values are shifted, from 0 or from others, and how sure that is.

The shift is Hodges and Lehmann's middle.

Source: M. Hollander, D. A. Wolfe and E. Chicken, Nonparametric Statistical Methods, 3rd ed.,
sections 3.3 (signed ranks) and 4.3 (rank sums).

The middle of the means of every two values is nearly as exact as the mean where nothing is odd,
and a few pairs that went wrong do not move it. Its interval is the one that goes with Wilcoxon's
tests: it presumes that pairs are independent and that they vary alike to both sides, as they do
where candidate and reference could change places.

A few odd pairs would still make the interval wide, so they are taken to be no odder than
`_ODD` deviations. `bench/gate_simulation.py` counts what that does to how often intervals hold.
"""

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tracekit.base import CONFIDENCE


@dataclass(frozen=True)
class Interval:
    """A change on its scale: the best guess, and what holds the true one with 95 %."""

    middle: float
    low: float
    high: float


@lru_cache(maxsize=256)
def signed_rank(count: int, confidence: float) -> int | None:
    """Return k such that the k-th least and k-th greatest of the means of two hold the middle.

    The means are those of every two of `count` values, each with itself included; they do so with
    at least `confidence`, and k is the greatest number for which they do. None if there is none,
    as of less than 6 values with a confidence of 0.95.
    """
    ways = [1]
    for rank in range(1, count + 1):
        longer = [*ways, *([0] * rank)]
        for place, number in enumerate(ways):
            longer[place + rank] += number
        ways = longer
    return _greatest(ways, 2**count, confidence)


@lru_cache(maxsize=256)
def rank_sum(count: int, other: int, confidence: float) -> int | None:
    """Return k such that the k-th least and k-th greatest of all differences hold the shift.

    The differences are those of each of `count` values from each of `other`; else as
    `signed_rank`.
    """
    ways = [1, *([0] * (count * other))]
    for part in range(1, count + 1):
        # The polynomial times 1 - q^(other + part), over 1 - q^part, cut at its end.
        for place in range(len(ways) - 1, other + part - 1, -1):
            ways[place] -= ways[place - other - part]
        for place in range(part, len(ways)):
            ways[place] += ways[place - part]
    return _greatest(ways, math.comb(count + other, count), confidence)


def _greatest(ways: Sequence[int], total: int, confidence: float) -> int | None:
    # Whole numbers, for the chances of many values are no floating-point numbers.
    allowed = math.floor((1 - Fraction(confidence)) * total)
    missed, rank = 0, 0
    while rank < len(ways) // 2 and 2 * (missed + ways[rank]) <= allowed:
        missed += ways[rank]
        rank += 1
    return rank or None


NORMAL_MAD = 1.4826  # a normal deviation over the median one
_ODD = 3.0
_MOST = 0.3  # where more are odd, they are no accidents but what the values are like


def middle(changes: Sequence[float], expected: Sequence[float] = ()) -> float:
    """Return how far `changes`, one at least, lie from 0; from `expected` where there are any."""
    return statistics.median(_compared(changes, expected))


def shift(
    changes: Sequence[float], expected: Sequence[float] = (), confidence: float = CONFIDENCE
) -> Interval | None:
    """Return the same, with what holds the true one; None where there are too few for that.

    What was expected was measured too, by as many pairs as it has, and its own doubt is in the
    interval.
    """
    rank = (
        rank_sum(len(changes), len(expected), confidence)
        if expected
        else signed_rank(len(changes), confidence)
    )
    if rank is None:
        return None
    ordered = sorted(_compared(changes, expected))
    return Interval(statistics.median(ordered), ordered[rank - 1], ordered[-rank])


def tempered(changes: Sequence[float]) -> list[float]:
    """Return the values, odd ones no further from the median than three deviations.

    The deviation is that of normal values with the same median deviation. Nothing is done where
    that is 0, or where more than three of ten would be odd.
    """
    centre = statistics.median(changes)
    limit = _ODD * NORMAL_MAD * statistics.median(abs(change - centre) for change in changes)
    odd = sum(abs(change - centre) > limit for change in changes)
    if limit == 0 or odd > _MOST * len(changes):
        return list(changes)
    return [min(max(change, centre - limit), centre + limit) for change in changes]


def _compared(changes: Sequence[float], expected: Sequence[float]) -> list[float]:
    own = tempered(changes)
    if expected:
        return [change - other for change in own for other in tempered(expected)]
    both = itertools.combinations_with_replacement(own, 2)
    return [(first + second) / 2 for first, second in both]
