"""Intervals of a change: from blocks of runs, from runs, from pairs of runs."""

import math

import numpy as np
import pytest

from tracekit.compare.spread import Kind, SideValues, interval, pair_interval, quantile


def logs(*values: float) -> tuple[float, ...]:
    return tuple(math.log(value) for value in values)


def test_the_quantiles_of_student_are_those_of_any_table() -> None:
    assert quantile(1) == 12.706
    assert quantile(10) == 2.228
    assert quantile(20) == 2.086
    assert quantile(60) == 2.086, "between the table's end and many it is that of the end"
    assert (quantile(119), quantile(120)) == (2.086, 1.96)


def test_one_run_of_each_side_varies_as_its_blocks_do() -> None:
    blocks = (0.0, 0.02, 0.0, 0.02, 0.0)
    side = SideValues((0.01,), (blocks,))
    other = SideValues((0.11,), (tuple(one + 0.1 for one in blocks),))
    found = interval(side, other, between=0.0)
    assert found is not None
    deviation = math.sqrt(0.00012)
    half = 2.306 * math.sqrt(2) * deviation
    assert found.middle == pytest.approx(0.1)
    assert found.high - found.middle == pytest.approx(half)
    assert found.middle - found.low == pytest.approx(half)


def test_what_runs_differ_by_besides_widens_the_interval() -> None:
    side = SideValues((0.0,), ((0.0,) * 10,))
    found = interval(side, side, between=0.02)
    assert found is not None
    assert found.high == pytest.approx(2.101 * math.sqrt(2) * 0.02, rel=0.01)
    assert interval(side, side, between=0.0) is not None


def test_one_run_without_blocks_has_no_interval() -> None:
    side, cut = SideValues((0.0,)), SideValues((0.1,), ((0.1, 0.11),))
    assert interval(side, cut, between=0.02) is None
    assert interval(side, side, between=0.02) is None


def test_several_runs_show_how_runs_differ() -> None:
    before, after = SideValues((0.0, 0.02, 0.04)), SideValues((0.2, 0.22, 0.24))
    found = interval(before, after, between=0.0)
    assert found is not None
    assert found.middle == pytest.approx(0.2)
    assert found.high - found.middle == pytest.approx(2.776 * 0.02 * math.sqrt(2 / 3))


def test_the_wider_of_both_intervals_counts() -> None:
    quiet = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    restless = ((0.0, 0.5, 0.0), (0.0, 0.5, 0.0))
    values = (0.0, 0.02)
    runs = interval(SideValues(values), SideValues(values), between=0.0)
    same = interval(SideValues(values, quiet), SideValues(values, quiet), between=0.0)
    wider = interval(SideValues(values, restless), SideValues(values, restless), between=0.0)
    assert runs == same
    assert wider is not None
    assert runs is not None
    assert wider.high > runs.high


def test_six_pairs_have_an_interval_of_their_own() -> None:
    before = SideValues(logs(100, 101, 102, 103, 104, 105))
    after = SideValues(logs(110, 111.1, 112.2, 113.3, 114.4, 120.75))
    found = pair_interval(before, after)
    assert found is not None
    assert math.exp(found.middle) == pytest.approx(1.1)
    assert math.exp(found.low) == pytest.approx(1.1)
    assert math.exp(found.high) == pytest.approx(1.15), "of 6 pairs, the least and the greatest"


def test_pairs_bear_what_drifts_for_both() -> None:
    drift = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    before, after = SideValues(tuple(drift)), SideValues(tuple(one + 0.05 for one in drift))
    found = pair_interval(before, after)
    assert found is not None
    assert found.low == pytest.approx(0.05)
    assert found.high == pytest.approx(0.05)


def test_a_run_without_a_value_takes_its_neighbour_out() -> None:
    before = SideValues((0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    after = SideValues((0.1, 1.1, 3.1, 4.1, 5.1, 6.1), runs=(0, 1, 3, 4, 5, 6))
    found = pair_interval(before, after)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((0.1, 0.1))
    assert pair_interval(before, SideValues((0.1,) * 5)) is None


def test_the_interval_holds_no_change_where_there_is_none() -> None:
    """Of equal runs that vary as their blocks do, about one in twenty lies outside."""
    random = np.random.default_rng(7)
    outside = 0
    for _ in range(400):
        sides = []
        for _ in range(2):
            own = random.normal(0, 0.02)
            blocks = own + random.normal(0, 0.02, 10)
            sides.append(SideValues((float(np.median(blocks)),), (tuple(blocks.tolist()),)))
        found = interval(sides[0], sides[1], between=0.02)
        assert found is not None
        outside += not found.low <= 0 <= found.high
    assert outside <= 20


def test_independent_blocks_promise_more_than_one_of_them() -> None:
    blocks = (0.00, 0.02, 0.04, 0.06, 0.08)
    mean, median = SideValues((0.04,), (blocks,), "mean"), SideValues((0.04,), (blocks,), "median")
    assert SideValues((0.04,), (blocks,)).within == pytest.approx(0.001)
    assert mean.within == pytest.approx(0.001 / 5)
    assert median.within == pytest.approx((1.4826 * 0.02) ** 2 * math.pi / 2 / 5)


def test_blocks_out_of_line_move_a_mean_and_no_median() -> None:
    calm = (0.00, 0.01, 0.02, 0.03, 0.04)
    torn = (0.00, 0.01, 0.02, 0.03, 0.70)
    medians = [SideValues((0.02,), (one,), "median").within for one in (calm, torn)]
    assert medians[0] == medians[1]
    means = [SideValues((0.02,), (one,), "mean").within for one in (calm, torn)]
    assert means[0] is not None
    assert means[1] is not None
    assert means[1] > 100 * means[0]


@pytest.mark.parametrize("kind", ["mean", "median"])
def test_of_equal_runs_with_independent_blocks_one_in_twenty_lies_outside(kind: Kind) -> None:
    random = np.random.default_rng(11)
    middle = np.mean if kind == "mean" else np.median
    outside = 0
    for _ in range(400):
        sides = []
        for _ in range(2):
            blocks = random.normal(0, 0.016) + random.normal(0, 0.03, 10)
            sides.append(SideValues((float(middle(blocks)),), (tuple(blocks.tolist()),), kind))
        found = interval(sides[0], sides[1], between=0.016)
        assert found is not None
        outside += not found.low <= 0 <= found.high
    assert outside <= 32
