"""A gate's report as a comment on a pull request, in a few lines."""

from collections.abc import Iterator

from tracekit.nightly.gate.report import text
from tracekit.nightly.gate.report.model import Case, GateReport
from tracekit.nightly.history.night import Outcome
from tracekit.pages import escape_markdown, markdown_table
from tracekit.pages.text import clip

MOST_LINES = 12  # with a link to the pages, and a mark to find the comment again, 15
_MOST_ROWS = 4
_MOST_NAMES = 4
_HEADING = 160  # characters
_NAME = 60
_COLUMNS = ("metric", "before", "after", "change", "95 % interval", "outcome")
_MARK = "<!-- made by tracekit -->"
_NO_MENTION = "@<!-- -->"  # looks the same, and notifies nobody whose name a trace contains


def format_comment(report: GateReport) -> str:
    """Return the verdict, the metrics that decide and the findings, in at most `MOST_LINES` lines.

    Cases that are not ok come first. Those that have no place are counted.
    """
    lines = "\n".join(_lines(report)) + "\n"
    return lines.replace("@", _NO_MENTION)


def _lines(report: GateReport) -> Iterator[str]:
    mark = text.MARKS[report.outcome]
    yield f"### {mark} {_clean(text.heading(report), _HEADING)} {_MARK}"
    yield ""
    yield _clean(report.title, _HEADING) + text.describe_origin(report)
    decisions = _rank_decisions(report)
    shown_decisions = decisions[:_MOST_ROWS]
    if shown_decisions:
        yield ""
        rows = [_row(case, report) for case in shown_decisions]
        yield from markdown_table(_COLUMNS, rows)
    remainder = list(_name_remainder(report, len(decisions) - len(shown_decisions)))
    if remainder:
        yield ""
        yield escape_markdown("; ".join(remainder)) + "."


def _rank_decisions(report: GateReport) -> list[Case]:
    """Return the metrics and captures that decide, regressions first and those that are ok last."""
    severities = list(Outcome)
    ranked: list[tuple[int, Case]] = []
    for case in report.cases:
        if case.outcome is None or case.kind == "finding":
            continue
        is_ok = case.outcome is Outcome.OK
        severity = len(severities) if is_ok else severities.index(case.outcome)
        ranked.append((severity, case))
    ranked.sort(key=lambda pair: pair[0])
    return [case for _, case in ranked]


def _row(case: Case, report: GateReport) -> tuple[str, ...]:
    numbers = text.numbers(case)
    change = numbers["at equal pace"]
    if change == text.NOTHING:
        change = numbers["measured"]
    name = case.name
    if len(report.suites) > 1:
        name = f"{case.suite}: {name}"
    outcome = str(case.outcome)
    if case.kind == "capture":
        outcome = text.ruling(case)
    return (
        clip(text.flatten_text(name), _NAME),
        numbers["reference"],
        numbers["candidate"],
        change,
        numbers["95 % interval"],
        clip(outcome, _NAME),
    )


def _name_remainder(report: GateReport, others: int) -> Iterator[str]:
    """Yield phrases for all that the table does not show."""
    if others:
        yield f"more that decide: {others}"
    followed = sum(1 for case in report.cases if case.kind == "metric" and case.outcome is None)
    if followed:
        yield f"only followed: {followed}"
    findings = [text.flatten_text(case.name) for case in report.cases if case.kind == "finding"]
    if findings:
        names = ", ".join(clip(name, _NAME) for name in findings[:_MOST_NAMES])
        rest = len(findings) - _MOST_NAMES
        if rest > 0:
            names = f"{names} and {rest} more"
        yield f"findings: {names}"
    if report.warnings:
        yield f"remarks: {len(report.warnings)}"


def _clean(words: str, longest: int) -> str:
    return escape_markdown(clip(text.flatten_text(words), longest))
