"""What became of one metric, in numbers and in words."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gate_pairs import made
from tracekit.nightly.gate.judge import judge, needs_second_session
from tracekit.nightly.history.night import Judged, Outcome, Pair
from tracekit.nightly.plan.plan import Gated

SPREAD = (-0.008, -0.006, -0.004, -0.002, -0.001, 0.001, 0.002, 0.004, 0.006, 0.008)
TIME = Gated("step_p50", 0.03)
COUNT = Gated("steady_compiles", 1, scale="difference")
SHARE = Gated("gpu_idle_ratio", 0.02, scale="difference")
FEW = "4 traced in a session, and an interval takes 6 pairs, so it is followed over nights."


def at(change: float, times: float = 1.0) -> list[float]:
    return [math.log1p(change) + times * one for one in SPREAD]


def timed(pairs: list[Pair], gated: Gated = TIME, **more: object) -> Judged:
    return judge(gated, pairs, unit="ns", better="lower", **more)  # pyright: ignore[reportArgumentType]


def counted(pairs: list[Pair], gated: Gated = COUNT, unit: str = "count") -> Judged:
    return judge(gated, pairs, unit=unit, better="lower")


def test_the_same_work_is_expected_to_be_alike() -> None:
    judged = timed(made(at(0.004)))
    assert judged.outcome is Outcome.OK
    assert judged.change == pytest.approx(0.004, abs=1e-6)
    assert judged.low == pytest.approx(0.0, abs=2e-4)
    assert judged.high == pytest.approx(0.0080, abs=2e-4)
    assert judged.expected == 0
    assert (judged.candidate, judged.reference) == (pytest.approx(100.4, rel=1e-4), 100)
    assert judged.pairs == 10
    assert judged.reproduced is None
    assert judged.reason == "+0.4 % [0.0 % … +0.8 %]: not worse by 3.0 %."


def test_worse_in_one_sitting_is_to_be_looked_at_again() -> None:
    judged = timed(made(at(0.041)))
    assert (judged.outcome, judged.reproduced) == (Outcome.INCONCLUSIVE, False)
    assert judged.reason == (
        "+4.1 % [+3.7 % … +4.5 %]: no second session has shown whether this is so."
    )


def test_worse_in_both_is_a_regression() -> None:
    judged = timed(made(at(0.041)) + made(at(0.045), sitting=2))
    assert (judged.outcome, judged.reproduced) == (Outcome.REGRESSION, True)
    assert judged.change == pytest.approx(0.043, abs=1e-4)
    assert judged.reason.startswith("+4.1 % at first, +4.5 % when repeated; together +4.3 % [")
    assert judged.reason.endswith(
        "]: worse, beyond the threshold of 3.0 %, and both sessions show it."
    )


def test_what_is_not_reproduced_is_told() -> None:
    judged = timed(made(at(0.041)) + made(at(0.002), sitting=2))
    assert (judged.outcome, judged.reproduced) == (Outcome.OK, False)
    assert judged.reason.startswith("+4.1 % at first, +0.2 % when repeated; together +2.1 % [")
    assert judged.reason.endswith("]: not shown to be worse by 3.0 % when all pairs are counted.")


def test_better_is_told_and_never_fails() -> None:
    judged = timed(made(at(-0.06)))
    assert judged.outcome is Outcome.OK
    assert judged.reason.startswith("-6.0 % [")
    assert judged.reason.endswith("]: better, beyond the threshold of 3.0 %.")


def test_of_rates_less_is_worse() -> None:
    pairs = made(at(-0.06)) + made(at(-0.06), sitting=2)
    slower = judge(TIME, pairs, unit="tokens/s", better="higher")
    assert slower.outcome is Outcome.REGRESSION
    assert slower.reason.endswith(
        "worse, beyond the threshold of 3.0 % (2.9 % of a rate), and both sessions show it."
    )
    assert slower.change == pytest.approx(-0.06)
    assert slower.low is not None
    assert slower.high is not None
    assert slower.low < slower.change < slower.high < 0
    faster = judge(TIME, made(at(0.06)), unit="tokens/s", better="higher")
    assert faster.outcome is Outcome.OK
    assert "better" in faster.reason


def test_the_plan_may_turn_the_direction_round() -> None:
    turned = timed(made(at(-0.06)), replace(TIME, better="higher"))
    assert turned.outcome is Outcome.INCONCLUSIVE
    assert turned.better == "higher"


def test_a_wide_interval_is_inconclusive() -> None:
    judged = timed(made(at(0.01, times=12)))
    assert (judged.outcome, judged.reproduced) == (Outcome.INCONCLUSIVE, False)
    assert judged.reason.endswith("so uncertain that a change of 3.0 % could hide in it.")


def test_too_few_pairs_are_inconclusive_and_say_why_others_do_not_count() -> None:
    why = ["", "", "", "", "", "fixed work was 31 % slow", "load", "load", "load", "load"]
    judged = timed(made(at(0.0), contaminated=why), wanted=10)
    assert (judged.outcome, judged.reproduced) == (Outcome.INCONCLUSIVE, None)
    assert judged.pairs == 5
    assert judged.reason == (
        "Only 5 of 10 pairs count, and an interval takes 6; why others do not: load."
    )
    assert timed(made([0.0] * 4)).reason == "Only 4 of 6 pairs count, and an interval takes 6."
    assert judged.low is None
    assert judged.change is not None


def test_what_could_not_be_measured_again_leaves_a_good_night_open() -> None:
    why = [""] * 8 + ["the clock was 9 % lower."] * 2
    good = made(at(0.0), contaminated=why)
    assert timed(good, wanted=8).outcome is Outcome.OK
    judged = timed(good, wanted=10)
    assert (judged.outcome, judged.reproduced) == (Outcome.INCONCLUSIVE, None)
    assert judged.reason.endswith(
        ", but only 8 of 10 pairs count; why others do not: the clock was 9 % lower."
    )


def test_pairs_that_do_not_tell_a_metric_leave_a_good_night_open() -> None:
    """As the slowest steps of turns that a slow-down leaves too short: none are told of these."""
    pairs = made(at(0.0))
    pairs[3] = replace(pairs[3], candidate={})
    judged = timed(pairs, wanted=10)
    assert (judged.outcome, judged.reproduced) == (Outcome.INCONCLUSIVE, None)
    assert judged.reason.endswith(
        ", but only 9 of 10 pairs count; others do not have step_p50 of both sides."
    )
    assert timed(pairs, wanted=9).outcome is Outcome.OK


def test_a_second_sitting_with_too_few_pairs_is_told_by_its_number() -> None:
    why = [""] * 3 + ["load."] * 7
    again = made(at(0.095), sitting=2, contaminated=why)
    judged = timed(made(at(0.103)) + again, wanted=10)
    assert (judged.outcome, judged.reproduced) == (Outcome.INCONCLUSIVE, False)
    assert judged.reason.startswith("+10.3 % at first, +8.8 % when repeated; together +10.0 % [")
    assert judged.reason.endswith(
        "]: not confirmed, for only 3 pairs of the second session count, and it takes 6; "
        "why others do not: load."
    )


def test_what_could_not_be_measured_again_leaves_no_regression_open() -> None:
    why = [""] * 8 + ["load"] * 2
    pairs = made(at(0.06), contaminated=why) + made(at(0.06), sitting=2, contaminated=why)
    assert timed(pairs, wanted=20).outcome is Outcome.REGRESSION


def test_no_pair_that_counts_is_inconclusive() -> None:
    judged = timed(made(at(0.0), contaminated=["on battery"] * 10))
    assert judged.outcome is Outcome.INCONCLUSIVE
    assert judged.reason == "No pair counts: on battery."
    assert (judged.change, judged.candidate, judged.pairs) == (None, None, 0)
    assert timed([]).reason == "No pair measured step_p50."


def test_a_side_that_does_not_say_it_is_named() -> None:
    lost = [replace(one, reference={}) for one in made(at(0.0))]
    assert timed(lost).reason == "The reference did not say its step_p50, or not as a number."
    assert timed(lost).outcome is Outcome.INCONCLUSIVE
    assert timed(lost).candidate is not None
    odd = [replace(one, candidate={"step_p50": (math.nan,)}) for one in made(at(0.0))]
    assert timed(odd).reason == "The candidate did not say its step_p50, or not as a number."
    turns = zip(made(at(0.0)), ("candidate", "reference") * 5, strict=True)
    mixed = [replace(one, **{side: {}}) for one, side in turns]
    assert timed(mixed).reason.startswith("No pair has step_p50 of both sides")


def test_a_ratio_of_nought_asks_for_the_difference() -> None:
    zero = [replace(one, candidate={"step_p50": (0.0,)}) for one in made(at(0.0))]
    judged = timed(zero)
    assert judged.outcome is Outcome.INCONCLUSIVE
    assert "above 0 where its ratio is taken" in judged.reason


def test_without_a_reference_it_is_followed() -> None:
    alone = [replace(one, reference={}) for one in made(at(0.0))]
    judged = timed(alone, same_work=None)
    assert (judged.outcome, judged.gated, judged.expected) == (None, False, None)
    assert judged.pairs == 10
    assert judged.candidate == pytest.approx(100)
    assert judged.reason == "There is no reference: it is followed over nights."
    bad = [replace(one, contaminated=("load",)) for one in alone]
    assert timed(bad, same_work=None).outcome is Outcome.INCONCLUSIVE


def test_other_work_needs_an_accepted_night() -> None:
    judged = timed(made(at(0.4)), same_work=False)
    assert (judged.outcome, judged.reproduced) == (Outcome.INCONCLUSIVE, False)
    assert needs_second_session([judged], (), ()), "what is accepted is to be measured twice"
    twice = timed(made(at(0.4)) + made(at(0.4), sitting=2), same_work=False)
    assert (twice.outcome, twice.reproduced, twice.pairs) == (Outcome.INCONCLUSIVE, None, 20)
    assert judged.change == pytest.approx(0.4)
    assert judged.low is not None
    assert judged.expected is None
    assert "tracekit baseline accept NIGHT --reason" in judged.reason
    followed = timed(made(at(0.4)), replace(TIME, gate=False), same_work=False)
    assert (followed.outcome, followed.reproduced) == (None, None)
    odd = judge(TIME, made(at(0.4)), unit="ns", better="neither", same_work=False)
    assert (odd.outcome, odd.gated) == (None, False), "no baseline would let it decide"


def test_against_an_accepted_night_the_change_is_what_came_since() -> None:
    accepted = at(0.4)
    same = timed(made(at(0.4)), same_work=False, expected=accepted)
    assert same.outcome is Outcome.OK
    assert same.expected == pytest.approx(0.4)
    assert same.change == pytest.approx(0.0, abs=1e-9)
    worse = made(at(0.47)) + made(at(0.47), sitting=2)
    judged = timed(worse, same_work=False, expected=accepted)
    assert judged.outcome is Outcome.REGRESSION
    assert judged.change == pytest.approx(0.05)


def test_an_accepted_night_holds_for_the_same_work_too() -> None:
    pairs = made(at(0.06)) + made(at(0.06), sitting=2)
    assert timed(pairs).outcome is Outcome.REGRESSION
    assert timed(pairs, expected=at(0.06)).outcome is Outcome.OK


def test_an_accepted_night_of_few_pairs_is_no_baseline() -> None:
    judged = timed(made(at(0.0)), expected=at(0.0)[:4])
    assert judged.outcome is Outcome.INCONCLUSIVE
    assert judged.reason == "The accepted night has 4 pairs; it takes 6."
    assert judged.low is None


def test_what_is_followed_says_its_change_and_never_fails() -> None:
    pairs = made(at(0.2)) + made(at(0.2), sitting=2)
    judged = timed(pairs, replace(TIME, gate=False))
    assert (judged.outcome, judged.gated) == (None, False)
    assert judged.reason == "+20.0 % [+19.7 % … +20.3 %]."
    empty = timed([], replace(TIME, gate=False))
    assert (empty.outcome, empty.reason) == (None, "No pair measured step_p50.")


def test_without_a_direction_nothing_is_worse() -> None:
    judged = judge(TIME, made(at(0.2)), unit="", better="neither")
    assert (judged.outcome, judged.gated) == (None, False)
    assert judged.change == pytest.approx(0.2)


@pytest.mark.parametrize(("size", "repeats"), [(1, 1), (3, 2)])
def test_a_count_of_few_traces_needs_no_interval(size: int, repeats: int) -> None:
    kind = {"metric": "steady_compiles", "difference": True, "traced": True}
    first = made([size] * repeats, **kind)
    once = counted(first)
    assert (once.outcome, once.reproduced, once.low) == (Outcome.INCONCLUSIVE, False, None)
    twice = counted(first + made([size] * repeats, sitting=2, **kind))
    assert (twice.outcome, twice.reproduced) == (Outcome.REGRESSION, True)
    assert twice.reason.startswith(f"+{size} at first, +{size} when repeated; together +{size}:")
    gone = counted(first + made([0] * repeats, sitting=2, **kind))
    assert (gone.outcome, gone.reproduced) == (Outcome.OK, False)
    same = counted(made([0] * repeats, **kind))
    assert (same.outcome, same.reason) == (Outcome.OK, "0: not worse by 1.")
    fewer = counted(made([-size] * repeats, **kind))
    assert fewer.outcome is Outcome.OK
    assert "better" in fewer.reason


def test_counts_that_differ_in_most_pairs_and_not_in_all_are_open() -> None:
    kind = {"metric": "steady_compiles", "difference": True, "traced": True}
    judged = counted(made([1, 1], **kind) + made([1, 0], sitting=2, **kind))
    assert judged.outcome is Outcome.INCONCLUSIVE
    assert judged.reason.endswith("worse by 1 in most pairs, but not in all.")


def test_a_count_without_a_second_trace_that_counts_is_open() -> None:
    kind = {"metric": "steady_compiles", "difference": True, "traced": True}
    lost = made([1], sitting=2, contaminated=["no rows"], **kind)
    judged = counted(made([1], **kind) + lost)
    assert judged.outcome is Outcome.INCONCLUSIVE
    assert judged.reason == (
        "+1 at first, nothing when repeated; together +1: not confirmed, for only 0 pairs of the "
        "second session count, and it takes 1; why others do not: no rows."
    )
    assert counted(made([0], **kind) + lost).outcome is Outcome.OK


@pytest.mark.parametrize("unit", ["ns", "bytes", "ratio"])
def test_whole_numbers_that_vary_are_no_counts(unit: str) -> None:
    kind = {"metric": "memory_peak", "difference": True, "traced": True}
    gated = Gated("memory_peak", 4096, scale="difference")
    judged = counted(made([8192], **kind) + made([8192], sitting=2, **kind), gated, unit)
    assert (judged.outcome, judged.gated) == (None, False)
    assert judged.reason.endswith("so it is followed over nights.")


def test_a_count_that_is_no_number_in_one_trace_is_left_out() -> None:
    kind = {"metric": "steady_compiles", "difference": True, "traced": True}
    first, second = made([0, 0], **kind)
    lost = replace(second, candidate={"steady_compiles": (math.nan,)})
    assert counted([first, lost]).outcome is Outcome.OK
    judged = judge(COUNT, [first, lost], unit="count", better="lower", wanted=2)
    assert judged.outcome is Outcome.INCONCLUSIVE
    assert judged.reason == (
        "0, but only 1 of 2 pairs count; others do not have steady_compiles of both sides."
    )


def test_a_count_is_held_against_the_worst_that_was_accepted() -> None:
    kind = {"metric": "steady_compiles", "difference": True, "traced": True}

    def since(change: int) -> Judged:
        pairs = made([change], **kind) + made([change], sitting=2, **kind)
        expected = (2.0, 3.0)
        return judge(COUNT, pairs, unit="count", better="lower", expected=expected, same_work=False)

    assert since(3).outcome is Outcome.OK
    assert since(4).outcome is Outcome.REGRESSION


def test_a_share_of_few_traces_is_followed() -> None:
    kind = {"metric": "gpu_idle_ratio", "difference": True, "traced": True}
    judged = counted(made([0.10, 0.10, 0.11, 0.11], **kind), SHARE, "ratio")
    assert (judged.outcome, judged.gated) == (None, False)
    assert judged.reason == f"+10.5 points: {FEW}"
    assert judged.change == pytest.approx(0.105)


def test_a_share_of_many_traces_is_judged() -> None:
    kind = {"metric": "gpu_idle_ratio", "difference": True, "traced": True}
    found = [0.03, 0.031, 0.032, 0.033, 0.034, 0.035]
    pairs = made(found, **kind) + made(found, sitting=2, **kind)
    judged = counted(pairs, SHARE, "ratio")
    assert judged.outcome is Outcome.REGRESSION
    assert "beyond the threshold of 2.0 points" in judged.reason


def test_differences_are_told_in_the_metrics_unit() -> None:
    gated = Gated("step_p50", 2e6, scale="difference")
    pairs = made([1e6 * (1 + one) for one in SPREAD], difference=True)
    assert timed(pairs, gated).reason.startswith("+1 ms [+996 µs … +1")


logs = some.lists(some.floats(-0.3, 0.3), min_size=0, max_size=9)


@given(first=logs, second=logs, same=some.sampled_from([True, False, None]))
def test_whatever_is_measured_is_judged_and_told(
    first: list[float], second: list[float], same: bool | None
) -> None:
    pairs = [
        Pair(sitting, at, "abba", False, {"step_p50": (math.exp(one),)}, {"step_p50": (1.0,)})
        for sitting, found in ((1, first), (2, second))
        for at, one in enumerate(found, 1)
    ]
    judged = timed(pairs, same_work=same)
    assert judged.reason.endswith(".")
    assert judged.outcome is not None or same is None
    assert judged.pairs == len(first) + len(second)
    if judged.outcome is Outcome.REGRESSION:
        assert judged.reproduced
        assert min(len(first), len(second)) >= 6
        assert judged.change is not None
        assert judged.change >= 0.03
        assert judged.low is not None
        assert judged.low > 0


# In whole millionths: next to 1 there are floats below it that have no like above.
@given(found=some.lists(some.integers(-300_000, 300_000), min_size=6, max_size=12))
def test_a_time_and_its_rate_are_judged_alike(found: list[int]) -> None:
    def turned(sign: int) -> list[Pair]:
        return [
            Pair(sitting, at, "abba", False, {"m": (math.exp(sign * one / 1e6),)}, {"m": (1.0,)})
            for sitting in (1, 2)
            for at, one in enumerate(found, 1)
        ]

    time = judge(Gated("m"), turned(1), unit="ns", better="lower")
    rate = judge(Gated("m"), turned(-1), unit="1/s", better="higher")
    assert time.outcome is rate.outcome
    assert time.reproduced is rate.reproduced
