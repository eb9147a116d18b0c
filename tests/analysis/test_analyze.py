"""Metrics and rules together make a result that says what it could not know."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pandas as pd
import pytest

from analysed import intervals
from tracekit.analysis.analyze import analyze, completed, doubted, judge, measure, results_of
from tracekit.analysis.inject import metric
from tracekit.analysis.metrics import METRICS
from tracekit.analysis.result import Better, Measurement, Result, Status
from tracekit.analysis.rule import Evidence, Finding, Rule, Severity
from tracekit.analysis.rules import RULES
from tracekit.base.errors import UsageError
from tracekit.base.recording import Process, Provenance

OURS = Provenance(targets=(Process(4711, "python3"),))
MS = 1_000_000


def status(result: Result, name: str) -> Status:
    return next(check.status for check in result.checks if check.rule == name)


def test_every_metric_and_every_rule_is_in_the_result() -> None:
    result = analyze({"gpu_intervals": intervals([(0, 5)])}, OURS)
    assert [one.name for one in result.metrics] == list(METRICS)
    assert [one.rule for one in result.checks] == list(RULES)


def test_without_any_table_nothing_is_claimed() -> None:
    result = analyze({}, OURS)
    assert all(one.value is None and one.reason for one in result.metrics)
    assert {one.status for one in result.checks} == {Status.ABSTAINED}
    assert all(one.reason for one in result.checks)
    assert not result.findings


def test_findings_stand_worst_first_then_by_saving() -> None:
    frame = intervals([(0, 5 * MS), (15 * MS, 5 * MS)], others=[(0, 5 * MS)])
    result = analyze({"gpu_intervals": frame}, OURS)
    assert [one.rule for one in result.findings] == ["bubbles", "gpu-contended"]
    assert status(result, "bubbles") is Status.FOUND
    assert status(result, "capture-empty") is Status.PASSED
    assert status(result, "low-occupancy") is Status.ABSTAINED


def test_thresholds_reach_their_rule() -> None:
    frame = intervals([(0, 5 * MS), (15 * MS, 5 * MS)])
    result = analyze({"gpu_intervals": frame}, OURS, {"bubbles": {"limit": 0.9}})
    assert status(result, "bubbles") is Status.PASSED


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"bubble": {}}, "no rule 'bubble'"), ({"bubbles": {"limits": 1}}, "no threshold 'limits'")],
)
def test_a_mistyped_setting_is_said(settings: dict[str, dict[str, object]], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        analyze({"gpu_intervals": intervals([(0, 5)])}, OURS, settings)


def broken(gpu_intervals: pd.DataFrame) -> Iterator[Finding]:
    """A rule with a bug."""
    yield Finding("broken", Severity.NOTE, str(1 / (len(gpu_intervals) - 1)), "")


BROKEN = Rule("broken")
vars(BROKEN)["judge"] = broken  # where a rule keeps the function that it has loaded


def test_a_broken_rule_costs_only_itself(broken_checks_raise: Callable[[], None]) -> None:
    broken_checks_raise()
    check, findings = judge(BROKEN, {"gpu_intervals": intervals([(0, 5)])}, {})
    assert check.status is Status.FAILED
    assert "ZeroDivisionError" in check.reason
    assert not findings


@metric("count")
def never_whole(gpu_intervals: pd.DataFrame) -> float:
    """A metric with a bug."""
    return 1 / (len(gpu_intervals) - 1)


def test_a_broken_metric_costs_only_itself(broken_checks_raise: Callable[[], None]) -> None:
    with pytest.raises(ZeroDivisionError):
        measure(never_whole, {"gpu_intervals": intervals([(0, 5)])})
    broken_checks_raise()
    measured = measure(never_whole, {"gpu_intervals": intervals([(0, 5)])})
    assert measured.value is None
    assert "ZeroDivisionError" in measured.reason


def test_what_the_workload_measured_is_in_the_result() -> None:
    frame = pd.DataFrame(
        {
            "name": ["ttft_p50", "speedup"],
            "value": [2.5e6, None],
            "unit": ["ns", None],
            "better": ["lower", "higher"],
            "reason": [None, "no step of sdpa was made"],
        }
    )
    assert results_of({"results": frame}) == (
        Measurement("ttft_p50", 2.5e6, "ns", Better.LOWER, ""),
        Measurement("speedup", None, "", Better.HIGHER, "no step of sdpa was made"),
    )
    assert results_of({}) == ()


def test_a_saving_is_spread_over_the_tokens_of_the_steady_steps() -> None:
    frame = intervals([(0, 5 * MS), (15 * MS, 5 * MS)])
    steps = pd.DataFrame(
        {
            "start": [0, 10 * MS],
            "duration": pd.array([10 * MS, 10 * MS], dtype="Int64"),
            "phase": ["steady", "steady"],
            "tokens": pd.array([4, 4], dtype="Int64"),
            "variant": pd.array(["", ""], dtype="string"),
        }
    )
    phases = pd.DataFrame({"start": [0], "duration": [20 * MS], "name": ["steady"]})
    tables = {"gpu_intervals": frame, "steps": steps, "phases": phases}
    both = analyze(tables, OURS).findings
    [finding] = [one for one in both if one.rule == "bubbles"]
    assert finding.saving == 10 * MS
    assert finding.saving_per_token == 1.25 * MS
    [unknown] = analyze({"gpu_intervals": frame}, OURS).findings
    assert unknown.saving_per_token is None


def found(rule: str, saving: int | None, within: str = "") -> Finding:
    return Finding(rule, Severity.WARNING, "m", "a", saving=saving, within=within)


def test_time_that_another_rule_counts_is_said_only_where_that_rule_found_it() -> None:
    late, shallow = found("late-start", 3, "bubbles"), found("shallow-queue", 4, "bubbles")
    both = completed([late, found("bubbles", 9)], None)
    assert [one.within for one in both] == ["bubbles", ""]
    assert [one.within for one in completed([late, shallow], None)] == ["", ""]
    assert [one.within for one in completed([late, found("bubbles", None)], None)] == ["", ""]


NAMES = ("gpu-performance-state-intervals", "gpu-performance-state")
VALUES = ("gpu-counter-value", "value")


@pytest.mark.parametrize(
    ("rule", "table", "uncompared", "doubt"),
    [
        ("low-occupancy", "gpu_counters", VALUES, "values of the counters"),
        *(
            ("low-occupancy", "gpu_counters", ("metal-gpu-counter-intervals", name), "values of")
            for name in ("value", "percent-value")
        ),
        ("low-occupancy", "gpu_counters", ("gpu-counter-info", "name"), ""),
        ("bubbles", "gpu_intervals", VALUES, ""),
        ("gpu-downclocked", "gpu_performance_states", NAMES, "names of performance states"),
        ("gpu-downclocked", "gauges", NAMES, ""),
        ("bubbles", "gpu_intervals", NAMES, ""),
    ],
)
def test_what_was_never_compared_with_an_export_casts_doubt_on_what_rests_on_it(
    rule: str, table: str, uncompared: tuple[str, str], doubt: str
) -> None:
    finding = Finding(rule, Severity.WARNING, "Seen.", "Do.", (Evidence(table, 0, 1),))
    found = doubted(finding, frozenset({uncompared, ("kdebug", "value")}))
    assert found.message.startswith(f"Seen. The {doubt}" if doubt else "Seen.")
    assert ("never compared" in found.message) == bool(doubt)
    assert replace(found, message="Seen.") == finding
