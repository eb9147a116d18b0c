"""A gate's report in words: for the terminal, Markdown, GitHub's annotations."""

from collections.abc import Iterator, Sequence

from tracekit.base import quantity, stamp
from tracekit.compare import Shown
from tracekit.nightly.gate.report.model import Case, GateReport, Suite
from tracekit.nightly.history.night import LEADS, Outcome
from tracekit.report import escape_markdown, line, markdown_table, sentence, visible

Table = tuple[str, Sequence[str], list[Sequence[str]]]
NOTHING = "—"
COLUMNS = (
    *("metric", "reference", "candidate", "measured", "at equal pace", "95 % interval"),
    *("threshold", "outcome"),
)
_SHOWN = COLUMNS[:6]
_LINE = 100  # characters
_FINDINGS = ("finding", "severity", "outcome", "what it says")


def heading(report: GateReport) -> str:
    """Return the verdict in a line, with all that led to it."""
    reason = flatten_text(report.reason)
    return f"{LEADS[report.outcome]}: {reason}" if reason else LEADS[report.outcome]


def verdict(report: GateReport) -> str:
    """Return the verdict in a line of a terminal; where that is too short, `verdicts` says why."""
    full_heading = heading(report)
    if len(full_heading) <= _LINE:
        return full_heading
    suite_names = ", ".join(
        flatten_text(suite.name) for suite in report.suites if suite.outcome is report.outcome
    )
    return f"{LEADS[report.outcome]}: {suite_names}" if suite_names else full_heading


def verdicts(report: GateReport) -> list[Sequence[str]]:
    """Return how each case that decides ended, and why."""
    return [
        (
            str(case.outcome),
            flatten_text(case.suite if case.kind == "capture" else f"{case.suite} {case.name}"),
            flatten_text(case.message),
        )
        for case in report.cases
        if case.outcome is not None
    ]


def searches(report: GateReport) -> Iterator[str]:
    """Yield the command lines that find the commits of regressions."""
    return (
        flatten_text(search) for suite in report.suites if (search := suite.labels.get("search"))
    )


def tables(report: GateReport) -> Iterator[Table]:
    """Yield the tables that a terminal shows: metrics of each capture, then its findings."""
    for suite in report.suites:
        metrics = [case for case in suite.cases if case.kind == "metric"]
        rows = [
            row(metric)[: len(_SHOWN)]
            for metric in metrics
            if metric.candidate is not None or metric.reference is not None
        ]
        if rows:
            yield format_title(suite), _SHOWN, rows
        finding_rows: list[Sequence[str]] = [
            (
                flatten_text(case.name),
                case.severity,
                str(case.outcome or "followed"),
                flatten_text(case.message),
            )
            for case in suite.cases
            if case.kind == "finding"
        ]
        if finding_rows:
            yield f"{flatten_text(suite.name)}: findings", _FINDINGS, finding_rows


def format_title(suite: Suite) -> str:
    """Return what was measured against what, and what its changes come on top of."""
    candidate, reference = (suite.labels.get(role, "") for role in ("candidate", "reference"))
    against = f": {candidate} against {reference}" if candidate and reference else ""
    if candidate and not reference:
        against = f": {candidate}, followed without a reference"
    beyond = next((case.baseline for case in suite.cases if case.baseline), "")
    expected = f"; changes beyond the baseline {beyond}" if beyond else ""
    return flatten_text(suite.name + against + expected)


def row(case: Case) -> Sequence[str]:
    """Return the cells of a metric, in the order of `COLUMNS`."""
    return flatten_text(case.name), *numbers(case).values(), ruling(case)


def numbers(case: Case) -> dict[str, str]:
    """Return what is known of a metric in numbers, in words, by the names of `COLUMNS`."""
    formatter = Shown(case.scale, case.unit)
    interval = case.low is not None and case.high is not None
    texts = (
        None if case.reference is None else quantity(case.reference, case.unit),
        None if case.candidate is None else quantity(case.candidate, case.unit),
        None if case.measured is None else formatter.change(case.measured),
        None if case.change is None else formatter.change(case.change),
        formatter.format_interval(case.low or 0.0, case.high or 0.0) if interval else None,
        None if case.threshold is None else formatter.amount(case.threshold),
    )
    cells = (NOTHING if words is None else flatten_text(words) for words in texts)
    return dict(zip(COLUMNS[1:-1], cells, strict=True))


def flatten_text(text: str) -> str:
    """Return a text on one line: what somebody else wrote breaks no table and no log."""
    return line(text, longest=1000)


def sentences(case: Case) -> str:
    """Return what became of a case, in words that stand alone: its name, then why."""
    message = sentence(flatten_text(case.message or str(case.outcome or "")))
    return message if case.kind == "capture" else f"{flatten_text(case.name)}: {message}"


def ruling(case: Case) -> str:
    """Return how a case ended, and why."""
    lead, message = str(case.outcome or "followed"), flatten_text(case.message)
    return f"{lead}: {message}" if message and message != lead else lead


_MARKS = {
    Outcome.OK: "✅",
    Outcome.REGRESSION: "❌",
    Outcome.FAILED: "💥",
    Outcome.INCONCLUSIVE: "❔",
    Outcome.UNJUDGED: "⚪",
}
_FACTS = ("chip", "os", "os_build", "xcode_build", "mlx", "python", "tracekit")


def markdown(report: GateReport) -> str:
    """Return the report as Markdown."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: GateReport) -> Iterator[str]:
    yield f"## {_MARKS[report.outcome]} {escape_markdown(heading(report))}"
    yield ""
    yield f"{escape_markdown(report.title)}{_when(report)}"
    for suite in report.suites:
        yield from _suite(suite)
    facts = [f"{fact}: {report.environment[fact]}" for fact in _FACTS if fact in report.environment]
    if facts:
        yield from ("", escape_markdown(", ".join(facts)))
    for warning in report.warnings:
        yield from ("", f"> {escape_markdown(warning)}")
    if report.links:
        yield ""
        yield from (
            f"- {escape_markdown(link.words)}: {escape_markdown(link.target)}"
            for link in report.links
        )
    yield from ("", "<!-- made by tracekit -->")


def _when(report: GateReport) -> str:
    facts = [stamp(report.started)] if report.started else []
    facts += [f"commit {report.commit}"] if report.commit else []
    facts += [f"machine {report.machine}"] if report.machine else []
    return f" ({escape_markdown(', '.join(facts))})" if facts else ""


def _suite(suite: Suite) -> Iterator[str]:
    yield from ("", f"### {_MARKS[suite.outcome]} {escape_markdown(format_title(suite))}", "")
    if suite.reason:
        yield from (escape_markdown(suite.reason), "")
    if search := suite.labels.get("search"):
        yield from ("To find the commit:", "", f"    {flatten_text(search)}", "")
    if kind := suite.labels.get("reference kind"):
        yield from (escape_markdown(f"The reference is {kind}."), "")
    if state := suite.labels.get("machine state"):
        yield from (escape_markdown(f"The machine meanwhile: {state}"), "")
    rows = [row(case) for case in suite.cases if case.kind != "finding"]
    if rows:
        yield from markdown_table(COLUMNS, rows)
    findings = [case for case in suite.cases if case.kind == "finding"]
    if findings:
        yield ""
    for finding in findings:
        mark = f"{_MARKS[finding.outcome]} " if finding.outcome else ""
        yield f"- {mark}**{escape_markdown(finding.name)}** {escape_markdown(finding.message)}"


def annotations(report: GateReport) -> Iterator[str]:
    """Yield a line for each case that is not good, `::error file=…::message`."""
    for suite in report.suites:
        line = str(suite.line) if suite.line and report.file else ""
        place = {"file": visible(report.file), "line": line}
        for case in suite.cases:
            if (outcome := case.outcome) is None or outcome is Outcome.OK:
                continue
            command = "error" if outcome in {Outcome.REGRESSION, Outcome.FAILED} else "warning"
            title = f"{LEADS[outcome]}: {flatten_text(suite.name)}, {flatten_text(case.name)}"
            attributes = [
                (name, value) for name, value in (*place.items(), ("title", title)) if value
            ]
            properties = ",".join(f"{name}={_property(value)}" for name, value in attributes)
            yield f"::{command} {properties}::{_message(sentences(case))}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
