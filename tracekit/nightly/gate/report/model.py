"""What a gate says: a verdict, and how each capture and each metric came to it.

Every report is a rendering of this, made of a night or of runs that were compared, and `tracekit
gate --json` prints it. It is versioned by `FORMAT`. History of the format:

    1   first
    2   a case has a `verdict`, and the verdict `same` of runs is `equivalent`; ok, too, is what is
        `slightly-worse`: certain, and below the threshold
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, Literal

from tracekit.compare import (
    Change,
    Comparison,
    FindingChange,
    Scale,
    Verdict,
    course,
    limit_of,
    sentence,
    shown_of,
    side,
)
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
"""Name of the case that says how a capture itself ended, where no metric of it says so."""


@dataclass(frozen=True)
class Case:
    """One thing that was judged, or is followed only; its numbers are as of `night.Judged`.

    Its `kind` says whether it is a metric, a rule's finding or a whole capture, `suite`.
    `outcome` is None where it is followed only; `message` says why it ended so, in a sentence.
    `pairs` is how many pairs count, or runs of the smaller side; of a finding, traces that have it.
    `measured` is the plain change of the medians, where `change` is that at equal machine pace.
    `verdict` is one of `tracekit.base.Verdict`, empty of what was not judged by its interval.
    """

    suite: str
    name: str
    kind: Literal["metric", "finding", "capture"]
    outcome: Outcome | None
    message: str = ""
    unit: str = ""
    better: Literal["lower", "higher", "neither"] = "neither"
    scale: Scale = "ratio"
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

    `labels` say what it is: `workload`, `mlx`, `candidate`, `reference`, `commit` … in words, and
    `search` is a command line that finds the commit of its regression. Its pairs took so many
    `seconds`; it stands at `line` of the plan's file, as far as that is known.
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
    """A page that says more, and where it is."""

    words: str
    target: str


@dataclass(frozen=True)
class GateReport:
    """A verdict and all that it rests on.

    `title` says what was judged, `subject` is the night's id or the names of the runs, and `reason`
    how the outcome came about; what is missing makes it inconclusive, never good. There is a suite
    for each capture, or one for a comparison of runs, of which plan, machine and times are empty.
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
    format: int = field(default=FORMAT, kw_only=True)

    @property
    def cases(self) -> Iterator[Case]:
        """All cases of all suites."""
        return (case for suite in self.suites for case in suite.cases)


def add_outcome_case(suite: Suite) -> Suite:
    """Return the suite with a case for its own outcome, where none of its cases has it.

    A capture that failed has no metric that says so; a reader of reports looks at cases.
    """
    if any(case.outcome is suite.outcome for case in suite.cases):
        return suite
    outcome_case = Case(suite.name, CAPTURE, "capture", suite.outcome, suite.reason)
    return replace(suite, cases=(outcome_case, *suite.cases))


SUITE = "runs"


def of_comparison(
    compared: Comparison, environment: Mapping[str, Any] | None = None, workload: str = ""
) -> GateReport:
    """Return what a gate says of runs that were compared: worse is a regression.

    `environment` are facts of the machine that made the runs after, `workload` is what they did.
    """
    reference_words, candidate_words = side(compared.before), side(compared.after)
    outcome = OUTCOMES[compared.verdict]
    cases = (
        *(_metric(change, compared) for change in compared.changes),
        *(_finding(finding) for finding in compared.findings),
    )
    labels = {"workload": workload, "reference": reference_words, "candidate": candidate_words}
    return GateReport(
        title=f"{reference_words} → {candidate_words}",
        subject=", ".join(compared.after),
        outcome=outcome,
        reason=compared.reason,
        suites=(
            add_outcome_case(Suite(SUITE, outcome, compared.reason, cases, _drop_unknown(labels))),
        ),
        environment=_drop_unknown(environment or {}),
        warnings=tuple(
            f"{condition.side}: {condition.words}." for condition in compared.conditions
        ),
    )


def _metric(change: Change, compared: Comparison) -> Case:
    verdict = change.verdict or Verdict.UNCLEAR
    outcome = OUTCOMES[verdict] if change.deciding else None
    message = change.reason
    if change.change is not None:
        words = sentence(change, compared.limits) or "not judged"
        message = f"{words[0].upper()}{words[1:]}."
    if change.measured is not None and (change.corrected or change.paired):
        message = f"{message} Measured: {shown_of(change).change(change.measured)}."
    if outcome is Outcome.REGRESSION and compared.verdict is not Verdict.WORSE:
        # What the machine did may be all that it is: the whole says so, and a part says no more.
        outcome, verdict = Outcome.INCONCLUSIVE, Verdict.UNCLEAR
        message = f"{message} {compared.reason}"
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
        threshold=limit_of(change, compared.limits),
        verdict=verdict.value if change.verdict is not None or change.deciding else "",
        pairs=min(len(change.values_before), len(change.values_after)),
    )


def _finding(change: FindingChange) -> Case:
    finding = change.after or change.before
    return Case(
        suite=SUITE,
        name=change.rule,
        kind="finding",
        outcome=None,
        message=f"{course(change)}: {finding.message if finding else ''}",
        pairs=change.runs_after,
        severity=change.severity.value,
    )


PAGE = "report.html"
_UNFINISHED = "It has not ended: it still runs, or was killed."
_MISSING = "Captures of it are missing or have not ended, or no metric of them was judged."
_STOPPED = "The night was stopped before all of its captures were through."


def of_night(night: Night, plan: NightPlan | None = None) -> GateReport:
    """Return what a gate says of a night; its plan, if at hand, says which findings decide.

    What is missing is never good news: a night that has not ended, is partial or judged nothing is
    inconclusive at best, whatever it says of itself.
    """
    rules = {capture.name: capture.fail_on for capture in plan.captures} if plan is not None else {}
    suites = tuple(_suite(entry, rules.get(entry.capture, ())) for entry in night.entries)
    outcome, reason = night.outcome or Outcome.INCONCLUSIVE, night.reason
    if night.outcome is None:
        reason = _UNFINISHED
    elif outcome is Outcome.OK and not _is_whole(night):
        outcome, reason = Outcome.INCONCLUSIVE, _MISSING
    if not any(suite.outcome is outcome for suite in suites):
        suites = (*suites, add_outcome_case(Suite(night.plan or "night", outcome, reason)))
    stopped = (_STOPPED,) if night.partial else ()
    return GateReport(
        title=f"Night {night.id} of {night.plan}" if night.plan else f"Night {night.id}",
        subject=night.id,
        outcome=outcome,
        reason=reason,
        suites=suites,
        environment=_drop_unknown(night.environment),
        plan=night.plan,
        machine=night.machine,
        started=night.started,
        ended=night.ended,
        commit=night.commit,
        links=tuple(_links(night)),
        warnings=(*night.warnings, *stopped, *filter(None, map(advise, night.entries))),
    )


def of_no_night(reason: str, hint: str) -> GateReport:
    """Return the report of a gate that found no night to judge: what is missing is no good news."""
    suite = add_outcome_case(Suite("night", Outcome.INCONCLUSIVE, reason))
    return GateReport(
        "No night", "", Outcome.INCONCLUSIVE, reason, suites=(suite,), warnings=(hint,)
    )


def _is_whole(night: Night) -> bool:
    judged = [metric for entry in night.entries for metric in entry.judged]
    decided = all(metric.outcome for metric in judged if metric.gated)
    is_complete = not night.partial and all(entry.outcome for entry in night.entries)
    return is_complete and decided and any(metric.outcome for metric in judged)


def _suite(entry: Entry, rules: tuple[str, ...]) -> Suite:
    metrics = (_night_metric(entry, judged) for judged in entry.judged)
    findings = (_night_finding(entry, finding, rules) for finding in entry.findings)
    labels = {"workload": entry.candidate.workload}
    for role, described in (("candidate", entry.candidate), ("reference", entry.reference)):
        if described is not None:
            labels[role] = described.words or described.workload
            labels[f"{role} commit"] = described.commit
    labels["reference kind"] = KINDS[entry.reference_kind] if entry.reference_kind else ""
    labels |= {"mlx": entry.candidate.mlx, "parity": entry.parity, "backend": entry.backend}
    labels["search"] = entry.search
    labels["machine state"] = window_words(entry.states)
    return add_outcome_case(
        Suite(
            name=entry.capture,
            outcome=entry.outcome or Outcome.INCONCLUSIVE,
            reason=entry.reason if entry.outcome else _UNFINISHED,
            cases=(*metrics, *findings),
            labels=_drop_unknown(labels),
            seconds=_seconds(entry),
        )
    )


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
    decided = worse and entry.outcome is Outcome.REGRESSION
    occurrence = (
        f"in {finding.traces} of {finding.of} traces, {finding.in_reference} of the reference"
    )
    return Case(
        suite=entry.capture,
        name=finding.rule,
        kind="finding",
        outcome=Outcome.REGRESSION if decided else None,
        message=f"{finding.message} ({occurrence})",
        pairs=finding.traces,
        severity=finding.severity,
    )


def _seconds(entry: Entry) -> float:
    """Return the time from the first look at the machine to the last, in seconds."""
    looks = [state.at for pair in entry.pairs for state in (pair.before, pair.after) if state]
    moments = [moment for look in looks if (moment := moment_in(look))]
    return (max(moments) - min(moments)).total_seconds() if moments else 0.0


def _drop_unknown(facts: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in facts.items() if value not in {"", None}}


def _links(night: Night) -> Iterator[Link]:
    # A whole path would name a person's folders to all who read the report.
    night_path = PurePath(night.folder)
    folder = night_path.name if night_path.is_absolute() else night.folder
    for entry in night.entries:
        for pair in entry.pairs:
            sides = ("candidate", "reference") if pair.traced else ()
            for name, run in zip(sides, pair.runs, strict=False):
                words = f"{entry.capture}, {name}, session {pair.sitting}, trace {pair.number}"
                yield Link(words, "/".join(part for part in (folder, run, PAGE) if part))
