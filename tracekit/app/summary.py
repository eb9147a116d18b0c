"""A run's result in at most eight lines: verdict, target, numbers, findings, open checks."""

from collections import Counter
from dataclasses import dataclass
from textwrap import shorten

from tracekit import analysis
from tracekit.analysis import Finding, Result, Status
from tracekit.base import Provenance
from tracekit.tables import Severity

MOST_FINDINGS = 3
MOST_NUMBERS = 4
_LONGEST = 120  # letters of a line


@dataclass(frozen=True)
class RunSummary:
    """The lines of a summary, each a sentence without line breaks.

    `made_by` says how a recording came about that no machine made; empty for any other. `target`
    names the process and the reason for this choice, or the reason why none is known. `numbers` is
    empty if none is known, and `not_judged` if every check could be made.
    """

    verdict: str
    target: str
    numbers: str
    findings: tuple[str, ...]
    not_judged: str
    made_by: str = ""

    @property
    def lines(self) -> list[tuple[str, str]]:
        """Each line with the word that goes before it."""
        lines = [("verdict", self.verdict), ("target", self.target)]
        if self.made_by:
            lines.insert(0, ("made", self.made_by))
        if self.numbers:
            lines.append(("numbers", self.numbers))
        lines += [("finding", finding) for finding in self.findings]
        if self.not_judged:
            lines.append(("not judged", self.not_judged))
        return lines


def summarize(result: Result) -> RunSummary:
    """Sum up a result; findings are in its order, the worst first."""
    first_findings = result.findings[:MOST_FINDINGS]
    return RunSummary(
        verdict=_state_verdict(result),
        target=describe_target(result.provenance),
        numbers=_list_numbers(result),
        findings=tuple(map(_describe_finding, first_findings)),
        not_judged=_describe_open_checks(result),
        made_by=result.provenance.made,
    )


def _state_verdict(result: Result) -> str:
    if not result.findings:
        return analysis.answer_of(result) or result.summarize_checks()
    counts = Counter(finding.severity for finding in result.findings)
    kinds: list[str] = []
    for kind in (Severity.ERROR, Severity.WARNING, Severity.NOTE):
        ending = "" if counts[kind] == 1 else "s"
        if counts[kind]:
            kinds.append(f"{counts[kind]} {kind}{ending}")
    tally = f"{', '.join(kinds)}."
    if counts[Severity.ERROR]:
        tally = f"Do not trust these numbers yet: {tally}"
    return f"{analysis.answer_of(result)} {tally}".strip()


def describe_target(provenance: Provenance) -> str:
    """Return the target of a run and the reason for the choice, or the reason why it is unknown."""
    if not provenance.targets:
        return f"not known: {provenance.target_reason or 'the recording names no process.'}"
    name = analysis.scope.name_targets(provenance.targets)
    reason = provenance.target_reason
    if not reason and provenance.workload:
        reason = f"it ran the workload {provenance.workload}."
    elif not reason:
        reason = "it is the program that was recorded."
    return f"{name}: {reason}"


def _list_numbers(result: Result) -> str:
    key_numbers = result.key_numbers()
    numbers = [
        f"{measurement.name} {key_numbers[measurement.name]}"
        for measurement in (*result.metrics, *result.results)
        if measurement.value is not None and measurement.name in key_numbers
    ]
    return ", ".join(numbers[:MOST_NUMBERS])


def _describe_finding(finding: Finding) -> str:
    saving = ""
    if finding.saving:
        saving = f" Could save {finding.saving_range}."
    line = f"{finding.rule}: {analysis.wording.line_of(finding, longest=None)}"
    return shorten(line, _LONGEST - len(saving), placeholder=" …") + saving


def _describe_open_checks(result: Result) -> str:
    reasons = result.reasons(Status.ABSTAINED, Status.FAILED)
    open_count = sum(len(reason.rules) for reason in reasons)
    if not open_count:
        return ""
    words = f"{open_count} of {len(result.checks)} checks"
    if len(reasons[0].rules) < open_count:
        words += f"; {len(reasons[0].rules)} of them"
    line = f"{words} because {reasons[0].words}"
    return shorten(line, _LONGEST, placeholder=" …")
