from typing import Any

from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.report.panels.findings import MOST_WINDOWS, findings, ranked
from tracekit.report.render import environment_of


def found(rule: str, severity: Severity, saving: int | None = None, windows: int = 0) -> Finding:
    evidence = tuple(Evidence("steps", at, at + 1) for at in range(windows))
    return Finding(rule, severity, "m", "a", evidence, saving)


def test_findings_are_ranked_by_severity_and_then_by_saving() -> None:
    given = [
        found("note", Severity.NOTE, 99),
        found("small", Severity.WARNING, 1),
        found("unknown", Severity.WARNING),
        found("great", Severity.WARNING, 50),
        found("void", Severity.ERROR),
    ]
    assert [one.rule for one in ranked(given)] == ["void", "great", "small", "unknown", "note"]


def test_equal_findings_stay_in_their_order() -> None:
    given = [found("b", Severity.NOTE, 5), found("a", Severity.NOTE, 5)]
    assert [one.rule for one in ranked(given)] == ["b", "a"]


def test_windows_beyond_the_first_are_counted(bare: Any) -> None:
    many = found("r", Severity.NOTE, windows=MOST_WINDOWS + 5)
    template = environment_of(str).get_template(f"{findings.name}.html")
    page = template.render(findings.context(bare.having(findings=(many,)).result, {}))
    assert page.count("data-begin") == MOST_WINDOWS
    assert "and 5 more" in page
    assert "Seen in steps</li>" in page


def test_every_severity_has_a_sign_of_its_own(bare: Any) -> None:
    signs = findings.context(bare.result, {})["signs"]
    assert len({signs[severity] for severity in Severity}) == len(Severity)


def test_commands_in_advice_are_set_as_such_and_markup_stays_text(bare: Any) -> None:
    one = Finding("r", Severity.NOTE, "<b>", "See `tracekit compare A B`.")
    template = environment_of(str).get_template(f"{findings.name}.html")
    page = template.render(findings.context(bare.having(findings=(one,)).result, {}))
    assert "See <code>tracekit compare A B</code>." in page
    assert "&lt;b&gt;" in page


def test_no_findings_and_no_checks_are_told_apart(bare: Any, host_run: Any) -> None:
    assert findings.context(bare.result, {})["checked"] == 0
    assert findings.context(host_run.result, {})["checked"] == 4


def test_time_that_another_rule_counts_is_said_on_the_page(bare: Any) -> None:
    late = Finding("late-start", Severity.WARNING, "m", "a", saving=3_000, within="bubbles")
    template = environment_of(str).get_template(f"{findings.name}.html")
    page = template.render(findings.context(bare.having(findings=(late,)).result, {}))
    assert "<code>bubbles</code> counts that too" in page
