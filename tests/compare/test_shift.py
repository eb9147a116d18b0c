"""The middle of changes, and the interval that holds it."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tracekit.compare.paired import Interval, middle, shift, tempered

CALM = (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.10)
changes = some.lists(some.integers(-1000, 1000), min_size=6, max_size=14).map(
    lambda found: [one / 8192 for one in found]
)


def test_of_six_pairs_the_interval_is_all_of_them() -> None:
    found = shift([0.05, 0.01, 0.02, 0.04, 0.03, 0.06])
    assert found == Interval(0.035, 0.01, 0.06)


def test_of_ten_it_is_the_ninth_mean_from_both_ends() -> None:
    found = shift(CALM)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((0.03, 0.08))
    assert found.middle == pytest.approx(0.055)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_five_pairs_have_a_middle_and_no_interval(count: int) -> None:
    assert shift(CALM[:count]) is None
    assert middle(CALM[:count]) == pytest.approx(sum(CALM[:count]) / count)


def test_nothing_has_no_middle() -> None:
    with pytest.raises(ValueError, match="no median"):
        middle([])
    assert shift([]) is None


def test_what_was_expected_is_taken_off_with_its_own_doubt() -> None:
    alone = shift(CALM)
    sure = shift(CALM, [0.05] * 30)
    doubted = shift(CALM, CALM)
    assert alone is not None
    assert sure is not None
    assert doubted is not None
    assert sure.middle == pytest.approx(alone.middle - 0.05)
    assert doubted.middle == 0
    assert doubted.high - doubted.low > sure.high - sure.low


def test_one_odd_pair_moves_neither_middle_nor_interval_by_much() -> None:
    odd = [*CALM[:-1], 5.0]
    found, calm = shift(odd), shift(CALM)
    assert found is not None
    assert calm is not None
    assert found.middle == pytest.approx(calm.middle, abs=0.006)
    assert found.high < calm.high + 0.06


def test_values_of_which_many_are_odd_are_left_as_they_are() -> None:
    two_kinds = [0.0, 0.001, -0.001, 0.002, -0.002, 0.001, 0.1, 0.1, 0.1, 0.1]
    assert tempered(two_kinds) == two_kinds
    found = shift(two_kinds)
    assert found is not None
    assert found.high > 0.09, "that the candidate is slow in four of ten pairs must not be lost"


def test_three_odd_ones_of_ten_are_taken_for_accidents() -> None:
    seven = [0.0, 0.001, -0.001, 0.002, -0.002, 0.001, -0.001]
    limit = 3 * 1.4826 * 0.002  # deviations from the middle, 0.001
    assert tempered([*seven, 0.1, 0.1, 0.1])[7:] == pytest.approx([0.001 + limit] * 3)


def test_values_that_repeat_exactly_are_left_as_they_are() -> None:
    assert tempered([0.0] * 9 + [1.0]) == [0.0] * 9 + [1.0]


@given(found=changes, other=changes)
def test_turning_all_round_turns_the_interval_round(found: list[float], other: list[float]) -> None:
    for expected in ([], other):
        one = shift(found, expected)
        back = shift([-value for value in found], [-value for value in expected])
        assert one is not None
        assert back is not None
        assert (back.low, back.middle, back.high) == (-one.high, -one.middle, -one.low)
        assert one.low <= one.middle <= one.high
        assert middle(found, expected) == one.middle


@given(found=changes, by=some.integers(-1000, 1000), times=some.sampled_from([0.5, 2.0, 8.0]))
def test_moving_and_stretching_move_and_stretch_it(
    found: list[float], by: int, times: float
) -> None:
    one = shift(found)
    moved = shift([times * value + by / 8192 for value in found])
    assert one is not None
    assert moved is not None
    expected = [times * value + by / 8192 for value in (one.low, one.middle, one.high)]
    assert [moved.low, moved.middle, moved.high] == pytest.approx(expected, abs=1e-9)


@given(found=changes, seed=some.integers(0, 99))
def test_the_order_of_pairs_says_nothing(found: list[float], seed: int) -> None:
    mixed = found.copy()
    random.Random(seed).shuffle(mixed)
    one, other = shift(found), shift(mixed)
    assert one is not None
    assert other is not None
    assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-12)


@pytest.mark.parametrize("count", [6, 10, 20])
def test_intervals_hold_the_truth_as_often_as_they_say(count: int) -> None:
    source = random.Random(5)
    held = 0
    for _ in range(1500):
        found = shift([source.gauss(0.3, 1) for _ in range(count)])
        held += found is not None and found.low <= 0.3 <= found.high
    assert held / 1500 == pytest.approx(0.95, abs=0.025)
