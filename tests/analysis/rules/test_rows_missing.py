"""`rows-missing`: GPU jobs of steady steps that a trace lacks; the numbers that then abstain."""

from typing import Any

import pandas as pd
import pytest

from analysed import MS, TARGETS, Golden, intervals, model, phases, steady
from tracekit.analysis.analyze import analyze
from tracekit.analysis.result import Result, Status
from tracekit.base.recording import Provenance

STEPS = 200
RATES = ("tokens_per_second", "step_rate", "kernel_ceiling", "gpu_time_per_token", "idle_ratio")


def judge_recording(jobs: int, dispatches: int | None = 1, **changes: Any) -> Result:
    """Judge 200 steps of 1 ms, of which the first ones have a job of 0.5 ms."""
    rows = [(number * MS + 100_000, MS // 2) for number in range(jobs)]
    tables: dict[str, pd.DataFrame] = {
        **steady(count=STEPS),
        "gpu_intervals": intervals(rows, other_times=[(0, 5 * MS)]),
        "step_models": model(1_000).assign(dispatches=pd.array([dispatches], dtype="Int64")),
        **changes,
    }
    return analyze(tables, Provenance(recorder="xctrace", workload="paged", targets=TARGETS))


def outcome(result: Result) -> tuple[Status, str]:
    [check] = [check for check in result.checks if check.rule == "rows-missing"]
    return check.status, check.reason


@pytest.mark.parametrize("jobs", [120, 2, 0])
def test_missing_jobs_come_before_all_else_and_no_rate_is_given(golden: Golden, jobs: int) -> None:
    result = judge_recording(jobs)
    assert result.findings[0].rule == "rows-missing"
    values = {metric.name: metric.value for metric in result.metrics}
    assert [values[name] for name in RATES] == [None] * len(RATES)
    if jobs == 120:
        golden(result.findings[0])


def test_a_whole_recording_passes_and_has_its_rates() -> None:
    for jobs, result in (
        ("all", judge_recording(STEPS)),
        ("all, no dispatches", judge_recording(STEPS, None)),
        ("195", judge_recording(195)),
    ):
        assert outcome(result)[0] is Status.PASSED, jobs
        values = {metric.name: metric.value for metric in result.metrics}
        rates = [values[name] for name in ("tokens_per_second", "gpu_time_per_token")]
        assert None not in rates, jobs


def test_a_recording_without_a_count_abstains() -> None:
    on_cpu = model(1_000).assign(backend="cpu", dispatches=pd.array([None], dtype="Int64"))
    for changes, reason in (
        ({"step_models": on_cpu}, "did not run on Metal"),
        ({"gpu_intervals": intervals([(0, MS)], clock="host")}, "ran on the CPU"),
        ({"step_models": on_cpu[:0]}, "does not say how much work a step has"),
    ):
        status, words = outcome(judge_recording(STEPS, **changes))
        assert (status, reason in words) == (Status.NOT_APPLICABLE, True), (reason, words)


@pytest.mark.parametrize("marks", [{}, {"phases": phases(0, MS)[:0]}])
def test_a_silent_workload_is_an_error_and_no_rule_passes(marks: dict[str, pd.DataFrame]) -> None:
    tables = {"gpu_intervals": intervals([(0, MS), (2 * MS, MS)]), **marks}
    provenance = Provenance(recorder="xctrace", workload="paged", targets=TARGETS)
    result = analyze(tables, provenance)
    assert "no marks of its workload paged" in result.findings[0].message
    assert Status.PASSED not in {check.status for check in result.checks}
    assert analyze({**tables, "phases": phases(0, MS)}, provenance).findings != result.findings
