"""A capture over nights: its series, how each night ended, and what happened between them."""

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

from tracekit.base import Overhead, percent, short_commit
from tracekit.nightly.history.night import (
    ANCHORED,
    Accepted,
    Entry,
    Judged,
    Night,
    Outcome,
    TracedFinding,
    moment_of,
)
from tracekit.nightly.history.steps import Series
from tracekit.nightly.history.store.decisions import Missed
from tracekit.report import flat

Better = Literal["lower", "higher", "neither"]
Tone = Literal["error", "warning", "unclear", "good", "plain"]


class CourseState(StrEnum):
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

    def __new__(cls, value: str, sign: str, tone: Tone) -> Self:  # noqa: D102
        state = str.__new__(cls, value)
        state._value_ = value
        state.sign, state.tone = sign, tone
        return state


def state_of(outcome: Outcome | None) -> CourseState:
    """Return how something ended; what has not ended is unfinished."""
    return CourseState.UNFINISHED if outcome is None else CourseState(outcome.value)


def day(time: str) -> str:
    """Return the day of a night, such as "14 Oct 2026"."""
    moment = moment_of(time)
    return f"{moment.day} {moment:%b %Y}"


def days(first_time: str, last_time: str) -> str:
    """Return the days of two nights, such as "14 Oct 2026 to 3 Nov 2026"; one where they share it.

    Trial nights run on one day.
    """
    return (
        day(first_time)
        if day(first_time) == day(last_time)
        else f"{day(first_time)} to {day(last_time)}"
    )


def ago(time: str, current_time: str) -> str:
    """Return how long ago a night was, in whole days: "today", "3 days ago"."""
    passed = (moment_of(current_time).date() - moment_of(time).date()).days
    if passed <= 0:
        return "today"
    return "yesterday" if passed == 1 else f"{passed} days ago"


WAYS: dict[str, Tone] = {"worse": "error", "better": "good", "changed": "plain"}


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
        reason = f", because {overhead.reason.rstrip('.')}" if overhead.reason else ""
        return f"What tracing costs is not known{reason}."
    doubt = "" if overhead.spread is None else f" ± {percent(overhead.spread)}"
    return f"Tracing costs {percent(overhead.ratio)}{doubt} of a step's time."


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun: "1 night", "3 nights"."""
    return f"{number:,} {noun}{'' if number == 1 or noun == 'series' else 's'}"


_Key = tuple[str, str, str, str]
Links = Callable[[str], str]


@dataclass(frozen=True)
class Fared:
    """How a capture fared in one night, which began or was due `at` a time, and why.

    `night` is None where it was missed, `entry` where the night says nothing of the capture.
    """

    at: str
    state: CourseState
    reason: str = ""
    night: Night | None = None
    entry: Entry | None = None

    def find_judgement(self, metric: str) -> Judged | None:
        """Return what became of a metric in this night."""
        judged = self.entry.judged if self.entry else ()
        return next((judgement for judgement in judged if judgement.metric == metric), None)

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
        return next(
            fared for fared in reversed(self.fared) if fared.state is not CourseState.MISSED
        )


def courses_of(
    series: Sequence[Series],
    nights: Sequence[Night],
    accepted: Sequence[Accepted],
    missed: Sequence[Missed],
) -> tuple[Course, ...]:
    """Return the courses of all captures: those of current work first, in the order of the plan."""
    ordered = sorted(nights, key=lambda night: (moment_of(night.started), night.id))
    keys = [
        (night.machine, night.plan, entry.capture, entry.work)
        for night in ordered
        for entry in night.entries
    ]
    newest = {key[:3]: key for key in keys}
    places = {night.id: (night.machine, night.plan) for night in nights}
    courses: list[Course] = []
    for key in dict.fromkeys(keys):
        current, anchor = newest[key[:3]] == key, (*key[:2], key[2] + ANCHORED)
        course_series = [line for line in series if _key(line) == key]
        acceptances = (
            acceptance
            for acceptance in accepted
            if (*places.get(acceptance.night, key[:2]), acceptance.capture, acceptance.work) == key
        )
        courses.append(
            Course(
                *key,
                series=tuple(sorted(course_series, key=lambda line: not line.gated)),
                fared=tuple(_iter_fared(key, ordered, missed, current=current)),
                accepted=tuple(acceptances),
                current=current,
                anchors=tuple(line for line in series if _key(line)[:3] == anchor),
            )
        )
    courses.sort(key=lambda course: not course.current)
    return tuple(
        replace(course, name=f"capture-{number}") for number, course in enumerate(courses, 1)
    )


def _key(series: Series) -> _Key:
    return series.machine, series.plan, series.capture, series.work


def _iter_fared(
    key: _Key, nights: Sequence[Night], missed_nights: Sequence[Missed], *, current: bool
) -> Iterator[Fared]:
    """Yield how a capture fared, oldest first.

    A night without an entry counts for the work that the capture had then; of an anchor, which is
    not due every night, nothing is missing.
    """
    fared_nights: list[Fared] = []
    absent_nights = [
        Fared(miss.due, CourseState.MISSED, miss.reason)
        for miss in missed_nights
        if (miss.machine, miss.plan) == key[:2]
    ]
    for night in (night for night in nights if (night.machine, night.plan) == key[:2]):
        entries = {(entry.capture, entry.work): entry for entry in night.entries}
        if (entry := entries.get(key[2:])) is not None:
            state = state_of(entry.outcome)
            fared_nights.append(Fared(night.started, state, entry.reason, night, entry))
        elif all(entry.capture != key[2] for entry in night.entries):
            state = CourseState.FAILED if night.outcome is Outcome.FAILED else CourseState.NOT_RUN
            reason = night.reason or "The night ended before this capture's turn"
            absent_nights.append(Fared(night.started, state, reason, night))
    first_moment, last_moment = moment_of(fared_nights[0].at), moment_of(fared_nights[-1].at)
    if not key[2].endswith(ANCHORED):
        fared_nights += [
            fared
            for fared in absent_nights
            if first_moment <= moment_of(fared.at)
            and (current or moment_of(fared.at) <= last_moment)
        ]
    yield from sorted(fared_nights, key=lambda fared: moment_of(fared.at))


def links_from(page: Path, history: Path) -> Links:
    """Return what links from a page's folder to files that are there, relative to the history's."""

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
_SPELLED = {"mlx": "MLX", "os": "system", "os build": "OS build", "xcode build": "Xcode build"}


@dataclass(frozen=True)
class CourseEvent:
    """What happened to a course before the night that began `at`, lettered as on its charts.

    It is a baseline that was `accepted`; else the environment changed.
    """

    letter: str
    at: str
    accepted: bool
    words: str


def happenings(course: Course) -> tuple[CourseEvent, ...]:
    """Return what is drawn as lines and marks on a course's charts, oldest first.

    Commits, which change in most nights, are not.
    """
    start_times = {fared.night.id: fared.at for fared in course.fared if fared.night is not None}
    events = [
        (time, False, words) for time, words in describe_changes(course, commits=False).items()
    ]
    for baseline in course.accepted:
        by = f" by {baseline.who}" if baseline.who else ""
        words = f"accepted on {day(baseline.at)}{by}: {baseline.reason}"
        events.append((start_times.get(baseline.night, baseline.at), True, words))
    events.sort(key=lambda event: (moment_of(event[0]), event[1]))
    return tuple(CourseEvent(_letter(place), *event) for place, event in enumerate(events))


def describe_changes(course: Course, *, commits: bool) -> dict[str, str]:
    """Return what else changed with each night, in words, by when it began.

    What both sides or the machine have in common is said once.
    """
    changes: dict[str, str] = {}
    known_facts = [(fared.at, _facts(fared)) for fared in course.fared if fared.entry]
    for (_, old_facts), (time, new_facts) in pairwise(known_facts):
        names: dict[tuple[str, str, str], str] = {}
        for name in {**old_facts, **new_facts}:
            old, new = old_facts.get(name, NOT_STATED), new_facts.get(name, NOT_STATED)
            fact = name.rpartition("'s ")[2]
            if old != new and (commits or fact != "commit"):
                names.setdefault((fact, old, new), name)
        if names:
            changes[time] = "; ".join(
                f"{name} {old} → {new}" for (_, old, new), name in names.items()
            )
    return changes


def _facts(fared: Fared) -> Mapping[str, str]:
    night, entry = fared.night, fared.entry
    if night is None or entry is None:
        return {}
    facts = {_SPELLED.get(name, name): value for name, value in flat(night.environment)}
    facts |= {"plan": short_commit(night.digest), "backend": entry.backend}
    for side, described in (("candidate", entry.candidate), ("reference", entry.reference)):
        if described is not None:
            facts |= {
                f"{side}'s Python": described.python,
                f"{side}'s MLX": described.mlx,
                f"{side}'s tracekit": described.tracekit,
                f"{side}'s commit": short_commit(described.commit),
            }
    return {name: value for name, value in facts.items() if value}


def _letter(place: int) -> str:
    """Return A … Z, AA, AB … ."""
    quotient, remainder = divmod(place, len(ascii_uppercase))
    return (_letter(quotient - 1) if quotient else "") + ascii_uppercase[remainder]
