"""A capture over nights: its series, the outcome of each night, and the events between them."""

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from string import ascii_uppercase
from typing import Literal, Self
from urllib.parse import quote

from tracekit.base import Overhead, units
from tracekit.nightly.history.night import (
    ANCHORED,
    Accepted,
    Entry,
    Judged,
    Missed,
    Night,
    Outcome,
    TracedFinding,
    moment_of,
)
from tracekit.nightly.history.steps import Series
from tracekit.pages import text

Better = Literal["lower", "higher", "neither"]
Tone = Literal["error", "warning", "unclear", "good", "plain"]


class CourseState(StrEnum):
    """The outcome of a capture in a night, or why it has none, with a sign and a tone."""

    sign: str
    tone: Tone

    OK = "ok", "✓", "good"
    REGRESSION = "regression", "▲", "error"
    INCONCLUSIVE = "inconclusive", "?", "unclear"
    UNJUDGED = "unjudged", "◇", "plain"  # no metric decides: all are followed over nights
    FAILED = "failed", "✕", "warning"
    UNFINISHED = "unfinished", "…", "plain"  # a night that runs still, or was cut off
    NOT_RUN = "not run", "—", "plain"  # a night that ended before this capture's turn
    MISSED = "missed", "▯", "plain"

    def __new__(cls, value: str, sign: str, tone: Tone) -> Self:  # noqa: D102
        state = str.__new__(cls, value)
        state._value_ = value
        state.sign = sign
        state.tone = tone
        return state


def state_of(outcome: Outcome | None) -> CourseState:
    """Return the state for an outcome; without one it is unfinished."""
    if outcome is None:
        return CourseState.UNFINISHED
    return CourseState(outcome.value)


def day(time: str) -> str:
    """Return the day of a night, such as "14 Oct 2026"."""
    moment = moment_of(time)
    return f"{moment.day} {moment:%b %Y}"


def days(first_time: str, last_time: str) -> str:
    """Return the days of two nights, such as "14 Oct 2026 to 3 Nov 2026"; one if they share it.

    Trial nights run on one day.
    """
    first_day = day(first_time)
    last_day = day(last_time)
    if first_day == last_day:
        return first_day
    return f"{first_day} to {last_day}"


def ago(time: str, current_time: str) -> str:
    """Return how long ago a night was, in whole days: "today", "3 days ago"."""
    today = moment_of(current_time).date()
    first_date = moment_of(time).date()
    passed = (today - first_date).days
    if passed <= 0:
        return "today"
    if passed == 1:
        return "yesterday"
    return f"{passed} days ago"


WAYS: dict[str, Tone] = {"worse": "error", "better": "good", "changed": "plain"}


def direction(change: float, better: Better) -> Literal["worse", "better", "changed"]:
    """Return the direction of a change, for a metric that is better when lower or higher."""
    if better == "neither" or change == 0:
        return "changed"
    is_lower = change < 0
    if is_lower == (better == "lower"):
        return "better"
    return "worse"


def cost_of(overhead: Overhead | None) -> str:
    """Describe the cost of tracing in a night in a sentence; empty if it was not measured."""
    if overhead is None:
        return ""
    if overhead.ratio is None:
        reason = ""
        if overhead.reason:
            reason = f", because {overhead.reason.rstrip('.')}"
        return f"The cost of tracing is not known{reason}."
    doubt = ""
    if overhead.spread is not None:
        doubt = f" ± {units.percent(overhead.spread)}"
    return f"Tracing costs {units.percent(overhead.ratio)}{doubt} of a step's time."


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun: "1 night", "3 nights"."""
    if number == 1 or noun == "series":
        return f"{number:,} {noun}"
    return f"{number:,} {noun}s"


_Key = tuple[str, str, str, str]
Links = Callable[[str], str]


@dataclass(frozen=True)
class Fared:
    """The outcome of a capture in one night, which began or was due `at` a time, and its reason.

    `night` is None if it was missed; `entry` is None if the night does not have the capture.
    """

    at: str
    state: CourseState
    reason: str = ""
    night: Night | None = None
    entry: Entry | None = None

    def find_judgement(self, metric: str) -> Judged | None:
        """Return the judgement on a metric in this night."""
        if self.entry is not None:
            for judged in self.entry.judged:
                if judged.metric == metric:
                    return judged
        return None

    @property
    def findings(self) -> tuple[TracedFinding, ...]:
        """The findings in the traces of this night."""
        if self.entry is None:
            return ()
        return self.entry.findings


@dataclass(frozen=True)
class Course:
    """One piece of work of one plan on one machine, over nights.

    Its series begin with those that decide; outcomes of nights and acceptances are oldest first.
    It is `current` if it is the capture's latest work; links on the page call it `name`. `anchors`
    are the series of the same work against the anchor of a reference that moves along.
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
        shown_series: list[Series] = []
        for series in self.series:
            has_values = any(point.value is not None for point in series.points)
            if series.gated or has_values:
                shown_series.append(series)
        return tuple(shown_series)

    def number(self, time: str) -> int:
        """Return the number of the night that began at a time, from 1; missed ones count."""
        return bisect_right(self._moments, moment_of(time))

    @cached_property
    def _moments(self) -> list[datetime]:
        return [moment_of(fared.at) for fared in self.fared]

    @property
    def is_anchor(self) -> bool:
        """Whether it measures a capture's work against its anchor."""
        return self.capture.endswith(ANCHORED)

    @property
    def last(self) -> Fared:
        """The last night that was not missed."""
        attended = [fared for fared in self.fared if fared.state is not CourseState.MISSED]
        return attended[-1]


def courses_of(
    series: Sequence[Series],
    nights: Sequence[Night],
    accepted: Sequence[Accepted],
    missed: Sequence[Missed],
) -> tuple[Course, ...]:
    """Return the courses of all captures: those of current work first, in the order of the plan."""
    ordered = sorted(nights, key=lambda night: (moment_of(night.started), night.id))
    keys: list[_Key] = []
    for night in ordered:
        for entry in night.entries:
            key = (night.machine, night.plan, entry.capture, entry.work)
            keys.append(key)
    newest = {key[:3]: key for key in keys}
    places = {night.id: (night.machine, night.plan) for night in nights}
    courses: list[Course] = []
    for key in dict.fromkeys(keys):
        machine, plan, capture, work = key
        is_current = newest[key[:3]] == key
        anchor_key = (machine, plan, capture + ANCHORED)
        course_series: list[Series] = []
        anchors: list[Series] = []
        for line in series:
            line_key = _key(line)
            if line_key == key:
                course_series.append(line)
            elif line_key[:3] == anchor_key:
                anchors.append(line)
        course_series.sort(key=lambda line: not line.gated)
        acceptances: list[Accepted] = []
        for acceptance in accepted:
            place = places.get(acceptance.night, (machine, plan))
            if (*place, acceptance.capture, acceptance.work) == key:
                acceptances.append(acceptance)
        fared_nights = tuple(_iter_fared(key, ordered, missed, current=is_current))
        course = Course(
            machine,
            plan,
            capture,
            work,
            series=tuple(course_series),
            fared=fared_nights,
            accepted=tuple(acceptances),
            current=is_current,
            anchors=tuple(anchors),
        )
        courses.append(course)
    courses.sort(key=lambda course: not course.current)
    named_courses: list[Course] = []
    for number, course in enumerate(courses, 1):
        named_course = replace(course, name=f"capture-{number}")
        named_courses.append(named_course)
    return tuple(named_courses)


def _key(series: Series) -> _Key:
    return series.machine, series.plan, series.capture, series.work


def _iter_fared(
    key: _Key, nights: Sequence[Night], missed_nights: Sequence[Missed], *, current: bool
) -> Iterator[Fared]:
    """Yield the outcomes of a capture, oldest first.

    A night without an entry counts for the work that the capture had then. An anchor, which is not
    due every night, misses none.
    """
    machine, plan, capture, work = key
    fared_nights: list[Fared] = []
    absent_nights: list[Fared] = []
    for miss in missed_nights:
        if (miss.machine, miss.plan) == (machine, plan):
            absence = Fared(miss.due, CourseState.MISSED, miss.reason)
            absent_nights.append(absence)
    for night in nights:
        if (night.machine, night.plan) != (machine, plan):
            continue
        entries = {(entry.capture, entry.work): entry for entry in night.entries}
        entry = entries.get((capture, work))
        if entry is not None:
            state = state_of(entry.outcome)
            fared_nights.append(Fared(night.started, state, entry.reason, night, entry))
        elif all(entry.capture != capture for entry in night.entries):
            absent_nights.append(_absence(night))
    first_moment = moment_of(fared_nights[0].at)
    last_moment = moment_of(fared_nights[-1].at)
    if not capture.endswith(ANCHORED):
        for absence in absent_nights:
            moment = moment_of(absence.at)
            is_in_time = current or moment <= last_moment
            if first_moment <= moment and is_in_time:
                fared_nights.append(absence)
    yield from sorted(fared_nights, key=lambda fared: moment_of(fared.at))


def _absence(night: Night) -> Fared:
    """Return the outcome of a capture in a night that does not have it."""
    state = CourseState.NOT_RUN
    if night.outcome is Outcome.FAILED:
        state = CourseState.FAILED
    reason = night.reason or "The night ended before this capture's turn"
    return Fared(night.started, state, reason, night)


def links_from(page: Path, history: Path) -> Links:
    """Return a function that links from a page's folder to files of the history, if they exist."""

    def link(path: str) -> str:
        file = history / path
        if not file.is_file():
            return ""
        relative_path = os.path.relpath(file, page)
        return quote(Path(relative_path).as_posix(), errors="replace")

    return link


def reports_of(fared: Fared, links: Links) -> Iterator[tuple[str, str]]:
    """Yield links and words of the reports that a night has of a capture, candidates first."""
    if fared.night is None or fared.entry is None or not fared.night.folder:
        return
    traced = [pair for pair in fared.entry.pairs if pair.runs]
    for side, words in enumerate(("candidate", "reference")):
        for number, pair in enumerate(traced, 1):
            if side >= len(pair.runs):
                continue
            report = f"{fared.night.folder}/{pair.runs[side]}/report.html"
            href = links(report)
            if not href:
                continue
            if len(traced) == 1:
                yield href, words
            else:
                yield href, f"{words} {number}"


NOT_STATED = "not stated"
_SPELLED = {"mlx": "MLX", "os": "system", "os build": "OS build", "xcode build": "Xcode build"}


@dataclass(frozen=True)
class CourseEvent:
    """An event of a course before the night that began `at`, with its letter on the charts.

    Either a baseline was `accepted`, or the environment changed.
    """

    letter: str
    at: str
    accepted: bool
    words: str


def happenings(course: Course) -> tuple[CourseEvent, ...]:
    """Return the lines and marks on a course's charts, oldest first.

    Commits, which change in most nights, are not among them.
    """
    start_times = {fared.night.id: fared.at for fared in course.fared if fared.night is not None}
    events: list[tuple[str, bool, str]] = []
    for time, words in describe_changes(course, commits=False).items():
        events.append((time, False, words))
    for baseline in course.accepted:
        by = ""
        if baseline.who:
            by = f" by {baseline.who}"
        words = f"accepted on {day(baseline.at)}{by}: {baseline.reason}"
        night_start = start_times.get(baseline.night, baseline.at)
        events.append((night_start, True, words))
    events.sort(key=lambda event: (moment_of(event[0]), event[1]))
    lettered_events: list[CourseEvent] = []
    for place, (time, is_accepted, words) in enumerate(events):
        event = CourseEvent(_letter(place), time, is_accepted, words)
        lettered_events.append(event)
    return tuple(lettered_events)


def describe_changes(course: Course, *, commits: bool) -> dict[str, str]:
    """Return the other changes of each night in words, by the start of the night.

    A change that both sides or the machine have in common is given once.
    """
    changes: dict[str, str] = {}
    known_facts = [(fared.at, _facts(fared)) for fared in course.fared if fared.entry]
    for (_, old_facts), (time, new_facts) in pairwise(known_facts):
        names: dict[tuple[str, str, str], str] = {}
        for name in {**old_facts, **new_facts}:
            old = old_facts.get(name, NOT_STATED)
            new = new_facts.get(name, NOT_STATED)
            fact = name.rpartition("'s ")[2]
            if old != new and (commits or fact != "commit"):
                names.setdefault((fact, old, new), name)
        words = [f"{name} {old} → {new}" for (_, old, new), name in names.items()]
        if words:
            changes[time] = "; ".join(words)
    return changes


def _facts(fared: Fared) -> Mapping[str, str]:
    night = fared.night
    entry = fared.entry
    if night is None or entry is None:
        return {}
    facts: dict[str, str] = {}
    for name, value in text.flat(night.environment):
        facts[_SPELLED.get(name, name)] = value
    facts["plan"] = units.short_commit(night.digest)
    facts["backend"] = entry.backend
    sides = (("candidate", entry.candidate), ("reference", entry.reference))
    for side, described in sides:
        if described is not None:
            facts[f"{side}'s Python"] = described.python
            facts[f"{side}'s MLX"] = described.mlx
            facts[f"{side}'s tracekit"] = described.tracekit
            facts[f"{side}'s commit"] = units.short_commit(described.commit)
    return {name: value for name, value in facts.items() if value}


def _letter(place: int) -> str:
    """Return A … Z, AA, AB … ."""
    quotient, remainder = divmod(place, len(ascii_uppercase))
    letter = ascii_uppercase[remainder]
    if quotient == 0:
        return letter
    return _letter(quotient - 1) + letter
