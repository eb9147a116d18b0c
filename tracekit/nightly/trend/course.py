"""A capture over nights: its series, and how each night ended, missed ones included."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

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
from tracekit.nightly.trend.words import State, moment_of, state_of

_Key = tuple[str, str, str, str]


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
        return tuple(one.metric for one in self.series if one not in self.shown)

    @property
    def last(self) -> Fared | None:
        """The last night that was not missed."""
        ran = (one for one in reversed(self.fared) if one.state is not State.MISSED)
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
    ordered = sorted(nights, key=lambda one: (moment_of(one.started), one.id))
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
                Fared(one.at, state_of(one.outcome or one.night_outcome), one.reason)
                for one in own[0].points
            )
        taken = tuple(
            one
            for one in accepted
            if (*places.get(one.night, key[:2]), one.capture, one.work) == key
        )
        anchored = (*key[:2], key[2] + ANCHORED)
        anchors = [one for one in series if (one.machine, one.plan, one.capture) == anchored]
        found.append(Course(*key, own, fared, taken, current=current, anchors=tuple(anchors)))
    found.sort(key=lambda one: not one.current)
    return tuple(replace(one, name=f"capture-{at}") for at, one in enumerate(found, 1))


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
    own = [one for one in nights if (one.machine, one.plan) == (machine, plan)]
    entries = {
        night.id: entry
        for night in own
        for entry in night.entries
        if (entry.capture, entry.work) == (capture, work)
    }
    times = [moment_of(one.started) for one in own if one.id in entries]
    if any(entry.reference_kind == "anchor" for entry in entries.values()):
        own, missed = [one for one in own if one.id in entries], ()  # it is not due every night
    found = [_of_night(one, entries.get(one.id)) for one in own if _spoken_for(one, capture, work)]
    found += [
        Fared(one.due, State.MISSED, one.reason)
        for one in missed
        if (one.machine, one.plan) == (machine, plan)
    ]
    for one in sorted(found, key=lambda one: moment_of(one.at)):
        at = moment_of(one.at)
        if times and times[0] <= at and (current or at <= times[-1]):
            yield one


def _spoken_for(night: Night, capture: str, work: str) -> bool:
    """Tell whether a night says something of this work, or nothing of the capture at all."""
    works = [entry.work for entry in night.entries if entry.capture == capture]
    return work in works or not works


def _of_night(night: Night, entry: Entry | None) -> Fared:
    if entry is not None:
        return Fared(night.started, state_of(entry.outcome), entry.reason, night, entry)
    state = State.FAILED if night.outcome is Outcome.FAILED else State.NOT_RUN
    reason = night.reason or "The night ended before this capture's turn"
    return Fared(night.started, state, reason, night)
