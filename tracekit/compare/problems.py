"""Findings that appeared, went or changed; and those that one side could not look for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tracekit.analysis.finding import Finding, Severity
from tracekit.analysis.result import Status
from tracekit.compare.sample import Sample

_RANKS = {severity: rank for rank, severity in enumerate(Severity)}
_LEAST_SAVING = 0.2


class Course(StrEnum):
    """What became of a finding; new and gone are said only where the other side looked for it."""

    APPEARED = "appeared"
    GONE = "gone"
    GREW = "grew"
    SHRANK = "shrank"
    STAYED = "stayed"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class FindingChange:
    """What became of what a rule finds.

    `runs_before` and `runs_after` tell in how many runs it was found; the findings are those of
    the first run that has one. `reason` says why its course is unknown.
    """

    rule: str
    course: Course
    severity: Severity
    before: Finding | None
    after: Finding | None
    runs_before: int
    runs_after: int
    reason: str = ""


def finding_changes(before: Sequence[Sample], after: Sequence[Sample]) -> tuple[FindingChange, ...]:
    """Return what became of each finding: new ones first, the worst of them at the top."""
    found = {one.rule: None for sample in (*after, *before) for one in sample.result.findings}
    changes = [_change(rule, before, after) for rule in found]
    order = list(Course)
    return tuple(
        sorted(changes, key=lambda one: (order.index(one.course), _RANKS[one.severity], one.rule))
    )


def _change(rule: str, before: Sequence[Sample], after: Sequence[Sample]) -> FindingChange:
    old, new = list(_findings(rule, before)), list(_findings(rule, after))
    reason = "" if old and new else _unseen(rule, before if not old else after)
    first, last = (side[0] if side else None for side in (old, new))
    severity = min((one.severity for one in (*old, *new)), key=_RANKS.__getitem__)
    return FindingChange(
        rule=rule,
        course=_course(first, last, reason),
        severity=severity,
        before=first,
        after=last,
        runs_before=len(old),
        runs_after=len(new),
        reason=reason,
    )


def _findings(rule: str, samples: Sequence[Sample]) -> Iterator[Finding]:
    """Yield the worst finding of the rule in each run that has one."""
    for sample in samples:
        own = [one for one in sample.result.findings if one.rule == rule]
        if own:
            yield min(own, key=lambda one: (_RANKS[one.severity], -(one.saving or 0)))


def _unseen(rule: str, samples: Sequence[Sample]) -> str:
    """Return why the rule cannot be said to have passed in these runs; empty if it passed."""
    for sample in samples:
        check = next((one for one in sample.result.checks if one.rule == rule), None)
        if check is None:
            return "the rule was not among those that judged"
        if check.status is not Status.PASSED:
            return check.reason or f"the rule {check.status}"
    return ""


def _course(before: Finding | None, after: Finding | None, reason: str) -> Course:
    if before is None or after is None:
        if reason:
            return Course.UNKNOWN
        return Course.APPEARED if before is None else Course.GONE
    if before.severity is not after.severity:
        worse = _RANKS[after.severity] < _RANKS[before.severity]
        return Course.GREW if worse else Course.SHRANK
    return _by_saving(before.saving, after.saving)


def _by_saving(before: int | None, after: int | None) -> Course:
    if before is None or after is None or abs(after - before) < _LEAST_SAVING * max(before, 1):
        return Course.STAYED
    return Course.GREW if after > before else Course.SHRANK
