"""What pairs say of a metric."""

import math
from dataclasses import replace

import pytest

from tracekit.nightly.gate.decision import changes, pairs_of, value, values
from tracekit.nightly.history.night import Pair

PAIR = Pair(1, 1, "abba", candidate={"m": (110.0, 110.0)}, reference={"m": (90.0, 110.0)})


def test_a_change_is_the_logarithm_of_the_ratio_of_medians() -> None:
    assert changes([PAIR], "m", "ratio") == pytest.approx((math.log(1.1),))
    assert changes([PAIR], "m", "difference") == (10.0,)


def test_pairs_that_do_not_count_or_know_nothing_are_left_out() -> None:
    spoilt = replace(PAIR, contaminated=("load",))
    alone = replace(PAIR, reference={})
    other = replace(PAIR, candidate={"n": (1.0,)})
    empty = replace(PAIR, candidate={"m": ()})
    assert changes([spoilt, alone, other, empty], "m", "ratio") == ()
    assert values([spoilt, alone, other, empty], "m", "candidate") == (110.0,)
    assert changes([], "m", "ratio") == ()


@pytest.mark.parametrize("odd", [0.0, -1.0])
def test_there_is_no_ratio_of_nought_and_a_difference_is(odd: float) -> None:
    pair = replace(PAIR, candidate={"m": (odd, odd)})
    assert changes([pair], "m", "ratio") == ()
    assert changes([pair], "m", "difference") == (odd - 100,)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_a_turn_that_is_no_number_spoils_its_side(odd: float) -> None:
    pair = replace(PAIR, candidate={"m": (1.0, odd)})
    assert value(pair, "m", "candidate") is None
    assert changes([pair], "m", "difference") == ()


def test_untraced_pairs_go_before_traced_ones_which_cost_time() -> None:
    traced = replace(PAIR, traced=True, candidate={"m": (200.0,), "t": (3.0,)}, reference={})
    assert pairs_of([traced, PAIR], "m") == (PAIR,)
    assert pairs_of([traced, PAIR], "t") == (traced,)
    assert pairs_of([traced, PAIR], "nothing") == ()
    assert values([traced, PAIR], "t", "candidate") == (3.0,)


def test_untraced_pairs_stay_the_ones_even_if_none_of_them_counts() -> None:
    spoilt = replace(PAIR, contaminated=("load",))
    traced = replace(PAIR, traced=True)
    assert changes([spoilt, traced], "m", "ratio") == ()


def test_a_pair_of_which_a_side_lacks_a_turn_has_no_change() -> None:
    lacking = replace(PAIR, candidate={"m": (110.0,)})
    assert changes([PAIR, lacking], "m", "ratio") == pytest.approx((math.log(1.1),))
    assert changes([lacking], "m", "difference") == ()
