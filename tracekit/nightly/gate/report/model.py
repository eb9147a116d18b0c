"""What a gate says: a verdict, and how each capture and each metric came to it.

Every report is a rendering of this, made of a night or of runs that were compared, and `tracekit
gate --json` prints it. It is versioned by `FORMAT`. History of the format:

    1   first
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePath
from typing import Any, Literal

from tracekit.compare import (
    Change,
    Comparison,
    FindingChange,
    Scale,
    Verdict,
    change_words,
    course,
    ruling,
    side,
)
from tracekit.nightly.history.night import (
    KINDS,
    Described,
    Entry,
    Judged,
    Night,
    Outcome,
    TracedFinding,
)
from tracekit.nightly.plan.plan import NightPlan

FORMAT = 1
CAPTURE = "capture"
"""Name of the case that says how a capture itself ended, where no metric of it says so."""


@dataclass(frozen=True)
class Case:
    """One thing that was judged, or is followed only; its numbers are as of `night.Judged`.

    Its `kind` says whether it is a metric, a rule's finding or a whole capture, `suite`.
    `outcome` is None where it is followed only; `message` says why it ended so, in a sentence.
    `pairs` is how many pairs count, or runs of the smaller side; of a finding, traces that have it.
    `measured` is the plain change of the medians, where `change` is that at equal machine pace.
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


@dataclass(frozen=True)
class Suite:
    """One capture, or one comparison of runs; at least one of its cases has its outcome.

    `labels` say what it is: `workload`, `mlx`, `candidate`, `reference`, `commit` … in words. Its
    pairs took so many `seconds`; it stands at `line` of the plan's file, as far as that is known.
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


def explained(suite: Suite) -> Suite:
    """Return the suite with a case for its own outcome, where none of its cases has it.

    A capture that failed has no metric that says so; a reader of reports looks at cases.
    """
    if any(one.outcome is suite.outcome for one in suite.cases):
        return suite
    own = Case(suite.name, CAPTURE, "capture", suite.outcome, suite.reason)
    return replace(suite, cases=(own, *suite.cases))


SUITE = "runs"
_OUTCOMES = {
    Verdict.WORSE: Outcome.REGRESSION,
    Verdict.UNCLEAR: Outcome.INCONCLUSIVE,
    Verdict.BETTER: Outcome.OK,
    Verdict.SAME: Outcome.OK,
}
_UNJUDGED = "It was not judged, and it decides."


def of_comparison(
    compared: Comparison, environment: Mapping[str, Any] | None = None, workload: str = ""
) -> GateReport:
    """Return what a gate says of runs that were compared.

    Args:
        compared: The comparison: worse is a regression, unclear is inconclusive.
        environment: Facts of the machine that made the runs after.
        workload: What they did.
    """
    before, after = side(compared.before), side(compared.after)
    outcome = _OUTCOMES[compared.verdict]
    cases = (
        *(_metric(change, compared) for change in compared.changes),
        *(_finding(finding) for finding in compared.findings),
    )
    labels = {"workload": workload, "reference": before, "candidate": after}
    suite = Suite(
        name=SUITE,
        outcome=outcome,
        reason=compared.reason,
        cases=cases,
        labels={name: words for name, words in labels.items() if words},
    )
    return GateReport(
        title=f"{before} → {after}",
        subject=", ".join(compared.after),
        outcome=outcome,
        reason=compared.reason,
        suites=(explained(suite),),
        environment=_facts(environment or {}),
        warnings=tuple(
            f"{condition.side}: {condition.words}." for condition in compared.conditions
        ),
    )


def _metric(change: Change, compared: Comparison) -> Case:
    outcome, message = None, _words(change)
    if change.deciding:
        outcome = _OUTCOMES[change.verdict] if change.verdict else Outcome.INCONCLUSIVE
    if outcome is Outcome.REGRESSION and compared.verdict is not Verdict.WORSE:
        # What the machine did may be all that it is: the whole says so, and a part says no more.
        outcome, message = Outcome.INCONCLUSIVE, f"{message} {compared.reason}"
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
        threshold=_threshold(change, compared.limits.threshold),
        pairs=min(len(change.values_before), len(change.values_after)),
    )


def _words(change: Change) -> str:
    """Return the change with its interval, what it is, and why."""
    if change.verdict is None and change.deciding and not change.reason:
        return _UNJUDGED
    if change.change is None:
        return change.reason
    return f"{change_words(change)}: {ruling(change)}."


def _threshold(change: Change, threshold: float) -> float:
    """Return the least change that matters on the scale of the change: counts change by one."""
    return threshold if change.relative or change.unit == "ratio" else max(1.0, threshold)


def _finding(change: FindingChange) -> Case:
    finding = change.after or change.before
    said = finding.message if finding else ""
    return Case(
        suite=SUITE,
        name=change.rule,
        kind="finding",
        outcome=None,
        message=f"{course(change)}: {said}",
        pairs=change.runs_after,
        severity=change.severity.value,
    )


PAGE = "report.html"
_UNFINISHED = "It has not ended: it still runs, or was killed."
_NOTHING = "It has no capture, so that nothing was judged."
_PARTIAL = "Captures are missing, so that nothing can be said of them."
_STOPPED = "The night was stopped before all of its captures were through."
_UNMEASURED = "It has no metric."
_UNDECIDED = "No metric of it decides: all are followed only."


def of_night(night: Night, plan: NightPlan | None = None) -> GateReport:
    """Return what a gate says of a night.

    What is missing is never good news: a night that has not ended, has no capture, is partial or
    judged nothing is inconclusive at best, whatever it says of itself.

    Args:
        night: The night.
        plan: The plan that it carried out, which says which findings decide; None where it is
            not at hand. Then findings are listed, and the capture's own outcome stands.
    """
    rules = {capture.name: capture.fail_on for capture in plan.captures} if plan is not None else {}
    suites = tuple(_suite(entry, rules.get(entry.capture, ())) for entry in night.entries)
    outcome, reason = _verdict(night, suites)
    if not any(suite.outcome is outcome for suite in suites):
        suites = (*suites, explained(Suite(night.plan or "night", outcome, reason)))
    return GateReport(
        title=f"Night {night.id} of {night.plan}" if night.plan else f"Night {night.id}",
        subject=night.id,
        outcome=outcome,
        reason=reason,
        suites=suites,
        environment=_facts(night.environment),
        plan=night.plan,
        machine=night.machine,
        started=night.started,
        ended=night.ended,
        commit=night.commit,
        links=tuple(_links(night)),
        warnings=(*night.warnings, *((_STOPPED,) if night.partial else ())),
    )


def of_no_night(reason: str, hint: str) -> GateReport:
    """Return the report of a gate that found no night to judge: what is missing is no good news."""
    suite = explained(Suite("night", Outcome.INCONCLUSIVE, reason))
    return GateReport(
        "No night", "", Outcome.INCONCLUSIVE, reason, suites=(suite,), warnings=(hint,)
    )


def _verdict(night: Night, suites: tuple[Suite, ...]) -> tuple[Outcome, str]:
    if night.outcome is not Outcome.OK:
        return (
            (night.outcome, night.reason) if night.outcome else (Outcome.INCONCLUSIVE, _UNFINISHED)
        )
    good = {Outcome.OK, Outcome.UNJUDGED}
    worse = next((suite for suite in suites if suite.outcome not in good), None)
    if worse is not None:
        return worse.outcome, f"{worse.name}: {worse.reason}"
    if not night.entries:
        return Outcome.INCONCLUSIVE, _NOTHING
    if night.partial:
        return Outcome.INCONCLUSIVE, _PARTIAL
    if not any(one.outcome and one.kind == "metric" for suite in suites for one in suite.cases):
        return Outcome.INCONCLUSIVE, _UNDECIDED
    return Outcome.OK, night.reason


def _suite(entry: Entry, rules: tuple[str, ...]) -> Suite:
    metrics = tuple(_night_metric(entry.capture, judged) for judged in entry.judged)
    findings = tuple(_night_finding(entry, finding, rules) for finding in entry.findings)
    cases = metrics + findings
    outcome, reason = _outcome(entry, cases)
    labels = {"workload": entry.candidate.workload, **_sides(entry), "backend": entry.backend}
    return explained(
        Suite(
            name=entry.capture,
            outcome=outcome,
            reason=reason,
            cases=cases,
            labels={name: words for name, words in labels.items() if words},
            seconds=_seconds(entry),
        )
    )


def _outcome(entry: Entry, cases: tuple[Case, ...]) -> tuple[Outcome, str]:
    if entry.outcome is None:
        return Outcome.INCONCLUSIVE, _UNFINISHED
    if entry.outcome is not Outcome.OK:
        return entry.outcome, entry.reason
    unclear = next((one for one in cases if one.outcome is Outcome.INCONCLUSIVE), None)
    if unclear is not None:
        return Outcome.INCONCLUSIVE, f"{unclear.name}: {unclear.message}"
    return (Outcome.OK, entry.reason) if entry.judged else (Outcome.INCONCLUSIVE, _UNMEASURED)


_SHARED = (
    *("unit", "better", "scale", "candidate", "reference", "measured", "change", "low", "high"),
    *("threshold", "expected", "baseline", "pairs", "reproduced"),
)


def _night_metric(capture: str, judged: Judged) -> Case:
    outcome, message = judged.outcome, judged.reason
    if judged.gated and outcome is None:
        outcome, message = Outcome.INCONCLUSIVE, message or "It was not judged."
    return Case(
        suite=capture,
        name=judged.metric,
        kind="metric",
        outcome=outcome if judged.gated else None,
        message=message,
        **{name: getattr(judged, name) for name in _SHARED},
    )


def _night_finding(entry: Entry, finding: TracedFinding, rules: tuple[str, ...]) -> Case:
    worse = finding.rule in rules and finding.traces > 0 and finding.in_reference == 0
    decided = worse and entry.outcome is Outcome.REGRESSION
    found = (
        f" (in {finding.traces} of {finding.of} traces, {finding.in_reference} of the reference)"
    )
    return Case(
        suite=entry.capture,
        name=finding.rule,
        kind="finding",
        outcome=Outcome.REGRESSION if decided else None,
        message=finding.message + found,
        pairs=finding.traces,
        severity=finding.severity,
    )


def _sides(entry: Entry) -> dict[str, str]:
    return {
        **_described("candidate", entry.candidate),
        **(_described("reference", entry.reference) if entry.reference else {}),
        "reference kind": KINDS[entry.reference_kind] if entry.reference_kind else "",
        "mlx": entry.candidate.mlx,
        "parity": entry.parity,
    }


def _described(side: str, described: Described) -> dict[str, str]:
    return {side: described.words or described.workload, f"{side} commit": described.commit}


def _seconds(entry: Entry) -> float:
    """Return the time from the first look at the machine to the last, in seconds."""
    looks = [state.at for pair in entry.pairs for state in (pair.before, pair.after) if state]
    try:
        moments = [datetime.fromisoformat(look) for look in looks]
        return (max(moments) - min(moments)).total_seconds() if moments else 0.0
    except (ValueError, TypeError):
        return 0.0


def _facts(environment: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in environment.items() if value not in {"", None}}


def _links(night: Night) -> Iterator[Link]:
    # A whole path would name a person's folders to all who read the report.
    whole = PurePath(night.folder)
    folder = whole.name if whole.is_absolute() else night.folder
    for entry in night.entries:
        for pair in entry.pairs:
            sides = ("candidate", "reference") if pair.traced else ()
            for name, run in zip(sides, pair.runs, strict=False):
                words = f"{entry.capture}, {name}, session {pair.sitting}, trace {pair.number}"
                yield Link(words, "/".join(one for one in (folder, run, PAGE) if one))
