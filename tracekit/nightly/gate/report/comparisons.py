"""A comparison of runs, as a gate reports it."""

from collections.abc import Mapping
from typing import Any

from tracekit.compare.compare import Comparison
from tracekit.compare.differences import FindingChange
from tracekit.compare.page import bounds, course, ruling, shift, side
from tracekit.compare.verdicts import Change, Verdict
from tracekit.nightly.gate.report.model import Case, GateReport, Suite, explained
from tracekit.nightly.history.night import Outcome

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
        *(_metric(one, compared) for one in compared.changes),
        *(_finding(one) for one in compared.findings),
    )
    facts = environment or {}
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
        environment={name: str(one) for name, one in facts.items() if one not in {"", None}},
        warnings=tuple(f"{one.side}: {one.words}." for one in compared.conditions),
    )


def _metric(one: Change, compared: Comparison) -> Case:
    outcome, message = None, _words(one)
    if one.deciding:
        outcome = _OUTCOMES[one.verdict] if one.verdict else Outcome.INCONCLUSIVE
    if outcome is Outcome.REGRESSION and compared.verdict is not Verdict.WORSE:
        # What the machine did may be all that it is: the whole says so, and a part says no more.
        outcome, message = Outcome.INCONCLUSIVE, f"{message} {compared.reason}"
    return Case(
        suite=SUITE,
        name=one.metric,
        kind="metric",
        outcome=outcome,
        message=message,
        unit=one.unit,
        better=one.better.value,
        scale="ratio" if one.relative else "difference",
        candidate=one.after,
        reference=one.before,
        change=one.change,
        low=one.low,
        high=one.high,
        threshold=_threshold(one, compared.limits.threshold),
        pairs=min(len(one.values_before), len(one.values_after)),
    )


def _words(one: Change) -> str:
    """Return the change with its interval, what it is, and why."""
    if one.verdict is None and one.deciding and not one.reason:
        return _UNJUDGED
    if one.change is None:
        return one.reason
    interval = f" [{bounds(one)}]" if one.low is not None and one.high is not None else ""
    return f"{shift(one)}{interval}: {ruling(one)}."


def _threshold(one: Change, threshold: float) -> float:
    """Return the least change that matters on the scale of the change: counts change by one."""
    return threshold if one.relative or one.unit == "ratio" else max(1.0, threshold)


def _finding(one: FindingChange) -> Case:
    finding = one.after or one.before
    said = finding.message if finding else ""
    return Case(
        suite=SUITE,
        name=one.rule,
        kind="finding",
        outcome=None,
        message=f"{course(one)}: {said}",
        pairs=one.runs_after,
        severity=one.severity.value,
        windows=one.after.evidence if one.after else (),
    )
