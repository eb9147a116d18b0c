"""Intervals of a change: from blocks of runs, from runs, from pairs; ranks and middles."""

import itertools
import math
import random
import statistics
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tracekit.analysis.result import Better
from tracekit.base import verdicts
from tracekit.base.verdicts import Interval
from tracekit.comparison import shifts
from tracekit.comparison.shifts import (
    clip_outliers,
    find_interval,
    find_middle,
    rank_sum,
    signed_rank,
)
from tracekit.comparison.spread import Limits, SideValues, interval, pair_changes, quantile
from tracekit.comparison.verdicts import Change

CALM = (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.10)
changes = some.lists(some.integers(-1000, 1000), min_size=6, max_size=14).map(
    lambda numbers: [number / 8192 for number in numbers]
)
# One more than lower critical values of the signed-rank statistic, two-sided 0.05, of any table.
SIGNED = {6: 1, 7: 3, 8: 4, 9: 6, 10: 9, 11: 11, 12: 14, 15: 26, 20: 53, 25: 90}
# The same of the rank-sum statistic U, for two groups.
SUMS = {(4, 4): 1, (3, 5): 1, (5, 5): 3, (6, 6): 6, (6, 10): 12, (10, 10): 24, (20, 20): 128}


def require_interval(estimate: Interval | None) -> Interval:
    assert estimate is not None
    return estimate


def half(estimate: Interval | None) -> float:
    estimate = require_interval(estimate)
    assert estimate.upper_bound - estimate.middle == pytest.approx(
        estimate.middle - estimate.lower_bound
    )
    return estimate.upper_bound - estimate.middle


def test_the_quantiles_of_student_are_those_of_any_table() -> None:
    assert [quantile(freedom) for freedom in (1, 10, 20)] == [12.706, 2.228, 2.086]
    assert [quantile(freedom) for freedom in (21, 119, 120)] == [2.086, 2.086, 1.96]


def test_one_run_of_each_side_varies_as_its_blocks_and_equal_runs_do() -> None:
    blocks = (0.0, 0.02, 0.0, 0.02, 0.0)
    side = SideValues((0.01,), (blocks,))
    other_side = SideValues((0.11,), (tuple(value + 0.1 for value in blocks),))
    found = require_interval(interval(side, other_side, run_deviation=0.0))
    assert found.middle == pytest.approx(0.1)
    assert half(found) == pytest.approx(2.306 * math.sqrt(2 * 0.00012))
    two = SideValues((0.11, 0.11), other_side.blocks * 2)
    for sides in ((side, two), (two, side)):
        found = half(interval(*sides, run_deviation=0.0))
        assert found == pytest.approx(2.179 * math.sqrt(0.00018)), sides
    still_side = SideValues((0.0,), ((0.0,) * 10,))
    assert half(interval(still_side, still_side, run_deviation=0.02)) == pytest.approx(
        2.101 * 0.02 * math.sqrt(2)
    )
    bare_side, short = SideValues((0.0,)), SideValues((0.1,), ((0.1,),))
    assert (
        interval(bare_side, side, run_deviation=0.02),
        interval(side, short, run_deviation=0.02),
    ) == (None, None)


def test_several_runs_show_how_runs_differ_and_the_wider_of_both_intervals_counts() -> None:
    side_before, side_after = SideValues((0.0, 0.02, 0.04)), SideValues((0.2, 0.24, 0.28))
    runs = half(interval(side_before, side_after, run_deviation=0.0))
    assert runs == pytest.approx(3.747 * math.sqrt(0.001 * 2 / 3))
    quiet, restless = ((0.0, 0.0, 0.0),) * 3, ((0.0, 0.5, 0.0),) * 3
    quiet_half, wider = (
        half(
            interval(
                replace(side_before, blocks=blocks),
                replace(side_after, blocks=blocks),
                run_deviation=0.0,
            )
        )
        for blocks in (quiet, restless)
    )
    assert quiet_half == pytest.approx(runs)
    assert wider > runs


def test_pairs_bear_drift_and_a_run_without_a_value_takes_its_neighbour_out() -> None:
    side_before = SideValues((0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    side_after = SideValues((0.125, 1.125, 3.125, 4.125, 5.125, 6.25), runs=(0, 1, 3, 4, 5, 6))
    estimate = require_interval(find_interval([*pair_changes(side_before, side_after).values()]))
    assert (estimate.lower_bound, estimate.middle) == (0.125, 0.125)
    assert estimate.upper_bound == 0.25, "of 6 pairs, the least and the greatest"
    assert [*pair_changes(side_before, SideValues((0.1,) * 5))] == [0, 1, 2, 3, 4]


def test_independent_blocks_promise_more_and_those_out_of_line_move_no_median() -> None:
    blocks = (0.00, 0.02, 0.04, 0.06, 0.08)
    torn = (0.00, 0.02, 0.04, 0.06, 0.90)
    median = (1.4826 * 0.02) ** 2 * math.pi / 2 / 5
    for side_blocks, kind, variance in (
        (blocks, "block", 0.001),
        (blocks, "mean", 0.001 / 5),
        (blocks, "median", median),
        (torn, "mean", 0.15188 / 5),
        (torn, "median", median),
    ):
        side = SideValues((0.04,), (side_blocks,), kind)  # pyright: ignore[reportArgumentType]
        assert side.run_variance == pytest.approx(variance), (side_blocks, kind)


def test_ranks_are_those_of_the_tables() -> None:
    assert {count: signed_rank(count, 0.95) for count in (0, 1, 5)} == {0: None, 1: None, 5: None}
    assert {count: signed_rank(count, 0.95) for count in SIGNED} == SIGNED
    assert {counts: rank_sum(*counts, 0.95) for counts in SUMS} == SUMS
    assert {counts: rank_sum(*counts[::-1], 0.95) for counts in SUMS} == SUMS


def count_rank(statistics: list[int], confidence: float) -> int | None:
    """Return the greatest k of which 2 P(statistic < k) leaves the confidence."""
    error_rate = 1 - Fraction(confidence)
    fair = [
        k
        for k in range(1, max(statistics) // 2 + 2)
        if 2 * Fraction(sum(statistic < k for statistic in statistics), len(statistics))
        <= error_rate
    ]
    return max(fair, default=None)


@given(
    count=some.integers(1, 8),
    other=some.integers(1, 5),
    confidence=some.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99]),
)
def test_ranks_are_those_that_counting_finds(count: int, other: int, confidence: float) -> None:
    signs = itertools.product((0, 1), repeat=count)
    sums = [sum(rank * sign for rank, sign in enumerate(drawn, 1)) for drawn in signs]
    assert signed_rank(count, confidence) == count_rank(sums, confidence)
    small_count = min(count, 5)
    chosen = itertools.combinations(range(small_count + other), small_count)
    ranks = [sum(places) - small_count * (small_count - 1) // 2 for places in chosen]
    assert rank_sum(small_count, other, confidence) == count_rank(ranks, confidence)


def test_repeated_values_are_not_floating_point_noise() -> None:
    mean, deviation = 200 * 201 / 4, math.sqrt(200 * 201 * 401 / 24)
    assert signed_rank(200, 0.95) == pytest.approx(mean - 1.96 * deviation, rel=0.01)
    assert rank_sum(60, 60, 0.95) == pytest.approx(1800 - 1.96 * math.sqrt(36300), rel=0.01)


# Counted in whole numbers, by (count, other, confidence).
COUNTED_SUMS = {
    (40, 120, 0.99): 1750,
    (80, 30, 0.95): 908,
    (100, 100, 0.9): 4327,
    (100, 100, 0.95): 4198,
    (5, 300, 0.95): 370,
}


@pytest.mark.parametrize(("sides", "rank"), COUNTED_SUMS.items(), ids=str)
def test_ranks_of_many_are_those_of_whole_numbers(sides: tuple[int, int, float], rank: int) -> None:
    assert rank_sum(*sides) == rank


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("few", [20, 60, 150, 300])
def test_the_normal_approximation_is_off_by_one_at_most(
    few: int, confidence: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rank_sum.cache_clear()
    signed_rank.cache_clear()
    exact = rank_sum(few, few, confidence), rank_sum(few, 2 * few // 3, confidence)
    signed = signed_rank(few, confidence)
    monkeypatch.setattr(shifts, "_MOST_WORK", 0)
    rank_sum.cache_clear()
    signed_rank.cache_clear()
    near = rank_sum(few, few, confidence), rank_sum(few, 2 * few // 3, confidence)
    assert near == pytest.approx(exact, abs=1)
    assert signed_rank(few, confidence) == pytest.approx(signed, abs=1)
    rank_sum.cache_clear()
    signed_rank.cache_clear()


def test_many_differences_are_those_that_a_list_of_them_has() -> None:
    source = random.Random(3)
    ours = [source.gauss(0.2, 1) for _ in range(180)]
    other_values = [source.gauss(0, 1) for _ in range(150)]
    listed = sorted(
        our - other_value
        for our in clip_outliers(ours)
        for other_value in clip_outliers(other_values)
    )
    rank = rank_sum(180, 150, 0.95) or 0
    expected = Interval(statistics.median(listed), listed[rank - 1], listed[-rank])
    estimate = require_interval(find_interval(ours, other_values))
    assert (estimate.lower_bound, estimate.upper_bound) == (
        expected.lower_bound,
        expected.upper_bound,
    )
    assert estimate.middle == pytest.approx(expected.middle, rel=1e-12)
    equal = [float(source.randint(0, 3)) for _ in range(160)]
    assert find_interval(equal, equal) == Interval(0.0, 0.0, 0.0)


def test_of_six_pairs_the_interval_is_all_of_them_and_fewer_have_none() -> None:
    assert find_interval([0.05, 0.01, 0.02, 0.04, 0.03, 0.06]) == Interval(0.035, 0.01, 0.06)
    assert (find_interval(CALM[:5]), find_interval([]), find_middle(CALM[:5])) == (
        None,
        None,
        pytest.approx(0.03),
    )
    with pytest.raises(ValueError, match="no median"):
        find_middle([])


def test_an_expected_change_is_subtracted_with_its_own_doubt() -> None:
    alone, sure, doubted = map(
        require_interval,
        (find_interval(CALM), find_interval(CALM, [0.05] * 30), find_interval(CALM, CALM)),
    )
    assert (alone.lower_bound, alone.upper_bound) == pytest.approx((0.03, 0.08))
    assert (sure.middle, doubted.middle) == (pytest.approx(alone.middle - 0.05), 0)
    assert doubted.upper_bound - doubted.lower_bound > sure.upper_bound - sure.lower_bound
    assert require_interval(find_interval(CALM, [*CALM[:7], -9.0, -9.0, -9.0])).upper_bound < 1, (
        "odd ones of it are tempered"
    )


def test_up_to_three_odd_ones_of_ten_are_taken_for_accidents_and_more_are_not() -> None:
    seven = [0.0, 0.001, -0.001, 0.002, -0.002, 0.001, -0.001]
    limit = 3 * 1.4826 * 0.002  # deviations from the middle, 0.001
    assert clip_outliers([*seven, 0.1, 0.1, 0.1])[7:] == pytest.approx([0.001 + limit] * 3)
    four = [*seven[:6], 0.1, 0.1, 0.1, 0.1]
    assert clip_outliers(four) == four
    assert require_interval(find_interval(four)).upper_bound > 0.09, (
        "that the candidate is slow in four of ten pairs must not be lost"
    )
    assert clip_outliers([0.0] * 9 + [1.0]) == [0.0] * 9 + [1.0], "values that repeat exactly"


@given(changes, changes, some.integers(-1000, 1000), some.sampled_from([0.5, 2.0, 8.0]))
def test_turning_moving_stretching_and_mixing_do_the_same_to_the_interval(
    values: list[float], other_values: list[float], by: int, times: float
) -> None:
    for expected in ([], other_values):
        estimate = require_interval(find_interval(values, expected))
        back = require_interval(
            find_interval([-value for value in values], [-value for value in expected])
        )
        assert (back.lower_bound, back.middle, back.upper_bound) == (
            -estimate.upper_bound,
            -estimate.middle,
            -estimate.lower_bound,
        ), expected
        assert estimate.lower_bound <= estimate.middle <= estimate.upper_bound, expected
        assert find_middle(values, expected) == estimate.middle
    estimate = require_interval(find_interval(values))
    moved = require_interval(
        find_interval([times * value + by / 8192 for value in reversed(values)])
    )
    expected_bounds = [
        times * value + by / 8192
        for value in (estimate.lower_bound, estimate.middle, estimate.upper_bound)
    ]
    assert [moved.lower_bound, moved.middle, moved.upper_bound] == pytest.approx(
        expected_bounds, abs=1e-9
    )


THRESHOLD = math.log1p(0.03)  # of ratios, whose logarithms add up
LITTLE = 1e-9


def test_a_change_is_judged_by_its_interval() -> None:
    worse, unclear, equivalent, loss = "worse", "unclear", "equivalent", "slightly-worse"
    for unit, centre, lower_bound, upper_bound, expected in (
        ("ns", 2 * THRESHOLD, THRESHOLD, 3 * THRESHOLD, worse),
        ("ns", 2 * THRESHOLD, THRESHOLD - LITTLE, 3 * THRESHOLD, unclear),
        ("ns", THRESHOLD - LITTLE, LITTLE, 2 * THRESHOLD, loss),
        ("ns", THRESHOLD - LITTLE, LITTLE, 2 * THRESHOLD + 1e-6, unclear),
        ("ns", 0.01, LITTLE, THRESHOLD, loss),
        ("ns", 0.0, -THRESHOLD, THRESHOLD, equivalent),
        ("ns", 0.0, -THRESHOLD - LITTLE, THRESHOLD, unclear),
        ("ns", THRESHOLD, 0.0, THRESHOLD, equivalent),
        ("ns", THRESHOLD, -LITTLE, 2 * THRESHOLD, unclear),
        ("ratio", 0.04, 0.03, 0.05, worse),
        ("ratio", 0.0299, LITTLE, 0.05, loss),
        ("ratio", 0.0299, LITTLE, 0.11, unclear),
        ("count", 1.0, 1.0, 1.0, worse),
        ("count", 0.99, LITTLE, 2.0, loss),
        ("count", 0.0, 0.0, 0.0, equivalent),
    ):
        gain = "slightly-better" if centre < 0.05 or unit == "count" else "better"
        turned = {worse: "better", loss: gain}.get(expected, expected)
        if expected is unclear and lower_bound > 0:
            turned = "slightly-better"  # uncertain for the better hides no loss
        for turn, better, expected_verdict in (
            *((1, Better.LOWER, expected), (-1, Better.HIGHER, expected)),
            *((1, Better.HIGHER, turned), (-1, Better.LOWER, turned)),
        ):
            change = Change("m", unit, better, 1.0, 1.0, relative=unit == "ns")
            estimate = Interval(turn * centre, *sorted((turn * lower_bound, turn * upper_bound)))
            verdict, reason = change.judge_interval(estimate, Limits(threshold=0.03))
            row = (unit, centre, lower_bound, upper_bound, expected, turn, better, expected_verdict)
            assert verdict == expected_verdict, row
            assert bool(reason) is (verdict == unclear), row


def test_a_second_session_confirms_a_change_or_not() -> None:
    change = Change("m", "ns", Better.LOWER, 1.0, 1.0)
    estimate = Interval(0.04, 0.02, 0.06)
    for sessions, expected, reason in (
        ((), "unclear", "no second session has confirmed it"),
        (([0.04] * 6,), "unclear", "no second session has confirmed it"),
        (([0.04] * 6, [0.04] * 5), "unclear", "no second session has confirmed it"),
        (([0.04] * 6, [0.04] * 6), "worse", ""),
        (([0.07] * 6, [0.01] * 6), "unclear", "shows less than half of your limit of 3 %"),
        (([0.10, 0.09, 0.08, 0.03, -0.05, -0.06],) * 2, "unclear", "it may still be chance"),
    ):
        verdict, explanation = change.judge_interval(estimate, Limits(), sessions)
        assert (verdict, reason in explanation) == (expected, True), (sessions, explanation)
        turned = [[-value for value in session_changes] for session_changes in sessions]
        better, _ = change.judge_interval(estimate.orient(-1), Limits(), turned)
        assert better == ("better" if expected == "worse" else "slightly-better"), sessions


def test_a_change_has_a_sign_and_a_unit_and_a_threshold_has_no_sign() -> None:
    for scale, unit, change, words in (
        ("ratio", "ns", 0.0412, "+4.1 %"),
        ("ratio", "ns", -0.0004, "0.0 %"),
        ("difference", "ratio", 0.021, "+2.1 points"),
        ("difference", "count", -0.5, "-0.500"),
        ("difference", "", 12345.0, "+12,345"),
        ("difference", "ns", -1_500_000.0, "-1.50 ms"),
        ("difference", "bytes", float(3 << 20), "+3 MiB"),
    ):
        formatter = verdicts.Shown(scale, unit)  # pyright: ignore[reportArgumentType]
        assert (formatter.change(change), formatter.amount(abs(change))) == (
            words,
            words.lstrip("+-"),
        )
        assert formatter.change(-change) == words.translate(str.maketrans("+-", "-+"))
        assert formatter.format_change(change, None, None) == words
        assert formatter.format_change(change, change, -change).startswith(f"{words} [{words} … ")
        assert formatter.format_change(None, None, None) == "", words
