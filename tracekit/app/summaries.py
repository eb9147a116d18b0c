"""Summaries of documents: at most 2 kB of JSON, for agents; `summary` has the lines for people.

A summary keeps what decides: verdict, causes as numbers, and what could not be judged with each
reason once. Windows of a finding are a number; `--evidence ID` prints them. If a summary would be
too long, its least important entries are counted in `left_out`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import shorten
from typing import TypeVar

import msgspec

from tracekit import analysis, comparison, nightly, record
from tracekit.base import InconclusiveError, UsageError, Verdict

MOST_BYTES = 2000
_WORDS = 160  # characters of a sentence
_REASON = 90
_CAUSES = 5
_PREFIX = "idle_"  # of the facts that share idle time out to its causes
_WHOLES = {"idle_share", "idle_by_lever"}


@dataclass(frozen=True)
class Number:
    """A key number, with the unit that `docs/reference/metrics.md` gives."""

    name: str
    value: float | int
    unit: str


@dataclass(frozen=True)
class FindingSummary:
    """A finding: its cause, its lever, and the possible saving in ns; `evidence` counts windows.

    `causes` are the parts of its time in ns, the longest first. `id` is for `--evidence`.
    """

    id: int
    rule: str
    severity: str
    cause: str
    lever: str
    saving: int | None
    causes: dict[str, int]
    effects: tuple[str, ...]
    evidence: int


@dataclass(frozen=True)
class UnjudgedSummary:
    """A reason why rules did not judge, the first rules that gave it, and how many did.

    `remedy` is the command to record with for an answer, "" if none is known.
    """

    reason: str
    rules: tuple[str, ...]
    count: int
    remedy: str = ""


@dataclass(frozen=True)
class ResultSummary:
    """The summary of a run's result."""

    run: str
    target: str
    verdict: str
    numbers: tuple[Number, ...]
    findings: tuple[FindingSummary, ...]
    checks: dict[str, int]
    not_judged: tuple[UnjudgedSummary, ...]
    losses: int
    remarks: int
    left_out: int = 0
    format: int = 1


@dataclass(frozen=True)
class ChangeSummary:
    """A change of a metric, with its 95 % interval."""

    metric: str
    unit: str
    before: float | None
    after: float | None
    change: float | None
    low: float | None
    high: float | None
    verdict: str
    deciding: bool


@dataclass(frozen=True)
class ComparisonSummary:
    """The summary of a comparison: the deciding changes first, then the certain ones."""

    verdict: str
    reason: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    changes: tuple[ChangeSummary, ...]
    verdicts: dict[str, int]
    different: tuple[str, ...]
    conditions: int
    left_out: int = 0
    format: int = 1


@dataclass(frozen=True)
class CaseSummary:
    """A case that is not ok."""

    suite: str
    name: str
    outcome: str
    change: float | None
    low: float | None
    high: float | None
    threshold: float | None
    message: str


@dataclass(frozen=True)
class GateSummary:
    """The summary of a gate's report."""

    outcome: str
    subject: str
    reason: str
    plan: str
    machine: str
    outcomes: dict[str, int]
    cases: tuple[CaseSummary, ...]
    warnings: int
    left_out: int = 0
    format: int = 1


@dataclass(frozen=True)
class FactSummary:
    """A fact of a machine that is not ok, and its remedy."""

    name: str
    verdict: str
    words: str
    fix: str


@dataclass(frozen=True)
class DoctorSummary:
    """The summary of a diagnosis; `exit_code` is that of the command."""

    exit_code: int
    verdicts: dict[str, int]
    facts: tuple[FactSummary, ...]
    left_out: int = 0
    format: int = 1


_Summary = TypeVar("_Summary", ResultSummary, ComparisonSummary, GateSummary, DoctorSummary)


def summarize_result(result: "analysis.Result", name: str) -> ResultSummary:
    """Return the summary of a run's result; `name` is that of its folder."""
    findings = enumerate(result.findings, start=1)
    numbers = [
        Number(number.name, _round(number.value), number.unit)
        for number in _key_numbers(result)
        if number.value is not None
    ]
    unanswered = (analysis.Status.ABSTAINED, analysis.Status.FAILED)
    unjudged = [
        UnjudgedSummary(
            _cut(reason.words, _REASON), reason.rules[:3], len(reason.rules), reason.remedy
        )
        for reason in result.reasons(*unanswered)
    ]
    targets = [f"{target.name} ({target.pid})" for target in result.provenance.targets]
    summary = ResultSummary(
        run=name,
        target=_cut(", ".join(targets)),
        verdict=_cut(verdict_of(result)),
        numbers=tuple(numbers),
        findings=tuple(_summarize_finding(number, finding) for number, finding in findings),
        checks=_count([check.status for check in result.checks]),
        not_judged=tuple(unjudged),
        losses=len(result.losses),
        remarks=len(result.provenance.warnings),
    )
    return _fit(summary, {"not_judged": 2, "numbers": 3, "findings": 1})


def verdict_of(result: "analysis.Result") -> str:
    """Return the sentence that answers the question of a recording, or that nothing was found."""
    answer = analysis.answer_of(result)
    if answer:
        return answer
    if result.findings:
        return analysis.wording.line_of(result.findings[0], longest=None)
    return result.summarize_checks()


@dataclass(frozen=True)
class EvidenceWindow:
    """A window that shows a finding; times in ns of the trace."""

    table: str
    start: int
    end: int
    note: str


@dataclass(frozen=True)
class EvidenceDocument:
    """The windows of one finding."""

    id: int
    rule: str
    evidence: tuple[EvidenceWindow, ...]
    format: int = 1


def select_rule(result: "analysis.Result", rule: str) -> "analysis.Result":
    """Return a result with the findings and the check of one rule alone.

    A rule that is an effect of another one has the finding of that one.
    """
    findings = [
        finding for finding in result.findings if rule == finding.rule or rule in finding.effects
    ]
    checks = [check for check in result.checks if check.rule == rule]
    return replace(result, findings=tuple(findings), checks=tuple(checks))


def evidence_of(result: "analysis.Result", number: int) -> EvidenceDocument:
    """Return the windows of a finding, by its id.

    Raises:
        InconclusiveError: The result has no finding.
        UsageError: The result has no finding of that id.
    """
    if not result.findings:
        raise InconclusiveError("The result has no finding, and so no evidence.")
    if not 1 <= number <= len(result.findings):
        raise UsageError(
            f"There is no finding {number}.",
            hint=f"Give a number from 1 to {len(result.findings)}.",
        )
    finding = result.findings[number - 1]
    windows = [
        EvidenceWindow(window.table, window.start, window.end, window.note)
        for window in finding.evidence
    ]
    return EvidenceDocument(number, finding.rule, tuple(windows))


def summarize_comparison(compared: "comparison.Comparison") -> ComparisonSummary:
    """Return the summary of a comparison."""
    certain = {Verdict.WORSE, Verdict.BETTER}
    deciding = [change for change in compared.changes if change.deciding]
    others = [
        change for change in compared.changes if not change.deciding and change.verdict in certain
    ]
    others.sort(key=lambda change: -abs(change.change or 0.0))
    verdicts = [change.verdict for change in compared.changes if change.verdict is not None]
    summary = ComparisonSummary(
        verdict=str(compared.verdict),
        reason=_cut(compared.reason),
        before=tuple(_cut(name, _REASON) for name in compared.before[:2]),
        after=tuple(_cut(name, _REASON) for name in compared.after[:2]),
        changes=tuple(_summarize_change(change) for change in (*deciding, *others)),
        verdicts=_count(verdicts),
        different=tuple(difference.what for difference in compared.environment),
        conditions=len(compared.conditions),
    )
    return _fit(summary, {"changes": 1, "different": 0, "before": 0, "after": 0})


def summarize_report(report: "nightly.GateReport") -> GateSummary:
    """Return the summary of a gate's report: the cases that are not ok, regressions first."""
    outcomes: list[nightly.Outcome] = []
    bad_cases: list[CaseSummary] = []
    for case in report.cases:
        if case.outcome is None:
            continue
        outcomes.append(case.outcome)
        if case.outcome is not nightly.Outcome.OK:
            summary_of_case = CaseSummary(
                suite=case.suite,
                name=case.name,
                outcome=str(case.outcome),
                change=_optional(case.change),
                low=_optional(case.low),
                high=_optional(case.high),
                threshold=case.threshold,
                message=_cut(case.message),
            )
            bad_cases.append(summary_of_case)
    order = [str(outcome) for outcome in nightly.Outcome]
    bad_cases.sort(key=lambda case: order.index(case.outcome))
    summary = GateSummary(
        outcome=str(report.outcome),
        subject=_cut(report.subject),
        reason=_cut(report.reason),
        plan=_cut(report.plan, _REASON),
        machine=_cut(report.machine, _REASON),
        outcomes=_count(outcomes),
        cases=tuple(bad_cases),
        warnings=len(report.warnings),
    )
    return _fit(summary, {"cases": 0})


def summarize_diagnosis(diagnosis: "record.Diagnosis") -> DoctorSummary:
    """Return the summary of a diagnosis: the facts that are not ok, failed ones first."""
    order = ("failed", "warning", "unknown")
    bad_facts = [fact for fact in diagnosis.facts if fact.verdict in order]
    bad_facts.sort(key=lambda fact: order.index(fact.verdict))
    summary = DoctorSummary(
        exit_code=diagnosis.exit_code,
        verdicts=_count([fact.verdict for fact in diagnosis.facts]),
        facts=tuple(
            FactSummary(fact.name, str(fact.verdict), _cut(fact.words), _cut(fact.fix))
            for fact in bad_facts
        ),
    )
    return _fit(summary, {"facts": 0})


def _fit(summary: _Summary, least: dict[str, int]) -> _Summary:
    """Return a summary without the last entries of its lists, until it is short enough.

    `least` has the lists that may be cut, in this order, and the number of entries that each keeps.
    """
    for name, kept in least.items():
        entries: tuple[object, ...] = getattr(summary, name)
        while len(msgspec.json.encode(summary)) >= MOST_BYTES and len(entries) > kept:
            entries = entries[:-1]
            summary = replace(summary, **{name: entries}, left_out=summary.left_out + 1)
    return summary


def _key_numbers(result: "analysis.Result") -> "Sequence[analysis.Measurement]":
    measurements = {
        measurement.name: measurement for measurement in (*result.metrics, *result.results)
    }
    return [measurements[name] for name in result.key_numbers() if name in measurements]


def _summarize_finding(number: int, finding: "analysis.Finding") -> FindingSummary:
    parts = [
        (fact.name.removeprefix(_PREFIX), fact.value)
        for fact in finding.facts
        if fact.name.startswith(_PREFIX) and fact.name not in _WHOLES and fact.unit == "ns"
    ]
    causes = {name: value for name, value in parts if isinstance(value, int) and value > 0}
    longest = sorted(causes, key=lambda name: -causes[name])
    return FindingSummary(
        id=number,
        rule=finding.rule,
        severity=str(finding.severity),
        cause=finding.cause,
        lever=finding.lever,
        saving=finding.saving,
        causes={name: causes[name] for name in longest[:_CAUSES]},
        effects=finding.effects,
        evidence=len(finding.evidence),
    )


def _summarize_change(change: "comparison.Change") -> ChangeSummary:
    verdict = ""
    if change.verdict is not None:
        verdict = str(change.verdict)
    return ChangeSummary(
        metric=change.metric,
        unit=change.unit,
        before=_optional(change.before),
        after=_optional(change.after),
        change=_optional(change.change),
        low=_optional(change.low),
        high=_optional(change.high),
        verdict=verdict,
        deciding=change.deciding,
    )


def _count(statuses: Sequence[object]) -> dict[str, int]:
    """Return how often each status occurs, the most frequent first."""
    return {str(status): number for status, number in Counter(statuses).most_common()}


def _cut(words: str, width: int = _WORDS) -> str:
    return shorten(words, width, placeholder=" …")


_DIGITS = 6


def _optional(value: float | None) -> float | None:
    if value is None:
        return None
    return _round(value)


def _round(value: float) -> float | int:
    """Return a value with six significant digits; whole numbers stay as they are."""
    if isinstance(value, int):
        return value
    return float(f"{value:.{_DIGITS}g}")
