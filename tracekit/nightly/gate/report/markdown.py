"""Markdown of GitHub's flavour: for a step's summary, or a comment."""

import re
from collections.abc import Iterator, Sequence

from tracekit.base.units import stamp
from tracekit.nightly.gate.report.model import GateReport, Suite
from tracekit.nightly.gate.report.words import COLUMNS, heading, row, said, titled
from tracekit.nightly.history.night import Outcome

MOST = 1 << 20
"""How many bytes GitHub takes as the summary of a step."""
_CUT = "\n\n… the rest does not fit; `tracekit gate --markdown FILE` has all of it.\n"
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&$])")
# What begins a list, a rule or the line below a heading.
_BEGINNING = re.compile(r"^(\d{1,9}(?=[.)](?:\s|$))|(?=[-+=]+(?:\s|$)))")
_MARKS = {
    Outcome.OK: "✅",
    Outcome.REGRESSION: "❌",
    Outcome.FAILED: "💥",
    Outcome.INCONCLUSIVE: "❔",
}
_FACTS = ("chip", "os", "os_build", "xcode_build", "mlx", "python", "tracekit")


def markdown(report: GateReport) -> str:
    """Return the report as Markdown."""
    return "\n".join(_lines(report)) + "\n"


def summary(report: GateReport, room: int = MOST) -> str:
    """Return the report as Markdown of `room` bytes at most, cut between two lines."""
    text = markdown(report)
    if len(text.encode()) <= room:
        return text
    kept = text.encode()[: max(room - len(_CUT.encode()), 0)]
    whole = kept[: kept.rfind(b"\n") + 1].decode()
    return whole.rstrip() + _CUT if whole else ""


def escaped(text: str) -> str:
    """Return a text that Markdown shows as it is, on one line."""
    return _BEGINNING.sub(r"\1\\", _SPECIAL.sub(r"\\\1", said(text)))


def _lines(report: GateReport) -> Iterator[str]:
    yield f"## {_MARKS[report.outcome]} {escaped(heading(report))}"
    yield ""
    yield f"{escaped(report.title)}{_when(report)}"
    for suite in report.suites:
        yield from _suite(suite)
    known = [f"{one}: {report.environment[one]}" for one in _FACTS if one in report.environment]
    if known:
        yield from ("", escaped(", ".join(known)))
    for warning in report.warnings:
        yield from ("", f"> {escaped(warning)}")
    if report.links:
        yield ""
        yield from (f"- {escaped(one.words)}: {escaped(one.target)}" for one in report.links)
    yield from ("", "<!-- made by tracekit -->")


def _when(report: GateReport) -> str:
    told = [stamp(report.started)] if report.started else []
    told += [f"commit {report.commit}"] if report.commit else []
    told += [f"machine {report.machine}"] if report.machine else []
    return f" ({escaped(', '.join(told))})" if told else ""


def _suite(suite: Suite) -> Iterator[str]:
    yield from ("", f"### {_MARKS[suite.outcome]} {escaped(titled(suite))}", "")
    if suite.reason:
        yield from (escaped(suite.reason), "")
    rows = [row(one) for one in suite.cases if one.kind != "finding"]
    if rows:
        yield from _table(COLUMNS, rows)
    found = [one for one in suite.cases if one.kind == "finding"]
    if found:
        yield ""
    for one in found:
        mark = f"{_MARKS[one.outcome]} " if one.outcome else ""
        yield f"- {mark}**{escaped(one.name)}** {escaped(one.message)}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{' --- |' * len(columns)}"
    yield from (f"| {' | '.join(escaped(cell) for cell in cells)} |" for cells in rows)
