"""The rule: beyond the threshold, significant, and reproduced; and which changes it is asked of."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tracekit.nightly.gate import decision
from tracekit.nightly.gate.decision import POLICY, Policy, Ruling, decide, decide_exactly
from tracekit.nightly.history.night import Outcome, Pair

T = 0.03  # a threshold
SPREAD = (-0.008, -0.006, -0.004, -0.002, -0.001, 0.001, 0.002, 0.004, 0.006, 0.008)
RESTLESS = [-0.02, -0.01, 0.0, 0.01, 0.03, 0.05, 0.07, 0.08, 0.09, 0.1]


def at(change: float, times: float = 1.0) -> list[float]:
    return [change + times * each for each in SPREAD]


def found(*sittings: list[float], policy: Policy = POLICY) -> Ruling | None:
    return decide(sittings, (), T, policy)


def test_sessions_decide_together() -> None:
    for sittings, expected in (
        ([at(0.0)], Ruling.SAME),
        ([at(0.01)], Ruling.SAME),
        ([at(0.02)], Ruling.UNREPEATED),
        ([at(0.05)], Ruling.UNREPEATED),
        ([at(0.035, 10)], Ruling.UNREPEATED),
        ([at(-0.01)], Ruling.SAME),
        ([at(-0.05)], Ruling.BETTER),
        ([at(0.0, 10)], Ruling.WIDE),
        ([at(0.05), at(0.05)], Ruling.WORSE),
        ([at(0.05), at(0.02)], Ruling.WORSE),
        ([at(0.02), at(0.05)], Ruling.WORSE),
        ([at(0.05), at(0.0)], Ruling.GONE),
        ([at(0.09), at(0.0)], Ruling.APART),
        ([at(0.06) * 2, at(0.01)], Ruling.APART),
        ([at(0.02), at(0.02)], Ruling.GONE),
        ([at(0.0), at(0.0)], Ruling.SAME),
        ([at(-0.05), at(-0.05)], Ruling.BETTER),
        ([at(0.0, 10), at(0.0, 10)], Ruling.SAME),
        ([at(0.0, 20), at(0.0, 20)], Ruling.WIDE),
        ([at(0.031, 20), at(0.031, 20)], Ruling.UNSURE),
        ([RESTLESS, RESTLESS], Ruling.WORSE),
        ([at(0.05), at(0.05)[:3]], Ruling.SHORT),
        ([at(0.05), []], Ruling.SHORT),
        ([at(0.031), [-0.1] * 3], Ruling.SHORT),
        ([at(0.05)[:5], at(0.05)], Ruling.SHORT),
        ([at(0.0), [0.0, 0.0]], Ruling.SAME),
        ([at(0.05)[:5]], None),
        ([[]], None),
        ([at(0.05)[:3], at(0.05)[:2]], None),
        # Bounds belong to what is beyond them.
        ([[T] * 6, [T] * 6], Ruling.WORSE),
        ([[T / 2] * 6, [2 * T] * 6], Ruling.WORSE),
        ([[0.0] * 2 + [3 * T] * 4] * 2, Ruling.UNSURE),
        ([[-T] * 6], Ruling.BETTER),
        ([[0.0] * 5 + [T]], Ruling.UNSHOWN),
        ([[-0.6 * T, *[0.0] * 4, 0.9 * T]], Ruling.SAME),
        ([[0.0, *[0.6 * T] * 5]], Ruling.SAME),  # an interval that reaches 0 is not significant
    ):
        assert found(*sittings) is expected


def test_a_policy_says_what_it_takes() -> None:
    assert found(at(0.06) * 2, at(0.01), policy=Policy(agreement=0.1)) is Ruling.WORSE
    assert found(at(0.0, 10), policy=Policy(spread=3)) is Ruling.UNSHOWN
    assert found(RESTLESS, RESTLESS, policy=Policy(certainty=0.9999)) is Ruling.UNSURE


def test_the_baseline_is_taken_off() -> None:
    for sittings, expected in (
        ([at(0.40)], Ruling.SAME),
        ([at(0.34)], Ruling.BETTER),
        ([at(0.46), at(0.46)], Ruling.WORSE),
    ):
        assert decide(sittings, at(0.40), T, POLICY) is expected
        assert decide(sittings, at(0.40)[:5], T, POLICY) is None, "too few for an interval"
        assert decide(sittings, at(0.40)[:6], T, POLICY) is not None


def test_every_ruling_is_one_of_three_outcomes() -> None:
    outcomes = {each: (each.outcome, each.reproduced) for each in Ruling}
    assert outcomes.pop(Ruling.WORSE) == (Outcome.REGRESSION, True)
    assert outcomes.pop(Ruling.GONE) == (Outcome.OK, False)
    good = [each for each, ended in outcomes.items() if ended == (Outcome.OK, None)]
    assert good == [Ruling.SAME, Ruling.UNSHOWN, Ruling.BETTER]
    assert {ended for each, ended in outcomes.items() if each not in good} == {
        (Outcome.INCONCLUSIVE, False)
    }


numbers = some.lists(some.floats(-0.2, 0.2), min_size=6, max_size=12)


@given(first=numbers, second=numbers)
def test_worse_is_beyond_significant_and_in_both(first: list[float], second: list[float]) -> None:
    assert found(first) is not Ruling.WORSE
    if found(first, second) is Ruling.WORSE:
        assert max([*first, *second]) >= T
        assert min(max(first), max(second)) >= T / 2
        turned = found([-each for each in first], [-each for each in second])
        assert turned in {Ruling.BETTER, Ruling.WIDE}


def test_counts_are_decided_pair_by_pair() -> None:
    for sessions, accepted, expected in (
        ([[2.0]], (), Ruling.UNREPEATED),
        ([[2.0], []], (), Ruling.SHORT),
        ([[2.0], [2.0]], (), Ruling.WORSE),
        ([[2.0, 0.0], [2.0, 0.0]], (), Ruling.GONE),
        ([[2.0, 2.0], [2.0, 1.0]], (), Ruling.MIXED),
        ([[-2.0]], (), Ruling.BETTER),
        ([[-2.0, -1.0]], (), Ruling.SAME),
        ([[5.0], [5.0]], (1.0, 3.0), Ruling.WORSE),
        ([[4.0], [4.0]], (1.0, 3.0), Ruling.SAME),
        ([[-1.0]], (1.0, 3.0), Ruling.BETTER),
        ([[0.0]], (1.0, 3.0), Ruling.SAME),
    ):
        assert decide_exactly(sessions, accepted, 2.0) is expected


PAIR = Pair(1, 1, "abba", candidate={"m": (110.0, 110.0)}, reference={"m": (90.0, 110.0)})


def test_a_change_is_of_the_medians_of_pairs_that_count_and_know_both_sides() -> None:
    spoilt = replace(PAIR, contaminated=("load",))
    alone, other = replace(PAIR, reference={}), replace(PAIR, candidate={"n": (1.0,)})
    empty, lacking = replace(PAIR, candidate={"m": ()}), replace(PAIR, candidate={"m": (110.0,)})
    pairs = [PAIR, spoilt, alone, other, empty, lacking, replace(PAIR, reference={"m": (90.0,)})]
    assert decision.changes(pairs, "m", "ratio") == pytest.approx((math.log(1.1),))
    assert decision.changes(pairs, "m", "difference") == (10.0,)
    assert decision.values(pairs, "m", "candidate") == (110.0,) * 4
    assert decision.changes([], "m", "ratio") == ()
    for odd in (0.0, -1.0, math.nan, math.inf):
        pair = replace(PAIR, candidate={"m": (odd, odd)})
        known = (odd - 100,) if math.isfinite(odd) else ()
        assert decision.changes([pair], "m", "ratio") == (), odd
        assert decision.changes([pair], "m", "difference") == known, odd
        assert (decision.value(pair, "m", "candidate") is None) is not math.isfinite(odd)


def test_untraced_pairs_go_before_traced_ones_which_cost_time() -> None:
    traced = replace(PAIR, traced=True, candidate={"m": (200.0,), "t": (3.0,)}, reference={})
    assert decision.pairs_of([traced, PAIR], "m") == (PAIR,)
    assert decision.pairs_of([traced, PAIR], "t") == (traced,)
    assert decision.pairs_of([traced, PAIR], "nothing") == ()
    spoilt = replace(PAIR, contaminated=("load",))
    assert decision.changes([spoilt, replace(PAIR, traced=True)], "m", "ratio") == ()
