"""Metrics and rules together make a result that says what it could not know."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pandas as pd
import pytest

from analysed import MS, TARGETS, intervals, steady
from tracekit.analysis.analyze import (
    add_doubts,
    analyze,
    complete_findings,
    judge,
    measure,
    results_of,
)
from tracekit.analysis.metrics import METRICS
from tracekit.analysis.metrics.metric import Metric
from tracekit.analysis.result import Better, Measurement, Result, Status
from tracekit.analysis.rule import Evidence, Fact, Finding, Rule, Severity
from tracekit.analysis.rules import RULES
from tracekit.base.errors import UsageError
from tracekit.base.recording import Provenance

OURS = Provenance(targets=TARGETS)
IDLE = intervals([(0, 5 * MS), (15 * MS, 5 * MS)])


def status(result: Result, name: str) -> Status:
    return next(check.status for check in result.checks if check.rule == name)


def test_every_metric_and_every_rule_is_in_the_result_and_without_tables_claims_nothing() -> None:
    for tables in ({"gpu_intervals": IDLE}, {}):
        result = analyze(tables, OURS)
        assert [measurement.name for measurement in result.metrics] == list(METRICS), tables
        assert [check.rule for check in result.checks] == list(RULES), tables
    assert all(measurement.value is None and measurement.reason for measurement in result.metrics)
    unjudged = {Status.ABSTAINED, Status.NOT_APPLICABLE}
    assert all(check.status in unjudged and check.reason for check in result.checks)
    assert not result.findings


def test_findings_are_sorted_by_severity_and_saving_and_thresholds_reach_their_rule() -> None:
    work = intervals([(0, 5 * MS), (15 * MS, 5 * MS)], other_times=[(0, 5 * MS)])
    result = analyze({"gpu_intervals": work}, OURS)
    assert [finding.rule for finding in result.findings] == ["bubbles", "gpu-contended"]
    states = [status(result, rule) for rule in ("bubbles", "capture-empty", "low-occupancy")]
    assert states == [Status.FOUND, Status.PASSED, Status.ABSTAINED]
    result = analyze({"gpu_intervals": IDLE}, OURS, {"bubbles": {"limit": 0.9}})
    assert status(result, "bubbles") is Status.PASSED


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"bubble": {}}, "no rule 'bubble'"), ({"bubbles": {"limits": 1}}, "no threshold 'limits'")],
)
def test_a_mistyped_setting_is_said(settings: dict[str, dict[str, object]], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        analyze({"gpu_intervals": IDLE}, OURS, settings)


def broken(gpu_intervals: pd.DataFrame) -> Iterator[Finding]:
    yield Finding("broken", Severity.NOTE, str(1 / (len(gpu_intervals) - 1)), "")


BROKEN = Rule("broken")
vars(BROKEN)["judge"] = broken  # where a rule keeps the function that it has loaded


def never_whole(gpu_intervals: pd.DataFrame) -> float:
    return 1 / (len(gpu_intervals) - 1)


NEVER_WHOLE = Metric("never_whole", "count", "steps")
vars(NEVER_WHOLE)["measure"] = never_whole  # where a metric keeps the function that it has loaded


def test_a_broken_rule_or_metric_costs_only_itself(broken_checks_raise: Callable[[], None]) -> None:
    tables = {"gpu_intervals": intervals([(0, 5)])}
    with pytest.raises(ZeroDivisionError):
        measure(NEVER_WHOLE, tables)
    broken_checks_raise()
    check, findings = judge(BROKEN, tables, {})
    assert (check.status, findings) == (Status.FAILED, [])
    calls = check.log.splitlines()
    assert re.match(r"analyze\.py:\d+ in judge: ", calls[0])
    assert re.match(r"test_analyze\.py:\d+ in broken: yield Finding", calls[-1])
    measured = measure(NEVER_WHOLE, tables)
    assert measured.value is None
    assert "ZeroDivisionError" in check.reason
    assert "ZeroDivisionError" in measured.reason


def test_measurements_of_the_workload_are_in_the_result() -> None:
    columns = ["name", "value", "unit", "better", "reason"]
    speedup = ("speedup", None, None, "higher", "no step of sdpa was made")
    frame = pd.DataFrame([("ttft_p50", 2.5e6, "ns", "lower", None), speedup], columns=columns)
    assert results_of({"results": frame}) == (
        Measurement("ttft_p50", 2.5e6, "ns", Better.LOWER, ""),
        Measurement("speedup", None, "", Better.HIGHER, "no step of sdpa was made"),
    )
    assert results_of({}) == ()


def test_a_saving_is_spread_over_the_tokens_of_the_steady_steps() -> None:
    findings = analyze({"gpu_intervals": IDLE, **steady(count=20)}, OURS).findings
    [finding] = [item for item in findings if item.rule == "bubbles"]
    assert (finding.saving, finding.saving_per_token) == (10 * MS, 10 * MS / 320)
    [unknown] = analyze({"gpu_intervals": IDLE}, OURS).findings
    assert unknown.saving_per_token is None


def make_finding(rule: str, saving: int | None, outer_rule: str = "") -> Finding:
    return Finding(rule, Severity.WARNING, "m", "a", saving=saving, within=outer_rule)


def test_shared_time_is_mentioned_only_if_both_rules_fired() -> None:
    late, shallow = (
        make_finding("late-start", 3, "bubbles"),
        make_finding("shallow-queue", 4, "bubbles"),
    )
    completed_findings = complete_findings([late, make_finding("bubbles", 9)], None)
    assert [finding.within for finding in completed_findings] == ["bubbles", ""]
    assert [finding.within for finding in complete_findings([late, shallow], None)] == ["", ""]
    assert [
        finding.within for finding in complete_findings([late, make_finding("bubbles", None)], None)
    ] == ["", ""]


NAMES = ("gpu-performance-state-intervals", "gpu-performance-state")
VALUES = ("gpu-counter-value", "value")
INTERVALS = "metal-gpu-counter-intervals"


def test_uncompared_columns_cast_doubt_on_their_findings(
    subtests: pytest.Subtests,
) -> None:
    for rule, table, uncompared, doubt in (
        ("low-occupancy", "gpu_counters", VALUES, "values of the counters"),
        ("low-occupancy", "gpu_counters", (INTERVALS, "value"), "values of the counters"),
        ("low-occupancy", "gpu_counters", (INTERVALS, "percent-value"), "values of the counters"),
        ("low-occupancy", "gpu_counters", ("gpu-counter-info", "name"), ""),
        ("bubbles", "gpu_intervals", VALUES, ""),
        ("gpu-downclocked", "gpu_performance_states", NAMES, "names of performance states"),
        ("gpu-downclocked", "gauges", NAMES, ""),
        ("bubbles", "gpu_intervals", NAMES, ""),
    ):
        with subtests.test(table=table, uncompared=uncompared):
            finding = Finding(rule, Severity.WARNING, "Seen.", "Do.", (Evidence(table, 0, 1),))
            doubted_finding = add_doubts(finding, frozenset({uncompared, ("kdebug", "value")}))
            assert doubted_finding.facts == ((Fact("uncompared", doubt),) if doubt else ())
            assert replace(doubted_finding, facts=()) == finding
