"""A capture over nights: its series, how each night ended, what happened between them, in words."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from string import ascii_uppercase
from typing import Literal, Self
from urllib.parse import quote

from tracekit.base import InputError, Overhead, percent, short_commit
from tracekit.nightly.history.night import (
    ANCHORED,
    Accepted,
    Entry,
    Judged,
    Night,
    Outcome,
    TracedFinding,
)
from tracekit.nightly.history.steps import Series
from tracekit.nightly.history.store.decisions import Missed
from tracekit.report import flat

Better = Literal["lower", "higher", "neither"]
Tone = Literal["error", "warning", "unclear", "good", "plain"]

_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class State(StrEnum):
    """How a capture fared in a night, or that there was nothing to fare; its sign and its tone."""

    sign: str
    tone: Tone

    OK = "ok", "✓", "good"
    REGRESSION = "regression", "▲", "error"
    INCONCLUSIVE = "inconclusive", "?", "unclear"
    UNJUDGED = "unjudged", "◇", "plain"  # nothing decides: all is followed over nights
    FAILED = "failed", "✕", "warning"
    UNFINISHED = "unfinished", "…", "plain"  # a night that runs still, or was cut off
    NOT_RUN = "not run", "—", "plain"  # a night that ended before this capture's turn
    MISSED = "missed", "▯", "plain"

    def __new__(cls, value: str, sign: str, tone: Tone) -> Self:
        """Make a state that is its word."""
        state = str.__new__(cls, value)
        state._value_ = value
        state.sign, state.tone = sign, tone
        return state


def state_of(outcome: Outcome | None) -> State:
    """Return how something ended; what has not ended is unfinished."""
    return State.UNFINISHED if outcome is None else State(outcome.value)


def moment_of(at: str) -> datetime:
    """Return an ISO 8601 time, in UTC where it does not say otherwise."""
    try:
        found = datetime.fromisoformat(at)
    except ValueError as error:
        message = f"{at!r} is no time of a night, so it has no place on the trend page."
        raise InputError(message, "Times are written as 2026-11-20T02:30:00+00:00.") from error
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def days_of(at: str) -> float:
    """Return a time as days since 1970: the places of nights on an axis."""
    return (moment_of(at) - _EPOCH) / _DAY


def date_of(days: float) -> datetime:
    """Return the time that so many days since 1970 are."""
    return _EPOCH + days * _DAY


def day(at: str) -> str:
    """Return the day of a night, such as "14 Oct 2026"."""
    moment = moment_of(at)
    return f"{moment.day} {moment:%b %Y}"


def ago(at: str, now: str) -> str:
    """Return how long ago a night was, in whole days: "today", "3 days ago"."""
    passed = (moment_of(now).date() - moment_of(at).date()).days
    if passed <= 0:
        return "today"
    return "yesterday" if passed == 1 else f"{passed} days ago"


def direction(change: float, better: Better) -> Literal["worse", "better", "changed"]:
    """Return which way a change goes."""
    if better == "neither" or change == 0:
        return "changed"
    return "better" if (change < 0) is (better == "lower") else "worse"


def cost_of(overhead: Overhead | None) -> str:
    """Return what tracing cost in a night, in a sentence; empty where nobody looked."""
    if overhead is None:
        return ""
    if overhead.ratio is None:
        reason = overhead.reason.rstrip(".")
        return f"What tracing costs is not known{f', because {reason}' if reason else ''}."
    doubt = "" if overhead.spread is None else f" ± {percent(overhead.spread)}"
    return f"Tracing costs {percent(overhead.ratio)}{doubt} of a step's time."


WAYS: dict[str, Tone] = {"worse": "error", "better": "good", "changed": "plain"}


def several(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: "1 night", "3 nights"."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


_Key = tuple[str, str, str, str]
Links = Callable[[str], str]


@dataclass(frozen=True)
class Fared:
    """How a capture fared in one night, which began or was due `at` a time, and why.

    `night` is None where it was missed, `entry` where the night says nothing of the capture.
    """

    at: str
    state: State
    reason: str = ""
    night: Night | None = None
    entry: Entry | None = None

    def judged(self, metric: str) -> Judged | None:
        """Return what became of a metric in this night."""
        judged = self.entry.judged if self.entry else ()
        return next((one for one in judged if one.metric == metric), None)

    @property
    def findings(self) -> tuple[TracedFinding, ...]:
        """What was found in the traces of this night."""
        return self.entry.findings if self.entry else ()


@dataclass(frozen=True)
class Course:
    """One piece of work of one plan on one machine, over nights.

    Its series have those first that decide; how nights ended and what was accepted of it are
    oldest first. It is `current` as the capture's latest work; links on the page call it `name`.
    `anchors` are the series of the same work against the anchor of a reference that moves along.
    """

    machine: str
    plan: str
    capture: str
    work: str
    series: tuple[Series, ...]
    fared: tuple[Fared, ...]
    accepted: tuple[Accepted, ...] = ()
    current: bool = True
    name: str = ""
    anchors: tuple[Series, ...] = ()

    @property
    def shown(self) -> tuple[Series, ...]:
        """The series that are drawn: all that decide, and others of which any night has a value."""
        return tuple(
            series
            for series in self.series
            if series.gated or any(point.value is not None for point in series.points)
        )

    @property
    def unknown(self) -> tuple[str, ...]:
        """The metrics that are followed, and of which no night has a value."""
        return tuple(series.metric for series in self.series if series not in self.shown)

    @property
    def last(self) -> Fared | None:
        """The last night that was not missed."""
        ran = (fared for fared in reversed(self.fared) if fared.state is not State.MISSED)
        return next(ran, None)


def courses_of(
    series: Sequence[Series],
    nights: Sequence[Night],
    accepted: Sequence[Accepted],
    missed: Sequence[Missed],
) -> tuple[Course, ...]:
    """Return the courses of all captures: those of current work first, in the order of the plan.

    A night that has no entry for a capture counts for the work that the capture had at that time,
    so that it is seen to be missing there.
    """
    ordered = sorted(nights, key=lambda night: (moment_of(night.started), night.id))
    places = {night.id: (night.machine, night.plan) for night in nights}
    keys = _keys(series, ordered)
    newest = {key[:3]: key for key in keys}
    found: list[Course] = []
    for key in keys:
        current = newest[key[:3]] == key
        held = [one for one in series if (one.machine, one.plan, one.capture, one.work) == key]
        own = tuple(sorted(held, key=lambda one: not one.gated))
        fared = tuple(_fared(key, ordered, missed, current=current))
        if not fared and own:  # nights that only points of series are known of
            fared = tuple(
                Fared(point.at, state_of(point.outcome or point.night_outcome), point.reason)
                for point in own[0].points
            )
        taken = tuple(
            one
            for one in accepted
            if (*places.get(one.night, key[:2]), one.capture, one.work) == key
        )
        anchored = (*key[:2], key[2] + ANCHORED)
        anchors = [one for one in series if (one.machine, one.plan, one.capture) == anchored]
        found.append(Course(*key, own, fared, taken, current=current, anchors=tuple(anchors)))
    found.sort(key=lambda course: not course.current)
    return tuple(replace(course, name=f"capture-{at}") for at, course in enumerate(found, 1))


def _keys(series: Sequence[Series], nights: Sequence[Night]) -> list[_Key]:
    """Return the keys of courses, by the first night; the newest work of a capture last."""
    seen: dict[_Key, str] = {}
    for night in nights:
        for entry in night.entries:
            seen.setdefault((night.machine, night.plan, entry.capture, entry.work), night.started)
    for one in series:
        first = one.points[0].at if one.points else "9999-12-31"
        seen.setdefault((one.machine, one.plan, one.capture, one.work), first)
    return sorted(seen, key=lambda key: moment_of(seen[key]))


def _fared(
    key: _Key, nights: Sequence[Night], missed: Sequence[Missed], *, current: bool
) -> Iterator[Fared]:
    machine, plan, capture, work = key
    own = [night for night in nights if (night.machine, night.plan) == (machine, plan)]
    entries = {
        night.id: entry
        for night in own
        for entry in night.entries
        if (entry.capture, entry.work) == (capture, work)
    }
    times = [moment_of(night.started) for night in own if night.id in entries]
    if any(entry.reference_kind == "anchor" for entry in entries.values()):
        own, missed = [night for night in own if night.id in entries], ()  # not due every night
    found = [
        _of_night(night, entries.get(night.id))
        for night in own
        if night.id in entries or all(entry.capture != capture for entry in night.entries)
    ]
    found += [
        Fared(one.due, State.MISSED, one.reason)
        for one in missed
        if (one.machine, one.plan) == (machine, plan)
    ]
    for fared in sorted(found, key=lambda fared: moment_of(fared.at)):
        at = moment_of(fared.at)
        if times and times[0] <= at and (current or at <= times[-1]):
            yield fared


def _of_night(night: Night, entry: Entry | None) -> Fared:
    if entry is not None:
        return Fared(night.started, state_of(entry.outcome), entry.reason, night, entry)
    state = State.FAILED if night.outcome is Outcome.FAILED else State.NOT_RUN
    reason = night.reason or "The night ended before this capture's turn"
    return Fared(night.started, state, reason, night)


def links_from(page: Path, history: Path) -> Links:
    """Return what links from a page in one folder to files of a history that are there.

    Folders of nights are relative to the folder that holds the history.
    """

    def link(path: str) -> str:
        file = history / path
        if not file.is_file():
            return ""
        return quote(Path(os.path.relpath(file, page)).as_posix(), errors="replace")

    return link


def reports_of(fared: Fared, links: Links) -> Iterator[tuple[str, str]]:
    """Yield links and words of the reports that a night has of a capture, candidates first."""
    if fared.night is None or fared.entry is None or not fared.night.folder:
        return
    traced = [pair for pair in fared.entry.pairs if pair.runs]
    for side, words in enumerate(("candidate", "reference")):
        for number, pair in enumerate(traced, 1):
            for run in pair.runs[side : side + 1]:
                if href := links(f"{fared.night.folder}/{run}/report.html"):
                    yield href, words if len(traced) == 1 else f"{words} {number}"


NOT_STATED = "not stated"
_SHORT = 12  # characters of a commit or a digest that are shown
_SPELLED = {"mlx": "MLX", "os": "system", "os build": "OS build", "xcode build": "Xcode build"}
_Changed = dict[str, tuple[str, str]]


@dataclass(frozen=True)
class Happening:
    """Something that happened to a course at one night, lettered as on its charts.

    `at` is when the first night with it began. It is a baseline that was `accepted`; else the
    environment changed.
    """

    letter: str
    at: str
    accepted: bool
    words: str


def happenings(course: Course) -> tuple[Happening, ...]:
    """Return what is drawn as lines and marks on a course's charts, oldest first.

    Commits, which change in most nights, are not.
    """
    begun = {fared.night.id: fared.at for fared in course.fared if fared.night is not None}
    found = [
        (at, False, "; ".join(words))
        for at, changed in _changed(course)
        if (words := list(_in_words(changed, commits=False)))
    ]
    for one in course.accepted:
        by = f" by {one.who}" if one.who else ""
        words = f"accepted on {day(one.at)}{by}: {one.reason}"
        found.append((begun.get(one.night, one.at), True, words))
    found.sort(key=lambda one: (moment_of(one[0]), one[1]))
    return tuple(Happening(_letter(place), *one) for place, one in enumerate(found))


def changed_at(course: Course, at: str) -> str:
    """Return all that changed with one night, for who asks what made a step; may be empty."""
    found = [changed for when, changed in _changed(course) if when == at]
    return "; ".join(words for changed in found for words in _in_words(changed))


def _changed(course: Course) -> Iterator[tuple[str, _Changed]]:
    """Yield each night before which facts changed: fact to (from, to)."""
    known = [(fared.at, _facts(fared.night, fared.entry)) for fared in course.fared if fared.entry]
    for (_, before), (at, after) in pairwise(known):
        found = {
            name: (before.get(name, NOT_STATED), after.get(name, NOT_STATED))
            for name in dict.fromkeys([*before, *after])
            if before.get(name) != after.get(name)
        }
        if found:
            yield at, found


def _facts(night: Night | None, entry: Entry | None) -> Mapping[str, str]:
    """Return what a night was measured on and with, by name; the candidate's commit counts."""
    if night is None or entry is None:
        return {}
    facts = {"plan": night.digest, "backend": entry.backend}
    for side, one in (("candidate", entry.candidate), ("reference", entry.reference)):
        if one is not None:
            facts[f"{side}'s Python"] = one.python
            facts[f"{side}'s MLX"] = one.mlx
            facts[f"{side}'s tracekit"] = one.tracekit
            facts[f"{side}'s commit"] = one.commit
    stated = {_SPELLED.get(name, name): value for name, value in flat(night.environment)}
    return stated | {name: value for name, value in facts.items() if value}


def _in_words(changed: _Changed, *, commits: bool = True) -> Iterator[str]:
    """Put changes into words; what both sides or the machine had in common is said once."""
    said: set[tuple[str, str, str]] = set()
    for name, (before, after) in changed.items():
        fact = name.rpartition("'s ")[2]
        same = (fact.lower(), before, after)
        if same in said or (fact == "commit" and not commits):
            continue
        said.add(same)
        short = fact in {"plan", "commit"}
        old, new = (short_commit(one, _SHORT) if short else one for one in (before, after))
        yield f"{name} {old} → {new}"


def _letter(place: int) -> str:
    """Return A … Z, AA, AB … ."""
    before, last = divmod(place, len(ascii_uppercase))
    return (_letter(before - 1) if before else "") + ascii_uppercase[last]
