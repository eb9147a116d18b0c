"""Reports in the formats of others: golden files, what their readers demand, hostile words."""

import json
import os
import re
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some
from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.token import Token
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_of
from prometheus_client.parser import text_string_to_metric_families as prometheus_of

from gate_night import FINE, NIGHT, SAME, SLOWER
from tracekit.base.streams import visible
from tracekit.nightly.gate.report import text as words
from tracekit.nightly.gate.report.comment import MOST_LINES, format_comment
from tracekit.nightly.gate.report.junit import junit
from tracekit.nightly.gate.report.model import CAPTURE, Case, GateReport, Suite, of_night
from tracekit.nightly.gate.report.openmetrics import openmetrics
from tracekit.nightly.gate.report.sarif import sarif
from tracekit.nightly.history.night import LEADS, Judged, Outcome
from tracekit.pages.markdown import escape_markdown

ROOT = Path(__file__).parents[4]
SCHEMAS = Path(os.environ.get("TRACEKIT_SCHEMAS", ROOT / ".schemas"))


def schema(archive: str, member: str) -> bytes:
    """Read a published schema out of the package that ships it; skip where it was not fetched."""
    for file in sorted(SCHEMAS.glob(archive)) if SCHEMAS.is_dir() else ():
        with tarfile.open(file) as packed:
            for name in packed.getnames():
                if name.endswith(member):
                    member_file = packed.extractfile(name)
                    assert member_file is not None, f"{name} is a folder"
                    return member_file.read()
    pytest.skip(f"no {archive} with {member} in {SCHEMAS}; `just schemas` fetches it")


def terminal(report: GateReport) -> str:
    """Return what a terminal shows, cells with bars between them."""
    rows = [*words.verdict_rows(report)]
    for title, columns, cells in words.tables(report):
        rows += [(f"{title}:",), columns, *cells]
    return "".join(f"{' | '.join(row)}\n" for row in rows)


WRITERS: dict[str, Callable[[GateReport], str]] = {
    "junit.xml": lambda report: junit(report).decode(),
    "sarif.json": lambda report: sarif(report, "0.1.0").decode(),
    "openmetrics.txt": lambda report: openmetrics(report).decode(),
    "markdown.md": words.markdown,
    "comment.md": format_comment,
    "terminal.txt": terminal,
    "annotations.txt": lambda report: "".join(
        f"{annotation}\n" for annotation in words.annotations(report)
    ),
}
REPORT = of_night(NIGHT)
PLACED = replace(
    REPORT,
    suites=tuple(replace(suite, line=3 + 7 * place) for place, suite in enumerate(REPORT.suites)),
    file="tracekit.toml",
)
BARE = GateReport("", "", Outcome.INCONCLUSIVE, suites=(Suite("", Outcome.INCONCLUSIVE),))


@pytest.mark.parametrize("name", WRITERS)
def test_reports_are_as_in_the_golden_files(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"goldens/{name}", WRITERS[name](PLACED))


@pytest.mark.schemas
def test_junit_is_valid_as_jenkins_has_it() -> None:
    published = etree.XMLSchema(etree.fromstring(schema("pytest-*.tar.gz", "junit-10.xsd")))
    for report in (REPORT, BARE):
        published.assertValid(etree.fromstring(junit(report)))


@pytest.mark.schemas
def test_sarif_is_valid_by_the_schema_of_the_standard() -> None:
    published = json.loads(schema("microsoft-jest-sarif-*.tgz", "sarif-2.1.0-rtm.5.json"))
    draft = jsonschema.Draft4Validator
    validator = draft(published, format_checker=draft.FORMAT_CHECKER)
    for report in (PLACED, REPORT, BARE, replace(PLACED, started="", file="a b/ü.toml")):
        document = json.loads(sarif(report, "0.1.0"))
        assert not [error.message for error in validator.iter_errors(document)], report


def read_sarif_run(report: GateReport) -> Any:
    (run,) = json.loads(sarif(report, "0.1.0"))["runs"]
    return run


def make_report(*judged: Judged, outcome: Outcome = Outcome.OK, **night: Any) -> GateReport:
    entry = replace(FINE, judged=judged, outcome=outcome)
    return of_night(replace(NIGHT, entries=(entry,), outcome=outcome, **night))


def test_an_alert_is_the_same_every_night_and_another_for_each_capture() -> None:
    """Code scanning closes what an upload of the same category has no more."""
    twin = replace(REPORT.suites[0], name="twin")
    later = replace(REPORT, subject="other", title="Another", suites=(REPORT.suites[0], twin))
    first_log, second, good = (
        read_sarif_run(REPORT),
        read_sarif_run(later),
        read_sarif_run(make_report(SAME)),
    )
    assert [result["ruleIndex"] for result in second["results"]] == [0, 0]
    [fingerprint] = [result["partialFingerprints"] for result in first_log["results"]]
    same_fingerprint, other_fingerprint = [
        result["partialFingerprints"] for result in second["results"]
    ]
    assert (same_fingerprint == fingerprint, other_fingerprint == fingerprint) == (True, False)
    assert good["results"] == []
    spaced = read_sarif_run(replace(REPORT, plan="attention/a b"))
    ids = [log["automationDetails"]["id"] for log in (first_log, second, good, spaced)]
    assert ids == [*["tracekit/attention/"] * 3, "tracekit/attention-a-b/"]


def test_an_alert_points_to_a_line_if_there_is_a_file() -> None:
    [alert] = read_sarif_run(REPORT)["results"]
    assert alert["locations"] == [{"logicalLocations": [{"name": "decode"}]}]
    [alert] = read_sarif_run(replace(REPORT, file="perf/a b.toml"))["results"]
    place = alert["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "perf/a%20b.toml"
    assert place["region"] == {"startLine": 1}, "a line that is not known is the first"


def test_sarif_is_successful_unless_the_night_failed_and_its_times_are_utc() -> None:
    for outcome in Outcome:
        [invocation] = read_sarif_run(make_report(SAME, outcome=outcome))["invocations"]
        assert invocation["executionSuccessful"] is (outcome is not Outcome.FAILED)
    running = make_report(SAME, started="2026-11-20T11:30:00+09:00", ended="")
    [invocation] = read_sarif_run(running)["invocations"]
    assert invocation["startTimeUtc"] == "2026-11-20T02:30:00Z"
    assert "endTimeUtc" not in invocation
    assert b"end_time" not in openmetrics(running)


def samples(report: GateReport) -> dict[str, list[Any]]:
    """Read the text as the official client does: samples by family."""
    return {family.name: family.samples for family in openmetrics_of(openmetrics(report).decode())}


def test_values_are_in_base_units_and_unknown_ones_are_absent() -> None:
    for unit, value, family, base_value in (
        ("ns", 2_500_000_000.0, "value_seconds", 2.5),
        ("ratio", 0.25, "value_ratio", 0.25),
        ("bytes", 4096.0, "value_bytes", 4096.0),
        ("Hz", 1.4e9, "value_hertz", 1.4e9),
        ("furlongs/fortnight", 2.0, "value", 2.0),
    ):
        samples_by_family = samples(make_report(Judged("m", unit, "lower", candidate=value)))
        (sample,) = samples_by_family[f"tracekit_gate_{family}"]
        assert (sample.value, sample.labels["side"]) == (pytest.approx(base_value), "candidate"), (
            unit
        )
        assert sample.labels.get("unit") == (unit if family == "value" else None), unit
    # Prometheus would take a zero for a value.
    judged = Judged("m", "ns", "lower", outcome=Outcome.INCONCLUSIVE, reason="Too few pairs.")
    names = samples(make_report(judged, outcome=Outcome.INCONCLUSIVE)).keys()
    assert not {name for name in names if "_value" in name or "_change" in name}
    assert "tracekit_gate_metric_outcome" in names


def test_a_change_by_difference_is_in_the_metrics_unit_and_written_once() -> None:
    judged = replace(SLOWER, scale="difference", change=2e6, low=1e6, high=3e6, threshold=1e6)
    samples_by_family = samples(make_report(judged, judged))
    names = ("change", "change_low", "change_high", "threshold")
    values = [
        [sample.value for sample in samples_by_family[f"tracekit_gate_{name}_seconds"]]
        for name in names
    ]
    assert values == [[pytest.approx(value)] for value in (0.002, 0.001, 0.003, 0.001)]


def test_a_terminal_gets_the_verdict_in_a_line_and_a_case_is_a_sentence() -> None:
    assert words.verdict(REPORT) == words.heading(REPORT)
    assert words.verdict(replace(REPORT, reason="Too long. " * 20)) == "Failed: serve"
    assert words.verdict(GateReport("t", "s", Outcome.OK)) == "OK"
    assert words.verdict(replace(REPORT, lead="Slower", reason="Long. " * 20)) == "Slower: serve"
    assert words.format_title(Suite("night", Outcome.FAILED)) == "night"
    metric_case = Case("a", "m", "metric", Outcome.OK, "it is so")
    failed = Case("a", CAPTURE, "capture", Outcome.FAILED, "no GPU")
    sentences = [
        words.sentences(case) for case in (metric_case, replace(metric_case, message=""), failed)
    ]
    assert sentences == ["m: It is so.", "m: Ok.", "No GPU."]


ENDINGS = some.sampled_from([*Outcome, None])
CAPTURES = some.lists(some.tuples(ENDINGS, some.lists(ENDINGS, max_size=3)), max_size=2)


@given(CAPTURES, ENDINGS, some.booleans())
def test_every_surface_says_how_a_night_ended(
    captures: list[tuple[Outcome | None, list[Outcome | None]]],
    night_outcome: Outcome | None,
    partial: bool,
) -> None:
    entries = [
        replace(
            *(FINE,), capture=f"c{index}", outcome=capture_outcome,
            judged=tuple(replace(SLOWER, metric=f"m{place}", outcome=metric_outcome,
                                 gated=metric_outcome is not None)
                         for place, metric_outcome in enumerate(metrics)),
        )
        for index, (capture_outcome, metrics) in enumerate(captures)
    ]  # fmt: skip
    night = replace(NIGHT, entries=tuple(entries), outcome=night_outcome, partial=partial)
    report = of_night(night)
    outcome = str(report.outcome)
    assert words.heading(report).startswith(LEADS[report.outcome])
    assert LEADS[report.outcome] in words.markdown(report).splitlines()[0]
    assert msgspec.json.decode(msgspec.json.encode(report))["outcome"] == outcome
    assert _of_junit(report) == {case.outcome for case in report.cases if case.outcome}
    [outcome_sample] = [
        sample for sample in samples(report)["tracekit_gate_outcome"] if sample.value == 1
    ]
    assert (
        outcome_sample.labels["outcome"]
        == read_sarif_run(report)["properties"]["outcome"]
        == outcome
    )
    worse = [case for case in report.cases if case.outcome is Outcome.REGRESSION]
    annotations = [
        annotation
        for annotation in words.annotations(report)
        if annotation.startswith("::error title=Regr")
    ]
    assert len(annotations) == len(read_sarif_run(report)["results"]) == len(worse)
    assert outcome in {row[0] for row in words.verdict_rows(report)}


def _of_junit(report: GateReport) -> set[Outcome]:
    """Return the outcomes that a reader of JUnit can tell apart, skipped ones by their type."""
    tags = {"failure": Outcome.REGRESSION, "error": Outcome.FAILED}
    outcomes: set[Outcome] = set()
    for case in etree.fromstring(junit(report)).iter("testcase"):
        [tag] = [child for child in case if child.tag in {*tags, "skipped"}] or [None]
        outcomes.add(Outcome.OK if tag is None else Outcome(tag.get("type")))
        assert tag is None or tags.get(tag.tag, Outcome(tag.get("type"))) in outcomes
    return outcomes


# Any text comes back out of every format, and breaks none of them.
HOSTILE = [
    *("]]>", "<script>&amp;", "a\nb\r\n::error::c", "\x00\x1b[31m\x7f", "\ud800", "\ufffe\uffff"),
    *("👩‍🚀 ü", 'a"b\\n{x="y"} 1', "| a | `b` |", "#1 @all ![x](y)", "1. one", "- - -", "==="),
    *("%0A,:", "# EOF", "&#x3c;", "", " "),
]
TEXTS = some.one_of(some.sampled_from(HOSTILE), some.text(some.characters(exclude_categories=[])))
MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_XML = {0xFFFE: 0xFFFD, 0xFFFF: 0xFFFD}


def fill_report(text: str) -> GateReport:
    metric = Case(text, text, "metric", Outcome.REGRESSION, text, text, candidate=1.0)
    finding = Case(text, text, "finding", None, text, severity=text)
    suite = Suite(text, Outcome.REGRESSION, text, (metric, finding), {"workload": text})
    facts = {"chip": text, "mlx": text}
    more = dict.fromkeys(("plan", "machine", "commit", "file"), text)
    return GateReport(
        text, text, Outcome.REGRESSION, text, (suite,), facts, warnings=(text,), **more
    )  # fmt: skip


def join_token_text(tokens: list[Token] | None) -> str:
    """Return what a reader of rendered Markdown sees: text alone."""
    assert tokens is not None
    assert {token.type for token in tokens} <= {"text", "text_special", "softbreak"}
    return "".join(token.content for token in tokens)


@settings(deadline=None)
@given(TEXTS)
def test_a_machine_reads_back_the_visible_values(text: str) -> None:
    report, plain_text = fill_report(text), words.flatten_text(text)
    root = etree.fromstring(junit(report))
    assert root[0].get("name") == visible(text).translate(_XML)
    (failure,) = root.iter("failure")
    assert plain_text.translate(_XML) in failure.get("message", "")
    metrics_text = openmetrics(report).decode()
    for families in (openmetrics_of, prometheus_of):
        families_by_name = {family.name: family for family in families(metrics_text)}
        (sample,) = families_by_name["tracekit_gate_pairs"].samples
        assert sample.labels["metric"] == sample.labels["chip"] == plain_text, families
    (result,) = read_sarif_run(report)["results"]
    assert result["message"]["text"].startswith(f"{plain_text}: ")
    assert re.fullmatch(r"[^\s/]+", result["ruleId"])


@settings(deadline=None)
@given(TEXTS)
@example("1. one")
def test_markdown_is_shown_literally_in_any_place(text: str) -> None:
    line = escape_markdown(text)
    assert "\n" not in line
    assert join_token_text(MARKDOWN.parseInline(line)[0].children) == words.flatten_text(text)
    kinds = {token.type for token in MARKDOWN.parse(line)}
    assert kinds <= {"paragraph_open", "inline", "paragraph_close"}
    rows = [
        token
        for token in MARKDOWN.parse(words.markdown(fill_report(text)))
        if token.type == "tr_open"
    ]
    assert len(rows) == 2, "a head and one metric, whatever stands in the cells"


@settings(deadline=None)
@given(TEXTS)
@example("@everyone")
def test_a_comment_is_short_and_notifies_nobody(text: str) -> None:
    reports = (PLACED, BARE, fill_report(text))
    for number, report in enumerate(reports):
        lines = format_comment(report).splitlines()
        assert len(lines) <= MOST_LINES, number
        assert max(map(len, lines)) < 1000, number
        assert lines[0].endswith("<!-- made by tracekit -->"), number
        assert re.search("@(?!<!-- -->)", "".join(lines)) is None, number
    rows = [
        token
        for token in MARKDOWN.parse(format_comment(fill_report(text)))
        if token.type == "tr_open"
    ]
    assert len(rows) == 2


def test_a_comment_shows_the_worst_first_and_counts_the_rest() -> None:
    worse = Case("decode", "slow", "metric", Outcome.REGRESSION, change=0.5, measured=0.5)
    same = tuple(Case("decode", f"m{number}", "metric", Outcome.OK) for number in range(9))
    found = tuple(Case("decode", f"rule-{number}", "finding", None) for number in range(6))
    suite = Suite("decode", Outcome.REGRESSION, cases=(*same, worse, *found))
    report = GateReport("a → b", "b", Outcome.REGRESSION, "slow is worse.", suites=(suite,))
    lines = format_comment(report).splitlines()
    assert [line.split(" | ")[0] for line in lines[6:10]] == ["| slow", "| m0", "| m1", "| m2"]
    assert lines[-1] == (
        "more that decide: 6; findings: rule-0, rule-1, rule-2, rule-3 and 2 more."
    )


@settings(deadline=None)
@given(TEXTS)
def test_an_annotation_is_one_line_that_reads_back(text: str) -> None:
    plain_text, (line,) = words.flatten_text(text), words.annotations(fill_report(text))
    assert line.splitlines() == [line]
    command = re.fullmatch(r"::error ([^:]*)::(.*)", line)
    assert command is not None
    decoded = command[2].replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")
    assert decoded.startswith(f"{plain_text}: ")
    properties = dict(pair.split("=", 1) for pair in command[1].split(","))
    title = properties["title"].replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
    assert title == f"Regression: {plain_text}, {plain_text}"
