"""The reports in the formats of others: golden files, and what readers of them demand."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from lxml import etree
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_of

from gate_night import FINE, NIGHT, SAME, SLOWER
from published_schemas import schema
from tracekit.nightly.gate.report.junit import junit
from tracekit.nightly.gate.report.model import CAPTURE, Case, GateReport, Suite, of_night
from tracekit.nightly.gate.report.openmetrics import openmetrics
from tracekit.nightly.gate.report.sarif import sarif
from tracekit.nightly.gate.report.text import (
    annotations,
    heading,
    markdown,
    sentences,
    tables,
    verdict,
    verdicts,
)
from tracekit.nightly.history.night import Judged, Outcome

GOLDENS = Path(__file__).parent / "goldens"


def terminal(report: GateReport) -> str:
    """Return what a terminal shows, cells with bars between them."""
    rows = [*verdicts(report)]
    for title, columns, cells in tables(report):
        rows += [(f"{title}:",), columns, *cells]
    return "".join(f"{' | '.join(row)}\n" for row in rows)


WRITERS: dict[str, Callable[[GateReport], bytes]] = {
    "junit.xml": junit,
    "sarif.json": lambda report: sarif(report, "0.1.0"),
    "openmetrics.txt": openmetrics,
    "markdown.md": lambda report: markdown(report).encode(),
    "terminal.txt": lambda report: terminal(report).encode(),
    "annotations.txt": lambda report: "".join(f"{each}\n" for each in annotations(report)).encode(),
}
REPORT = of_night(NIGHT)
PLACED = replace(
    REPORT,
    suites=tuple(replace(each, line=3 + 7 * place) for place, each in enumerate(REPORT.suites)),
    file="tracekit.toml",
)
BARE = GateReport("", "", Outcome.INCONCLUSIVE, suites=(Suite("", Outcome.INCONCLUSIVE),))


@pytest.mark.parametrize("name", WRITERS)
def test_the_report_is_what_the_golden_file_says(name: str, request: pytest.FixtureRequest) -> None:
    written = WRITERS[name](PLACED)
    if request.config.getoption("--update-goldens"):
        GOLDENS.mkdir(exist_ok=True)
        (GOLDENS / name).write_bytes(written)
    assert written.decode() == (GOLDENS / name).read_text()


@pytest.mark.parametrize("report", [REPORT, BARE], ids=["night", "nothing"])
def test_junit_is_valid_as_jenkins_has_it(report: GateReport) -> None:
    published = etree.XMLSchema(etree.fromstring(schema("pytest-*.tar.gz", "junit-10.xsd")))
    published.assertValid(etree.fromstring(junit(report)))


def test_sarif_is_valid_by_the_schema_of_the_standard() -> None:
    published = json.loads(schema("microsoft-jest-sarif-*.tgz", "sarif-2.1.0-rtm.5.json"))
    validator = jsonschema.Draft4Validator(
        published, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER
    )
    for each in (PLACED, REPORT, BARE, replace(PLACED, started="", file="a b/ü.toml")):
        document = json.loads(sarif(each, "0.1.0"))
        assert not [error.message for error in validator.iter_errors(document)]


def logged(report: GateReport) -> Any:
    (run,) = json.loads(sarif(report, "0.1.0"))["runs"]
    return run


def of(*judged: Judged, outcome: Outcome = Outcome.OK, **night: Any) -> GateReport:
    entry = replace(FINE, judged=judged, outcome=outcome)
    return of_night(replace(NIGHT, entries=(entry,), outcome=outcome, **night))


def test_an_alert_is_the_same_every_night_and_another_for_each_capture() -> None:
    """Code scanning closes what an upload of the same category has no more."""
    twin = replace(REPORT.suites[0], name="twin")
    later = replace(REPORT, subject="other", title="Another", suites=(REPORT.suites[0], twin))
    first, second = logged(REPORT), logged(later)
    assert [each["ruleIndex"] for each in second["results"]] == [0, 0]
    [known] = [each["partialFingerprints"] for each in first["results"]]
    same, other = [each["partialFingerprints"] for each in second["results"]]
    assert (same == known, other == known) == (True, False)
    good = logged(of(SAME))
    assert good["results"] == []
    ids = {each["automationDetails"]["id"] for each in (first, second, good)}
    assert ids == {"tracekit/attention/"}


def test_an_alert_stands_at_a_line_where_there_is_a_file() -> None:
    [alert] = logged(REPORT)["results"]
    assert alert["locations"] == [{"logicalLocations": [{"name": "decode"}]}]
    [alert] = logged(replace(REPORT, file="perf/a b.toml"))["results"]
    place = alert["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "perf/a%20b.toml"
    assert place["region"] == {"startLine": 1}, "a line that is not known is the first"


def test_sarif_is_successful_unless_the_night_failed_and_its_times_are_utc() -> None:
    for outcome in Outcome:
        [invocation] = logged(of(SAME, outcome=outcome))["invocations"]
        assert invocation["executionSuccessful"] is (outcome is not Outcome.FAILED)
    running = of(SAME, started="2026-11-20T11:30:00+09:00", ended="")
    [invocation] = logged(running)["invocations"]
    assert invocation["startTimeUtc"] == "2026-11-20T02:30:00Z"
    assert "endTimeUtc" not in invocation
    assert b"end_time" not in openmetrics(running)


def samples(report: GateReport) -> dict[str, list[Any]]:
    """Read the text as the official client does: samples by family."""
    text = openmetrics(report).decode()
    return {family.name: family.samples for family in openmetrics_of(text)}


@pytest.mark.parametrize(
    ("unit", "value", "family", "written"),
    [
        ("ns", 2_500_000_000.0, "value_seconds", 2.5),
        ("ratio", 0.25, "value_ratio", 0.25),
        ("bytes", 4096.0, "value_bytes", 4096.0),
        ("Hz", 1.4e9, "value_hertz", 1.4e9),
        ("furlongs/fortnight", 2.0, "value", 2.0),
    ],
)
def test_values_are_in_base_units(unit: str, value: float, family: str, written: float) -> None:
    (sample,) = samples(of(Judged("m", unit, "lower", candidate=value)))[f"tracekit_gate_{family}"]
    assert sample.value == pytest.approx(written)
    assert sample.labels["side"] == "candidate"
    assert sample.labels.get("unit") == (unit if family == "value" else None)


def test_a_change_by_difference_is_in_the_metrics_unit_and_written_once() -> None:
    judged = replace(SLOWER, scale="difference", change=2e6, low=1e6, high=3e6, threshold=1e6)
    found = samples(of(judged, judged))
    names = ("change", "change_low", "change_high", "threshold")
    values = [[each.value for each in found[f"tracekit_gate_{name}_seconds"]] for name in names]
    assert values == [[pytest.approx(each)] for each in (0.002, 0.001, 0.003, 0.001)]


def test_what_is_not_known_is_no_sample() -> None:
    """Prometheus would take a zero for a value."""
    judged = Judged("m", "ns", "lower", outcome=Outcome.INCONCLUSIVE, reason="Too few pairs.")
    names = samples(of(judged, outcome=Outcome.INCONCLUSIVE)).keys()
    assert not {each for each in names if "_value" in each or "_change" in each}
    assert "tracekit_gate_metric_outcome" in names


def test_a_terminal_gets_the_verdict_in_a_line() -> None:
    assert verdict(REPORT) == heading(REPORT)
    assert verdict(replace(REPORT, reason="Too long. " * 20)) == "Failed: serve"
    assert verdict(GateReport("t", "s", Outcome.OK)) == "OK"


def test_a_case_is_a_sentence_that_stands_alone() -> None:
    assert sentences(Case("a", "m", "metric", Outcome.OK, "it is so")) == "m: It is so."
    assert sentences(Case("a", "m", "metric", Outcome.OK)) == "m: Ok."
    assert sentences(Case("a", CAPTURE, "capture", Outcome.FAILED, "no GPU")) == "No GPU."
