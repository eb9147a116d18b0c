"""What became of a metric: what its pairs say, in numbers, an outcome and words."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gate_pairs import made
from tracekit.nightly.gate.decision import changes, pairs_of, value, values
from tracekit.nightly.gate.judge import (
    Quantity,
    judge,
    judge_entry,
    needs_second_session,
    quantity_of,
)
from tracekit.nightly.history.night import Accepted, Judged, Outcome, Pair
from tracekit.nightly.plan.plan import Capture, Gated, Reference

OK, WORSE, OPEN = Outcome.OK, Outcome.REGRESSION, Outcome.INCONCLUSIVE
SPREAD = (-0.008, -0.006, -0.004, -0.002, -0.001, 0.001, 0.002, 0.004, 0.006, 0.008)
TIME = Gated("step_p50", 0.03)
COUNT = Gated("steady_compiles", 1, scale="difference")
SHARE = Gated("gpu_idle_ratio", 0.02, scale="difference")
SIZE = Gated("memory_peak", 4096, scale="difference")
PAIR = Pair(1, 1, "abba", candidate={"m": (110.0, 110.0)}, reference={"m": (90.0, 110.0)})


def at(change: float, times: float = 1.0) -> list[float]:
    return [math.log1p(change) + times * seen for seen in SPREAD]


def both(first: float, second: float) -> list[Pair]:
    return made(at(first)) + made(at(second), sitting=2)


def logged(metric: str, *sessions: list[float]) -> list[Pair]:
    return [
        Pair(sitting, at, "abba", False, {metric: (math.exp(seen),)}, {metric: (1.0,)})
        for sitting, found in enumerate(sessions, 1)
        for at, seen in enumerate(found, 1)
    ]


def timed(pairs: list[Pair], gated: Gated = TIME, **more: Any) -> Judged:
    return judge(gated, pairs, **{"unit": "ns", "better": "lower", **more})


def test_a_change_is_of_the_medians_of_pairs_that_count_and_know_both_sides() -> None:
    spoilt = replace(PAIR, contaminated=("load",))
    alone, other = replace(PAIR, reference={}), replace(PAIR, candidate={"n": (1.0,)})
    empty, lacking = replace(PAIR, candidate={"m": ()}), replace(PAIR, candidate={"m": (110.0,)})
    pairs = [PAIR, spoilt, alone, other, empty, lacking]
    assert changes(pairs, "m", "ratio") == pytest.approx((math.log(1.1),))
    assert changes(pairs, "m", "difference") == (10.0,)
    assert values(pairs, "m", "candidate") == (110.0, 110.0, 110.0)
    assert changes([], "m", "ratio") == ()


@pytest.mark.parametrize("odd", [0.0, -1.0, math.nan, math.inf])
def test_there_is_no_ratio_of_zero_and_no_change_of_what_is_no_number(odd: float) -> None:
    pair = replace(PAIR, candidate={"m": (odd, odd)})
    known = (odd - 100,) if math.isfinite(odd) else ()
    assert (changes([pair], "m", "ratio"), changes([pair], "m", "difference")) == ((), known)
    assert (value(pair, "m", "candidate") is None) is not math.isfinite(odd)


def test_untraced_pairs_go_before_traced_ones_which_cost_time() -> None:
    traced = replace(PAIR, traced=True, candidate={"m": (200.0,), "t": (3.0,)}, reference={})
    assert pairs_of([traced, PAIR], "m") == (PAIR,)
    assert pairs_of([traced, PAIR], "t") == (traced,)
    assert pairs_of([traced, PAIR], "nothing") == ()
    spoilt = replace(PAIR, contaminated=("load",))
    assert changes([spoilt, replace(PAIR, traced=True)], "m", "ratio") == ()


def test_what_is_known_of_a_metric_is_in_numbers_and_words() -> None:
    judged = timed(made(at(0.004)))
    assert (judged.outcome, judged.reproduced, judged.pairs, judged.expected) == (OK, None, 10, 0)
    assert judged.change == pytest.approx(0.004, abs=1e-6)
    assert (judged.low, judged.high) == (pytest.approx(0.0, abs=2e-4), pytest.approx(0.008, 0.02))
    assert (judged.candidate, judged.reference) == (pytest.approx(100.4, rel=1e-4), 100)
    assert judged.reason == "+0.4 % [0.0 % … +0.8 %]: not worse by 3.0 %."


WHY_TEN = ["", "", "", "", "", "fixed work was 31 % slow", "load", "load", "load", "load"]
LACKING = [*made(at(0.0))[:9], replace(made(at(0.0))[9], candidate={})]


def traced(*changes: float, metric: str = "steady_compiles", sitting: int = 1, **more: Any) -> Any:
    return made(changes, metric=metric, sitting=sitting, difference=True, traced=True, **more)


GOLDEN = Path(__file__).parent / "judged.txt"
SPOILT = made([0.0] * 10, contaminated=[""] * 8 + ["heat."] * 2)
FEW = made(at(0.103)) + made(at(0.095), sitting=2, contaminated=[""] * 3 + ["load."] * 7)
JUST = [math.log1p(0.0301)] * 6  # on the scale on which changes add up, 3 % are 2.96 %
TRACES = {"gated": COUNT, "unit": "count"}
CASES: list[tuple[list[Pair], dict[str, Any]]] = [
    (made(at(0.041)), {}),
    (both(0.041, 0.045), {}),
    (logged("step_p50", JUST, JUST), {}),
    (both(0.041, 0.002), {}),
    (made(at(-0.06)), {}),
    (made(at(-0.06)), {"gated": replace(TIME, better="higher")}),
    (both(-0.06, -0.06), {"unit": "tokens/s", "better": "higher"}),
    (made(at(0.0, 12)), {}),
    # Data that are missing are no success.
    (made([0.0] * 4), {}),
    (made(at(0.0), contaminated=WHY_TEN), {"wanted": 10}),
    (SPOILT, {"wanted": 8}),
    (SPOILT, {"wanted": 10}),
    (LACKING, {"wanted": 9}),
    (LACKING, {"wanted": 10}),
    (FEW, {"wanted": 10}),
    (made(at(0.0), contaminated=["on battery."] * 10), {}),
    ([], {}),
    ([replace(pair, reference={}) for pair in made(at(0.0))], {}),
    ([replace(pair, candidate={"step_p50": (0.0,)}) for pair in made(at(0.0))], {}),
    (made(at(0.0)), {"expected": at(0.0)[:4]}),
    # What is followed says its change, and never fails.
    (both(0.2, 0.2), {"gated": replace(TIME, gate=False)}),
    ([], {"gated": replace(TIME, gate=False)}),
    (made([0.2] * 6), {"better": "neither"}),
    (made([5e5 + 1e4 * at for at in range(6)], difference=True),
     {"gated": Gated("step_p50", 2e6, scale="difference")}),
    # A count of few traces needs no interval.
    (traced(1), TRACES),
    (traced(3, 3) + traced(3, 3, sitting=2), TRACES),
    (traced(1) + traced(0, sitting=2), TRACES),
    (traced(0), TRACES),
    (traced(-1), TRACES),
    (traced(1, 1) + traced(1, 0, sitting=2), TRACES),
    (traced(1) + traced(1, sitting=2, contaminated=["no rows"]), TRACES),
    (traced(0) + traced(1, sitting=2, contaminated=["no rows"]), TRACES),
]  # fmt: skip


def test_how_metrics_ended_and_why(request: pytest.FixtureRequest) -> None:
    judged = [timed(pairs, **more) for pairs, more in CASES]
    text = "".join(f"{each.outcome} {each.reproduced}: {each.reason}\n" for each in judged)
    if request.config.getoption("--update-goldens"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
    counts = [each for each, (_, more) in zip(judged, CASES, strict=True) if more is TRACES]
    assert {each.low for each in counts} == {None}


def test_what_could_not_be_measured_again_leaves_no_regression_open() -> None:
    why = [""] * 8 + ["load"] * 2
    pairs = made(at(0.06), contaminated=why) + made(at(0.06), sitting=2, contaminated=why)
    assert timed(pairs, wanted=20).outcome is WORSE


def test_without_a_reference_it_is_followed() -> None:
    alone = [replace(seen, reference={}) for seen in made(at(0.0))]
    judged = timed(alone, same_work=None)
    assert (judged.outcome, judged.gated, judged.expected, judged.pairs) == (None, False, None, 10)
    assert judged.candidate == pytest.approx(100)
    assert judged.reason == "There is no reference: it is followed over nights."
    bad = [replace(seen, contaminated=("load",)) for seen in alone]
    assert timed(bad, same_work=None).outcome is OPEN


def test_other_work_needs_an_accepted_night_and_is_measured_twice_before() -> None:
    judged = timed(made(at(0.4)), same_work=False)
    assert (judged.outcome, judged.reproduced, judged.expected) == (OPEN, False, None)
    assert needs_second_session([judged], (), ())
    assert judged.change == pytest.approx(0.4)
    assert "tracekit baseline accept NIGHT --reason" in judged.reason
    twice = timed(both(0.4, 0.4), same_work=False)
    assert (twice.outcome, twice.reproduced, twice.pairs) == (OPEN, None, 20)
    followed = timed(made(at(0.4)), replace(TIME, gate=False), same_work=False)
    assert (followed.outcome, followed.reproduced) == (None, None)
    odd = timed(made(at(0.4)), better="neither", same_work=False)
    assert (odd.outcome, odd.gated) == (None, False), "no baseline would let it decide"


@pytest.mark.parametrize("same_work", [True, False])
def test_against_an_accepted_night_the_change_is_what_came_since(same_work: bool) -> None:
    known = {"same_work": same_work, "expected": at(0.4)}
    same = timed(made(at(0.4)), **known)
    assert (same.outcome, same.expected) == (OK, pytest.approx(0.4))
    assert same.change == pytest.approx(0.0, abs=1e-9)
    judged = timed(both(0.47, 0.47), **known)
    assert (judged.outcome, judged.change) == (WORSE, pytest.approx(0.05))


def test_a_count_is_held_against_the_worst_that_was_accepted() -> None:
    ended = [
        timed(traced(seen) + traced(seen, sitting=2), COUNT, unit="count", expected=(2.0, 3.0))
        for seen in (3, 4)
    ]
    assert [seen.outcome for seen in ended] == [OK, WORSE]


@pytest.mark.parametrize("unit", ["ns", "bytes", "ratio"])
def test_whole_numbers_that_vary_are_no_counts(unit: str) -> None:
    pairs = traced(8192, metric="memory_peak") + traced(8192, metric="memory_peak", sitting=2)
    judged = timed(pairs, SIZE, unit=unit)
    assert (judged.outcome, judged.gated) == (None, False)


def test_a_share_of_few_traces_is_followed_and_one_of_many_is_judged() -> None:
    few = timed(traced(0.10, 0.10, 0.11, 0.11, metric="gpu_idle_ratio"), SHARE, unit="ratio")
    assert (few.outcome, few.gated, few.change) == (None, False, pytest.approx(0.105))
    assert few.reason == (
        "+10.5 points: 4 traced in a session, and an interval takes 6 pairs, so it is followed "
        "over nights."
    )
    found = [0.03, 0.031, 0.032, 0.033, 0.034, 0.035]
    pairs = traced(*found, metric="gpu_idle_ratio")
    many = timed(pairs + traced(*found, metric="gpu_idle_ratio", sitting=2), SHARE, unit="ratio")
    assert many.outcome is WORSE
    assert "beyond the threshold of 2.0 points" in many.reason


logs = some.lists(some.floats(-0.3, 0.3), min_size=0, max_size=9)


@given(first=logs, second=logs, same=some.sampled_from([True, False, None]))
def test_whatever_is_measured_is_judged_and_explained(
    first: list[float], second: list[float], same: bool | None
) -> None:
    judged = timed(logged("step_p50", first, second), same_work=same)
    assert judged.reason.endswith(".")
    assert judged.outcome is not None or same is None
    assert judged.pairs == len(first) + len(second)
    if judged.outcome is WORSE:
        assert judged.reproduced
        assert min(len(first), len(second)) >= 6
        assert judged.change is not None
        assert judged.change >= 0.03
        assert judged.low is not None
        assert judged.low > 0


# In whole millionths: next to 1 there are floats below it that have no like above.
@given(found=some.lists(some.integers(-300_000, 300_000), min_size=6, max_size=12))
def test_a_time_and_its_rate_are_judged_alike(found: list[int]) -> None:
    slower, fewer = ([sign * seen / 1e6 for seen in found] for sign in (1, -1))
    time = timed(logged("m", slower, slower), Gated("m"))
    rate = timed(logged("m", fewer, fewer), Gated("m"), unit="1/s", better="higher")
    assert (time.outcome, time.reproduced) == (rate.outcome, rate.reproduced)


SAME = Reference(revision="v1")
OTHER = Reference(parameters={"block": 16})


def entry(reference: Reference | None, pairs: list[Pair], *metrics: str, **more: Any) -> Any:
    accepted = more.pop("accepted", None)
    capture = Capture(
        "decode", "paged", reference=reference, metrics=tuple(map(Gated, metrics)),
        pairs=more.pop("planned", 10),
    )  # fmt: skip
    return judge_entry(capture, pairs, {"own": Quantity("req/s", "higher")}, accepted, **more)


def test_metrics_are_judged_in_the_plans_order_by_what_they_are() -> None:
    found = entry(SAME, made(at(0.0)), "tokens_per_second", "step_p50", "own", "unheard_of")
    assert [(seen.metric, seen.unit, seen.better, seen.outcome) for seen in found] == [
        ("tokens_per_second", "tokens/s", "higher", OPEN),
        ("step_p50", "ns", "lower", OK),
        ("own", "req/s", "higher", OPEN),
        ("unheard_of", "", "neither", OPEN),
    ]
    assert quantity_of("step_p50", {"step_p50": Quantity("h", "higher")}) == Quantity("ns", "lower")


@pytest.mark.parametrize(
    ("reference", "outcome", "gated"), [(SAME, OK, True), (OTHER, OPEN, True), (None, None, False)]
)
def test_what_is_expected_follows_from_the_reference(
    reference: Reference | None, outcome: Outcome | None, gated: bool
) -> None:
    [found] = entry(reference, made(at(0.0)), "step_p50")
    assert (found.outcome, found.gated, found.baseline) == (outcome, gated, "")


@pytest.mark.parametrize(
    ("changes", "outcome", "baseline"),
    [({"step_p50": tuple(at(0.5))}, OK, "n1"), ({"other": (0.1,)}, OPEN, ""), ({}, OPEN, "")],
)
def test_an_accepted_night_says_what_to_expect_of_what_it_measured(
    changes: dict[str, tuple[float, ...]], outcome: Outcome, baseline: str
) -> None:
    accepted = Accepted("n1", "decode", "d1", "2026-11-01", "as planned", changes)
    [found] = entry(OTHER, made(at(0.5)), "step_p50", accepted=accepted)
    assert (found.outcome, found.baseline) == (outcome, baseline)
    assert found.expected == (pytest.approx(0.5) if baseline else None)


@pytest.mark.parametrize(("planned", "outcome"), [(10, OPEN), (9, OK)])
def test_as_many_pairs_are_wanted_as_were_planned(planned: int, outcome: Outcome) -> None:
    pairs = made(at(0.0), contaminated=[""] * 9 + ["load"])
    assert entry(SAME, pairs, "step_p50", planned=planned)[0].outcome is outcome


@pytest.mark.parametrize("change", [0.0, 0.05])
def test_a_commit_measured_against_itself_shows_noise_and_decides_nothing(change: float) -> None:
    commit = "1a2b3c4d5e6f" + "0" * 28
    [found] = entry(SAME, both(change, change), "step_p50", same_commit=commit)
    assert (found.outcome, found.reproduced) == (OPEN, None)
    assert "candidate and reference are the same commit, 1a2b3c4d5e6f" in found.reason
