"""The reports in the formats of others: golden files, and what the formats demand."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from lxml import etree
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_of
from prometheus_client.parser import text_string_to_metric_families as prometheus_of

from published_schemas import schema
from tracekit.nightly.gate.report.junit import junit
from tracekit.nightly.gate.report.model import Case, GateReport, Suite
from tracekit.nightly.gate.report.openmetrics import openmetrics
from tracekit.nightly.gate.report.sarif import sarif
from tracekit.nightly.gate.report.text import annotations, markdown
from tracekit.nightly.history.night import Outcome

GOLDENS = Path(__file__).parent / "goldens"
WRITERS: dict[str, Callable[[GateReport], bytes]] = {
    "junit.xml": junit,
    "sarif.json": lambda report: sarif(report, "0.1.0"),
    "openmetrics.txt": openmetrics,
    "markdown.md": lambda report: markdown(report).encode(),
    "annotations.txt": lambda report: "".join(f"{one}\n" for one in annotations(report)).encode(),
}


@pytest.fixture
def placed(report: GateReport) -> GateReport:
    """The report, with the place of its captures in the plan."""
    suites = tuple(replace(one, line=3 + 7 * place) for place, one in enumerate(report.suites))
    return replace(report, suites=suites, file="tracekit.toml")


@pytest.mark.parametrize("name", WRITERS)
def test_the_report_is_what_the_golden_file_says(
    name: str, placed: GateReport, request: pytest.FixtureRequest
) -> None:
    written = WRITERS[name](placed)
    if request.config.getoption("--update-goldens"):
        GOLDENS.mkdir(exist_ok=True)
        (GOLDENS / name).write_bytes(written)
    assert written.decode() == (GOLDENS / name).read_text()


def cases_of(xml: bytes) -> dict[str, str]:
    """Read how each case of a JUnit file ended: by the tag in it, or passed."""
    found: dict[str, str] = {}
    for case in etree.fromstring(xml).iter("testcase"):
        tags = [str(one.tag) for one in case if one.tag != "system-out"]
        found[f"{case.get('classname')}.{case.get('name')}"] = tags[0] if tags else "passed"
    return found


def test_each_outcome_has_its_own_tag(report: GateReport) -> None:
    assert cases_of(junit(report)) == {
        "decode.step_p50": "failure",
        "prefill.gpu_idle_ratio": "skipped",
        "prefill.tokens_per_second": "passed",
        "serve.capture": "error",
        "micro.tokens_per_second": "passed",
    }


def test_counts_of_suites_are_those_of_their_cases(report: GateReport) -> None:
    root = etree.fromstring(junit(report))
    assert dict(root.attrib) | {"name": ""} == {
        "name": "",
        "tests": "5",
        "failures": "1",
        "errors": "1",
    }
    for suite in root:
        cases = suite.findall("testcase")
        assert int(suite.get("tests", "-1")) == len(cases)
        for tag, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert int(suite.get(name, "-1")) == sum(one.find(tag) is not None for one in cases)
        datetime.fromisoformat(suite.get("timestamp", ""))


def test_what_is_followed_only_is_no_test_but_a_property(report: GateReport) -> None:
    root = etree.fromstring(junit(report))
    told = {one.get("name"): one.get("value") for one in root[0].iter("property")}
    assert told["followed memory_peak"] == "candidate: 2.79 GiB; threshold: 3.0 %; pairs: 10"
    assert told["followed pipeline-churn"] == (
        "9 pipelines were made in the steady phase. (in 2 of 2 traces, 0 of the reference)"
    )
    assert told["chip"] == "Apple M1"


def test_a_skipped_case_says_why(report: GateReport) -> None:
    (skipped,) = etree.fromstring(junit(report)).iter("skipped")
    assert "so uncertain" in skipped.get("message", "")
    assert skipped.text == skipped.get("message")


def test_junit_is_valid_as_jenkins_has_it(report: GateReport) -> None:
    published = etree.XMLSchema(etree.fromstring(schema("pytest-*.tar.gz", "junit-10.xsd")))
    published.assertValid(etree.fromstring(junit(report)))


def test_junit_of_nothing_is_valid() -> None:
    published = etree.XMLSchema(etree.fromstring(schema("pytest-*.tar.gz", "junit-10.xsd")))
    bare = GateReport("", "", Outcome.INCONCLUSIVE, suites=(Suite("", Outcome.INCONCLUSIVE),))
    published.assertValid(etree.fromstring(junit(bare)))


def logged(report: GateReport) -> Any:
    (run,) = json.loads(sarif(report, "0.1.0"))["runs"]
    return run


def test_only_regressions_are_results(placed: GateReport) -> None:
    run = logged(placed)
    (result,) = run["results"]
    assert (result["ruleId"], result["level"], result["kind"]) == ("step_p50", "error", "fail")
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "step_p50"
    (place,) = result["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "tracekit.toml"
    assert place["physicalLocation"]["region"] == {"startLine": 3}
    assert result["properties"]["change"] == 0.098
    told = run["invocations"][0]["toolExecutionNotifications"]
    assert [one["level"] for one in told] == ["warning", "error"]
    assert run["invocations"][0]["executionSuccessful"] is False


def test_an_alert_is_the_same_every_night(report: GateReport) -> None:
    later = replace(report, subject="other", title="Another night")
    first, second = logged(report), logged(later)
    prints = [one["results"][0]["partialFingerprints"] for one in (first, second)]
    assert prints[0] == prints[1]
    assert first["automationDetails"] == second["automationDetails"]


def test_two_captures_with_the_same_metric_are_two_alerts_of_one_rule(report: GateReport) -> None:
    twin = replace(report.suites[0], name="twin")
    run = logged(replace(report, suites=(report.suites[0], twin)))
    assert [one["ruleIndex"] for one in run["results"]] == [0, 0]
    prints = {one["partialFingerprints"]["tracekit/v1"] for one in run["results"]}
    assert len(prints) == 2


def test_sarif_is_valid_by_the_schema_of_the_standard(
    placed: GateReport, report: GateReport
) -> None:
    published = json.loads(schema("microsoft-jest-sarif-*.tgz", "sarif-2.1.0-rtm.5.json"))
    validator = jsonschema.Draft4Validator(
        published, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER
    )
    bare = GateReport("", "", Outcome.INCONCLUSIVE)
    for one in (placed, report, bare, replace(placed, started="soon", file="a b/ü.toml")):
        document = json.loads(sarif(one, "0.1.0"))
        assert not [error.message for error in validator.iter_errors(document)]


def samples_of(text: bytes) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    """Read a text as the official client does: values by family and labels."""
    return {
        family.name: {tuple(sorted(one.labels.items())): one.value for one in family.samples}
        for family in openmetrics_of(text.decode())
    }


def test_the_official_client_reads_what_was_written(report: GateReport) -> None:
    text = openmetrics(report)
    families = {one.name: one for one in openmetrics_of(text.decode())}
    assert {one.type for one in families.values()} == {"gauge"}
    seconds = families["tracekit_gate_value_seconds"]
    assert seconds.unit == "seconds"
    assert [(one.labels["side"], one.value) for one in seconds.samples] == [
        ("candidate", pytest.approx(0.001098)),
        ("reference", pytest.approx(0.001)),
    ]
    assert seconds.samples[0].labels | {"side": ""} == {
        "side": "",
        "plan": "attention",
        "machine": "m1-8gb",
        "chip": "Apple M1",
        "os": "25B78",
        "xcode": "",
        "mlx": "0.32",
        "workload": "paged",
        "capture": "decode",
        "metric": "step_p50",
    }


def test_exactly_one_outcome_holds(report: GateReport) -> None:
    held = [
        (labels["capture"], labels["outcome"])
        for key, value in samples_of(openmetrics(report))["tracekit_gate_capture_outcome"].items()
        if value == 1 and (labels := dict(key))
    ]
    assert held == [
        ("decode", "regression"),
        ("prefill", "inconclusive"),
        ("serve", "failed"),
        ("micro", "ok"),
    ]


def test_the_text_is_valid_for_a_textfile_collector_too(report: GateReport) -> None:
    """It reads Prometheus' older format: without times, and without types that this has not."""
    text = openmetrics(report).decode()
    assert text.endswith("\n# EOF\n")
    old = {one.name: one for one in prometheus_of(text)}
    assert {one.type for one in old.values()} == {"gauge"}
    assert all(sample.timestamp is None for one in old.values() for sample in one.samples)
    assert old.keys() == {one.name for one in openmetrics_of(text)}


def test_units_that_nobody_knows_are_labels() -> None:
    metrics = (
        Case("a", "odd", "metric", Outcome.OK, unit="furlongs/fortnight", candidate=2.0),
        Case("a", "plain", "metric", Outcome.OK, unit="", candidate=3.0),
        Case("a", "calls", "metric", Outcome.OK, unit="count", candidate=4.0, scale="difference"),
    )
    report = GateReport("", "", Outcome.OK, suites=(Suite("a", Outcome.OK, cases=metrics),))
    families = {one.name: one for one in openmetrics_of(openmetrics(report).decode())}
    assert [one.labels["unit"] for one in families["tracekit_gate_value"].samples] == [
        "furlongs/fortnight",
        "",
        "count",
    ]


def test_the_same_series_twice_does_not_spoil_the_text() -> None:
    twice = (Case("a", "m", "metric", Outcome.OK, unit="ns", candidate=1.0),) * 2
    report = GateReport("", "", Outcome.OK, suites=(Suite("a", Outcome.OK, cases=twice),))
    text = openmetrics(report).decode()
    assert text.count('tracekit_gate_value_seconds{capture="a"') == 1
    assert list(openmetrics_of(text))


def test_annotations_stand_at_the_plans_line(placed: GateReport) -> None:
    lines = list(annotations(placed))
    assert [",".join(one.split(",")[:2]) for one in lines] == [
        "::error file=tracekit.toml,line=3",
        "::warning file=tracekit.toml,line=10",
        "::error file=tracekit.toml,line=17",
    ]
