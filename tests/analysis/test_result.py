"""`result.json`: what reports and histories read."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from tracekit.analysis.result import (
    Better,
    Measurement,
    Reason,
    Result,
    RuleCheck,
    Status,
)
from tracekit.analysis.rule import Evidence, Fact, Finding, Severity
from tracekit.base.documents import encode_json, save
from tracekit.base.errors import InputError, RecordingError
from tracekit.base.recording import Process, Provenance
from tracekit.base.redaction import own_redaction

SEEN = (Evidence("gpu_intervals", 10, 20),)
RESULT = Result(
    Provenance(workload="paged", targets=(Process(1, "python3"),)),
    metrics=(
        Measurement("step_rate", 4.5, "steps/s", Better.HIGHER),
        Measurement("gpu_busy", None, "ns", Better.NEITHER, "the work ran on the CPU."),
    ),
    findings=(
        Finding(
            "bubbles",
            Severity.WARNING,
            "Idle for 20 %.",
            "Submit ahead.",
            SEEN,
            saving=10,
            wording="bubbles",
            facts=(Fact("idle", 10, "ns"),),
            cause="way-back",
            lever="round-trips",
            effects=("shallow-queue",),
            also="late-start",
        ),
    ),
    checks=(
        RuleCheck("bubbles", Status.FOUND),
        RuleCheck(
            "low-occupancy",
            Status.ABSTAINED,
            "none.",
            "tracekit capture --counters on -- PROGRAM",
        ),
    ),
)


def test_a_result_comes_back_from_the_fields_that_are_documented(tmp_path: Path) -> None:
    save(tmp_path / "result.json", RESULT)
    assert Result.load(tmp_path / "result.json") == RESULT
    document = json.loads((tmp_path / "result.json").read_text())
    assert document["format"] == 2
    assert document["metrics"] == [
        {
            "name": "step_rate",
            "value": 4.5,
            "unit": "steps/s",
            "better": "higher",
            "reason": "",
            "samples": [],
            "deviation": None,
        },
        {**asdict(RESULT.metrics[1]), "better": "neither", "samples": []},
    ]
    evidence = {"table": "gpu_intervals", "start": 10, "end": 20, "note": ""}
    other_fields = {"saving": 10, "saving_per_token": None, "within": "", "evidence": [evidence]}
    message_fields = {"message": "Idle for 20 %.", "advice": "Submit ahead."}
    data = {
        "wording": "bubbles",
        "facts": [{"name": "idle", "value": 10, "unit": "ns"}],
        "cause": "way-back",
        "lever": "round-trips",
        "effects": ["shallow-queue"],
        "also": "late-start",
    }
    finding = {"rule": "bubbles", "severity": "warning", **message_fields, **other_fields, **data}
    assert document["findings"] == [finding]
    assert document["checks"][1] == {
        "rule": "low-occupancy",
        "status": "abstained",
        "reason": "none.",
        "remedy": "tracekit capture --counters on -- PROGRAM",
        "log": "",
    }


def test_rules_with_one_reason_are_grouped_and_the_largest_group_is_first() -> None:
    checks = (
        RuleCheck("bubbles", Status.PASSED),
        RuleCheck("late-start", Status.ABSTAINED, "no steps."),
        RuleCheck("low-occupancy", Status.ABSTAINED, "no counters."),
        RuleCheck("broken", Status.FAILED, "no counters."),
        RuleCheck("memory-bound", Status.ABSTAINED, "no counters."),
        RuleCheck("quiet", Status.ABSTAINED),
    )
    checked = Result(Provenance(), checks=checks)
    assert checked.reasons(Status.ABSTAINED) == (
        Reason("no counters.", ("low-occupancy", "memory-bound")),
        Reason("no steps.", ("late-start",)),
        Reason("no reason is given", ("quiet",)),
    )
    assert checked.reasons(Status.FAILED) == (Reason("no counters.", ("broken",)),)
    two_remedies = (
        RuleCheck("low-occupancy", Status.ABSTAINED, "none.", "a"),
        RuleCheck("memory-bound", Status.ABSTAINED, "none.", "b"),
    )
    assert Result(Provenance(), checks=two_remedies).reasons(Status.ABSTAINED) == (
        Reason("none.", ("low-occupancy",), "a"),
        Reason("none.", ("memory-bound",), "b"),
    )
    assert RESULT.find_metric("nothing") is None


def test_every_text_of_a_result_is_redacted() -> None:
    text = "seen on Ada's Mac"
    evidence = (Evidence("gpu_intervals", 1, 2, text),)
    result = Result(
        Provenance(warnings=(text,)),
        metrics=(Measurement("gpu_busy", None, "ns", Better.NEITHER, text),),
        findings=(Finding("bubbles", Severity.WARNING, text, text, evidence, saving=1),),
        checks=(RuleCheck("bubbles", Status.FAILED, text),),
    )
    redacted_result = result.redact(own_redaction([("Ada's Mac", "<device>")]))
    document = encode_json(redacted_result).decode()
    assert "Ada" not in document
    assert document.count("seen on <device>") == 6
    assert redacted_result.findings[0].saving == 1


def test_a_run_that_was_not_analyzed_says_so(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="does not exist") as error:
        Result.load(tmp_path / "result.json")
    assert "tracekit analyze" in error.value.hint


def test_a_damaged_result_or_one_of_a_newer_format_is_refused(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for text, message in (
        *((text, "cannot be read") for text in ("", "{", "[]", '{"metrics": 3}')),
        ('{"format": 99, "provenance": "somewhere else now"}', "format 99"),
    ):
        (tmp_path / "result.json").write_text(text)
        with subtests.test(text):
            with pytest.raises(InputError, match=message) as error:
                Result.load(tmp_path / "result.json")
            assert ("tracekit analyze" in error.value.hint) == (message == "cannot be read")


def test_checks_are_summed_up_in_a_sentence() -> None:
    passed, found, abstained, failed, inapplicable = (
        [RuleCheck("rule", status)]
        for status in (
            *(Status.PASSED, Status.FOUND, Status.ABSTAINED, Status.FAILED),
            Status.NOT_APPLICABLE,
        )
    )
    for checks, sentence in (
        ([], "Nothing was checked."),
        (inapplicable * 3, "No check applies to this recording."),
        (passed * 8 + inapplicable * 3, "Passed all checks that apply: 8."),
        (
            passed * 8 + abstained * 4 + inapplicable * 30,
            "Passed 8 of 12 checks that apply; 4 could not be judged.",
        ),
        (
            passed * 2 + found * 3 + abstained + failed,
            "Passed 2 of 7 checks that apply; 3 found something, 1 could not be judged, 1 failed.",
        ),
    ):
        result = Result(Provenance(), checks=tuple(checks))
        assert result.summarize_checks() == sentence, checks
