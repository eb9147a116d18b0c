"""Which order statistics hold a shift: the exact distributions of Wilcoxon's two statistics.

Source: M. Hollander, D. A. Wolfe and E. Chicken, Nonparametric Statistical Methods, 3rd ed.,
sections 3.3 (signed ranks) and 4.3 (rank sums).
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache


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
        _multiply(ways, other + part)
        _divide(ways, part)
    return _greatest(ways, math.comb(count + other, count), confidence)


def _greatest(ways: Sequence[int], total: int, confidence: float) -> int | None:
    # Whole numbers, for the chances of many values are no floating-point numbers.
    allowed = math.floor((1 - Fraction(confidence)) * total)
    missed, rank = 0, 0
    while rank < len(ways) // 2 and 2 * (missed + ways[rank]) <= allowed:
        missed += ways[rank]
        rank += 1
    return rank or None


def _multiply(ways: list[int], power: int) -> None:
    """Multiply the polynomial by 1 - q^power, in place, and forget what is beyond its end."""
    for place in range(len(ways) - 1, power - 1, -1):
        ways[place] -= ways[place - power]


def _divide(ways: list[int], power: int) -> None:
    """Divide the polynomial by 1 - q^power, in place."""
    for place in range(power, len(ways)):
        ways[place] += ways[place - power]
