"""A comparison of runs as a gate reports it."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tracekit.analysis.result import Better
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.compare.compare import Comparison
from tracekit.compare.differences import Became, Condition, FindingChange
from tracekit.compare.spread import Limits
from tracekit.compare.verdicts import Change, Verdict
from tracekit.nightly.gate.report.junit import junit
from tracekit.nightly.gate.report.model import of_comparison
from tracekit.nightly.history.night import Outcome

SLOWER = Change(
    *("step_p50", "ns", Better.LOWER, 1_000_000.0, 1_100_000.0, Verdict.WORSE),
    *(0.1, 0.08, 0.12),
    deciding=True,
    values_before=(1.0, 2.0, 3.0),
    values_after=(1.0, 2.0),
    measured=0.1,
)
IDLE = Change(
    *("gpu_idle_ratio", "ratio", Better.LOWER, 0.2, 0.25, Verdict.UNCLEAR),
    *(0.05, -0.1, 0.2),
    relative=False,
    reason="the interval is too wide",
    measured=0.05,
)
COUNT = Change(
    "compiles", "count", Better.LOWER, 1.0, 1.0, Verdict.SAME, 0.0, relative=False, measured=0.0
)
WINDOW = Evidence("gpu_intervals", 10, 20, "a gap")
FINDING = Finding("idle-gaps", Severity.WARNING, "Gaps.", "Fill them.", evidence=(WINDOW,))
COMPARED = Comparison(
    before=("monday",),
    after=("tuesday",),
    verdict=Verdict.WORSE,
    reason="step_p50 is worse.",
    changes=(SLOWER, IDLE, COUNT),
    findings=(FindingChange("idle-gaps", Became.APPEARED, Severity.WARNING, None, FINDING, 0, 1),),
    kernels=(),
    environment=(),
    conditions=(Condition("after", "gpu-downclocked", "the clock was low"),),
    limits=Limits(threshold=0.05),
)


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [
        (Verdict.WORSE, Outcome.REGRESSION),
        (Verdict.UNCLEAR, Outcome.INCONCLUSIVE),
        (None, Outcome.INCONCLUSIVE),
        (Verdict.SAME, Outcome.OK),
        (Verdict.BETTER, Outcome.OK),
    ],
)
def test_verdicts_are_outcomes(verdict: Verdict | None, outcome: Outcome) -> None:
    whole = verdict or Verdict.UNCLEAR
    change = replace(SLOWER, verdict=verdict, change=verdict and 0.1, reason="none has it")
    report = of_comparison(replace(COMPARED, verdict=whole, changes=(change,)))
    assert report.outcome is report.suites[0].outcome is outcome
    [case] = [case for case in report.cases if case.kind == "metric"]
    assert case.outcome is outcome
    assert verdict or case.message == "none has it"


def test_what_a_comparison_becomes_is_in_the_golden_file(request: pytest.FixtureRequest) -> None:
    """Only what decides has an outcome; a count changes by one at least."""
    report = of_comparison(COMPARED, {"chip": "Apple M1", "mlx": None, "cores": 8}, "paged")
    text = msgspec.json.format(msgspec.json.encode(report)).decode() + "\n"
    golden = Path(__file__).parent / "goldens" / "comparison.json"
    if request.config.getoption("--update-goldens"):
        golden.write_text(text)
    assert text == golden.read_text()


def test_a_part_says_no_more_than_the_whole() -> None:
    """Where a hot machine may be all that it is, no report calls it a regression."""
    blamed = replace(COMPARED, verdict=Verdict.UNCLEAR, reason="step_p50 worse, but it was hot.")
    report = of_comparison(blamed)
    metric = next(report.cases)
    assert metric.outcome is report.outcome is Outcome.INCONCLUSIVE
    assert metric.message.endswith("worse. step_p50 worse, but it was hot.")
    assert b"failure type" not in junit(report)
