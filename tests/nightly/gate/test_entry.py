"""All metrics of a capture."""

import math

import pytest

from gate_pairs import made
from tracekit.nightly.gate.judge import Quantity, judge_entry, quantity_of
from tracekit.nightly.history.night import Accepted, Judged, Outcome
from tracekit.nightly.plan.plan import Capture, Gated, Reference

SPREAD = (-0.008, -0.006, -0.004, -0.002, -0.001, 0.001, 0.002, 0.004, 0.006, 0.008)
SAME = Reference(revision="v1")
OTHER = Reference(parameters={"block": 16})


def capture(reference: Reference | None, *metrics: Gated, pairs: int = 10) -> Capture:
    return Capture("decode", "paged", reference=reference, metrics=metrics, pairs=pairs)


def accepted(*changes: float, metric: str = "step_p50") -> Accepted:
    return Accepted("night-1", "decode", "d1", "2026-11-01", "as planned", {metric: changes})


def at(change: float) -> list[float]:
    return [math.log1p(change) + one for one in SPREAD]


def one(found: tuple[Judged, ...]) -> Judged:
    assert len(found) == 1
    return found[0]


def test_metrics_are_judged_in_the_plans_order_by_what_they_are() -> None:
    gated = Gated("tokens_per_second"), Gated("step_p50"), Gated("own"), Gated("unheard_of")
    results = {"own": Quantity("req/s", "higher")}
    found = judge_entry(capture(SAME, *gated), made(at(0.0)), results, None)
    assert [(each.metric, each.unit, each.better) for each in found] == [
        ("tokens_per_second", "tokens/s", "higher"),
        ("step_p50", "ns", "lower"),
        ("own", "req/s", "higher"),
        ("unheard_of", "", "neither"),
    ]
    assert [each.outcome for each in found] == [
        Outcome.INCONCLUSIVE,
        Outcome.OK,
        Outcome.INCONCLUSIVE,
        Outcome.INCONCLUSIVE,
    ]


def test_a_metric_goes_before_a_result_of_its_name() -> None:
    assert quantity_of("step_p50", {"step_p50": Quantity("h", "higher")}) == Quantity("ns", "lower")


@pytest.mark.parametrize(
    ("reference", "outcome", "gated"),
    [(SAME, Outcome.OK, True), (OTHER, Outcome.INCONCLUSIVE, True), (None, None, False)],
)
def test_what_is_expected_follows_from_the_reference(
    reference: Reference | None, outcome: Outcome | None, gated: bool
) -> None:
    found = one(judge_entry(capture(reference, Gated("step_p50")), made(at(0.0)), {}, None))
    assert (found.outcome, found.gated, found.baseline) == (outcome, gated, "")


def test_an_accepted_night_is_what_is_expected_and_is_named() -> None:
    pairs = made(at(0.5))
    planned = capture(OTHER, Gated("step_p50"))
    found = one(judge_entry(planned, pairs, {}, accepted(*at(0.5))))
    assert (found.outcome, found.baseline) == (Outcome.OK, "night-1")
    assert found.expected == pytest.approx(0.5)


def test_an_accepted_night_says_nothing_of_what_it_did_not_measure() -> None:
    pairs, planned = made(at(0.5)), capture(OTHER, Gated("step_p50"))
    for nothing in (accepted(0.1, metric="other"), accepted()):
        found = one(judge_entry(planned, pairs, {}, nothing))
        assert (found.outcome, found.baseline) == (Outcome.INCONCLUSIVE, "")
        assert found.expected is None


def test_as_many_pairs_are_wanted_as_were_planned() -> None:
    why = [""] * 9 + ["load"]
    pairs = made(at(0.0), contaminated=why)
    gated = Gated("step_p50")
    assert one(judge_entry(capture(SAME, gated), pairs, {}, None)).outcome is Outcome.INCONCLUSIVE
    fewer = capture(SAME, gated, pairs=9)
    assert one(judge_entry(fewer, pairs, {}, None)).outcome is Outcome.OK


@pytest.mark.parametrize("change", [0.0, 0.05])
def test_a_commit_measured_against_itself_shows_noise_and_decides_nothing(change: float) -> None:
    pairs = made(at(change)) + made(at(change), sitting=2)
    commit = "1a2b3c4d5e6f" + "0" * 28
    found = one(judge_entry(capture(SAME, Gated("step_p50")), pairs, {}, None, same_commit=commit))
    assert (found.outcome, found.reproduced) == (Outcome.INCONCLUSIVE, None)
    assert "candidate and reference are the same commit, 1a2b3c4d5e6f" in found.reason
