"""Lines that GitHub Actions turns into annotations of a pull request's files."""

from collections.abc import Iterator

from tracekit.nightly.gate.report.model import Case, GateReport, Suite
from tracekit.nightly.gate.report.words import said, sentences
from tracekit.nightly.history.night import LEADS, Outcome
from tracekit.report.text import visible

_COMMANDS = {
    Outcome.REGRESSION: "error",
    Outcome.FAILED: "error",
    Outcome.INCONCLUSIVE: "warning",
}


def annotations(report: GateReport) -> Iterator[str]:
    """Yield a line for each case that is not good, `::error file=…::message`."""
    for suite in report.suites:
        for case in suite.cases:
            command = _COMMANDS.get(case.outcome) if case.outcome else None
            if command is not None:
                yield _line(command, case, suite, report)


def _line(command: str, case: Case, suite: Suite, report: GateReport) -> str:
    assert case.outcome is not None
    known = {
        "file": visible(report.file),
        "line": str(suite.line) if suite.line and report.file else "",
        "title": f"{LEADS[case.outcome]}: {said(suite.name)}, {said(case.name)}",
    }
    properties = ",".join(f"{name}={_property(value)}" for name, value in known.items() if value)
    return f"::{command} {properties}::{_message(sentences(case))}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
