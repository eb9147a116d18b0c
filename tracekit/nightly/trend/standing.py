"""How things stand: the last night of each capture, what changed lately, what did not count."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from tracekit.base import quantity
from tracekit.nightly.history.night import Judged, Night, Outcome
from tracekit.nightly.history.steps import Series, Step
from tracekit.nightly.history.store.decisions import Missed
from tracekit.nightly.trend.course import (
    WAYS,
    Course,
    State,
    ago,
    changed_at,
    day,
    direction,
    moment_of,
    several,
    state_of,
)
from tracekit.nightly.trend.curve import doubt_of
from tracekit.report import heading

_FRESH = timedelta(hours=36)  # a night a day, and half a day for one that is late
MOST_CHANGES, MOST_LOST, LATELY = 12, 40, 30


@dataclass(frozen=True)
class Stand:
    """How a capture stands after its last night."""

    course: Course
    state: State
    when: str
    reason: str
    deciding: tuple[str, ...]
    lately: tuple[State, ...]


@dataclass(frozen=True)
class Turn:
    """A change point: when, of what, how much, and what else changed that night."""

    at: str
    course: Course
    series: Series
    words: str
    way: str
    tone: str
    levels: str
    doubt: str
    with_it: str


@dataclass(frozen=True)
class Lost:
    """A night, or a capture of one, that says nothing of a change."""

    at: str
    what: str
    state: State
    reason: str


def stand_of(course: Course, now: str) -> Stand:
    """Return how a capture stands."""
    last = course.last
    lately = tuple(one.state for one in course.fared[-LATELY:])
    if last is None:
        return Stand(course, State.NOT_RUN, "", "No night of it has run.", (), lately)
    deciding = tuple(
        _deciding(one) for one in (last.entry.judged if last.entry else ()) if one.gated
    )
    when = f"{day(last.at)}, {ago(last.at, now)}"
    return Stand(course, last.state, when, last.reason, deciding, lately)


def _deciding(judged: Judged) -> str:
    if judged.change is None:
        value = quantity(judged.candidate, judged.unit)
        return f"{heading(judged.metric)} {value}, not compared"
    change = judged.shown.whole(judged.change, judged.low, judged.high)
    return f"{heading(judged.metric)} {change}"


def turns_of(found: Sequence[tuple[Course, Series, Sequence[Step]]]) -> tuple[Turn, ...]:
    """Return the change points of all series, the latest first, those that decide before others."""
    turns = [_turn(course, series, step) for course, series, steps in found for step in steps]
    turns.sort(key=lambda one: (moment_of(one.at), one.series.gated), reverse=True)
    return tuple(turns)


def _turn(course: Course, series: Series, step: Step) -> Turn:
    at = series.points[step.index].at
    way = direction(step.change, series.better)
    words = series.shown.change(step.change)
    levels = " → ".join(
        series.shown.change(one) if step.of == "change" else quantity(one, series.unit)
        for one in (step.before, step.after)
    )
    levels += " from the reference" * (step.of == "change")
    doubt, changed = doubt_of(series, step), changed_at(course, at)
    return Turn(at, course, series, words, way, WAYS[way], levels, doubt, changed)


def lost_of(nights: Sequence[Night], missed: Sequence[Missed]) -> tuple[Lost, ...]:
    """Return what failed, was inconclusive, was cut short or missed, the latest first."""
    found = [
        Lost(one.due, one.plan, State.MISSED, one.reason or "it did not run") for one in missed
    ]
    for night in nights:
        own = [
            Lost(
                night.started,
                f"{night.plan}: {entry.capture}",
                state_of(entry.outcome),
                entry.reason,
            )
            for entry in night.entries
            if entry.outcome in {Outcome.FAILED, Outcome.INCONCLUSIVE, None}
        ]
        if night.partial or not (own or night.entries):
            state = state_of(night.outcome) if not night.entries else State.NOT_RUN
            reason = night.reason or "it ended before all of its captures were measured"
            own.append(Lost(night.started, night.plan, state, reason))
        found += own
    return tuple(sorted(found, key=lambda one: (moment_of(one.at), one.what), reverse=True))


def tally_of(nights: Sequence[Night], missed: Sequence[Missed]) -> tuple[tuple[str, str], ...]:
    """Return how many nights ended how, in words and numbers."""
    ended = Counter(state_of(night.outcome) for night in nights)
    ended[State.MISSED] = len(missed)
    tally = [(several(len(nights), "night"), "plain")]
    tally += [
        (f"{one.sign} {ended[one]} {_TALLIED.get(one, one)}", one.tone)
        for one in State
        if ended[one]
    ]
    return tuple(tally)


def stale_of(nights: Sequence[Night], missed: Sequence[Missed], now: str) -> str:
    """Return that no night has run lately, in a sentence; empty where the last one is fresh."""
    if not nights:
        return ""
    last = max((night.started for night in nights), key=moment_of)
    since = sum(moment_of(one.due) > moment_of(last) for one in missed)
    if not since and moment_of(now) - moment_of(last) < _FRESH:
        return ""
    words = f"No night has run since {day(last)}, {ago(last, now)}"
    return f"{words}; {several(since, 'was', 'were')} missed." if since else f"{words}."


_TALLIED = {State.REGRESSION: "with a regression", State.UNFINISHED: "not ended"}


def verdict_of(stands: Sequence[Stand], now: str) -> tuple[str, str, str]:
    """Return the tone, the sign and the sentence that the page begins with."""
    lasts = [(stand.course, stand.course.last) for stand in stands if stand.course.current]
    current = [(course, last) for course, last in lasts if last is not None]
    if not current:
        return "unclear", "? Nothing yet", "No capture has been measured in any night."
    last = max((one.at for _, one in current), key=moment_of)
    worst = min((one.state for _, one in current), key=_RANKS.index)
    named = [(course, one) for course, one in current if one.state is worst]
    names = ", ".join(course.capture for course, _ in named)
    when = f"the night of {day(last)} ({ago(last, now)})"
    if worst is State.OK:
        every = f"{several(len(named), 'capture')}: nothing became worse than allowed"
        return worst.tone, f"{worst.sign} OK", f"{every} in {when}."
    said = f"{names} in {when}" if len(named) < len(current) else f"T{when[1:]}, in {names}"
    why = named[0][1].reason.rstrip(".")
    return worst.tone, f"{worst.sign} {worst.capitalize()}", f"{said}{f': {why}' if why else ''}."


_RANKS = (
    State.REGRESSION,
    State.FAILED,
    State.INCONCLUSIVE,
    State.NOT_RUN,
    State.UNFINISHED,
    State.OK,
    State.UNJUDGED,
    State.MISSED,
)
