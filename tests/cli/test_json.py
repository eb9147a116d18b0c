"""JSON of every command: one document on stdout with a format, errors included; summaries."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from every_command import IN_RUN, LINES, World, command_of, copy_world, output_of
from json_documents import SCHEMA, require_schema, type_of_line
from tracekit.analysis.result import Better, Measurement, Result, RuleCheck, Status
from tracekit.analysis.rule import Evidence, Fact, Finding
from tracekit.app.summaries import (
    MOST_BYTES,
    evidence_of,
    select_rule,
    summarize_result,
)
from tracekit.app.summary import summarize
from tracekit.base.recording import Process, Provenance
from tracekit.tables import Severity

# Commands that start workers or measure; and lines that print another document.
SLOW = {"capture", "record", "bench ab", "batch", "bench run", "bench tune", "kernel parity"}
LISTED = {"bench run, listed", "kernel parity, listed"}
OTHER = {
    "query, as a document",
    "gate, as Markdown",
    "gate, as a comment",
    "nightly history --output -",
}
PRINTS_JSON = [
    name for name in LINES if name in LISTED or (command_of(name) not in SLOW and name not in OTHER)
]


@pytest.fixture
def world(made: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "home")
    return copy_world(made, tmp_path / "world")


def test_the_published_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def json_words(world: World, name: str) -> list[str]:
    words = world.words(name)
    if "--json" in words:
        return words
    return [*words, "--json"]


@pytest.mark.parametrize("name", PRINTS_JSON)
def test_every_command_prints_one_document_with_its_format(
    name: str, world: World, tracekit: Any
) -> None:
    result = tracekit(*json_words(world, name))
    document = json.loads(result.out)
    assert document["format"] >= 1
    is_error = set(document) == {"error", "hint", "code", "format"}
    command = command_of(name)
    if is_error:
        require_schema(document, "ErrorDocument")
    else:
        require_schema(document, type_of_line(name, command))
    assert "Traceback" not in result.err
    if result.code == 0 and output_of(name) and name not in IN_RUN:
        assert (world.output_folder / output_of(name).lower()).exists()
    if is_error:
        assert document["code"] == result.code
        assert document["error"] in " ".join(result.err.split())


def test_an_error_is_a_document_too(tracekit: Any, tmp_path: Path) -> None:
    missing_run = tmp_path / "nowhere"
    for words, code, message in (
        (("analyze", missing_run), 2, f"{missing_run} does not exist."),
        (("analyze",), 2, "Missing argument 'INPUT…'."),
        (("compare", missing_run, "--no-such"), 2, "No such option: --no-such"),
        (("gate", missing_run, missing_run, missing_run), 2, ""),
        (("nonsense",), 2, "No such command 'nonsense'."),
    ):
        result = tracekit(*words, "--json")
        document = json.loads(result.out)
        assert (result.code, document["code"]) == (code, code), words
        assert message in document["error"], words
        assert tracekit(*words).out == "", words


def test_programs_after_two_dashes_keep_their_options(tracekit: Any, tmp_path: Path) -> None:
    words = ("capture", "--recorder", "host", "--output", tmp_path, "--after", "x", "--")
    result = tracekit(*words, "llama-bench", "-v", "--json")
    assert result.code == 2
    assert result.out == ""


GAPS = {"idle_host": 300, "idle_start_latency": 500, "idle_wiring": 0, "idle_by_lever": 800}
FINDING = Finding(
    rule="bubbles",
    severity=Severity.WARNING,
    message="The GPU was idle.",
    advice="Commit earlier.",
    evidence=(Evidence("gpu_intervals", 10, 20, "late"), Evidence("gpu_intervals", 50, 55)),
    saving=600,
    facts=(
        Fact("idle_share", 0.8, "ratio"),
        *(Fact(name, value, "ns") for name, value in GAPS.items()),
    ),
    cause="start-latency",
    lever="round-trips",
    effects=("shallow-queue",),
)
COUNTERS = "the recording has no counter samples."
RESULT = Result(
    provenance=Provenance(targets=(Process(7, "python3"),), warnings=("a", "b")),
    metrics=(
        Measurement("gpu_busy", 7267838, "ns", Better.NEITHER),
        Measurement("idle_ratio", 0.96008552, "ratio", Better.LOWER),
        Measurement("step_p50", None, "ns", Better.LOWER, "no steps"),
    ),
    findings=(FINDING,),
    checks=(
        RuleCheck("bubbles", Status.FOUND),
        RuleCheck("low-occupancy", Status.ABSTAINED, COUNTERS),
        RuleCheck("memory-bound", Status.ABSTAINED, COUNTERS),
        RuleCheck("pipeline-churn", Status.PASSED),
    ),
)


def test_a_summary_has_causes_as_numbers_and_each_reason_once() -> None:
    summary = summarize_result(RESULT, "mac")
    [finding] = summary.findings
    assert finding.causes == {"start_latency": 500, "host": 300}
    assert (finding.id, finding.saving, finding.evidence) == (1, 600, 2)
    [unjudged] = summary.not_judged
    assert (unjudged.reason, unjudged.count) == (COUNTERS, 2)
    assert [(number.name, number.value) for number in summary.numbers] == [
        ("gpu_busy", 7267838),
        ("idle_ratio", 0.960086),
    ]
    assert summary.checks == {"abstained": 2, "found": 1, "passed": 1}
    assert (summary.target, summary.remarks, summary.left_out) == ("python3 (7)", 2, 0)


def test_a_long_summary_is_cut_and_counts_the_entries_left_out() -> None:
    findings = tuple([FINDING] * 40)
    reasons = [RuleCheck(f"rule-{n}", Status.ABSTAINED, f"{n} " + "x y " * 60) for n in range(40)]
    long_result = Result(RESULT.provenance, RESULT.metrics, findings, tuple(reasons))
    summary = summarize_result(long_result, "r" * 200)
    assert len(msgspec.json.encode(summary)) < MOST_BYTES
    assert summary.left_out == 40 - len(summary.findings) + 40 - len(summary.not_judged)
    assert summary.findings[0].id == 1


def test_a_summary_of_text_has_at_most_eight_lines() -> None:
    findings = tuple([FINDING] * 5)
    lines = summarize(replace(RESULT, findings=findings)).lines
    names = [name for name, _ in lines]
    assert names == ["verdict", "target", "numbers", *["finding"] * 3, "not judged"]
    words = dict(lines)
    assert words["target"].startswith("python3")
    assert words["numbers"] == "gpu_busy 7.27 ms, idle_ratio 96.0 %"
    assert COUNTERS.rstrip(".") in words["not judged"]
    assert "numbers" not in dict(summarize(replace(RESULT, metrics=())).lines)


def test_a_rule_is_shown_with_the_finding_that_includes_it() -> None:
    assert select_rule(RESULT, "shallow-queue").findings == (FINDING,)
    assert select_rule(RESULT, "pipeline-churn").findings == ()
    assert [check.rule for check in select_rule(RESULT, "bubbles").checks] == ["bubbles"]


def test_evidence_is_found_by_the_id_of_its_finding() -> None:
    document = evidence_of(RESULT, 1)
    assert [(window.start, window.note) for window in document.evidence] == [(10, "late"), (50, "")]
    for number in (0, 2):
        with pytest.raises(Exception, match=f"There is no finding {number}"):
            evidence_of(RESULT, number)


def test_summaries_are_small_and_the_text_of_a_report_writes_nothing(
    world: World, tracekit: Any
) -> None:
    places = world.places()
    run, twin = places["RUN"], places["TWIN"]
    page = run / "report.html"
    page.unlink()
    for words in (
        ("analyze", run, "--json-summary"),
        ("analyze", run, "--json=summary"),
        ("compare", run, twin, "--json=summary"),
        ("nightly", "gate", run, twin, "--json=summary"),
        ("nightly", "gate", places["NIGHT"], "--json=summary"),
        ("doctor", "--json=summary"),
        ("report", run, "--summary", "--json"),
    ):
        result = tracekit(*words)
        assert len(result.out.encode()) <= 2000, words
        document = json.loads(result.out)
        assert document["format"] == 1, words
        kinds = {
            "compare": "ComparisonSummary",
            "nightly": "GateSummary",
            "doctor": "DoctorSummary",
        }
        require_schema(document, kinds.get(words[0], "ResultSummary"))
    text = tracekit("report", run, "--summary")
    assert (text.code, len(text.out.splitlines()) <= 10) == (0, True)
    one_rule = tracekit("analyze", run, "--rule", "low-occupancy")
    assert one_rule.out.startswith("low-occupancy  ")
    assert tracekit("analyze", run, "--rule", "nonsense").code == 2
    assert not page.exists()


def test_quiet_and_verbose_may_be_anywhere(world: World, tracekit: Any) -> None:
    run = world.places()["RUN"]
    plain = tracekit("analyze", run)
    quiet = tracekit("-q", "analyze", run)
    assert "Go on with" in plain.err or "warning" in plain.err
    assert (quiet.err, quiet.out) == ("", plain.out)
    assert tracekit("analyze", "--quiet", run).err == ""
    assert "analyze: " in tracekit("analyze", run, "-v").err
