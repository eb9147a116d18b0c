"""The report of a gate: a verdict, and how each capture and each metric led to it.

Every report is a rendering of this model, which is made of a night or of runs that were compared;
`tracekit nightly gate --json` prints it. `FORMAT` is its version. History of the format:

    1   first
    2   a case has a `verdict`, and the verdict `same` of runs is `equivalent`; a change that is
        `slightly-worse`, certain and below the threshold, is ok too
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePath
from typing import Any, Literal

from tracekit.base import Verdict, verdicts
from tracekit.comparison import Change, Comparison, FindingChange, page
from tracekit.machine import window_words
from tracekit.nightly.gate.decision import OUTCOMES
from tracekit.nightly.gate.judge import advise
from tracekit.nightly.history.night import (
    KINDS,
    Entry,
    Judged,
    Night,
    Outcome,
    TracedFinding,
    moment_in,
)
from tracekit.nightly.plan.plan import NightPlan

FORMAT = 2
CAPTURE = "capture"
"""Name of the case for the outcome of a capture itself, if none of its metrics has it."""


@dataclass(frozen=True)
class Case:
    """One thing that was judged, or is followed only; its numbers are those of `night.Judged`.

    `kind` says whether it is a metric, a rule's finding or a whole capture, `suite`. `outcome` is
    None if it is followed only; `message` is the reason, in a sentence. `pairs` is the number of
    pairs that count, or runs of the smaller side; of a finding, traces that have it. `measured` is
    the plain change of the medians, whereas `change` is that at equal machine pace. `verdict` is
    one of `tracekit.base.Verdict`, empty if no interval decided.
    """

    suite: str
    name: str
    kind: Literal["metric", "finding", "capture"]
    outcome: Outcome | None
    message: str = ""
    unit: str = ""
    better: Literal["lower", "higher", "neither"] = "neither"
    scale: verdicts.Scale = "ratio"
    candidate: float | None = None
    reference: float | None = None
    change: float | None = None
    low: float | None = None
    high: float | None = None
    threshold: float | None = None
    expected: float | None = None
    baseline: str = ""
    pairs: int = 0
    reproduced: bool | None = None
    severity: str = ""
    measured: float | None = None
    verdict: str = ""


@dataclass(frozen=True)
class Suite:
    """One capture, or one comparison of runs; at least one of its cases has its outcome.

    `labels` describe it in words: `workload`, `mlx`, `candidate`, `reference`, `commit` …, and
    `search` is a command line that finds the commit of its regression. `seconds` is the time that
    its pairs took, and `line` its place in the plan's file, if known.
    """

    name: str
    outcome: Outcome
    reason: str = ""
    cases: tuple[Case, ...] = ()
    labels: dict[str, str] = field(default_factory=dict[str, str])
    seconds: float = 0.0
    line: int | None = None


@dataclass(frozen=True)
class Link:
    """A page with details, and its place."""

    words: str
    target: str


@dataclass(frozen=True)
class GateReport:
    """A verdict and all that it rests on.

    `title` names the subject in words, `subject` is the night's id or the names of the runs, and
    `reason` explains the outcome; missing data makes it inconclusive, never good. There is a suite
    for each capture, or one for a comparison of runs, which has no plan, machine and times.
    `lead` begins its heading, by default with the word of the outcome.
    `commit` was judged; findings are shown in `file`, the plan's, relative to the repository.
    """

    title: str
    subject: str
    outcome: Outcome
    reason: str = ""
    suites: tuple[Suite, ...] = ()
    environment: dict[str, str] = field(default_factory=dict[str, str])
    plan: str = ""
    machine: str = ""
    started: str = ""
    ended: str = ""
    commit: str = ""
    file: str = ""
    links: tuple[Link, ...] = ()
    warnings: tuple[str, ...] = ()
    lead: str = ""
    format: int = field(default=FORMAT, kw_only=True)

    @property
    def cases(self) -> Iterator[Case]:
        """All cases of all suites."""
        for suite in self.suites:
            yield from suite.cases


def add_outcome_case(suite: Suite) -> Suite:
    """Return the suite with a case for its own outcome, unless one of its cases has it.

    A capture that failed has no metric with that outcome, and readers of reports look at cases.
    """
    if any(case.outcome is suite.outcome for case in suite.cases):
        return suite
    outcome_case = Case(suite.name, CAPTURE, "capture", suite.outcome, suite.reason)
    return replace(suite, cases=(outcome_case, *suite.cases))


SUITE = "runs"


def of_comparison(
    compared: Comparison, environment: Mapping[str, Any] | None = None, workload: str = ""
) -> GateReport:
    """Return the report of a gate on runs that were compared: worse is a regression.

    `environment` are facts of the machine that made the runs after, `workload` is their work.
    """
    reference_words = page.side(compared.before)
    candidate_words = page.side(compared.after)
    outcome = OUTCOMES[compared.verdict]
    cases = [_metric(change, compared) for change in compared.changes]
    cases += [_finding(finding) for finding in compared.findings]
    labels = {"workload": workload, "reference": reference_words, "candidate": candidate_words}
    labels_with_values = _drop_unknown(labels)
    suite = Suite(SUITE, outcome, compared.reason, tuple(cases), labels_with_values)
    warnings = [f"{condition.side}: {condition.words}." for condition in compared.conditions]
    title = f"{reference_words} → {candidate_words}"
    subject = ", ".join(compared.after)
    suites = (add_outcome_case(suite),)
    return GateReport(
        title=title,
        subject=subject,
        outcome=outcome,
        reason=compared.reason,
        suites=suites,
        environment=_drop_unknown(environment or {}),
        warnings=tuple(warnings),
    )


def _metric(change: Change, compared: Comparison) -> Case:
    verdict = change.verdict or Verdict.UNCLEAR
    outcome = None
    if change.deciding:
        outcome = OUTCOMES[verdict]
    message = change.reason
    if change.change is not None:
        words = change.describe(compared.limits) or "not judged"
        message = f"{words[0].upper()}{words[1:]}."
    if change.measured is not None and (change.corrected or change.paired):
        measured_change = change.formatter.change(change.measured)
        message = f"{message} Measured: {measured_change}."
    is_part_worse = outcome is Outcome.REGRESSION and compared.verdict is not Verdict.WORSE
    if is_part_worse:
        # The machine may explain all of it: the comparison says so, and a part must not say more.
        outcome = Outcome.INCONCLUSIVE
        verdict = Verdict.UNCLEAR
        message = f"{message} {compared.reason}"
    has_verdict = change.verdict is not None or change.deciding
    threshold = change.limit(compared.limits)
    pairs = min(len(change.values_before), len(change.values_after))
    return Case(
        suite=SUITE,
        name=change.metric,
        kind="metric",
        outcome=outcome,
        message=message,
        unit=change.unit,
        better=change.better.value,
        scale="ratio" if change.relative else "difference",
        candidate=change.after,
        measured=change.measured,
        reference=change.before,
        change=change.change,
        low=change.low,
        high=change.high,
        threshold=threshold,
        verdict=verdict.value if has_verdict else "",
        pairs=pairs,
    )


def _finding(change: FindingChange) -> Case:
    finding = change.after or change.before
    finding_message = finding.message if finding else ""
    return Case(
        suite=SUITE,
        name=change.rule,
        kind="finding",
        outcome=None,
        message=f"{page.course(change)}: {finding_message}",
        pairs=change.runs_after,
        severity=change.severity.value,
    )


PAGE = "report.html"
_UNFINISHED = "It has not ended: it still runs, or was killed."
_MISSING = "Captures of it are missing or have not ended, or no metric of them was judged."
_STOPPED = "The night was stopped before all of its captures were through."


def of_night(night: Night, plan: NightPlan | None = None) -> GateReport:
    """Return the report of a gate on a night; the plan, if given, says which findings decide.

    Missing data is never good news: a night that has not ended, is partial or judged nothing is
    inconclusive at best, whatever its own outcome.
    """
    rules: dict[str, tuple[str, ...]] = {}
    if plan is not None:
        rules = {capture.name: capture.fail_on for capture in plan.captures}
    suites = [_suite(entry, rules.get(entry.capture, ())) for entry in night.entries]
    outcome, reason = _night_outcome(night)
    if not any(suite.outcome is outcome for suite in suites):
        night_suite = Suite(night.plan or "night", outcome, reason)
        suites.append(add_outcome_case(night_suite))
    title = f"Night {night.id}"
    if night.plan:
        title = f"{title} of {night.plan}"
    environment = _drop_unknown(night.environment)
    links = tuple(_links(night))
    warnings = tuple(_night_warnings(night))
    return GateReport(
        title=title,
        subject=night.id,
        outcome=outcome,
        reason=reason,
        suites=tuple(suites),
        environment=environment,
        plan=night.plan,
        machine=night.machine,
        started=night.started,
        ended=night.ended,
        commit=night.commit,
        links=links,
        warnings=warnings,
    )


def _night_outcome(night: Night) -> tuple[Outcome, str]:
    """Return the outcome of a night and the reason; inconclusive if something is missing."""
    if night.outcome is None:
        return Outcome.INCONCLUSIVE, _UNFINISHED
    if night.outcome is Outcome.OK and not _is_whole(night):
        return Outcome.INCONCLUSIVE, _MISSING
    return night.outcome, night.reason


def _night_warnings(night: Night) -> Iterator[str]:
    yield from night.warnings
    if night.partial:
        yield _STOPPED
    for entry in night.entries:
        advice = advise(entry)
        if advice:
            yield advice


def of_no_night(reason: str, hint: str) -> GateReport:
    """Return the report of a gate that found no night to judge, which is inconclusive."""
    suite = add_outcome_case(Suite("night", Outcome.INCONCLUSIVE, reason))
    return GateReport(
        "No night", "", Outcome.INCONCLUSIVE, reason, suites=(suite,), warnings=(hint,)
    )


def _is_whole(night: Night) -> bool:
    """Tell whether all captures of a night ended, and all metrics that decide were judged."""
    if night.partial or not all(entry.outcome for entry in night.entries):
        return False
    judged: list[Judged] = []
    for entry in night.entries:
        judged.extend(entry.judged)
    if any(metric.gated and not metric.outcome for metric in judged):
        return False
    return any(metric.outcome for metric in judged)


def _suite(entry: Entry, rules: tuple[str, ...]) -> Suite:
    cases = [_night_metric(entry, judged) for judged in entry.judged]
    cases += [_night_finding(entry, finding, rules) for finding in entry.findings]
    outcome = entry.outcome or Outcome.INCONCLUSIVE
    reason = entry.reason if entry.outcome else _UNFINISHED
    labels = _drop_unknown(_labels(entry))
    suite = Suite(
        name=entry.capture,
        outcome=outcome,
        reason=reason,
        cases=tuple(cases),
        labels=labels,
        seconds=_seconds(entry),
    )
    return add_outcome_case(suite)


def _labels(entry: Entry) -> dict[str, str]:
    """Return the description of a capture by label, in the order of reports."""
    labels = {"workload": entry.candidate.workload}
    candidate_words = entry.candidate.words or entry.candidate.workload
    labels["candidate"] = candidate_words
    labels["candidate commit"] = entry.candidate.commit
    if entry.reference is not None:
        reference_words = entry.reference.words or entry.reference.workload
        labels["reference"] = reference_words
        labels["reference commit"] = entry.reference.commit
    if entry.reference_kind:
        labels["reference kind"] = KINDS[entry.reference_kind]
    labels["mlx"] = entry.candidate.mlx
    labels["parity"] = entry.parity
    labels["backend"] = entry.backend
    labels["search"] = entry.search
    labels["machine state"] = window_words(entry.states)
    return labels


def _night_metric(entry: Entry, judged: Judged) -> Case:
    return Case(
        suite=entry.capture,
        name=judged.metric,
        kind="metric",
        outcome=judged.outcome,
        message=judged.reason,
        unit=judged.unit,
        better=judged.better,
        scale=judged.scale,
        candidate=judged.candidate,
        reference=judged.reference,
        measured=judged.measured_change,
        change=judged.change,
        low=judged.low,
        high=judged.high,
        threshold=judged.threshold,
        expected=judged.expected,
        baseline=judged.baseline,
        verdict=judged.verdict,
        pairs=judged.pairs,
        reproduced=judged.reproduced,
    )


def _night_finding(entry: Entry, finding: TracedFinding, rules: tuple[str, ...]) -> Case:
    worse = finding.rule in rules and finding.traces > 0 and finding.in_reference == 0
    outcome = None
    if worse and entry.outcome is Outcome.REGRESSION:
        outcome = Outcome.REGRESSION
    occurrence = (
        f"in {finding.traces} of {finding.of} traces, {finding.in_reference} of the reference"
    )
    return Case(
        suite=entry.capture,
        name=finding.rule,
        kind="finding",
        outcome=outcome,
        message=f"{finding.message} ({occurrence})",
        pairs=finding.traces,
        severity=finding.severity,
    )


def _seconds(entry: Entry) -> float:
    """Return the time from the first look at the machine to the last, in seconds."""
    moments: list[datetime] = []
    for pair in entry.pairs:
        for state in (pair.before, pair.after):
            moment = None
            if state:
                moment = moment_in(state.at)
            if moment:
                moments.append(moment)
    if not moments:
        return 0.0
    return (max(moments) - min(moments)).total_seconds()


def _drop_unknown(facts: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in facts.items() if value not in {"", None}}


def _links(night: Night) -> Iterator[Link]:
    folder = night.folder
    if PurePath(folder).is_absolute():
        # A whole path would name a person's folders to all who read the report.
        folder = PurePath(folder).name
    for entry in night.entries:
        for pair in entry.pairs:
            if not pair.traced:
                continue
            for name, run in zip(("candidate", "reference"), pair.runs, strict=False):
                words = f"{entry.capture}, {name}, session {pair.session}, trace {pair.number}"
                parts = [part for part in (folder, run, PAGE) if part]
                yield Link(words, "/".join(parts))
