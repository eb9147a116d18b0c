"""Results for people: of an analysis, of one rule, the evidence of a finding, and the doctor's."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracekit import analysis, record
from tracekit.base import files, units
from tracekit.cli import console

if TYPE_CHECKING:
    from tracekit import app
    from tracekit.base import Recording

_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}  # by severity
_VERDICTS = {
    "ok": "green",
    "warning": "bold yellow",
    "failed": "bold red",
    "not applicable": "dim",
    "unknown": "bold cyan",
}
_STATES = {
    "passed": "green",
    "found": "bold red",
    "not-applicable": "dim",
    "abstained": "bold cyan",
    "failed": "bold yellow",
}  # of a check of a symptom
_FEW = 6  # rules that are named for one reason


def show_result(result: "analysis.Result", recording: "Recording", *, json: bool = False) -> None:
    """Print the result: the numbers, the findings in words, and the paths of its files."""
    if json:
        console.show_json(result)
        return
    answer = analysis.answer_of(result)
    if answer:
        console.show_text((answer, "bold"))
    if result.findings:
        headline = analysis.wording.line_of(result.findings[0], longest=None)
        console.show_text((headline, "bold"))
    if answer or result.findings:
        console.show_text()
    numbers = result.key_numbers()
    width = max(map(len, numbers), default=0)
    for name, value in numbers.items():
        console.show_text(f"{name:<{width}}  ", (value, "bold"))
    _show_published_rates(result)
    _show_costliest(result)
    _show_findings(result)
    _show_checks(result)
    _show_unfinished_stages(result)
    console.show_remarks(result.provenance.warnings)
    _show_paths(recording)


def _show_published_rates(result: "analysis.Result") -> None:
    """Print the rates of tokens of a program against those that others published."""
    if not any(number.name.endswith("_tokens_per_second") for number in result.results):
        return
    from tracekit.cli import model_rates

    for sentence in model_rates.describe_printed_rates(result):
        console.show_text(sentence)


def show_rule(result: "analysis.Result", rule: str) -> None:
    """Print the outcome of one rule, of a result that has nothing else: findings, or the reason."""
    for check in result.checks:
        reason = ""
        if check.reason:
            reason = f": {check.reason}"
        console.show_text((rule, "bold"), f"  {check.status}{reason}")
    if result.findings:
        _show_findings(result)


def show_evidence(document: "app.summaries.EvidenceDocument", *, json: bool) -> None:
    """Print the windows of a finding, as a table or as JSON."""
    if json:
        console.show_json(document)
        return
    rows = [
        (window.table, str(window.start), str(window.end), window.note)
        for window in document.evidence
    ]
    title = f"{document.rule}: {len(rows)} windows"
    console.measurements(title, ("table", "start", "end", "note"), rows)


def _show_costliest(result: "analysis.Result") -> None:
    """Print the work with the most time on the device: its share, and the time of a call."""
    if not result.costliest:
        return
    console.screen().print()
    console.show_text("Costliest work, by its time on the device:")
    for work in result.costliest:
        share = units.percent(work.share)
        mean = units.duration(work.mean)
        numbers = f"{share:>8}  {mean:>8} a call  {units.count(work.calls):>7} calls  "
        console.show_text((numbers, "bold"), work.name)
    if not any(work.is_named for work in result.costliest):
        console.show_text("These labels name no kernel; the shader timeline does.", style="dim")


def _show_unfinished_stages(result: "analysis.Result") -> None:
    for name, stage in result.provenance.unfinished_stages.items():
        if stage.state == "incomplete":
            console.show_warnings([f"{stage.message}."])
            continue
        ending = "was interrupted" if stage.state == "interrupted" else "was not completed"
        reason = f": {stage.message}" if stage.message else "."
        console.show_warnings([f"The stage {name} {ending}{reason}"])


def _show_findings(result: "analysis.Result") -> None:
    console.show_text()
    if not result.findings:
        console.show_text("No finding.")
    for finding in result.findings:
        head = (f"{finding.severity}", _STYLES[finding.severity])
        effects = ""
        if finding.effects:
            effects = f" (with {', '.join(finding.effects)})"
        console.show_text(head, "  ", (finding.rule, "bold"), effects)
        console.show_text(f"  {finding.message}{finding.describe_saving()}")
        if finding.advice:
            console.show_text(f"  → {finding.advice}", style="dim")


def _show_checks(result: "analysis.Result") -> None:
    status = analysis.Status
    passed = [check.rule for check in result.checks if check.status is status.PASSED]
    console.show_text()
    console.show_text(result.summarize_checks())
    console.show_text(f"passed       {', '.join(passed) or 'none'}")
    other_states = ((status.ABSTAINED, "not judged"), (status.FAILED, "failed"))
    for state, words in other_states:
        for reason in result.reasons(state):
            console.show_text(f"{words:11}  ", (_join_names(reason.rules), "bold"), ":")
            console.show_text(f"  {reason.words}", style="dim")
            if reason.remedy:
                console.show_text(f"  → {reason.remedy}", style="dim")


def _join_names(names: Sequence[str]) -> str:
    """Return names with commas between; of many the first ones, and how many more there are."""
    if len(names) <= _FEW:
        return ", ".join(names)
    other_count = len(names) - _FEW + 1
    first_names = ", ".join(names[: _FEW - 1])
    return f"{first_names} and {other_count} more"


def _show_paths(recording: "Recording") -> None:
    opener = "xdg-open"
    if sys.platform == "darwin":
        opener = "open"
    console.show_text()
    console.show_text(f"folder       {recording.folder}")
    if recording.report_file.exists():
        console.show_text(f"page         {recording.report_file}")
        report_text = files.quote_path(recording.report_file)
        console.show_text(f"open it      {opener} {report_text}")
    if recording.bundle.exists():
        console.show_text(f"trace        {recording.bundle} (private: it names machine and user)")
        if sys.platform == "darwin":
            bundle_text = files.quote_path(recording.bundle)
            console.show_text(f"open it      open -a Instruments {bundle_text}")


def show_diagnosis(diagnosis: "record.Diagnosis", *, json: bool = False) -> None:
    """Print the facts of the doctor, a row for each, with its fix below it."""
    if json:
        console.show_json(diagnosis.document())
        return
    width = max(len(fact.name) for fact in diagnosis.facts)
    for fact in diagnosis.facts:
        verdict = (f"{fact.verdict:<14}  ", _VERDICTS[fact.verdict])
        name = (f"{fact.name:<{width}}  ", "bold")
        console.show_text(verdict, name, fact.words)
        if fact.fix:
            console.show_text(f"{'':14}  {'':{width}}  → {fact.fix}", style="dim")


def show_symptom_check(check: "app.checklist.SymptomCheck") -> None:
    """Print the answer to a check of a symptom, with its question and next command."""
    state = _STATE_WORDS.get(check.status, str(check.status))
    console.show_text((f"{state:<15}  ", _STATES[check.status]), (check.question, "bold"))
    console.show_text(f"{'':15}  {check.words}")
    log_lines = check.log.splitlines()
    if log_lines and check.status in {analysis.Status.FOUND, analysis.Status.FAILED}:
        console.show_text(f"{'':15}  log: {log_lines[-1]}", style="dim")
    if check.command and check.status is not analysis.Status.PASSED:
        console.show_text(f"{'':15}  → {check.command}", style="dim")


_STATE_WORDS = {"not-applicable": "not applicable", "abstained": "could not judge"}


def show_conclusion(checklist: "app.checklist.Checklist") -> None:
    """Print the finding of a checklist, the next command, and the folder."""
    console.show_text()
    conclusion = "Nothing was found."
    if checklist.finding:
        conclusion = f"Finding: {checklist.finding}"
    console.show_text((conclusion, "bold"))
    if checklist.next_command:
        console.show_text(f"next         {checklist.next_command}")
    console.show_text(f"folder       {checklist.folder}")
