"""Claimed saving, later measured: what a finding said it costs, and what its going away brought.

A rule estimates how much time could be won. Once its finding is gone, the nights before and
after tell how much was: both stand side by side, so that estimates can be believed, or not.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from tracekit.base.units import duration
from tracekit.nightly.history.night import Found
from tracekit.nightly.history.series import Point, Series
from tracekit.nightly.trend.course import Course, Fared
from tracekit.nightly.trend.problems import found_in, looked
from tracekit.nightly.trend.words import day, moment_of

_RATE = "tokens_per_second"
_NS = 1e9


@dataclass(frozen=True)
class Claim:
    """A finding that went away, with what it claimed and what was measured.

    Attributes:
        rule: The rule.
        at: When the first night without it began.
        before: The day of the last night with it.
        claimed: The saving that the finding stated, in words.
        measured: What the time became, in words; empty where it is not known.
        reason: Why it is not known, or what else is to be kept in mind.
    """

    rule: str
    at: str
    before: str
    claimed: str
    measured: str
    reason: str


def claims_of(course: Course) -> tuple[Claim, ...]:
    """Return the findings of a course that stated a saving and went away, the latest first."""
    found = list(_claims(course))
    return tuple(sorted(found, key=lambda one: (moment_of(one.at), one.rule), reverse=True))


def _claims(course: Course) -> Iterator[Claim]:
    known = [one for one in course.fared if looked(one)]
    for before, after in pairwise(known):
        for found in before.entry.findings if before.entry else ():
            gone = found.traces and found_in(after, found.rule) is None
            if gone and (found.saving_per_token is not None or found.saving is not None):
                yield _claim(course, found, before, after)


def _claim(course: Course, found: Found, before: Fared, after: Fared) -> Claim:
    if found.saving_per_token is None:
        claimed = f"{duration(found.saving)} of the steady window"
        reason = "it claims nothing for each token, and no series measures the steady window"
        return Claim(found.rule, after.at, day(before.at), claimed, "", reason)
    claimed = f"{duration(found.saving_per_token)} per token"
    series = next((one for one in course.series if one.metric == _RATE), None)
    if series is None:
        reason = f"{_RATE} is not followed, so the time of a token is not known"
        return Claim(found.rule, after.at, day(before.at), claimed, "", reason)
    old, new = (_point(series, one) for one in (before, after))
    if old is None or new is None:
        night = before if old is None else after
        reason = f"the night of {day(night.at)} has no {_RATE} that counts"
        return Claim(found.rule, after.at, day(before.at), claimed, "", reason)
    assert old.value
    assert new.value
    won = _NS / old.value - _NS / new.value
    measured = f"{duration(won)} per token" if won >= 0 else f"{duration(-won)} per token lost"
    return Claim(found.rule, after.at, day(before.at), claimed, measured, _meanwhile(old, new))


def _point(series: Series, fared: Fared) -> Point | None:
    night = fared.night.id if fared.night else ""
    return next((one for one in series.points if one.night == night and one.value), None)


def _meanwhile(old: Point, new: Point) -> str:
    """Return what the reference did at the same time: that much is the machine's."""
    if not old.reference or not new.reference:
        return "without a reference, so the machine's own pace is in it"
    moved = _NS / old.reference - _NS / new.reference
    way = "faster" if moved > 0 else "slower"
    if moved == 0:
        return "the reference did not move"
    return f"the reference became {duration(abs(moved))} per token {way} meanwhile"
