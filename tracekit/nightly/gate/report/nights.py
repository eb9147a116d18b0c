"""A night, as a gate reports it."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import PurePath
from typing import Any

from tracekit.nightly.gate.report.model import Case, GateReport, Link, Suite, explained
from tracekit.nightly.history.night import Described, Entry, Found, Judged, Night, Outcome
from tracekit.nightly.plan.plan import NightPlan

PAGE = "report.html"
_UNFINISHED = "It has not ended: it still runs, or was killed."
_NOTHING = "It has no capture, so that nothing was judged."
_PARTIAL = "Captures are missing, so that nothing can be said of them."
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
    rules = {one.name: one.fail_on for one in plan.captures} if plan is not None else {}
    suites = tuple(_suite(one, rules.get(one.capture, ())) for one in night.entries)
    outcome, reason = _verdict(night, suites)
    if not any(one.outcome is outcome for one in suites):
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
        warnings=night.warnings,
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
    worse = next((one for one in suites if one.outcome is not Outcome.OK), None)
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
    metrics = tuple(_metric(entry.capture, one) for one in entry.judged)
    findings = tuple(_finding(entry, one, rules) for one in entry.findings)
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


def _metric(capture: str, one: Judged) -> Case:
    outcome, message = one.outcome, one.reason
    if one.gated and outcome is None:
        outcome, message = Outcome.INCONCLUSIVE, message or "It was not judged."
    return Case(
        suite=capture,
        name=one.metric,
        kind="metric",
        outcome=outcome if one.gated else None,
        message=message,
        unit=one.unit,
        better=one.better,
        scale=one.scale,
        candidate=one.candidate,
        reference=one.reference,
        change=one.change,
        low=one.low,
        high=one.high,
        threshold=one.threshold,
        expected=one.expected,
        baseline=one.baseline,
        pairs=one.pairs,
        reproduced=one.reproduced,
    )


def _finding(entry: Entry, one: Found, rules: tuple[str, ...]) -> Case:
    worse = one.rule in rules and one.traces > 0 and one.in_reference == 0
    decided = worse and entry.outcome is Outcome.REGRESSION
    return Case(
        suite=entry.capture,
        name=one.rule,
        kind="finding",
        outcome=Outcome.REGRESSION if decided else None,
        message=one.message,
        pairs=one.traces,
        severity=one.severity,
    )


def _sides(entry: Entry) -> dict[str, str]:
    return {
        **_described("candidate", entry.candidate),
        **(_described("reference", entry.reference) if entry.reference else {}),
        "mlx": entry.candidate.mlx,
        "parity": entry.parity,
    }


def _described(side: str, one: Described) -> dict[str, str]:
    return {side: one.words or one.workload, f"{side} commit": one.commit}


def _seconds(entry: Entry) -> float:
    """Return the time from the first look at the machine to the last, in seconds."""
    looks = [state.at for pair in entry.pairs for state in (pair.before, pair.after) if state]
    try:
        moments = [datetime.fromisoformat(one) for one in looks]
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
            for side, run in zip(sides, pair.runs, strict=False):
                words = f"{entry.capture}, {side}, sitting {pair.sitting}, trace {pair.number}"
                yield Link(words, "/".join(one for one in (folder, run, PAGE) if one))
