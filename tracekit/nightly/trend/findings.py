"""Findings over time: what appeared and went away, and what a finding's going away really saved.

A rule estimates how much time could be won. Once its finding is gone, the nights before and
after show how much was: both stand side by side, so that estimates can be believed, or not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from tracekit.base import duration
from tracekit.nightly.history.night import TracedFinding
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.trend.course import Course, Fared, day, moment_of, several


@dataclass(frozen=True)
class Stretch:
    """Nights in a row, from the place `begin` among the course's, of which the same is known.

    `share` is in how many of the traces the rule found something; None where none was made.
    """

    begin: int
    nights: int
    share: float | None
    words: str


@dataclass(frozen=True)
class FindingRow:
    """What became of one rule's finding."""

    rule: str
    severity: str
    message: str
    became: str
    stands: bool
    stretches: tuple[Stretch, ...]


def finding_rows(course: Course) -> tuple[FindingRow, ...]:
    """Return the findings of a course by rule: those that stand, then those that went."""
    rules = dict.fromkeys(
        found.rule for fared in course.fared for found in fared.findings if found.traces
    )
    rows = [_row(rule, course.fared) for rule in rules]
    return tuple(sorted(rows, key=lambda one: (not one.stands, one.rule)))


def looked(fared: Fared) -> bool:
    """Tell whether a night has traces of the capture, so that a finding could be in them."""
    pairs = fared.entry.pairs if fared.entry else ()
    return bool(fared.findings) or any(pair.traced for pair in pairs)


def found_in(fared: Fared, rule: str) -> TracedFinding | None:
    """Return what a rule found in a night; None where it found nothing."""
    return next((one for one in fared.findings if one.rule == rule and one.traces), None)


def _row(rule: str, fared: Sequence[Fared]) -> FindingRow:
    known = [one for one in fared if looked(one)]
    there = [found for one in known if (found := found_in(one, rule)) is not None]
    last = there[-1]
    now = found_in(known[-1], rule)
    became = list(_turns(rule, known))
    if now is not None:
        became.append(f"now in {now.traces} of {several(now.of, 'trace')}")
        if now.in_reference:
            became.append(f"the reference has it in {now.in_reference}")
    words, stretches = " · ".join(became), tuple(_stretches(rule, fared))
    return FindingRow(rule, last.severity, last.message, words, now is not None, stretches)


def _turns(rule: str, known: Sequence[Fared]) -> Iterator[str]:
    """Yield when a finding appeared and when it went away; of many turns the last ones."""
    turns: list[str] = []
    if found_in(known[0], rule):
        turns.append(f"since the first night, {day(known[0].at)}")
    for before, after in pairwise(known):
        was, there = found_in(before, rule), found_in(after, rule)
        if (was is None) is not (there is None):
            turns.append(f"{'appeared' if there else 'gone on'} {day(after.at)}")
    most = 4
    if len(turns) > most:
        yield f"{len(turns) - most} turns before"
    yield from turns[-most:]


def _stretches(rule: str, fared: Sequence[Fared]) -> Iterator[Stretch]:
    begin = 0
    for key, group in groupby(fared, key=lambda one: _state(one, rule)):
        held = list(group)
        days = dict.fromkeys((day(held[0].at), day(held[-1].at)))
        share, words = None, "no traces"
        if key is not None:
            share = key[0] / max(1, key[1])
            words = f"found in {key[0]} of {several(key[1], 'trace')}" if key[0] else "not found"
        yield Stretch(begin, len(held), share, f"{' to '.join(days)}: {words}")
        begin += len(held)


def _state(fared: Fared, rule: str) -> tuple[int, int] | None:
    if not looked(fared):
        return None
    found = found_in(fared, rule)
    return (found.traces, found.of) if found else (0, 0)


_RATE = "tokens_per_second"
_NS = 1e9


@dataclass(frozen=True)
class Claim:
    """A finding that went away, with what it claimed and what was measured, in words.

    `at` is when the first night without it began, `before` the day of the last with it. `measured`
    is empty where it is not known: `reason` says why, or what else is to be kept in mind.
    """

    rule: str
    at: str
    before: str
    claimed: str
    measured: str
    reason: str


def claims_of(course: Course) -> tuple[Claim, ...]:
    """Return the findings of a course that stated a saving and went away, the latest first."""
    claims = [
        _claim(course, found, before, after)
        for before, after in pairwise(filter(looked, course.fared))
        for found in before.findings
        if found.traces and (found.saving_per_token is not None or found.saving is not None)
        if found_in(after, found.rule) is None
    ]
    return tuple(sorted(claims, key=lambda one: (moment_of(one.at), one.rule), reverse=True))


def _claim(course: Course, found: TracedFinding, before: Fared, after: Fared) -> Claim:
    if found.saving_per_token is None:
        claimed, measured = f"{duration(found.saving)} of the steady window", ""
        reason = "it claims nothing for each token, and no series measures the steady window"
    else:
        claimed = f"{duration(found.saving_per_token)} per token"
        measured, reason = _won(course, before, after)
    return Claim(found.rule, after.at, day(before.at), claimed, measured, reason)


def _won(course: Course, before: Fared, after: Fared) -> tuple[str, str]:
    """Return what the time of a token became, and what else is to be kept in mind."""
    series = next((one for one in course.series if one.metric == _RATE), None)
    if series is None:
        return "", f"{_RATE} is not followed, so the time of a token is not known"
    old, new = (_point(series, one) for one in (before, after))
    if old is None or new is None:
        night = before if old is None else after
        return "", f"the night of {day(night.at)} has no {_RATE} that counts"
    assert old.value
    assert new.value
    won = _NS / old.value - _NS / new.value
    measured = f"{duration(won)} per token" if won >= 0 else f"{duration(-won)} per token lost"
    return measured, _meanwhile(old, new)


def _point(series: Series, fared: Fared) -> Point | None:
    night = fared.night.id if fared.night else ""
    return next((point for point in series.points if point.night == night and point.value), None)


def _meanwhile(old: Point, new: Point) -> str:
    """Return what the reference did at the same time: that much is the machine's."""
    if not old.reference or not new.reference:
        return "without a reference, so the machine's own pace is in it"
    moved = _NS / old.reference - _NS / new.reference
    way = "faster" if moved > 0 else "slower"
    if moved == 0:
        return "the reference did not move"
    return f"the reference became {duration(abs(moved))} per token {way} meanwhile"
