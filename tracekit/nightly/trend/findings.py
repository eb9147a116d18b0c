"""The findings over nights, and the claims of those that are gone.

A rule estimates how much time could be won. Once its finding is gone, the nights before and
after show how much was won. The page shows both side by side, so that you can judge the estimates.
"""

from dataclasses import dataclass
from itertools import pairwise

from tracekit.base import units
from tracekit.nightly.history.night import TracedFinding
from tracekit.nightly.history.steps import Point
from tracekit.nightly.trend.course import Course, Fared, day, format_count
from tracekit.nightly.trend.curve import night_words


@dataclass(frozen=True)
class FindingRow:
    """The history of one rule's finding, in words and in each night of the course.

    A night is the share of its traces with the finding, 0 … 1 or None without traces, and the
    same in words.
    """

    rule: str
    severity: str
    message: str
    became: str
    nights: tuple[tuple[float | None, str], ...]


def finding_rows(course: Course) -> list[FindingRow]:
    """Return the findings of a course by rule: current ones first, then those that went."""
    rules: set[str] = set()
    current_rules: set[str] = set()
    for fared in course.fared:
        night_rules = {finding.rule for finding in fared.findings if finding.traces}
        rules |= night_rules
        if has_traces(fared):
            current_rules = night_rules
    former_rules = rules - current_rules
    ordered_rules = [*sorted(current_rules), *sorted(former_rules)]
    return [_row(rule, course) for rule in ordered_rules]


def has_traces(fared: Fared) -> bool:
    """Tell whether a night has traces of the capture, so that a finding could be in them."""
    if fared.entry is None:
        return False
    return bool(fared.findings) or any(pair.traced for pair in fared.entry.pairs)


def found_in(fared: Fared, rule: str) -> TracedFinding | None:
    """Return the finding of a rule in a night; None if the rule found nothing."""
    for finding in fared.findings:
        if finding.rule == rule and finding.traces:
            return finding
    return None


def _row(rule: str, course: Course) -> FindingRow:
    traced_nights = [fared for fared in course.fared if has_traces(fared)]
    nights_with_it: list[tuple[str, TracedFinding]] = []
    for fared in traced_nights:
        finding = found_in(fared, rule)
        if finding:
            nights_with_it.append((fared.at, finding))
    first_time, _ = nights_with_it[0]
    last_time, last_finding = nights_with_it[-1]
    if last_time == traced_nights[-1].at:
        became = f"now in {_share(last_finding)}"
        if last_finding.in_reference:
            became += f"; the reference has it in {last_finding.in_reference}"
    else:
        became = f"last in {night_words(course, last_time)}"
    became = f"first seen in {night_words(course, first_time)}, {became}"
    numbered_nights = enumerate(course.fared, 1)
    nights = tuple(_night(fared, rule, number) for number, fared in numbered_nights)
    return FindingRow(rule, last_finding.severity, last_finding.message, became, nights)


def _share(finding: TracedFinding) -> str:
    return f"{finding.traces} of {format_count(finding.of, 'trace')}"


def _night(fared: Fared, rule: str, number: int) -> tuple[float | None, str]:
    night_label = f"night {number} ({day(fared.at)})"
    if not has_traces(fared):
        return None, f"{night_label}: no traces"
    found = found_in(fared, rule)
    if found is None:
        return 0.0, f"{night_label}: not found"
    share = found.traces / max(1, found.of)
    return share, f"{night_label}: found in {_share(found)}"


_RATE = "tokens_per_second"
_NS = 1e9


@dataclass(frozen=True)
class Claim:
    """A finding that went away, with its claimed and its measured saving, in words.

    `at` is the start of the first night without it. `measured` is empty if it is not known;
    `reason` then says why. With a measured saving, `reason` is a caveat.
    """

    rule: str
    at: str
    claimed: str
    measured: str
    reason: str


def claims_of(course: Course) -> list[Claim]:
    """Return the findings that claimed a time for each token and went away, the latest first."""
    claims: list[Claim] = []
    traced_nights = filter(has_traces, course.fared)
    for night_before, night_after in pairwise(traced_nights):
        for finding in night_before.findings:
            claims_time = finding.traces and finding.saving_per_token is not None
            if claims_time and found_in(night_after, finding.rule) is None:
                claims.append(_claim(course, finding, night_before, night_after))
    claims.reverse()
    return claims


def _claim(course: Course, found: TracedFinding, night_before: Fared, night_after: Fared) -> Claim:
    old = _rate(course, night_before)
    new = _rate(course, night_after)
    measured = ""
    reason = f"one of both nights has no {_RATE}"
    if old and new and old.value and new.value:
        measured = _won(old.value, new.value)
        reason = "without a reference, so the machine's own pace is in it"
        if old.reference and new.reference:
            reason = f"the reference meanwhile: {_won(old.reference, new.reference)}"
    claimed_saving = f"{units.duration(found.saving_per_token)} per token"
    return Claim(found.rule, night_after.at, claimed_saving, measured, reason)


def _rate(course: Course, fared: Fared) -> Point | None:
    night = ""
    if fared.night:
        night = fared.night.id
    for series in course.series:
        if series.metric != _RATE:
            continue
        for point in series.points:
            if point.night == night and point.value:
                return point
    return None


def _won(old: float, new: float) -> str:
    """Describe the time that a token became shorter or longer by, from two rates per second."""
    won = _NS / old - _NS / new
    outcome = "won" if won >= 0 else "lost"
    return f"{units.duration(abs(won))} per token {outcome}"
