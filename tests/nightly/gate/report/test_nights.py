"""A night as a gate reports it: what is missing is never good."""

from dataclasses import replace
from pathlib import Path

import pytest

from gate_night import DECODE, FINE, FOLLOWED, NIGHT, SAME
from tracekit.nightly.gate.report.model import of_night
from tracekit.nightly.history.night import Night, Outcome, TracedFinding
from tracekit.nightly.plan.plan import Capture, NightPlan

GOOD = replace(NIGHT, entries=(FINE,), outcome=Outcome.OK, reason="Nothing is worse.")
PLAN = NightPlan(
    "attention",
    Path("tracekit.toml"),
    (Capture("decode", "paged", fail_on=("pipeline-churn",)),),
    Path("nights"),
    "sqlite:///h.db",
)


@pytest.mark.parametrize(
    "night",
    [
        pytest.param(replace(GOOD, outcome=None), id="still-running"),
        pytest.param(replace(GOOD, entries=()), id="no-capture"),
        pytest.param(replace(GOOD, partial=True), id="partial"),
        pytest.param(replace(GOOD, entries=(FINE, replace(FINE, outcome=None))), id="cut-off"),
        pytest.param(replace(GOOD, entries=(replace(FINE, judged=()),)), id="no-metric"),
        pytest.param(replace(GOOD, entries=(replace(FINE, judged=(FOLLOWED,)),)), id="followed"),
    ],
)
def test_what_is_missing_is_inconclusive(night: Night) -> None:
    report = of_night(night)
    assert report.outcome is Outcome.INCONCLUSIVE
    assert report.reason
    assert any(each.outcome is Outcome.INCONCLUSIVE for each in report.cases)


def test_a_good_night_is_ok_beside_a_capture_that_is_followed_only() -> None:
    followed = replace(FINE, capture="watched", judged=(FOLLOWED,))
    report = of_night(replace(GOOD, entries=(FINE, followed)))
    assert (report.outcome, report.reason) == (Outcome.OK, "Nothing is worse.")
    assert report.title == "Night 2026-11-20T02-30-00-abcd of attention"
    assert [(each.name, each.outcome) for each in report.suites[1].cases] == [
        ("capture", Outcome.OK),
        ("memory_peak", None),
    ]


def test_a_failed_night_without_a_capture_says_so_in_a_case() -> None:
    night = replace(NIGHT, entries=(), reason="The worktree could not be made.")
    (case,) = of_night(night).cases
    assert (case.suite, case.kind, case.outcome) == ("attention", "capture", Outcome.FAILED)
    assert case.message == "The worktree could not be made."


def test_a_finding_decides_where_the_plan_says_so() -> None:
    worse = replace(DECODE, judged=(SAME,), reason="pipeline-churn was found.")
    night = replace(NIGHT, entries=(worse,), outcome=Outcome.REGRESSION)
    with_plan, without = of_night(night, PLAN), of_night(night)
    assert [(each.name, each.outcome) for each in with_plan.suites[0].cases] == [
        ("tokens_per_second", Outcome.OK),
        ("pipeline-churn", Outcome.REGRESSION),
    ]
    assert [(each.name, each.outcome) for each in without.suites[0].cases] == [
        ("capture", Outcome.REGRESSION),
        ("tokens_per_second", Outcome.OK),
        ("pipeline-churn", None),
    ]


@pytest.mark.parametrize(
    ("rule", "traces", "reference"),
    [("pipeline-churn", 2, 1), ("pipeline-churn", 0, 0), ("gpu-idle", 2, 0)],
)
def test_other_findings_are_followed_only(rule: str, traces: int, reference: int) -> None:
    found = TracedFinding(rule, "", "note", traces, 2, in_reference=reference)
    night = replace(NIGHT, entries=(replace(DECODE, findings=(found,)),))
    (case,) = [each for each in of_night(night, PLAN).cases if each.kind == "finding"]
    assert case.outcome is None


def test_traced_runs_are_linked_by_side() -> None:
    [pair, *_] = DECODE.pairs
    broken = replace(pair, before=replace(pair.before, at="soon"))
    undated = replace(NIGHT, entries=(replace(DECODE, pairs=(broken,)),))
    known = [of_night(night).suites[0].seconds for night in (NIGHT, undated)]
    assert known == [150.5, 0], "from the first look to the last"
    links = of_night(NIGHT).links
    assert [each.target for each in links] == [
        "nights/2026-11-20T02-30-00-abcd/decode/c-1/report.html",
        "nights/2026-11-20T02-30-00-abcd/decode/r-1/report.html",
    ]
    assert links[1].words == "decode, reference, session 1, trace 2"
    assert of_night(replace(NIGHT, folder="")).links[0].target == "decode/c-1/report.html"
    whole = of_night(replace(NIGHT, folder="/Users/ada/nights/n1")).links[0].target
    assert whole == "n1/decode/c-1/report.html", "no folders of a person"
