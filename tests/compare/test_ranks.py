"""The exact distributions of Wilcoxon's statistics, beside counting all cases."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tracekit.compare.paired import rank_sum, signed_rank

# Lower critical values of the signed-rank statistic, two-sided 0.05, from any table of it.
SIGNED = {6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 11: 10, 12: 13, 15: 25, 20: 52, 25: 89}
# The same of the rank-sum statistic U, for two groups.
SUMS = {(4, 4): 0, (3, 5): 0, (5, 5): 2, (6, 6): 5, (6, 10): 11, (10, 10): 23, (20, 20): 127}


@pytest.mark.parametrize("count", SIGNED)
def test_signed_ranks_are_those_of_the_tables(count: int) -> None:
    assert signed_rank(count, 0.95) == SIGNED[count] + 1


@pytest.mark.parametrize("counts", SUMS)
def test_rank_sums_are_those_of_the_tables(counts: tuple[int, int]) -> None:
    assert rank_sum(*counts, 0.95) == SUMS[counts] + 1
    assert rank_sum(counts[1], counts[0], 0.95) == SUMS[counts] + 1


@pytest.mark.parametrize("count", [0, 1, 5])
def test_too_few_values_have_no_rank(count: int) -> None:
    assert signed_rank(count, 0.95) is None
    assert rank_sum(count, 3, 0.95) is None or count == 5


@given(count=some.integers(1, 9), confidence=some.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99]))
def test_signed_ranks_are_those_that_counting_finds(count: int, confidence: float) -> None:
    signs = itertools.product((0, 1), repeat=count)
    sums = [sum(rank * sign for rank, sign in enumerate(one, 1)) for one in signs]
    assert signed_rank(count, confidence) == counted(sums, confidence)


@given(
    count=some.integers(1, 5),
    other=some.integers(1, 5),
    confidence=some.sampled_from([0.5, 0.8, 0.9, 0.95]),
)
def test_rank_sums_are_those_that_counting_finds(count: int, other: int, confidence: float) -> None:
    chosen = itertools.combinations(range(count + other), count)
    least = count * (count - 1) // 2
    assert rank_sum(count, other, confidence) == counted(
        [sum(one) - least for one in chosen], confidence
    )


def counted(statistics: list[int], confidence: float) -> int | None:
    """Return the greatest k of which 2 P(statistic < k) leaves the confidence."""
    missed = 1 - Fraction(confidence)
    fair = [
        k
        for k in range(1, max(statistics) // 2 + 2)
        if 2 * Fraction(sum(one < k for one in statistics), len(statistics)) <= missed
    ]
    return max(fair, default=None)


def test_many_values_are_no_floating_point_numbers() -> None:
    found = signed_rank(200, 0.95)
    assert found is not None
    mean, deviation = 200 * 201 / 4, math.sqrt(200 * 201 * 401 / 24)
    assert found == pytest.approx(mean - 1.96 * deviation, rel=0.01)
    assert rank_sum(60, 60, 0.95) == pytest.approx(1800 - 1.96 * math.sqrt(36300), rel=0.01)
