"""Two things compared in pairs: the median of their ratios, and its certainty.

A drift, as of clocks and temperature, affects both of a pair that were measured one right after the
other, so their ratio is more certain than that of two medians.
"""

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tracekit.base.errors import InputError

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Paired:
    """The ratio a / b of pairs."""

    median: float | None  # the median of the ratios; None if there is no pair
    # lower end of an interval that holds the true median with at least the confidence asked for;
    # None if there are too few pairs for one
    lower_bound: float | None
    upper_bound: float | None  # its upper end
    pairs: int  # how many pairs there were


def paired_ratio(
    a: Sequence[float], b: Sequence[float], *, confidence: float = CONFIDENCE
) -> Paired:
    """Compare the pairs (a[0], b[0]), (a[1], b[1]) … by the median of a / b.

    The interval is made of two order statistics of the ratios, those that a sign test with the
    same confidence would not reject: it presumes that pairs are independent of each other, and
    nothing of how ratios are distributed. Source: H. A. David and H. N. Nagaraja, Order
    Statistics, 3rd ed., section 7.1. Raise InputError if the sequences differ in length, or a
    value is not a finite number above 0.
    """
    if len(a) != len(b):
        raise InputError(f"Pairs need as many of one as of the other, not {len(a)} and {len(b)}.")
    for value in (*a, *b):
        if not 0 < value < math.inf:
            raise InputError(f"A ratio needs finite numbers above 0; there is {value}.")
    measured_pairs = zip(a, b, strict=True)
    ratios = sorted(number / denominator for number, denominator in measured_pairs)
    pairs = len(ratios)
    if not ratios:
        return Paired(None, None, None, 0)
    rank = lower_rank(pairs, confidence)
    median = statistics.median(ratios)
    if rank is None:
        return Paired(median, None, None, pairs)
    return Paired(median, ratios[rank - 1], ratios[pairs - rank], pairs)


def lower_rank(count: int, confidence: float = CONFIDENCE) -> int | None:
    """Return k such that the k-th least and the k-th greatest of `count` values hold the median.

    It is the greatest k for which they do so with at least that confidence; None if there is
    none. They miss the median with probability 2 P(X < k), where X is the number of heads among
    `count` fair coins. Raise InputError for an invalid confidence.
    """
    if not 0 < confidence < 1:
        raise InputError(f"A confidence lies between 0 and 1; it is {confidence}.")
    # Whole numbers, as the probabilities of thousands of coins underflow in floating point.
    tail_share = 1 - Fraction(confidence)
    allowed = math.floor(tail_share * 2**count)
    rank = 0
    ways = 1
    tail_ways = 0
    while rank < count // 2 and 2 * (tail_ways + ways) <= allowed:
        tail_ways += ways
        ways = ways * (count - rank) // (rank + 1)
        rank += 1
    return rank or None


def least_pairs(confidence: float = CONFIDENCE) -> int:
    """Return the least number of pairs for an interval: 6 for a confidence of 0.95."""
    counts = (count for count in itertools.count(2) if lower_rank(count, confidence))
    return next(counts)
