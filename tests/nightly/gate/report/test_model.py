"""A night, and a comparison of runs, as a gate reports them: what is missing is never good."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec

from gate_night import DECODE, FINE, FOLLOWED, NIGHT, SAME
from tracekit.analysis.result import Better
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.base import Verdict
from tracekit.comparison.compare import Comparison
from tracekit.comparison.conditions import Condition
from tracekit.comparison.findings import Became, FindingChange
from tracekit.comparison.spread import Limits
from tracekit.comparison.verdicts import Change
from tracekit.machine.state import State
from tracekit.nightly.gate.report.junit import junit
from tracekit.nightly.gate.report.model import of_comparison, of_night, of_no_night
from tracekit.nightly.history.night import Outcome, TracedFinding
from tracekit.nightly.plan.plan import Capture, NightPlan

GOOD = replace(NIGHT, entries=(FINE,), outcome=Outcome.OK, reason="Nothing is worse.")
CAPTURE = Capture("decode", "paged", fail_on=("pipeline-churn",))
PLAN = NightPlan("attention", Path("tracekit.toml"), (CAPTURE,), Path("nights"), "sqlite:///h.db")


MISSING = {
    "still running": replace(GOOD, outcome=None),
    "no capture": replace(GOOD, entries=()),
    "partial": replace(GOOD, partial=True),
    "cut off": replace(GOOD, entries=(FINE, replace(FINE, outcome=None))),
    "no metric": replace(GOOD, entries=(replace(FINE, judged=()),)),
    "a metric that is not judged": replace(
        GOOD, entries=(replace(FINE, judged=(SAME, replace(SAME, outcome=None))),)
    ),
    "followed only": replace(GOOD, entries=(replace(FINE, judged=(FOLLOWED,)),)),
}


def test_missing_numbers_are_inconclusive() -> None:
    for name, night in MISSING.items():
        report = of_night(night)
        assert (name, report.outcome) == (name, Outcome.INCONCLUSIVE)
        assert report.reason, name
        assert any(case.outcome is Outcome.INCONCLUSIVE for case in report.cases), name


def test_a_night_is_ok_next_to_followed_metrics_and_a_failed_one_has_a_case() -> None:
    followed = replace(FINE, capture="watched", judged=(FOLLOWED,))
    report = of_night(replace(GOOD, entries=(FINE, followed)))
    assert (report.outcome, report.reason) == (Outcome.OK, "Nothing is worse.")
    assert report.title == "Night 2026-11-20T02-30-00-abcd of attention"
    assert [(suite_case.name, suite_case.outcome) for suite_case in report.suites[1].cases] == [
        ("capture", Outcome.OK),
        ("memory_peak", None),
    ]
    night = replace(NIGHT, entries=(), reason="The worktree could not be made.")
    (case,) = of_night(night).cases
    assert (case.suite, case.kind, case.outcome) == ("attention", "capture", Outcome.FAILED)
    assert case.message == "The worktree could not be made."


def test_a_finding_decides_if_the_plan_names_it() -> None:
    worse = replace(DECODE, judged=(SAME,), reason="pipeline-churn was found.")
    night = replace(NIGHT, entries=(worse,), outcome=Outcome.REGRESSION)
    with_plan, without = of_night(night, PLAN), of_night(night)
    assert [(suite_case.name, suite_case.outcome) for suite_case in with_plan.suites[0].cases] == [
        ("tokens_per_second", Outcome.OK),
        ("pipeline-churn", Outcome.REGRESSION),
    ]
    assert [(suite_case.name, suite_case.outcome) for suite_case in without.suites[0].cases] == [
        ("capture", Outcome.REGRESSION),
        ("tokens_per_second", Outcome.OK),
        ("pipeline-churn", None),
    ]
    for rule, traces, reference in (
        ("pipeline-churn", 2, 1),
        ("pipeline-churn", 0, 0),
        ("gpu-idle", 2, 0),
    ):
        finding = TracedFinding(rule, "", "note", traces, 2, in_reference=reference)
        night = replace(NIGHT, entries=(replace(DECODE, findings=(finding,)),))
        (case,) = [
            suite_case for suite_case in of_night(night, PLAN).cases if suite_case.kind == "finding"
        ]
        assert case.outcome is None, (rule, traces, reference)
    doubtful = of_night(
        replace(NIGHT, entries=(replace(DECODE, outcome=Outcome.INCONCLUSIVE),)), PLAN
    )
    assert [case.outcome for case in doubtful.cases if case.kind == "finding"] == [None]


def test_links_name_no_folders_of_a_person_and_times_that_are_none_are_left_out() -> None:
    for folder, target in (("", "decode"), ("/Users/ada/nights/n1", "n1/decode")):
        links = of_night(replace(NIGHT, folder=folder)).links
        assert links[0].target == f"{target}/c-1/report.html"
    broken = replace(DECODE.pairs[0], before=State("soon"))
    undated = replace(NIGHT, entries=(replace(DECODE, pairs=(broken,)),))
    assert of_night(undated).suites[0].seconds == 0


SLOWER = Change(
    "step_p50", "ns", Better.LOWER, 1e6, 1.1e6, Verdict.WORSE, 0.1, 0.08, 0.12, deciding=True,
    values_before=(1.0, 2.0, 3.0), values_after=(1.0, 2.0), measured=0.1,
)  # fmt: skip
IDLE = Change(
    "gpu_idle_ratio", "ratio", Better.LOWER, 0.2, 0.25, Verdict.UNCLEAR, 0.05, -0.1, 0.2,
    relative=False, reason="the interval is too wide", measured=0.05,
)  # fmt: skip
COUNT = Change(
    "compiles", "count", Better.LOWER, 1.0, 1.0, Verdict.EQUIVALENT, 0.0, relative=False,
    measured=0.0, values_before=(1.0,), values_after=(1.0, 1.0),
)  # fmt: skip
WINDOW = Evidence("gpu_intervals", 10, 20, "a gap")
FINDING = Finding("idle-gaps", Severity.WARNING, "Gaps.", "Fill them.", evidence=(WINDOW,))
COMPARED = Comparison(
    ("monday",), ("tuesday",), Verdict.WORSE, "step_p50 is worse.",
    changes=(SLOWER, IDLE, COUNT),
    findings=(FindingChange("idle-gaps", Became.APPEARED, Severity.WARNING, None, FINDING, 0, 1),),
    kernels=(), environment=(),
    conditions=(Condition("after", "gpu-downclocked", "the clock was low"),),
    limits=Limits(threshold=0.05),
)  # fmt: skip


def test_verdicts_are_outcomes() -> None:
    for verdict, outcome in (
        (Verdict.WORSE, Outcome.REGRESSION),
        (Verdict.UNCLEAR, Outcome.INCONCLUSIVE),
        (None, Outcome.INCONCLUSIVE),
        (Verdict.EQUIVALENT, Outcome.OK),
        (Verdict.SLIGHTLY_WORSE, Outcome.OK),
        (Verdict.SLIGHTLY_BETTER, Outcome.OK),
        (Verdict.BETTER, Outcome.OK),
    ):
        overall_verdict = verdict or Verdict.UNCLEAR
        change = replace(SLOWER, verdict=verdict, change=verdict and 0.1, reason="none has it")
        report = of_comparison(replace(COMPARED, verdict=overall_verdict, changes=(change,)))
        assert report.outcome is report.suites[0].outcome is outcome, verdict
        [case] = [case for case in report.cases if case.kind == "metric"]
        assert case.outcome is outcome, verdict
        assert verdict or case.message == "none has it"


def test_nights_and_comparisons_become_files(golden: Callable[[str, str], None]) -> None:
    """Only what decides has an outcome; a count changes by one at least."""
    compared = of_comparison(COMPARED, {"chip": "Apple M1", "mlx": None, "cores": 8}, "paged")
    no_night = of_no_night("There is no night yet.", "Run one.")
    for name, report in (("comparison", compared), ("night", of_night(NIGHT)), ("none", no_night)):
        text = msgspec.json.format(msgspec.json.encode(report)).decode()
        golden(f"goldens/{name}.json", f"{text}\n")


def test_a_part_says_no_more_than_the_whole() -> None:
    """Where a hot machine may be all that it is, no report calls it a regression."""
    blamed = replace(COMPARED, verdict=Verdict.UNCLEAR, reason="step_p50 worse, but it was hot.")
    report = of_comparison(blamed)
    metric = next(report.cases)
    assert metric.outcome is report.outcome is Outcome.INCONCLUSIVE
    assert metric.message.endswith("your limit of 5 %. step_p50 worse, but it was hot.")
    assert b"failure type" not in junit(report)
