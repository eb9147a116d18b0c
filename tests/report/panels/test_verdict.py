from typing import Any

import pytest

from tracekit.analysis.result import Check, Result, Status
from tracekit.analysis.rule import Finding, Severity
from tracekit.base.recording import Provenance, Stage
from tracekit.report.panels.verdict import verdict, verdict_of


def found(severity: Severity, message: str, saving: int | None = None) -> Finding:
    return Finding("some-rule", severity, message, "", (), saving)


def ended(*statuses: Status) -> tuple[Check, ...]:
    return tuple(Check(f"rule-{index}", status) for index, status in enumerate(statuses))


IDLE = found(Severity.WARNING, "The GPU was idle for 30 % of the steady phase.", 5)
CHURN = found(Severity.WARNING, "2 pipelines are new.", 9)
SHARED = found(Severity.ERROR, "Other processes used the GPU.")
NOTE = found(Severity.NOTE, "Recording cost 1 %.")


@pytest.mark.parametrize(
    ("findings", "checks", "tone", "sentence"),
    [
        pytest.param(
            (), (), "unclear", "Nothing was checked, so nothing can be said.", id="no checks"
        ),
        pytest.param(
            (NOTE, IDLE, SHARED),
            ended(Status.FOUND),
            "error",
            "Do not trust these numbers yet: Other processes used the GPU.",
            id="an error comes first",
        ),
        pytest.param(
            (IDLE,),
            ended(Status.FOUND),
            "warning",
            "One thing costs time: The GPU was idle for 30 % of the steady phase.",
            id="one warning",
        ),
        pytest.param(
            (IDLE, CHURN),
            ended(Status.FOUND),
            "warning",
            "2 things cost time. The first: 2 pipelines are new.",
            id="the greatest saving is the first",
        ),
        pytest.param(
            (NOTE,),
            ended(Status.PASSED, Status.FOUND),
            "good",
            "No fault was found by 2 checks, and all could be made.",
            id="a note is no fault",
        ),
        pytest.param(
            (),
            ended(Status.PASSED, Status.ABSTAINED, Status.FAILED),
            "unclear",
            "No fault was found by 1 of 3 checks; 2 could not be made.",
            id="not all could be made",
        ),
        pytest.param(
            (),
            ended(Status.ABSTAINED),
            "unclear",
            "Nothing can be said: none of 1 check could be made.",
            id="none could be made",
        ),
    ],
)
def test_the_verdict_is_one_sentence(
    findings: tuple[Finding, ...], checks: tuple[Check, ...], tone: str, sentence: str
) -> None:
    result = Result(Provenance(), findings=findings, checks=checks)
    said = verdict_of(result)
    assert (said.tone, f"{said.lead} {said.message}".strip()) == (tone, sentence)


def test_the_numbers_that_matter_say_whose_clock_they_are_of(host_run: Any) -> None:
    numbers = verdict.context(host_run.result, host_run.tables)["numbers"]
    assert [(one["name"], one["value"], one["source"]) for one in numbers] == [
        ("tokens_per_second", "3,412 tokens/s", "the workload's own marks, host clock"),
        ("host_idle_ratio", "34.5 %", "work on the CPU, host clock; no GPU was measured"),
        ("step_p50", "8 ms", "the workload's own marks, host clock"),
    ]


def test_a_stage_that_broke_is_named(bare: Any) -> None:
    stages = {"record": Stage("done", "t"), "export": Stage("failed", "t", "The disk is full.")}
    broken = verdict.context(bare.having(provenance=Provenance(stages=stages)).result, {})["broken"]
    assert broken == [("export", Stage("failed", "t", "The disk is full."))]


def test_checks_are_counted_by_how_they_ended(host_run: Any) -> None:
    tally = verdict.context(host_run.result, host_run.tables)["tally"]
    assert [(number, words) for _, number, words in tally] == [
        (2, "findings"),
        (1, "passed"),
        (2, "could not be checked"),
        (0, "failed to run"),
    ]
