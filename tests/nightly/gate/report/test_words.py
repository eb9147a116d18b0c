"""What the terminal shows of a gate's report."""

from dataclasses import replace
from typing import Any

import pytest

from tracekit.nightly.gate.report.model import CAPTURE, Case, GateReport, Suite, explained
from tracekit.nightly.gate.report.text import (
    COLUMNS,
    heading,
    row,
    sentences,
    shift,
    tables,
    verdict,
    verdicts,
)
from tracekit.nightly.history.night import Outcome


def test_the_first_line_is_the_verdict(report: GateReport) -> None:
    assert heading(report) == "Failed: serve failed; decode is worse."
    assert heading(GateReport("t", "s", Outcome.OK)) == "OK"


def test_metrics_and_findings_stand_in_tables(report: GateReport) -> None:
    titles = [title for title, _, _ in tables(report)]
    assert titles == [
        "decode: this tree against revision main",
        "decode: findings",
        "prefill: this tree against revision main",
        "micro: this tree against revision main",
    ]
    _, columns, rows = next(tables(report))
    assert columns == COLUMNS[:6]
    assert rows[1] == ("memory_peak", "—", "2.79 GiB", "—", "—", "—")


def test_a_terminal_gets_the_verdict_and_a_row_for_each_case_that_decides(
    report: GateReport,
) -> None:
    assert verdict(report) == heading(report)
    assert verdict(replace(report, reason="Too long. " * 20)) == "Failed: serve"
    assert verdict(GateReport("t", "s", Outcome.OK)) == "OK"
    rows = verdicts(report)
    assert {row[0] for row in rows} == {"ok", "regression", "failed", "inconclusive"}
    assert not [row for row in rows if "memory_peak" in row[1]]
    assert [row[1] for row in rows if row[0] == "failed"] == ["serve"]


@pytest.mark.parametrize(
    ("scale", "unit", "value", "words"),
    [
        ("ratio", "ns", 0.0981, "+9.8 %"),
        ("ratio", "ns", -0.02, "-2.0 %"),
        ("difference", "ratio", 0.02, "+2.0 points"),
        ("difference", "count", 1.0, "+1"),
        ("difference", "ns", -1500.0, "-1.50 µs"),
    ],
)
def test_a_change_is_on_its_scale(scale: Any, unit: str, value: float, words: str) -> None:
    case = Case("a", "m", "metric", Outcome.OK, unit=unit, scale=scale)
    assert shift(value, case) == words


def test_a_threshold_has_no_sign() -> None:
    case = Case("a", "m", "metric", Outcome.OK, unit="count", scale="difference", threshold=1.0)
    assert row(case)[6] == "1"


def test_a_case_is_told_in_a_sentence_that_stands_alone() -> None:
    assert sentences(Case("a", "m", "metric", Outcome.OK, "it is so")) == "m: It is so."
    assert sentences(Case("a", "m", "metric", Outcome.OK)) == "m: Ok."
    assert sentences(Case("a", CAPTURE, "capture", Outcome.FAILED, "no GPU")) == "No GPU."


def test_a_line_of_somebody_else_stays_one_line() -> None:
    case = Case("a", "m\n::error::x", "metric", Outcome.OK, "one\ntwo\u2028three")
    assert all("\n" not in cell and "\u2028" not in cell for cell in row(case))


def test_a_suite_whose_cases_say_how_it_ended_stays_as_it_is() -> None:
    good = Suite("a", Outcome.OK, cases=(Case("a", "m", "metric", Outcome.OK),))
    assert explained(good) is good
    (case,) = explained(Suite("a", Outcome.FAILED, "no GPU")).cases
    assert (case.name, case.message, case.outcome) == ("capture", "no GPU", Outcome.FAILED)
