"""The changes of findings between two sides."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tracekit.analysis import Finding, Status
from tracekit.comparison.samples import Sample
from tracekit.tables import Severity

_LEAST_SAVING = 0.2  # share of a saving by which it changes at least


class Became(StrEnum):
    """The change of a finding; it appeared or is gone only if the other side looked for it."""

    APPEARED = "appeared"
    GONE = "gone"
    GREW = "grew"
    SHRANK = "shrank"
    STAYED = "stayed"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class FindingChange:
    """The change of a rule's finding.

    `runs_before` and `runs_after` are the numbers of runs with a finding; the findings are those
    of the first run that has one. `reason` explains an unknown course.
    """

    rule: str
    course: Became
    severity: Severity
    before: Finding | None
    after: Finding | None
    runs_before: int
    runs_after: int
    reason: str = ""


def finding_changes(
    samples_before: Sequence[Sample], samples_after: Sequence[Sample]
) -> tuple[FindingChange, ...]:
    """Return the change of each finding: new ones first, the worst of them at the top."""
    rules: dict[str, None] = {}
    for sample in (*samples_after, *samples_before):
        for finding in sample.result.findings:
            rules[finding.rule] = None
    changes = [_finding_change(rule, samples_before, samples_after) for rule in rules]
    changes.sort(key=_rank_of_change)
    return tuple(changes)


def _rank_of_change(change: FindingChange) -> tuple[int, int, str]:
    course_rank = list(Became).index(change.course)
    return course_rank, change.severity.rank, change.rule


def _finding_change(
    rule: str, samples_before: Sequence[Sample], samples_after: Sequence[Sample]
) -> FindingChange:
    old = list(_findings(rule, samples_before))
    new = list(_findings(rule, samples_after))
    reason = ""
    if not old:
        reason = _unseen(rule, samples_before)
    elif not new:
        reason = _unseen(rule, samples_after)
    finding_before = old[0] if old else None
    finding_after = new[0] if new else None
    all_findings = (*old, *new)
    worst = min(all_findings, key=lambda finding: finding.severity.rank)
    return FindingChange(
        rule=rule,
        course=_course(rule, finding_before, finding_after, reason),
        severity=worst.severity,
        before=finding_before,
        after=finding_after,
        runs_before=len(old),
        runs_after=len(new),
        reason=reason,
    )


def _findings(rule: str, samples: Sequence[Sample]) -> Iterator[Finding]:
    """Yield the worst finding of the rule in each run that has one: the first one of its result.

    If the rule is an effect, that is the finding of the rule whose effect it is.
    """
    for sample in samples:
        for finding in sample.result.findings:
            if rule in {finding.rule, *finding.effects}:
                yield finding
                break


def _unseen(rule: str, samples: Sequence[Sample]) -> str:
    """Return why the rule cannot be taken as passed in these runs; empty if it passed."""
    for sample in samples:
        checks = (entry for entry in sample.result.checks if entry.rule == rule)
        check = next(checks, None)
        if check is None:
            return "the rule was not among those that judged"
        if check.status is not Status.PASSED:
            return check.reason or f"the rule {check.status}"
    return ""


def _course(
    rule: str, finding_before: Finding | None, finding_after: Finding | None, reason: str
) -> Became:
    """Return the change of a rule's finding; as an effect of another rule's it has no size."""
    if reason and (finding_before is None or finding_after is None):
        return Became.UNKNOWN
    if finding_before is None:
        return Became.APPEARED
    if finding_after is None:
        return Became.GONE
    if finding_before.rule != rule or finding_after.rule != rule:
        return Became.STAYED
    return _compare_sizes(finding_before, finding_after)


def _compare_sizes(finding_before: Finding, finding_after: Finding) -> Became:
    """Return whether a finding grew or shrank, by its severity or else by its saving."""
    if finding_before.severity is not finding_after.severity:
        worse = finding_after.severity.rank < finding_before.severity.rank
        return Became.GREW if worse else Became.SHRANK
    old = finding_before.saving
    new = finding_after.saving
    if old is None or new is None or abs(new - old) < _LEAST_SAVING * max(old, 1):
        return Became.STAYED
    return Became.GREW if new > old else Became.SHRANK
