"""A gate's report in words: for the terminal, Markdown, GitHub's annotations."""

from collections.abc import Iterator, Sequence

from tracekit.base import streams, units, verdicts
from tracekit.nightly.gate.report.model import Case, GateReport, Suite
from tracekit.nightly.history.night import LEADS, Outcome
from tracekit.pages import escape_markdown, markdown_table, text

Table = tuple[str, Sequence[str], list[Sequence[str]]]
NOTHING = "—"
COLUMNS = (
    "metric",
    "reference",
    "candidate",
    "measured",
    "at equal pace",
    "95 % interval",
    "threshold",
    "outcome",
)
_SHOWN = COLUMNS[:6]
_LINE = 100  # characters
_FINDINGS = ("finding", "severity", "outcome", "message")


def heading(report: GateReport) -> str:
    """Return the verdict in a line, with the whole reason."""
    lead = _find_lead(report)
    reason = flatten_text(report.reason)
    if not reason:
        return lead
    return f"{lead}: {reason}"


def verdict(report: GateReport) -> str:
    """Return the verdict in a line of a terminal; if it is cut, `verdict_rows` lists reasons."""
    full_heading = heading(report)
    if len(full_heading) <= _LINE:
        return full_heading
    suites = [suite for suite in report.suites if suite.outcome is report.outcome]
    suite_names = ", ".join(flatten_text(suite.name) for suite in suites)
    if not suite_names:
        return full_heading
    return f"{_find_lead(report)}: {suite_names}"


def _find_lead(report: GateReport) -> str:
    """Return the words that begin the verdict."""
    return report.lead or LEADS[report.outcome]


def verdict_rows(report: GateReport) -> list[Sequence[str]]:
    """Return the outcome, the name and the reason of each case that decides."""
    rows: list[Sequence[str]] = []
    for case in report.cases:
        if case.outcome is None:
            continue
        name = case.suite
        if case.kind != "capture":
            name = f"{case.suite} {case.name}"
        rows.append((str(case.outcome), flatten_text(name), flatten_text(case.message)))
    return rows


def searches(report: GateReport) -> Iterator[str]:
    """Yield the command lines that find the commits of regressions."""
    for suite in report.suites:
        search = suite.labels.get("search")
        if search:
            yield flatten_text(search)


def tables(report: GateReport) -> Iterator[Table]:
    """Yield the tables that a terminal shows: the metrics of each capture, then its findings."""
    for suite in report.suites:
        metric_rows: list[Sequence[str]] = []
        finding_rows: list[Sequence[str]] = []
        for case in suite.cases:
            if case.kind == "finding":
                finding_rows.append(_finding_row(case))
            if case.kind == "metric" and not _lacks_values(case):
                metric_rows.append(row(case)[: len(_SHOWN)])
        if metric_rows:
            yield format_title(suite), _SHOWN, metric_rows
        if finding_rows:
            yield f"{flatten_text(suite.name)}: findings", _FINDINGS, finding_rows


def _lacks_values(case: Case) -> bool:
    return case.candidate is None and case.reference is None


def _finding_row(case: Case) -> Sequence[str]:
    """Return the cells of a finding, in the order of `_FINDINGS`."""
    outcome = str(case.outcome or "followed")
    return (flatten_text(case.name), case.severity, outcome, flatten_text(case.message))


def format_title(suite: Suite) -> str:
    """Return a title with both sides, and with the baseline if there is one."""
    title = suite.name
    candidate = suite.labels.get("candidate", "")
    reference = suite.labels.get("reference", "")
    if candidate and reference:
        title = f"{title}: {candidate} against {reference}"
    elif candidate:
        title = f"{title}: {candidate}, followed without a reference"
    baselines = [case.baseline for case in suite.cases if case.baseline]
    if baselines:
        title = f"{title}; changes beyond the baseline {baselines[0]}"
    return flatten_text(title)


def row(case: Case) -> Sequence[str]:
    """Return the cells of a metric, in the order of `COLUMNS`."""
    return flatten_text(case.name), *numbers(case).values(), ruling(case)


def numbers(case: Case) -> dict[str, str]:
    """Return the numbers of a metric in words, by the names of `COLUMNS`; `NOTHING` if missing."""
    formatter = verdicts.Shown(case.scale, case.unit)
    texts: dict[str, str] = {}
    if case.reference is not None:
        texts["reference"] = units.quantity(case.reference, case.unit)
    if case.candidate is not None:
        texts["candidate"] = units.quantity(case.candidate, case.unit)
    if case.measured is not None:
        texts["measured"] = formatter.change(case.measured)
    if case.change is not None:
        texts["at equal pace"] = formatter.change(case.change)
    if case.low is not None and case.high is not None:
        texts["95 % interval"] = formatter.format_interval(case.low, case.high)
    if case.threshold is not None:
        texts["threshold"] = formatter.amount(case.threshold)
    return {column: flatten_text(texts.get(column, NOTHING)) for column in COLUMNS[1:-1]}


def flatten_text(words: str) -> str:
    """Return words on one line, so that foreign text breaks no table and no log."""
    return text.line(words, longest=1000)


def sentences(case: Case) -> str:
    """Return the name of a case and its reason, in words that need no context."""
    message = text.sentence(flatten_text(case.message or str(case.outcome or "")))
    if case.kind == "capture":
        return message
    return f"{flatten_text(case.name)}: {message}"


def ruling(case: Case) -> str:
    """Return the outcome of a case, and the reason."""
    lead = str(case.outcome or "followed")
    message = flatten_text(case.message)
    if not message or message == lead:
        return lead
    return f"{lead}: {message}"


MARKS = {
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
    yield f"## {MARKS[report.outcome]} {escape_markdown(heading(report))}"
    yield ""
    yield f"{escape_markdown(report.title)}{describe_origin(report)}"
    for suite in report.suites:
        yield from _suite(suite)
    environment = report.environment
    facts = [f"{fact}: {environment[fact]}" for fact in _FACTS if fact in environment]
    if facts:
        yield ""
        yield escape_markdown(", ".join(facts))
    for warning in report.warnings:
        yield ""
        yield f"> {escape_markdown(warning)}"
    if report.links:
        yield ""
    for link in report.links:
        yield f"- {escape_markdown(link.words)}: {escape_markdown(link.target)}"
    yield ""
    yield "<!-- made by tracekit -->"


def describe_origin(report: GateReport) -> str:
    """Return time, commit and machine in parentheses; empty if none is known."""
    facts: list[str] = []
    if report.started:
        facts.append(units.stamp(report.started))
    if report.commit:
        facts.append(f"commit {report.commit}")
    if report.machine:
        facts.append(f"machine {report.machine}")
    if not facts:
        return ""
    return f" ({escape_markdown(', '.join(facts))})"


def _suite(suite: Suite) -> Iterator[str]:
    yield from ("", f"### {MARKS[suite.outcome]} {escape_markdown(format_title(suite))}", "")
    if suite.reason:
        yield from (escape_markdown(suite.reason), "")
    search = suite.labels.get("search")
    if search:
        yield from ("To find the commit:", "", f"    {flatten_text(search)}", "")
    kind = suite.labels.get("reference kind")
    if kind:
        yield from (escape_markdown(f"The reference is {kind}."), "")
    state = suite.labels.get("machine state")
    if state:
        yield from (escape_markdown(f"The machine meanwhile: {state}"), "")
    rows = [row(case) for case in suite.cases if case.kind != "finding"]
    if rows:
        yield from markdown_table(COLUMNS, rows)
    findings = [case for case in suite.cases if case.kind == "finding"]
    if findings:
        yield ""
    for finding in findings:
        mark = ""
        if finding.outcome:
            mark = f"{MARKS[finding.outcome]} "
        yield f"- {mark}**{escape_markdown(finding.name)}** {escape_markdown(finding.message)}"


def annotations(report: GateReport) -> Iterator[str]:
    """Yield a line for each case that is not good, `::error file=…::message`."""
    for suite in report.suites:
        for case in suite.cases:
            outcome = case.outcome
            if outcome is None or outcome is Outcome.OK:
                continue
            command = "error" if outcome in {Outcome.REGRESSION, Outcome.FAILED} else "warning"
            title = f"{LEADS[outcome]}: {flatten_text(suite.name)}, {flatten_text(case.name)}"
            properties = ",".join([*_place(suite, report), f"title={_property(title)}"])
            yield f"::{command} {properties}::{_message(sentences(case))}"


def _place(suite: Suite, report: GateReport) -> Iterator[str]:
    """Yield the properties of an annotation for its place: file and line."""
    file = streams.visible(report.file)
    if file:
        yield f"file={_property(file)}"
    if suite.line and report.file:
        yield f"line={suite.line}"


def _message(words: str) -> str:
    return words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(words: str) -> str:
    return _message(words).replace(":", "%3A").replace(",", "%2C")
