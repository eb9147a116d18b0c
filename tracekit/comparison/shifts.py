"""The shift of values within a session, from 0 or from other values, with its interval.

The shift is Hodges and Lehmann's middle.

Source: M. Hollander, D. A. Wolfe and E. Chicken, Nonparametric Statistical Methods, 3rd ed.,
sections 3.3 (signed ranks) and 4.3 (rank sums).

The middle of the means of every two values is nearly as exact as the mean if no value is odd, and
a few pairs that went wrong do not move it. Its interval is that of Wilcoxon's tests: it assumes
that pairs are independent and vary alike to both sides, as they do if candidate and reference could
change places.

A few odd pairs would still make the interval wide, so they are clipped to `_ODD` deviations.
`tests/nightly/simulations/gate_simulation.py` counts the effect on how often intervals hold.
"""

import itertools
import math
import statistics
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tracekit.base import paired, verdicts
from tracekit.comparison.spread import NORMAL_MAD

_MOST_WORK = 20_000_000  # additions that an exact distribution may take: 300 ms or so
_WHOLE = 62  # bits: of so many ways at most whole numbers are counted exactly, else doubles
Ways = NDArray[np.int64] | NDArray[np.float64]


@lru_cache(maxsize=256)
def signed_rank(count: int, confidence: float) -> int | None:
    """Return k such that the k-th least and k-th greatest of the means of two hold the middle.

    The means are those of every two of `count` values, each with itself included; they do so with
    at least `confidence`, and k is the greatest number for which they do. None if there is none,
    as of less than 6 values with a confidence of 0.95. Of more than 400 values k is that of the
    normal approximation with a term for kurtosis, which is off by one at most (tested).
    """
    max_sum = count * (count + 1) // 2
    if count * max_sum > 2 * _MOST_WORK:
        count_terms = count * (count + 1) * (2 * count + 1)
        variance = count_terms / 24
        fourth = -count * (count + 1) * (2 * count + 1) * (3 * count**2 + 3 * count - 1) / 240
        return _approximate_rank(max_sum, variance, fourth / variance**2, confidence)
    ways = _one_way(max_sum, 2**count)
    for rank in range(1, count + 1):
        shifted_ways = ways[: len(ways) - rank]
        ways[rank:] = ways[rank:] + shifted_ways
    return _greatest(ways, 2**count, confidence)


@lru_cache(maxsize=256)
def rank_sum(count: int, other_count: int, confidence: float) -> int | None:
    """Return k such that the k-th least and k-th greatest of all differences hold the shift.

    The differences are those of each of `count` values from each of `other_count`; else as
    `signed_rank`. Equal values make the interval hold more often, never less. Beyond two sides of
    340 values k is that of the normal approximation with a term for kurtosis, off by one at most.

    Sources: the count of ways by generating functions, M. A. van de Wiel, The split-up algorithm,
    Computational Statistics 16 (2001); the fourth moment, E. Fix and J. L. Hodges, Significance
    probabilities of the Wilcoxon test, Annals of Mathematical Statistics 26 (1955).
    """
    smaller_count, many = sorted((count, other_count))
    if smaller_count * smaller_count * many > 2 * _MOST_WORK:
        variance = smaller_count * many * (smaller_count + many + 1) / 12
        moment_terms = smaller_count**2 + many**2 + smaller_count * many + smaller_count + many
        kurtosis = -1.2 * moment_terms / (smaller_count * many * (smaller_count + many + 1))
        return _approximate_rank(smaller_count * many, variance, kurtosis, confidence)
    total = math.comb(smaller_count + many, smaller_count)
    ways = _one_way(smaller_count * many, total)
    for part in range(1, smaller_count + 1):
        # The polynomial times 1 - q^(many + part), over 1 - q^part, cut in the middle.
        longer = many + part
        shifted_ways = ways[: max(0, len(ways) - longer)]
        ways[longer:] = ways[longer:] - shifted_ways
        rows = -(-len(ways) // part)
        padded = np.zeros(rows * part, ways.dtype)
        padded[: len(ways)] = ways
        summed_rows = padded.reshape(rows, part).cumsum(axis=0)
        ways = summed_rows.ravel()[: len(ways)]
    return _greatest(ways, total, confidence)


def _one_way(max_sum: int, total: int) -> Ways:
    """Return the ways to reach each sum up to the middle, with a single way to reach 0."""
    sums = max_sum // 2 + 1
    is_exact = total.bit_length() <= _WHOLE
    if is_exact:
        ways: Ways = np.zeros(sums, np.int64)
    else:
        ways = np.zeros(sums, np.float64)
    ways[0] = 1
    return ways


def _greatest(ways: Ways, total: int, confidence: float) -> int | None:
    tail_ways = 2 * np.cumsum(ways)
    # A fraction of whole numbers, because some chances are exactly at the limit.
    tail_share = 1 - Fraction(confidence)
    allowed = math.floor(tail_share * total)
    are_floats = tail_ways.dtype.kind == "f"
    limit = float(allowed) if are_floats else allowed
    return int(np.searchsorted(tail_ways, limit, "right")) or None


def _approximate_rank(
    max_sum: int, variance: float, kurtosis: float, confidence: float
) -> int | None:
    """Return the same of a symmetric sum from 0 to `max_sum`, which is nearly normal.

    Source of the term for kurtosis: E. A. Cornish and R. A. Fisher, Moments and cumulants in the
    specification of distributions, Revue de l'Institut International de Statistique 5 (1938).
    """
    normal = statistics.NormalDist().inv_cdf((1 - confidence) / 2)
    correction = kurtosis * (normal**3 - 3 * normal) / 24
    corrected = normal + correction
    deviation = math.sqrt(variance)
    rank = math.floor(max_sum / 2 + corrected * deviation + 0.5)
    return max(rank, 0) or None


_ODD = 3.0
_MOST = 0.3  # of the values: if more are odd, they are not accidents


def find_middle(changes: Sequence[float], expected: Sequence[float] = ()) -> float:
    """Return the shift of `changes`, one at least, from 0, or from `expected` if there are any."""
    return statistics.median(_list_shifts(changes, expected))


def find_interval(
    changes: Sequence[float], expected: Sequence[float] = (), confidence: float = paired.CONFIDENCE
) -> verdicts.Interval | None:
    """Return the shift with its interval; None if there are too few values for one.

    The expected changes were also measured, by as many pairs as there are, and the interval
    includes their own uncertainty.
    """
    if expected:
        rank = rank_sum(len(changes), len(expected), confidence)
    else:
        rank = signed_rank(len(changes), confidence)
    if rank is None:
        return None
    if len(changes) * len(expected) > _MOST_DIFFERENCES:
        return _of_many(clip_outliers(changes), clip_outliers(expected), rank)
    ordered = sorted(_list_shifts(changes, expected))
    middle = statistics.median(ordered)
    return verdicts.Interval(middle, ordered[rank - 1], ordered[-rank])


_MOST_DIFFERENCES = 20_000  # are listed; of more, a bisection finds the few that are needed
_NEAR = 1e-12  # of the range of differences: the precision of that bisection


def _of_many(changes: Sequence[float], expected: Sequence[float], rank: int) -> verdicts.Interval:
    """Return the interval of differences that are too many to be listed."""
    ours = np.sort(np.asarray(changes, float))
    sorted_expected = np.sort(np.asarray(expected, float))
    difference_count = len(ours) * len(sorted_expected)
    lower_middle = _difference(ours, sorted_expected, (difference_count - 1) // 2)
    upper_middle = _difference(ours, sorted_expected, difference_count // 2)
    lower_bound = _difference(ours, sorted_expected, rank - 1)
    upper_bound = _difference(ours, sorted_expected, difference_count - rank)
    return verdicts.Interval((lower_middle + upper_middle) / 2, lower_bound, upper_bound)


def _difference(
    ours: NDArray[np.float64], sorted_expected: NDArray[np.float64], place: int
) -> float:
    """Return the difference of that place among all, in order, by bisection."""
    lower_bound = float(ours[0] - sorted_expected[-1])
    upper_bound = float(ours[-1] - sorted_expected[0])
    near = (upper_bound - lower_bound) * _NEAR
    while upper_bound - lower_bound > near:
        middle = lower_bound + (upper_bound - lower_bound) / 2
        if middle in {lower_bound, upper_bound}:
            break  # no floating-point number lies between the two
        counts_below = np.searchsorted(ours, sorted_expected + middle, "right")
        if int(counts_below.sum()) > place:
            upper_bound = middle
        else:
            lower_bound = middle
    insertion_places = np.searchsorted(ours, sorted_expected + upper_bound, "right")
    places_before = np.clip(insertion_places - 1, 0, None)
    beyond = np.clip(insertion_places, None, len(ours) - 1)
    differences_before = ours[places_before] - sorted_expected
    differences_beyond = ours[beyond] - sorted_expected
    near_differences = np.concatenate([differences_before, differences_beyond])
    distances = np.abs(near_differences - upper_bound)
    return float(near_differences[np.argmin(distances)])


def clip_outliers(changes: Sequence[float]) -> list[float]:
    """Return the values, with odd ones clipped to three deviations from the median.

    The deviation is that of normal values with the same median deviation. The values stay as they
    are if that is 0, or if more than three of ten would be odd.
    """
    centre = statistics.median(changes)
    distances = [abs(change - centre) for change in changes]
    limit = _ODD * NORMAL_MAD * statistics.median(distances)
    are_odd = [abs(change - centre) > limit for change in changes]
    odd = sum(are_odd)
    if limit == 0 or odd > _MOST * len(changes):
        return list(changes)
    return [min(max(change, centre - limit), centre + limit) for change in changes]


def _list_shifts(changes: Sequence[float], expected: Sequence[float]) -> list[float]:
    clipped_changes = clip_outliers(changes)
    if not expected:
        value_pairs = itertools.combinations_with_replacement(clipped_changes, 2)
        return [(value + other_value) / 2 for value, other_value in value_pairs]
    clipped_expected = clip_outliers(expected)
    shifts: list[float] = []
    for change in clipped_changes:
        shifts += [change - expected_change for expected_change in clipped_expected]
    return shifts
