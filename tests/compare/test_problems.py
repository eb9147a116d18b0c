"""What became of findings, and what was never looked for."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tracekit.analysis.result import Check, Status
from tracekit.analysis.rule import Finding, Severity
from tracekit.compare.differences import Became, finding_changes

Make = Callable[..., Any]
TIMES = [1000] * 40
IDLE = Finding("bubbles", Severity.WARNING, "The GPU was idle.", "Submit ahead.", saving=1000)
PASSED = Check("bubbles", Status.PASSED)


def found(sample: Make, *findings: Finding) -> Any:
    return sample(TIMES, findings=findings, checks=[Check("bubbles", Status.FOUND)])


def passed(sample: Make) -> Any:
    return sample(TIMES, checks=[PASSED])


def test_new_and_gone_are_what_the_other_side_looked_for(sample: Make) -> None:
    (new,) = finding_changes([passed(sample)], [found(sample, IDLE)])
    assert (new.course, new.before, new.after) == (Became.APPEARED, None, IDLE)
    (gone,) = finding_changes([found(sample, IDLE)], [passed(sample)])
    assert (gone.course, gone.runs_before, gone.runs_after) == (Became.GONE, 1, 0)


def test_what_was_never_looked_for_is_not_gone(sample: Make) -> None:
    blind = sample(TIMES, checks=[Check("bubbles", Status.ABSTAINED, "there is no table.")])
    (change,) = finding_changes([found(sample, IDLE)], [blind])
    assert change.course is Became.UNKNOWN
    assert change.reason == "there is no table."
    (older,) = finding_changes([sample(TIMES)], [found(sample, IDLE)])
    assert older.course is Became.UNKNOWN
    assert older.reason == "the rule was not among those that judged"


@pytest.mark.parametrize(
    ("saving", "course"),
    [(1000, Became.STAYED), (1100, Became.STAYED), (1500, Became.GREW), (500, Became.SHRANK)],
)
def test_a_finding_grows_with_what_it_costs(sample: Make, saving: int, course: Became) -> None:
    after = replace(IDLE, saving=saving)
    (change,) = finding_changes([found(sample, IDLE)], [found(sample, after)])
    assert change.course is course


def test_a_finding_grows_with_its_severity(sample: Make) -> None:
    error = replace(IDLE, severity=Severity.ERROR, saving=1)
    (change,) = finding_changes([found(sample, IDLE)], [found(sample, error)])
    assert change.course is Became.GREW
    assert change.severity is Severity.ERROR
    (back,) = finding_changes([found(sample, error)], [found(sample, IDLE)])
    assert back.course is Became.SHRANK


def test_of_many_findings_of_a_rule_the_worst_counts(sample: Make) -> None:
    small = replace(IDLE, saving=10)
    (change,) = finding_changes([found(sample, small, IDLE)], [found(sample, IDLE, small)])
    assert change.course is Became.STAYED
    assert change.before == IDLE


def test_new_ones_come_first_and_several_runs_are_counted(sample: Make) -> None:
    other = replace(IDLE, rule="another")
    clean = sample(TIMES, checks=[PASSED, Check("another", Status.PASSED)])
    before = [found(sample, other), found(sample, other), clean]
    changes = finding_changes(before, [found(sample, IDLE, other)])
    assert [one.rule for one in changes] == ["another", "bubbles"]
    assert changes[0].runs_before == 2
    assert changes[1].course is Became.UNKNOWN, "two runs before say nothing of it"
