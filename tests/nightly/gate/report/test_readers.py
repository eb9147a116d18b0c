"""What those who read the reports look for, beyond the formats' own rules."""

import json
from dataclasses import replace
from typing import Any

import pytest
from lxml import etree
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from gate_night import DECODE, FINE, IDLE, NIGHT, SAME, SLOWER
from tracekit.nightly.gate.report.junit import junit
from tracekit.nightly.gate.report.model import GateReport, of_night
from tracekit.nightly.gate.report.openmetrics import openmetrics
from tracekit.nightly.gate.report.sarif import sarif
from tracekit.nightly.gate.report.text import markdown
from tracekit.nightly.history.night import Judged, Night, Outcome


def night_of(*judged: Judged, outcome: Outcome) -> Night:
    entry = replace(FINE, judged=judged, outcome=outcome)
    return replace(NIGHT, entries=(entry,), outcome=outcome, warnings=())


def alerts(report: GateReport) -> list[Any]:
    (run,) = json.loads(sarif(report, "0.1.0"))["runs"]
    return run["results"]


def test_an_alert_without_a_file_has_a_logical_place_only(report: GateReport) -> None:
    (alert,) = alerts(report)
    assert alert["locations"] == [{"logicalLocations": [{"name": "decode"}]}]


def test_a_line_that_is_not_known_is_the_files_first(report: GateReport) -> None:
    (alert,) = alerts(replace(report, file="perf/a b.toml"))
    place = alert["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "perf/a%20b.toml"
    assert place["region"] == {"startLine": 1}


def test_a_night_without_a_regression_closes_its_alerts() -> None:
    """Code scanning closes what an upload of the same category has no more."""
    good = of_night(night_of(SAME, outcome=Outcome.OK))
    bad = of_night(night_of(SLOWER, outcome=Outcome.REGRESSION))
    assert (len(alerts(good)), len(alerts(bad))) == (0, 1)
    categories = [
        json.loads(sarif(one, "0.1.0"))["runs"][0]["automationDetails"]["id"] for one in (good, bad)
    ]
    assert categories == ["tracekit/attention/"] * 2


def test_sarif_is_successful_unless_the_night_failed() -> None:
    ended = {
        outcome: json.loads(sarif(of_night(night_of(judged, outcome=outcome)), "0.1.0"))["runs"][0]
        for outcome, judged in (
            (Outcome.OK, SAME),
            (Outcome.REGRESSION, SLOWER),
            (Outcome.INCONCLUSIVE, IDLE),
            (Outcome.FAILED, SAME),
        )
    }
    assert {
        outcome: run["invocations"][0]["executionSuccessful"] for outcome, run in ended.items()
    } == {
        Outcome.OK: True,
        Outcome.REGRESSION: True,
        Outcome.INCONCLUSIVE: True,
        Outcome.FAILED: False,
    }


def test_times_are_in_utc_with_a_z(report: GateReport) -> None:
    there = replace(report, started="2026-11-20T11:30:00+09:00", ended="")
    (run,) = json.loads(sarif(there, "0.1.0"))["runs"]
    invocation = run["invocations"][0]
    assert invocation["startTimeUtc"] == "2026-11-20T02:30:00Z"
    assert "endTimeUtc" not in invocation


@pytest.mark.parametrize(
    ("unit", "value", "family", "written"),
    [
        ("ns", 2_500_000_000.0, "tracekit_gate_value_seconds", 2.5),
        ("ratio", 0.25, "tracekit_gate_value_ratio", 0.25),
        ("bytes", 4096.0, "tracekit_gate_value_bytes", 4096.0),
        ("bytes/s", 1e9, "tracekit_gate_value_bytes_per_second", 1e9),
        ("1/s", 20.0, "tracekit_gate_value_per_second", 20.0),
        ("Hz", 1.4e9, "tracekit_gate_value_hertz", 1.4e9),
        ("W", 12.5, "tracekit_gate_value_watts", 12.5),
        ("count", 3.0, "tracekit_gate_value", 3.0),
    ],
)
def test_values_are_in_base_units(unit: str, value: float, family: str, written: float) -> None:
    judged = Judged("m", unit, "lower", outcome=Outcome.OK, candidate=value)
    text = openmetrics(of_night(night_of(judged, outcome=Outcome.OK))).decode()
    found = {one.name: one for one in text_string_to_metric_families(text)}
    (sample,) = found[family].samples
    assert sample.value == pytest.approx(written)
    assert sample.labels["side"] == "candidate"


def test_a_change_by_difference_is_in_the_metrics_unit() -> None:
    judged = replace(SLOWER, scale="difference", change=2e6, low=1e6, high=3e6, threshold=1e6)
    text = openmetrics(of_night(night_of(judged, outcome=Outcome.REGRESSION))).decode()
    found = {one.name: one.samples[0].value for one in text_string_to_metric_families(text)}
    names = ("change", "change_low", "change_high", "threshold")
    told = [found[f"tracekit_gate_{name}_seconds"] for name in names]
    assert told == pytest.approx([0.002, 0.001, 0.003, 0.001])


def test_what_is_not_known_is_no_sample() -> None:
    """Prometheus would take a zero for a value."""
    judged = Judged("m", "ns", "lower", outcome=Outcome.INCONCLUSIVE, reason="Too few pairs.")
    text = openmetrics(of_night(night_of(judged, outcome=Outcome.INCONCLUSIVE))).decode()
    names = {one.name for one in text_string_to_metric_families(text)}
    assert not {one for one in names if "_value" in one or "_change" in one}
    assert "tracekit_gate_metric_outcome" in names


def test_a_night_that_runs_has_no_end_time() -> None:
    running = replace(night_of(SAME, outcome=Outcome.OK), ended="", outcome=None)
    assert b"end_time" not in openmetrics(of_night(running))
    assert b"tracekit_gate_end_time_seconds" in openmetrics(of_night(NIGHT))


def test_a_finding_that_decides_is_a_failure_of_its_own() -> None:
    report = of_night(replace(NIGHT, entries=(DECODE,)))
    first = report.suites[0]
    cases = tuple(
        replace(one, outcome=Outcome.REGRESSION) if one.kind == "finding" else one
        for one in first.cases
    )
    decided = replace(report, suites=(replace(first, cases=cases),))
    assert [one["ruleId"] for one in alerts(decided)] == ["step_p50", "pipeline-churn"]
    failures = etree.fromstring(junit(decided)).iter("failure")
    assert [one.getparent().get("name") for one in failures] == ["step_p50", "pipeline-churn"]
    assert "❌ **pipeline-churn**" in markdown(decided)
