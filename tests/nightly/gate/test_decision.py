"""The rule: beyond the threshold, significant, and reproduced."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tracekit.nightly.gate.decision import (
    POLICY,
    Policy,
    Ruling,
    decide,
    decide_exactly,
)
from tracekit.nightly.history.night import Outcome

SPREAD = (-0.008, -0.006, -0.004, -0.002, -0.001, 0.001, 0.002, 0.004, 0.006, 0.008)
WIDE = tuple(10 * one for one in SPREAD)


def at(change: float, spread: tuple[float, ...] = SPREAD) -> list[float]:
    return [change + one for one in spread]


def found(*sittings: list[float], policy: Policy = POLICY) -> Ruling | None:
    return decide(sittings, (), 0.03, policy)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(0.0, Ruling.SAME, id="nothing"),
        pytest.param(0.01, Ruling.SAME, id="worse, and less than half the threshold"),
        pytest.param(0.02, Ruling.UNREPEATED, id="worse by two thirds of it"),
        pytest.param(0.05, Ruling.UNREPEATED, id="worse"),
        pytest.param(-0.01, Ruling.SAME, id="better by little"),
        pytest.param(-0.05, Ruling.BETTER, id="better"),
    ],
)
def test_one_sitting_never_says_that_it_is_worse(change: float, expected: Ruling) -> None:
    assert found(at(change)) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param(0.05, 0.05, Ruling.WORSE, id="twice"),
        pytest.param(0.05, 0.02, Ruling.WORSE, id="less, but beyond together"),
        pytest.param(0.02, 0.05, Ruling.WORSE, id="more"),
        pytest.param(0.05, 0.0, Ruling.GONE, id="once"),
        pytest.param(0.09, 0.0, Ruling.APART, id="once, and much"),
        pytest.param(0.02, 0.02, Ruling.GONE, id="twice, less than the threshold"),
        pytest.param(0.0, 0.0, Ruling.SAME, id="never"),
        pytest.param(-0.05, -0.05, Ruling.BETTER, id="better twice"),
    ],
)
def test_two_sittings_decide_together(first: float, second: float, expected: Ruling) -> None:
    assert found(at(first), at(second)) == expected


def test_far_more_in_one_sitting_than_in_the_other_is_not_reproduced() -> None:
    many = at(0.06) + at(0.06)
    assert found(many, at(0.01)) == Ruling.APART
    assert found(many, at(0.01), policy=Policy(agreement=0.2)) == Ruling.WORSE


def test_a_wide_interval_says_nothing() -> None:
    assert found(at(0.0, WIDE)) == Ruling.WIDE
    assert found(at(0.0, WIDE), policy=Policy(spread=3)) == Ruling.UNSHOWN
    assert found(at(0.0, WIDE), at(0.0, WIDE)) == Ruling.SAME, "20 pairs say enough"
    wider = tuple(2 * one for one in WIDE)
    assert found(at(0.0, wider), at(0.0, wider)) == Ruling.WIDE


def test_a_large_change_that_is_not_significant_is_looked_at_again() -> None:
    assert found(at(0.035, WIDE)) == Ruling.UNREPEATED
    wider = tuple(2 * one for one in WIDE)
    assert found(at(0.031, wider), at(0.031, wider)) == Ruling.UNSURE


def test_a_sitting_with_too_few_pairs_shows_nothing() -> None:
    assert found(at(0.05), at(0.05)[:3]) == Ruling.SHORT
    assert found(at(0.05), []) == Ruling.SHORT
    assert found(at(0.031), [-0.1, -0.1, -0.1]) == Ruling.SHORT
    assert found(at(0.05)[:5], at(0.05)) == Ruling.SHORT
    assert found(at(0.0), [0.0, 0.0]) == Ruling.SAME
    assert found(at(-0.05), [-0.05, -0.05]) == Ruling.BETTER


def test_what_may_be_chance_is_no_regression_however_large() -> None:
    restless = [-0.02, -0.01, 0.0, 0.01, 0.03, 0.05, 0.07, 0.08, 0.09, 0.1]
    ended = found(restless, restless)
    assert ended == Ruling.WORSE
    assert found(restless, restless, policy=Policy(certainty=0.9999)) == Ruling.UNSURE


def test_five_changes_are_too_few() -> None:
    assert found(at(0.05)[:5]) is None
    assert found([]) is None
    assert found(at(0.05)[:3], at(0.05)[:2]) is None
    assert decide([at(0.05)], at(0.0)[:5], 0.03, POLICY) is None, "and so they are of a baseline"


def test_the_baseline_is_taken_off() -> None:
    baseline = at(0.40)
    assert decide([at(0.40)], baseline, 0.03, POLICY) == Ruling.SAME
    both = [at(0.46), at(0.46)]
    assert decide(both, baseline, 0.03, POLICY) == Ruling.WORSE
    assert decide([at(0.34)], baseline, 0.03, POLICY) == Ruling.BETTER


@pytest.mark.parametrize("one", Ruling)
def test_every_outcome_is_one_of_three(one: Ruling) -> None:
    assert one.outcome in {Outcome.OK, Outcome.REGRESSION, Outcome.INCONCLUSIVE}
    assert (one.outcome is Outcome.REGRESSION) is (one is Ruling.WORSE)


numbers = some.lists(some.floats(-0.2, 0.2), min_size=6, max_size=12)


@given(first=numbers, second=numbers)
def test_worse_is_beyond_significant_and_in_both(first: list[float], second: list[float]) -> None:
    ended = found(first, second)
    assert ended is not None
    alone = found(first)
    assert alone is not None
    assert alone is not Ruling.WORSE
    if ended is Ruling.WORSE:
        assert max([*first, *second]) >= 0.03
        assert max(first) >= 0.015
        assert max(second) >= 0.015
        turned = found([-one for one in first], [-one for one in second])
        assert turned is not None
        assert turned in {Ruling.BETTER, Ruling.WIDE}


T = 0.03  # a threshold


@pytest.mark.parametrize(
    ("sessions", "expected"),
    [
        pytest.param([[T] * 6, [T] * 6], Ruling.WORSE, id="just the threshold"),
        pytest.param([[T / 2] * 6, [2 * T] * 6], Ruling.WORSE, id="a session shows just half"),
        pytest.param([[0.0] * 2 + [3 * T] * 4] * 2, Ruling.UNSURE, id="the interval touches zero"),
        pytest.param([[-T] * 6], Ruling.BETTER, id="just as much better"),
        pytest.param([[0.0] * 5 + [T]], Ruling.UNSHOWN, id="the interval touches the threshold"),
        pytest.param([[-0.6 * T, *[0.0] * 4, 0.9 * T]], Ruling.SAME, id="a wide one below it"),
    ],
)
def test_bounds_belong_to_what_is_beyond_them(
    sessions: list[list[float]], expected: Ruling
) -> None:
    decision = decide(sessions, (), T, POLICY)
    assert decision is not None
    assert decision is expected


@pytest.mark.parametrize(
    ("sessions", "accepted", "expected"),
    [
        ([[2.0], [2.0]], (), Ruling.WORSE),
        ([[2.0, 0.0], [2.0, 0.0]], (), Ruling.GONE),
        ([[-2.0]], (), Ruling.BETTER),
        ([[5.0], [5.0]], (1.0, 3.0), Ruling.WORSE),
        ([[4.0], [4.0]], (1.0, 3.0), Ruling.SAME),
        ([[-1.0]], (1.0, 3.0), Ruling.BETTER),
        ([[0.0]], (1.0, 3.0), Ruling.SAME),
    ],
)
def test_bounds_of_counts(
    sessions: list[list[float]], accepted: tuple[float, ...], expected: Ruling
) -> None:
    assert decide_exactly(sessions, accepted, 2.0) is expected
