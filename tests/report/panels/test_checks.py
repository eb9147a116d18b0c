from typing import Any

from tracekit.analysis.result import Check, Status
from tracekit.report.panels.checks import checks
from tracekit.report.render import environment_of


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


def test_rules_that_give_one_reason_stand_together_on_the_page(bare: Any) -> None:
    given = tuple(
        Check(rule, Status.ABSTAINED, reason)
        for rule, reason in [("odd", "the moon is full."), ("a", "no GPU."), ("b", "no GPU.")]
    )
    context = checks.context(bare.having(checks=given).result, {})
    page = environment_of(str).get_template(f"{checks.name}.html").render(context)
    listed = page.partition("Could not be checked")[2]
    assert listed.count("<li>") == 2
    assert listed.count("no GPU.") == listed.count("the moon is full.") == 1
    assert listed.index("<code>b</code>") < listed.index("no GPU.") < listed.index("odd")


def test_no_checks_are_empty_lists(bare: Any) -> None:
    assert set(checks.context(bare.result, {})) == {
        "passed",
        "found",
        "abstained",
        "reasons",
        "failed",
    }
    assert not any(checks.context(bare.result, {}).values())
