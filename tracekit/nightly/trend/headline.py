"""The current state of all series in a sentence, and the nights that gave no evidence."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from tracekit.base import units
from tracekit.nightly.history.night import ANCHORED, Judged, Missed, Night, Outcome, moment_of
from tracekit.nightly.trend.course import (
    Course,
    CourseState,
    Fared,
    ago,
    day,
    direction,
    format_count,
    state_of,
)
from tracekit.pages import text

_FRESH = timedelta(hours=36)  # a night a day, and half a day for one that is late


@dataclass(frozen=True)
class Lost:
    """A night, or a capture of a night, that gives no evidence about a change."""

    at: str
    what: str
    state: CourseState
    reason: str


def lost_of(nights: Sequence[Night], missed_nights: Sequence[Missed]) -> list[Lost]:
    """Return nights and captures that failed, were inconclusive or missed, the latest first."""
    lost_nights: list[Lost] = []
    for miss in missed_nights:
        reason = miss.reason or "it did not run"
        lost_nights.append(Lost(miss.due, miss.plan, CourseState.MISSED, reason))
    for night in nights:
        lost_nights += _lost_of_night(night)
    lost_nights.sort(key=lambda lost: (moment_of(lost.at), lost.what), reverse=True)
    return lost_nights


def _lost_of_night(night: Night) -> Iterator[Lost]:
    for entry in night.entries:
        if entry.outcome in {Outcome.FAILED, Outcome.INCONCLUSIVE, None}:
            subject = f"{night.plan}: {entry.capture}"
            yield Lost(night.started, subject, state_of(entry.outcome), entry.reason)
    reason = night.reason or "it ended before all of its captures were measured"
    if not night.entries:
        yield Lost(night.started, night.plan, state_of(night.outcome), reason)
    elif night.partial:
        yield Lost(night.started, night.plan, CourseState.NOT_RUN, reason)


def tally_of(nights: Sequence[Night], missed_nights: Sequence[Missed]) -> list[tuple[str, str]]:
    """Return how many nights there are, and how many of each state, in words and tones."""
    state_counts = Counter(state_of(night.outcome) for night in nights)
    state_counts[CourseState.MISSED] += len(missed_nights)
    tally = [(format_count(len(nights), "night"), "plain")]
    for state in CourseState:
        number = state_counts[state]
        if number:
            words = f"{state.sign} {number} {state}"
            tally.append((words, state.tone))
    return tally


def stale_of(nights: Sequence[Night], missed_nights: Sequence[Missed], current_time: str) -> str:
    """Return a sentence that no night has run lately; empty if the last one is fresh."""
    if not nights:
        return ""
    start_times = [night.started for night in nights]
    last_start = max(start_times, key=moment_of)
    last_moment = moment_of(last_start)
    missed_since = 0
    for miss in missed_nights:
        if moment_of(miss.due) > last_moment:
            missed_since += 1
    if not missed_since and moment_of(current_time) - last_moment < _FRESH:
        return ""
    words = ""
    if missed_since == 1:
        words = "; 1 was missed"
    elif missed_since:
        words = f"; {missed_since} were missed"
    last_day = day(last_start)
    time_since = ago(last_start, current_time)
    return f"No night has run since {last_day}, {time_since}{words}."


# The page begins with the first of these states that the last night of any capture has.
_RANKS = (
    CourseState.REGRESSION,
    CourseState.FAILED,
    CourseState.INCONCLUSIVE,
    CourseState.NOT_RUN,
    CourseState.UNFINISHED,
    CourseState.OK,
    CourseState.UNJUDGED,
)


@dataclass(frozen=True)
class Headline:
    """The beginning of the page: a sign with the worst state, and a few words.

    `named` are the courses that it is about; their last nights give the reasons.
    """

    tone: str
    sign: str
    words: str
    named: tuple[Course, ...] = ()


_FEW_NAMED = 2


def headline_of(courses: Sequence[Course], current_time: str) -> Headline:
    """Return the headline of at most twelve words; anchors are part of their capture."""
    current = find_standing(courses)
    if not current:
        return Headline("unclear", "? Nothing yet", "No capture has been measured in any night.")
    last_nights = [course.last for course in current]
    latest = max(last_nights, key=lambda fared: moment_of(fared.at))
    last_start = latest.at
    when = f"{day(last_start)} ({ago(last_start, current_time)})"
    worst_night = min(last_nights, key=lambda fared: _RANKS.index(fared.state))
    worst = worst_night.state
    named_courses = tuple(course for course in current if course.last.state is worst)
    names = format_count(len(named_courses), "capture")
    if worst is CourseState.OK:
        return Headline(worst.tone, f"{worst.sign} OK", f"{names}, nothing worse, {when}")
    if len(named_courses) <= _FEW_NAMED:
        names = ", ".join(course.capture for course in named_courses)
    if len(named_courses) == 1:
        change = _worst_change(named_courses[0])
        if change:
            names += f": {change}"
    sign = f"{worst.sign} {worst.capitalize()}"
    return Headline(worst.tone, sign, f"{names}, {when}", named_courses)


def find_standing(courses: Sequence[Course]) -> list[Course]:
    """Return the courses of current work; of an anchor only if it ended that night, and worse."""
    current = [course for course in courses if course.current]
    last_nights = {(course.machine, course.plan, course.capture): course.last for course in current}
    standing: list[Course] = []
    for course in current:
        capture_night = None
        if course.is_anchor:
            capture = course.capture.removesuffix(ANCHORED)
            capture_night = last_nights.get((course.machine, course.plan, capture))
        if capture_night is None or _is_worse_than(course.last, capture_night):
            standing.append(course)
    return standing


def _is_worse_than(anchor: Fared, capture_night: Fared) -> bool:
    if anchor.at != capture_night.at:
        return False
    anchor_rank = _RANKS.index(anchor.state)
    capture_rank = _RANKS.index(capture_night.state)
    return anchor_rank < capture_rank


def _worst_change(course: Course) -> str:
    """Return the first metric that is worse in the last night, and how much; else nothing."""
    entry = course.last.entry
    if entry is None:
        return ""
    for metric in entry.judged:
        if metric.outcome is Outcome.REGRESSION and metric.change is not None:
            if direction(metric.change, metric.better) == "worse":
                change = metric.formatter.change(metric.change)
                return f"{metric.metric} {change}"
            return metric.metric
    return ""


def deciding_words(judged: Judged) -> str:
    """Describe the last night's change of a metric that decides."""
    if judged.change is None:
        words = f"{units.quantity(judged.candidate, judged.unit)}, not compared"
    else:
        words = judged.formatter.format_change(judged.change, judged.low, judged.high)
    return f"{text.heading(judged.metric)} {words}"
