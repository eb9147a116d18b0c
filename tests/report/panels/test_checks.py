from typing import Any

from tracekit.analysis.result import Check, Status
from tracekit.report.panels.checks import checks


def test_checks_are_sorted_by_how_they_ended(bare: Any) -> None:
    given = (
        Check("a", Status.PASSED),
        Check("b", Status.FAILED, "ZeroDivisionError"),
        Check("c", Status.ABSTAINED, "no counters"),
        Check("d", Status.FOUND),
        Check("e", Status.PASSED),
    )
    context = checks.context(bare.having(checks=given).result, {})
    assert [one.rule for one in context["passed"]] == ["a", "e"]
    assert context["failed"] == [given[1]]
    assert context["abstained"] == [given[2]]
    assert context["found"] == [given[3]]


def test_no_checks_are_four_empty_lists(bare: Any) -> None:
    assert set(checks.context(bare.result, {})) == {"passed", "found", "abstained", "failed"}
    assert not any(checks.context(bare.result, {}).values())
