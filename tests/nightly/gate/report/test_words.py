"""What the terminal shows of a gate's report."""

from dataclasses import replace

from tracekit.nightly.gate.report.model import CAPTURE, Case, GateReport, Suite, explained
from tracekit.nightly.gate.report.text import (
    COLUMNS,
    heading,
    sentences,
    tables,
    verdict,
    verdicts,
)
from tracekit.nightly.history.night import Outcome


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


def test_a_case_is_told_in_a_sentence_that_stands_alone() -> None:
    assert sentences(Case("a", "m", "metric", Outcome.OK, "it is so")) == "m: It is so."
    assert sentences(Case("a", "m", "metric", Outcome.OK)) == "m: Ok."
    assert sentences(Case("a", CAPTURE, "capture", Outcome.FAILED, "no GPU")) == "No GPU."


def test_a_suite_whose_cases_say_how_it_ended_stays_as_it_is() -> None:
    good = Suite("a", Outcome.OK, cases=(Case("a", "m", "metric", Outcome.OK),))
    assert explained(good) is good
    (case,) = explained(Suite("a", Outcome.FAILED, "no GPU")).cases
    assert (case.name, case.message, case.outcome) == ("capture", "no GPU", Outcome.FAILED)
