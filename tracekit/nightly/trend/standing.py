"""How things stand: the last night of each capture, what changed lately, what did not count."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from tracekit.base import quantity
from tracekit.nightly.history.night import Judged, Night, Outcome, moment_of
from tracekit.nightly.history.steps import Series, Step
from tracekit.nightly.history.store.decisions import Missed
from tracekit.nightly.trend.course import (
    WAYS,
    Course,
    State,
    ago,
    changed,
    day,
    direction,
    several,
    state_of,
)
from tracekit.report import heading

_FRESH = timedelta(hours=36)  # a night a day, and half a day for one that is late
MOST_CHANGES, MOST_LOST, LATELY = 12, 40, 30


@dataclass(frozen=True)
class Turn:
    """A change point: when, of what, how much, and what else changed that night."""

    at: str
    course: Course
    series: Series
    change: str
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


def deciding_words(judged: Judged) -> str:
    """Return what a metric that decides says of the last night."""
    if judged.change is None:
        value = quantity(judged.candidate, judged.unit)
        return f"{heading(judged.metric)} {value}, not compared"
    change = judged.shown.whole(judged.change, judged.low, judged.high)
    return f"{heading(judged.metric)} {change}"


def turns_of(course: Course, series: Series, steps: Sequence[Step]) -> list[Turn]:
    """Return the change points of a series, oldest first."""
    turns: list[Turn] = []
    others = changed(course, commits=True) if steps else {}
    for step in steps:
        at = series.points[step.index].at
        way = direction(step.change, series.better)
        change = series.shown.change(step.change) + f", {way}" * (way != "changed")
        levels = " → ".join(
            series.shown.change(level) if step.of == "change" else quantity(level, series.unit)
            for level in (step.before, step.after)
        )
        levels += " from the reference" * (step.of == "change")
        first, last = (day(series.points[place].at) for place in (step.earliest, step.latest))
        doubt = f"{first} to {last}" if step.earliest < step.latest else ""
        turns.append(Turn(at, course, series, change, WAYS[way], levels, doubt, others.get(at, "")))
    return turns


def lost_of(nights: Sequence[Night], missed: Sequence[Missed]) -> list[Lost]:
    """Return what failed, was inconclusive, was cut short or missed, the latest first."""
    found = [
        Lost(miss.due, miss.plan, State.MISSED, miss.reason or "it did not run") for miss in missed
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
        if night.partial or not night.entries:
            state = State.NOT_RUN if night.entries else state_of(night.outcome)
            reason = night.reason or "it ended before all of its captures were measured"
            own.append(Lost(night.started, night.plan, state, reason))
        found += own
    return sorted(found, key=lambda lost: (moment_of(lost.at), lost.what), reverse=True)


def tally_of(nights: Sequence[Night], missed: Sequence[Missed]) -> list[tuple[str, str]]:
    """Return how many nights ended how, in words and tones."""
    ended = Counter(state_of(night.outcome) for night in nights)
    ended[State.MISSED] = len(missed)
    tally = [
        (f"{state.sign} {ended[state]} {state}", state.tone) for state in State if ended[state]
    ]
    return [(several(len(nights), "night"), "plain"), *tally]


def stale_of(nights: Sequence[Night], missed: Sequence[Missed], now: str) -> str:
    """Return that no night has run lately, in a sentence; empty where the last one is fresh."""
    if not nights:
        return ""
    last = max((night.started for night in nights), key=moment_of)
    since = sum(moment_of(miss.due) > moment_of(last) for miss in missed)
    if not since and moment_of(now) - moment_of(last) < _FRESH:
        return ""
    words = f"; {since} {'was' if since == 1 else 'were'} missed" if since else ""
    return f"No night has run since {day(last)}, {ago(last, now)}{words}."


# What the page begins with is the first of these that the last night of any capture was.
_RANKS = (
    State.REGRESSION,
    State.FAILED,
    State.INCONCLUSIVE,
    State.NOT_RUN,
    State.UNFINISHED,
    State.OK,
    State.UNJUDGED,
)


def verdict_of(courses: Sequence[Course], now: str) -> tuple[str, str, str]:
    """Return the tone, the sign and the sentence that the page begins with."""
    current = [course for course in courses if course.current]
    if not current:
        return "unclear", "? Nothing yet", "No capture has been measured in any night."
    last = max((course.last.at for course in current), key=moment_of)
    when = f"the night of {day(last)} ({ago(last, now)})"
    worst = min((course.last.state for course in current), key=_RANKS.index)
    named = [course for course in current if course.last.state is worst]
    if worst is State.OK:
        every = f"{several(len(named), 'capture')}: nothing became worse than allowed"
        return worst.tone, f"{worst.sign} OK", f"{every} in {when}."
    names, why = ", ".join(course.capture for course in named), named[0].last.reason.rstrip(".")
    said = f"{names} in {when}{f': {why}' if why else ''}."
    return worst.tone, f"{worst.sign} {worst.capitalize()}", said
