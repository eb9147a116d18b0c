"""Findings over time: in which nights each stood, and what a finding's going away really saved.

A rule estimates how much time could be won. Once its finding is gone, the nights before and
after show how much was: both stand side by side, so that estimates can be believed, or not.
"""

from dataclasses import dataclass
from itertools import pairwise

from tracekit.base import duration
from tracekit.nightly.history.night import TracedFinding
from tracekit.nightly.history.steps import Point
from tracekit.nightly.trend.course import Course, Fared, day, several


@dataclass(frozen=True)
class FindingRow:
    """What became of one rule's finding, in words and in each night of the course.

    Of a night it is in how many of the traces the rule found something, None without traces, and
    the same in words.
    """

    rule: str
    severity: str
    message: str
    became: str
    nights: tuple[tuple[float | None, str], ...]


def finding_rows(course: Course) -> list[FindingRow]:
    """Return the findings of a course by rule: those that stand, then those that went."""
    rules = {finding.rule for fared in course.fared for finding in fared.findings if finding.traces}
    last = next((fared for fared in reversed(course.fared) if looked(fared)), None)
    standing = {rule for rule in rules if last and found_in(last, rule)}
    return [_row(rule, course) for rule in (*sorted(standing), *sorted(rules - standing))]


def looked(fared: Fared) -> bool:
    """Tell whether a night has traces of the capture, so that a finding could be in them."""
    pairs = fared.entry.pairs if fared.entry else ()
    return bool(fared.findings) or any(pair.traced for pair in pairs)


def found_in(fared: Fared, rule: str) -> TracedFinding | None:
    """Return what a rule found in a night; None where it found nothing."""
    return next(
        (finding for finding in fared.findings if finding.rule == rule and finding.traces), None
    )


def _row(rule: str, course: Course) -> FindingRow:
    known = [fared for fared in course.fared if looked(fared)]
    there = [(fared.at, found) for fared in known if (found := found_in(fared, rule))]
    (first, _), (last, found) = there[0], there[-1]
    became = f"first seen {day(first)}, last {day(last)}"
    if last == known[-1].at:
        became = f"first seen {day(first)}, now in {found.traces} of {several(found.of, 'trace')}"
        became += f"; the reference has it in {found.in_reference}" * bool(found.in_reference)
    nights = tuple(_night(fared, rule) for fared in course.fared)
    return FindingRow(rule, found.severity, found.message, became, nights)


def _night(fared: Fared, rule: str) -> tuple[float | None, str]:
    if not looked(fared):
        return None, f"{day(fared.at)}: no traces"
    found = found_in(fared, rule)
    if found is None:
        return 0.0, f"{day(fared.at)}: not found"
    words = f"{day(fared.at)}: found in {found.traces} of {several(found.of, 'trace')}"
    return found.traces / max(1, found.of), words


_RATE = "tokens_per_second"
_NS = 1e9


@dataclass(frozen=True)
class Claim:
    """A finding that went away, with what it claimed and what was measured, in words.

    `at` is when the first night without it began. `measured` is empty where it is not known:
    `reason` says why, or what else is to be kept in mind.
    """

    rule: str
    at: str
    claimed: str
    measured: str
    reason: str


def claims_of(course: Course) -> list[Claim]:
    """Return the findings that claimed a time for each token and went away, the latest first."""
    claims = [
        _claim(course, found, before, after)
        for before, after in pairwise(filter(looked, course.fared))
        for found in before.findings
        if found.traces and found.saving_per_token is not None
        if found_in(after, found.rule) is None
    ]
    return claims[::-1]


def _claim(course: Course, found: TracedFinding, before: Fared, after: Fared) -> Claim:
    old, new = (_rate(course, fared) for fared in (before, after))
    measured, reason = "", f"one of both nights has no {_RATE}"
    if old and new and old.value and new.value:
        measured = _won(old.value, new.value)
        reason = "without a reference, so the machine's own pace is in it"
        if old.reference and new.reference:
            reason = f"the reference meanwhile: {_won(old.reference, new.reference)}"
    claimed = f"{duration(found.saving_per_token)} per token"
    return Claim(found.rule, after.at, claimed, measured, reason)


def _rate(course: Course, fared: Fared) -> Point | None:
    night = fared.night.id if fared.night else ""
    rates = (point for series in course.series if series.metric == _RATE for point in series.points)
    return next((point for point in rates if point.night == night and point.value), None)


def _won(old: float, new: float) -> str:
    """Return what the time of a token became shorter by, of two rates."""
    won = _NS / old - _NS / new
    return f"{duration(abs(won))} per token {'won' if won >= 0 else 'lost'}"
