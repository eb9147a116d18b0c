"""The rule: beyond the threshold, significant, and reproduced; and which changes it is asked of."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tracekit.base.verdicts import Doubt, Verdict
from tracekit.comparison.shifts import find_interval
from tracekit.nightly.gate.decision import (
    MIXED,
    POLICY,
    SHORT,
    Policy,
    Ruling,
    decide,
    decide_exactly,
)
from tracekit.nightly.history import pairs as history_pairs
from tracekit.nightly.history.night import Outcome, Pair

T = 0.03  # a threshold
SPREAD = (-0.008, -0.006, -0.004, -0.002, -0.001, 0.001, 0.002, 0.004, 0.006, 0.008)
RESTLESS = [-0.02, -0.01, 0.0, 0.01, 0.03, 0.05, 0.07, 0.08, 0.09, 0.1]


def make_changes(change: float, times: float = 1.0) -> list[float]:
    return [change + times * deviation for deviation in SPREAD]


WORSE, BETTER, SAME, UNCLEAR = Verdict.WORSE, Verdict.BETTER, Verdict.EQUIVALENT, Verdict.UNCLEAR
LOSS, GAIN = Verdict.SLIGHTLY_WORSE, Verdict.SLIGHTLY_BETTER


def decide_sessions(*sessions: list[float], policy: Policy = POLICY) -> Ruling | None:
    return decide(sessions, (), T, policy)


def test_sessions_decide_together() -> None:
    for sessions, verdict, doubt, reproduced in (
        ([make_changes(0.0)], SAME, "", None),
        ([make_changes(0.01)], LOSS, "", None),
        ([make_changes(0.02)], LOSS, "", False),
        ([make_changes(0.05)], WORSE, "", False),
        ([make_changes(0.032)], UNCLEAR, Doubt.UNREPEATED, False),
        ([make_changes(0.035, 10)], UNCLEAR, Doubt.CHANCE, False),
        ([make_changes(-0.01)], GAIN, "", None),
        ([make_changes(-0.05)], BETTER, "", None),
        ([make_changes(-0.032)], GAIN, "", None),
        ([make_changes(0.0, 10)], UNCLEAR, Doubt.WIDE, False),
        ([make_changes(0.05), make_changes(0.05)], WORSE, "", True),
        ([make_changes(0.032), make_changes(0.032)], WORSE, "", True),
        ([make_changes(0.05), make_changes(0.02)], WORSE, "", True),
        ([make_changes(0.02), make_changes(0.05)], WORSE, "", True),
        ([make_changes(0.05), make_changes(0.0)], LOSS, "", False),
        ([make_changes(0.09), make_changes(0.0)], UNCLEAR, Doubt.APART, False),
        ([make_changes(0.06) * 2, make_changes(0.01)], UNCLEAR, Doubt.APART, False),
        ([make_changes(0.02), make_changes(0.02)], LOSS, "", False),
        ([make_changes(0.0), make_changes(0.0)], SAME, "", None),
        ([make_changes(-0.032), make_changes(-0.032)], BETTER, "", None),
        ([make_changes(0.0, 10), make_changes(0.0, 10)], SAME, "", None),
        ([make_changes(0.0, 20), make_changes(0.0, 20)], UNCLEAR, Doubt.WIDE, False),
        ([make_changes(0.031, 20), make_changes(0.031, 20)], UNCLEAR, Doubt.CHANCE, False),
        ([RESTLESS, RESTLESS], WORSE, "", True),
        ([make_changes(0.05), make_changes(0.05)[:3]], WORSE, "", False),
        ([make_changes(0.032), make_changes(0.032)[:3]], UNCLEAR, SHORT, False),
        ([make_changes(0.031), []], UNCLEAR, SHORT, False),
        ([make_changes(0.0), [0.0, 0.0]], SAME, "", None),
        # Bounds belong to what is beyond them.
        ([[T] * 6], WORSE, "", False),
        ([[T] * 6, [T] * 6], WORSE, "", True),
        ([[T / 2] * 6, [2 * T] * 6], WORSE, "", True),
        ([[-T] * 6], BETTER, "", None),
        ([[0.0] * 5 + [T]], SAME, "", None),
        ([[-0.6 * T, *[0.0] * 4, 0.9 * T]], SAME, "", None),
        ([[0.0, *[0.6 * T] * 5]], SAME, "", None),  # an interval that reaches 0
    ):
        assert decide_sessions(*sessions) == Ruling(verdict, doubt, reproduced), sessions


def test_too_few_pairs_decide_nothing() -> None:
    for sessions in (
        [make_changes(0.05)[:5]],
        [[]],
        [make_changes(0.05)[:3], make_changes(0.05)[:2]],
    ):
        assert decide_sessions(*sessions) is None, sessions


def test_a_policy_describes_its_demands() -> None:
    for policy, verdict in ((POLICY, UNCLEAR), (Policy(agreement=0.1), WORSE)):
        ruling = decide_sessions(make_changes(0.06) * 2, make_changes(0.01), policy=policy)
        assert ruling is not None, verdict
        assert ruling.verdict is verdict, verdict
    ruling = decide_sessions(RESTLESS, RESTLESS, policy=Policy(certainty=0.9999))
    assert ruling == Ruling(UNCLEAR, Doubt.CHANCE, reproduced=False)


def test_the_baseline_is_taken_off() -> None:
    for sessions, expected in (
        ([make_changes(0.40)], SAME),
        ([make_changes(0.34)], BETTER),
        ([make_changes(0.46), make_changes(0.46)], WORSE),
    ):
        ruling = decide(sessions, make_changes(0.40), T, POLICY)
        assert ruling is not None, expected
        assert ruling.verdict is expected, expected
        assert decide(sessions, make_changes(0.40)[:5], T, POLICY) is None, (
            "too few for an interval"
        )
        assert decide(sessions, make_changes(0.40)[:6], T, POLICY) is not None


def test_every_verdict_is_one_of_three_outcomes_and_has_its_exit_code() -> None:
    codes = {Outcome.OK: 0, Outcome.REGRESSION: 1, Outcome.INCONCLUSIVE: 4}
    for verdict in Verdict:
        assert codes[Ruling(verdict).outcome] == verdict.exit_code, verdict


numbers = some.lists(some.floats(-0.2, 0.2), min_size=6, max_size=12)


@given(first=numbers, second=numbers)
def test_worse_is_beyond_certain_and_in_both(first: list[float], second: list[float]) -> None:
    ruling, alone = decide_sessions(first, second), decide_sessions(first)
    assert ruling is not None
    assert alone is not None
    if alone.verdict is WORSE:
        interval = find_interval(first)
        assert interval is not None
        assert interval.lower_bound >= T, "one session alone must lie beyond the limit as a whole"
    if ruling.verdict is WORSE:
        assert max([*first, *second]) >= T
        assert min(max(first), max(second)) >= T / 2
        turned = decide_sessions([-change for change in first], [-change for change in second])
        assert turned is not None
        assert turned.verdict is BETTER


def test_counts_are_decided_pair_by_pair() -> None:
    for sessions, accepted, verdict, doubt in (
        ([[2.0]], (), UNCLEAR, Doubt.UNREPEATED),
        ([[2.0], []], (), UNCLEAR, SHORT),
        ([[2.0], [2.0]], (), WORSE, ""),
        ([[2.0, 0.0], [2.0, 0.0]], (), LOSS, ""),
        ([[2.0, 0.0, 0.0], [2.0, 0.0, 0.0]], (), SAME, ""),
        ([[2.0, 2.0], [2.0, 1.0]], (), UNCLEAR, MIXED),
        ([[-2.0]], (), BETTER, ""),
        ([[-2.0, -1.0]], (), GAIN, ""),
        ([[1.0, 1.0]], (), LOSS, ""),
        ([[5.0], [5.0]], (1.0, 3.0), WORSE, ""),
        ([[4.0], [4.0]], (1.0, 3.0), LOSS, ""),
        ([[-1.0]], (1.0, 3.0), BETTER, ""),
        ([[0.0]], (1.0, 3.0), GAIN, ""),
        ([[2.0]], (1.0, 3.0), SAME, ""),
        ([[0.0]], (), SAME, ""),
    ):
        ruling = decide_exactly(sessions, accepted, 2.0)
        assert (ruling.verdict, ruling.doubt) == (verdict, doubt), (sessions, accepted)


PAIR = Pair(1, 1, "abba", candidate={"m": (110.0, 110.0)}, reference={"m": (90.0, 110.0)})


def test_a_change_is_of_the_medians_of_pairs_that_count_and_know_both_sides() -> None:
    spoilt = replace(PAIR, rejections=("load",))
    alone, other_metric = replace(PAIR, reference={}), replace(PAIR, candidate={"n": (1.0,)})
    empty, shorter_pair = (
        replace(PAIR, candidate={"m": ()}),
        replace(PAIR, candidate={"m": (110.0,)}),
    )
    pairs = [
        PAIR,
        spoilt,
        alone,
        other_metric,
        empty,
        shorter_pair,
        replace(PAIR, reference={"m": (90.0,)}),
    ]
    assert history_pairs.changes(pairs, "m", "ratio") == pytest.approx((math.log(1.1),))
    assert history_pairs.changes(pairs, "m", "difference") == (10.0,)
    assert history_pairs.values(pairs, "m", "candidate") == (110.0,) * 4
    assert history_pairs.changes([], "m", "ratio") == ()
    for odd in (0.0, -1.0, math.nan, math.inf):
        pair = replace(PAIR, candidate={"m": (odd, odd)})
        expected_changes = (odd - 100,) if math.isfinite(odd) else ()
        assert history_pairs.changes([pair], "m", "ratio") == (), odd
        assert history_pairs.changes([pair], "m", "difference") == expected_changes, odd
        assert (history_pairs.value(pair, "m", "candidate") is None) is not math.isfinite(odd)


def test_untraced_pairs_go_before_traced_ones_which_cost_time() -> None:
    traced = replace(PAIR, traced=True, candidate={"m": (200.0,), "t": (3.0,)}, reference={})
    assert history_pairs.pairs_of([traced, PAIR], "m") == (PAIR,)
    assert history_pairs.pairs_of([traced, PAIR], "t") == (traced,)
    assert history_pairs.pairs_of([traced, PAIR], "nothing") == ()
    spoilt = replace(PAIR, rejections=("load",))
    assert history_pairs.changes([spoilt, replace(PAIR, traced=True)], "m", "ratio") == ()
