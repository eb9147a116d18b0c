import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tracekit.base.errors import InputError
from tracekit.base.paired import Paired, least_pairs, lower_rank, paired_ratio

# For 20: P(X < 6) = 21700 / 2^20 = 0.0207, and P(X < 7) = 0.0577 is too much.
RANKS = {5: None, 6: 1, 8: 1, 9: 2, 11: 2, 12: 3, 15: 4, 20: 6, 25: 8, 30: 10, 50: 18, 100: 40}


def test_ranks_are_those_of_the_sign_test() -> None:
    assert {count: lower_rank(count) for count in RANKS} == RANKS
    assert (least_pairs(), least_pairs(0.9)) == (6, 5)


def compute_miss_chance(count: int, rank: int) -> float:
    return 2 * sum(math.comb(count, heads) for heads in range(rank)) / 2**count


@given(some.integers(0, 400), some.floats(0.5, 0.999))
def test_the_interval_is_the_narrowest_with_the_confidence(count: int, confidence: float) -> None:
    rank = lower_rank(count, confidence)
    if rank is not None:
        assert 1 <= rank <= count // 2
        assert compute_miss_chance(count, rank) <= 1 - confidence + 1e-12
    following = (rank or 0) + 1
    assert following > count // 2 or compute_miss_chance(count, following) > 1 - confidence - 1e-12


@given(some.lists(some.tuples(some.floats(0.1, 10), some.floats(0.1, 10)), min_size=6))
def test_the_interval_holds_the_median_and_no_more_than_the_ratios(
    pairs: list[tuple[float, float]],
) -> None:
    ratio_interval = paired_ratio([a for a, _ in pairs], [b for _, b in pairs])
    ratios = sorted(a / b for a, b in pairs)
    assert ratio_interval.lower_bound is not None
    assert ratio_interval.upper_bound is not None
    assert ratio_interval.median == statistics.median(ratios)
    assert (
        ratios[0]
        <= ratio_interval.lower_bound
        <= ratio_interval.median
        <= ratio_interval.upper_bound
        <= ratios[-1]
    )
    rank = lower_rank(len(ratios))
    assert rank is not None
    assert (ratio_interval.lower_bound, ratio_interval.upper_bound) == (
        ratios[rank - 1],
        ratios[-rank],
    )


def test_ratios_are_taken_pair_by_pair() -> None:
    # the medians of both are 4, and yet a is twice as long in each pair but one
    a, b = (2.0, 4.0, 8.0, 16.0, 1.0, 20.0, 2.0), (1.0, 2.0, 4.0, 8.0, 4.0, 10.0, 1.0)
    assert paired_ratio(a, b) == Paired(median=2.0, lower_bound=0.25, upper_bound=2.0, pairs=7)


def test_fewer_than_six_pairs_have_a_median_and_no_interval() -> None:
    for ratios, expected in (
        ((), Paired(None, None, None, 0)),
        ((3.0,), Paired(3.0, None, None, 1)),
        ((3.0, 1.0, 2.0, 5.0, 4.0), Paired(3.0, None, None, 5)),
        ((3.0, 1.0, 2.0, 5.0, 4.0, 6.0), Paired(3.5, 1.0, 6.0, 6)),
    ):
        assert paired_ratio(ratios, [1.0] * len(ratios)) == expected


def test_invalid_pairs_of_times_are_refused() -> None:
    with pytest.raises(InputError, match="not 2 and 1"):
        paired_ratio([1, 2], [1])
    for wrong in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(InputError, match="above 0"):
            paired_ratio([wrong], [1.0])
        with pytest.raises(InputError, match="above 0"):
            paired_ratio([1.0], [wrong])
    for wrong in (0.0, 1.0, 95.0):
        with pytest.raises(InputError, match="confidence lies between"):
            lower_rank(10, wrong)
