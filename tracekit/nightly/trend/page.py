"""The trend as one page: how things stand, every series over nights, findings, claims.

A rule estimates how much time could be won. Once its finding is gone, the nights before and
after show how much was: both stand side by side, so that estimates can be believed, or not.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from tracekit.base import duration, quantity, short_commit
from tracekit.machine import window_words
from tracekit.nightly.history.changes import Changes, LevelStep, Ramp
from tracekit.nightly.history.night import (
    ANCHORED,
    KINDS,
    Accepted,
    Entry,
    Judged,
    Night,
    Outcome,
    TracedFinding,
    moment_of,
)
from tracekit.nightly.history.steps import Point, Series, anchors_of, is_searched, trend_of
from tracekit.nightly.history.store.decisions import Missed
from tracekit.nightly.history.stretches import SHORTEST
from tracekit.nightly.trend.course import (
    WAYS,
    Course,
    CourseState,
    Fared,
    Links,
    ago,
    cost_of,
    courses_of,
    day,
    days,
    describe_changes,
    direction,
    format_count,
    happenings,
    reports_of,
    state_of,
)
from tracekit.nightly.trend.curve import RECENT, Curve, night_words, picture_of, rate_words
from tracekit.nightly.trend.picture import NightAxis, svg
from tracekit.report import Redact, document, environment_of, heading, text

FEW_FOLLOWED = 12  # as many compact charts are open from the start


def render_trend(
    series: Sequence[Series],
    nights: Sequence[Night],
    accepted: Sequence[Accepted],
    *,
    missed: Sequence[Missed] = (),
    now: str,
    redact: Redact,
    links: Links,
) -> str:
    """Return the page: one HTML document that loads nothing and reads without script.

    `nights` are those of the series, `missed` were due and did not run, and `now` is ISO 8601.
    `redact` takes out of a string what must not be shown; `links` returns the link to a file of the
    history, such as "night/run/report.html", empty for none. A link that names a person or a
    machine is left out. The same input gives the same characters.
    """

    def redact_link(path: str) -> str:
        href = links(path)
        return href if redact(href) == href else ""  # half a link leads nowhere

    courses = courses_of(series, nights, accepted, missed)
    turns: list[Turn] = []
    sections: list[dict[str, Any]] = []
    for course in courses:
        curves = _curves(course, redact_link)
        if not course.is_anchor:  # what it measures is part of its capture's trend
            course_turns = [
                turn for curve in curves for turn in turns_of(course, curve.series, curve.trend)
            ]
            turns += join_turns(course_turns)
        sections.append(_section(course, curves, redact_link, redact))
    turns.sort(
        key=lambda turn: (moment_of(turn.until or turn.time), turn.series.gated), reverse=True
    )
    lost_nights = lost_of(nights, missed)
    searched = [is_searched(line) for course in courses for line in course.shown]
    return document(
        environment_of(redact),
        "trend/page.html",
        styles=("page.css", "trend/trend.css"),
        scripts=(),
        title=_title(courses),
        headline=headline_of(courses, now),
        stale=stale_of(nights, missed, now),
        tally=tally_of(nights, missed),
        stands=_standing(courses),
        deciding=deciding_words,
        ago=lambda time: ago(time, now),
        day=day,
        days=days,
        moment=moment_of,
        meanwhile=meanwhile_words,
        several=format_count,
        short_commit=short_commit,
        lately=LATELY,
        turns=turns[:MOST_CHANGES],
        more_turns=max(0, len(turns) - MOST_CHANGES),
        searched=sum(searched),
        short=len(searched) - sum(searched),
        least_nights=2 * SHORTEST,
        lost=lost_nights[:MOST_LOST],
        more_lost=max(0, len(lost_nights) - MOST_LOST),
        sections=sections,
        few=sum(len(course.shown) for course in courses) <= FEW_FOLLOWED,
        recent=RECENT,
    )


def _title(courses: Sequence[Course]) -> str:
    if not courses:
        return "an empty history"
    plans, machines = {course.plan for course in courses}, {course.machine for course in courses}
    plan_words = courses[0].plan if len(plans) == 1 else format_count(len(plans), "plan")
    on = courses[0].machine if len(machines) == 1 else format_count(len(machines), "machine")
    return f"{plan_words} on {on}"


def _curves(course: Course, links: Links) -> list[Curve]:
    x = NightAxis(tuple(fared.at for fared in course.fared))
    tags = happenings(course)

    def report(fared: Fared) -> str:
        return next((href for href, _ in reports_of(fared, links)), "")

    return [
        Curve(series, trend_of(series, anchors_of(series, course.anchors)), course, x, tags, report)
        for series in course.shown
    ]


def _section(
    course: Course, curves: Sequence[Curve], links: Links, redact: Redact
) -> dict[str, Any]:
    last_entry = course.last.entry
    reference = last_entry.reference if last_entry else None
    figures: list[dict[str, Any]] = []
    for curve in curves:
        picture = picture_of(curve)
        drawn = Markup(svg(picture, lambda words: text.visible(redact(words))))  # noqa: S704  XML
        figures.append({"series": curve.series, "summary": picture.summary, "drawing": drawn})
    return {
        "course": course,
        "candidate": (last_entry.candidate.words or last_entry.candidate.workload)
        if last_entry
        else "",
        "reference": (reference.words or reference.workload) if reference else "",
        "kind": KINDS[last_entry.reference_kind]
        if last_entry and last_entry.reference_kind
        else "",
        "checked": text.sentence(last_entry.parity) if last_entry else "",
        "cost": cost_of(last_entry.overhead) if last_entry else "",
        "meanwhile": meanwhile_words(last_entry) if last_entry else "",
        "large": [figure for figure in figures if figure["series"].gated],
        "small": [figure for figure in figures if not figure["series"].gated],
        "unknown": [
            heading(series.metric) for series in course.series if series not in course.shown
        ],
        "happened": happenings(course),
        "findings": finding_rows(course),
        "claims": claims_of(course),
        "table": table_of(course, links),
        "thinned": any(len(series.points) > RECENT for series in course.series),
    }


def meanwhile_words(entry: Entry) -> str:
    """Say what the machine was like while an entry was measured, and how many pairs count."""
    state = window_words(entry.states)
    return f"{state.rstrip('.')}; {entry.counting}." if state else ""


_Row = tuple[int, Fared, list[str], list[tuple[str, str]]]


def table_of(course: Course, links: Links) -> list[_Row]:
    """Return the nights of a course, the latest first, with their values and reports."""
    cells = [
        {point.night: _cell(series, point) for point in series.points} for series in course.shown
    ]
    rows: list[_Row] = []
    numbered = list(enumerate(course.fared, 1))
    for number, fared in reversed(numbered):
        night = fared.night.id if fared.night else ""
        row_cells = [series_cells.get(night, "") for series_cells in cells]
        rows.append((number, fared, row_cells, list(reports_of(fared, links))))
    return rows


def _cell(series: Series, point: Point) -> str:
    change = series.formatter.format_change(point.change, point.low, point.high)
    parts = [] if point.value is None else [quantity(point.value, series.unit), change]
    return "; ".join(filter(None, parts))


_FRESH = timedelta(hours=36)  # a night a day, and half a day for one that is late
MOST_CHANGES, MOST_LOST, LATELY = 12, 40, 30


@dataclass(frozen=True)
class Turn:
    """A step or a drift: when, of what, how much, and what else changed that night.

    `number` is that of its night, of a drift's first; it may be of the nights `earliest` to
    `latest`, which are a drift's own. `until` is when a drift's last night began, empty of a step.
    A drift has no night of its own, so nothing is named that changed with it. `also` are other
    metrics of the capture that changed with it, in words: one regression is one row.
    """

    time: str
    course: Course
    series: Series
    change: str
    tone: str
    levels: str
    number: int
    earliest: int
    latest: int
    with_it: str = ""
    until: str = ""
    also: tuple[str, ...] = ()

    @property
    def nights(self) -> str:
        """The number of its night, or those of a drift's first and last."""
        return f"{self.earliest} to {self.latest}" if self.until else f"{self.number}"

    @property
    def days(self) -> str:
        """The day of its night, or those of a drift."""
        return days(self.time, self.until) if self.until else day(self.time)

    @property
    def doubt(self) -> str:
        """The numbers of the nights that a step may be of; empty where it is of one alone."""
        certain = self.until or self.earliest == self.latest
        return "" if certain else f"{self.earliest} to {self.latest}"

    def is_with(self, other_turn: "Turn") -> bool:
        """Whether both may be one: of one capture, a step each or a drift, in the same nights."""
        apart = self.latest < other_turn.earliest or other_turn.latest < self.earliest
        same_kind = (bool(self.until), self.tone) == (bool(other_turn.until), other_turn.tone)
        return self.course is other_turn.course and same_kind and not apart


@dataclass(frozen=True)
class Lost:
    """A night, or a capture of one, that says nothing of a change."""

    at: str
    what: str
    state: CourseState
    reason: str


def deciding_words(judged: Judged) -> str:
    """Return what a metric that decides says of the last night."""
    change = judged.formatter.format_change(judged.change, judged.low, judged.high)
    value = f"{quantity(judged.candidate, judged.unit)}, not compared"
    return f"{heading(judged.metric)} {value if judged.change is None else change}"


def turns_of(course: Course, series: Series, trend: Changes) -> list[Turn]:
    """Return the steps of a series, and then its drifts, each oldest first."""
    other_changes = describe_changes(course, commits=True) if trend.steps else {}
    steps = [_turn_of_step(course, series, step, other_changes) for step in trend.steps]
    return [*steps, *(_turn_of_drift(course, series, ramp) for ramp in trend.ramps)]


def join_turns(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns with those of one capture that came together as one, the first metric's."""
    joined: list[Turn] = []
    for turn in turns:
        place = next(
            (index for index, joined_turn in enumerate(joined) if joined_turn.is_with(turn)), None
        )
        if place is None:
            joined.append(turn)
        else:
            joined_turn = joined[place]
            words = f"{heading(turn.series.metric)} {turn.change}"
            joined[place] = replace(joined_turn, also=(*joined_turn.also, words))
    return joined


def _turn_of_step(
    course: Course, series: Series, step: LevelStep, other_changes: Mapping[str, str]
) -> Turn:
    time = series.points[step.index].at
    way = direction(step.change, series.better)
    return Turn(
        time=time,
        course=course,
        series=series,
        change=_toward(series.formatter.change(step.change), way),
        tone=WAYS[way],
        levels=_levels(series, step),
        number=course.number(time),
        earliest=course.number(series.points[step.earliest].at),
        latest=course.number(series.points[step.latest].at),
        with_it=other_changes.get(time, ""),
    )


def _turn_of_drift(course: Course, series: Series, ramp: Ramp) -> Turn:
    first_time, last_time = (
        series.points[place].at for place in (ramp.first_night, ramp.last_night)
    )
    way = direction(ramp.change, series.better)
    return Turn(
        time=first_time,
        course=course,
        series=series,
        change=_toward(rate_words(series, ramp), way),
        tone=WAYS[way],
        levels=_levels(series, ramp),
        number=course.number(first_time),
        earliest=course.number(first_time),
        latest=course.number(last_time),
        until=last_time,
    )


def _toward(change: str, way: str) -> str:
    return change if way == "changed" else f"{change}, {way}"


def _levels(series: Series, change: LevelStep | Ramp) -> str:
    edge_levels = (change.level_before, change.level_after)
    if change.basis == "change":
        return " → ".join(map(series.formatter.change, edge_levels)) + " from the reference"
    return " → ".join(quantity(level, series.unit) for level in edge_levels)


def lost_of(nights: Sequence[Night], missed_nights: Sequence[Missed]) -> list[Lost]:
    """Return what failed, was inconclusive, was cut short or missed, the latest first."""
    lost_nights = [
        Lost(miss.due, miss.plan, CourseState.MISSED, miss.reason or "it did not run")
        for miss in missed_nights
    ]
    for night in nights:
        for entry in night.entries:
            if entry.outcome in {Outcome.FAILED, Outcome.INCONCLUSIVE, None}:
                subject, state = f"{night.plan}: {entry.capture}", state_of(entry.outcome)
                lost_nights.append(Lost(night.started, subject, state, entry.reason))
        if night.partial or not night.entries:
            state = CourseState.NOT_RUN if night.entries else state_of(night.outcome)
            reason = night.reason or "it ended before all of its captures were measured"
            lost_nights.append(Lost(night.started, night.plan, state, reason))
    return sorted(
        lost_nights,
        key=lambda lost_night: (moment_of(lost_night.at), lost_night.what),
        reverse=True,
    )


def tally_of(nights: Sequence[Night], missed_nights: Sequence[Missed]) -> list[tuple[str, str]]:
    """Return how many nights ended how, in words and tones."""
    state_counts = Counter(
        [*(state_of(night.outcome) for night in nights), *[CourseState.MISSED] * len(missed_nights)]
    )
    counted_states = [(state, state_counts[state]) for state in CourseState if state_counts[state]]
    tally = [(f"{state.sign} {number} {state}", state.tone) for state, number in counted_states]
    return [(format_count(len(nights), "night"), "plain"), *tally]


def stale_of(nights: Sequence[Night], missed_nights: Sequence[Missed], current_time: str) -> str:
    """Return that no night has run lately, in a sentence; empty where the last one is fresh."""
    if not nights:
        return ""
    last_start = max((night.started for night in nights), key=moment_of)
    since = sum(moment_of(miss.due) > moment_of(last_start) for miss in missed_nights)
    if not since and moment_of(current_time) - moment_of(last_start) < _FRESH:
        return ""
    words = f"; {since} {'was' if since == 1 else 'were'} missed" if since else ""
    return f"No night has run since {day(last_start)}, {ago(last_start, current_time)}{words}."


# What the page begins with is the first of these that the last night of any capture was.
_RANKS = (
    *(
        CourseState.REGRESSION,
        CourseState.FAILED,
        CourseState.INCONCLUSIVE,
        CourseState.NOT_RUN,
        CourseState.UNFINISHED,
    ),
    *(CourseState.OK, CourseState.UNJUDGED),
)


@dataclass(frozen=True)
class Headline:
    """What the page begins with: a sign with the worst state, and a few words.

    `named` are the courses that it is about, whose last nights say why.
    """

    tone: str
    sign: str
    words: str
    named: tuple[Course, ...] = ()


_FEW_NAMED = 2


def headline_of(courses: Sequence[Course], current_time: str) -> Headline:
    """Return what the page begins with, at most twelve words; anchors are part of their capture."""
    current = _standing(courses)
    if not current:
        return Headline("unclear", "? Nothing yet", "No capture has been measured in any night.")
    last_start = max((course.last.at for course in current), key=moment_of)
    when = f"{day(last_start)} ({ago(last_start, current_time)})"
    worst = min((course.last.state for course in current), key=_RANKS.index)
    named_courses = tuple(course for course in current if course.last.state is worst)
    if worst is CourseState.OK:
        words = f"{format_count(len(named_courses), 'capture')}, nothing worse, {when}"
        return Headline(worst.tone, f"{worst.sign} OK", words)
    names = format_count(len(named_courses), "capture")
    if len(named_courses) <= _FEW_NAMED:
        names = ", ".join(course.capture for course in named_courses)
    change = _worst_change(named_courses[0]) if len(named_courses) == 1 else ""
    words = f"{names}{f': {change}' if change else ''}, {when}"
    return Headline(worst.tone, f"{worst.sign} {worst.capitalize()}", words, named_courses)


def _standing(courses: Sequence[Course]) -> list[Course]:
    """Return the courses of current work; of an anchor only if it ended that night, and worse."""
    current = [course for course in courses if course.current]
    last_nights = {(course.machine, course.plan, course.capture): course.last for course in current}
    standing: list[Course] = []
    for course in current:
        name = course.capture.removesuffix(ANCHORED)
        capture_night = (
            last_nights.get((course.machine, course.plan, name)) if course.is_anchor else None
        )
        if capture_night is None or _is_worse_than(course.last, capture_night):
            standing.append(course)
    return standing


def _is_worse_than(anchor: Fared, capture_night: Fared) -> bool:
    worse = _RANKS.index(anchor.state) < _RANKS.index(capture_night.state)
    return worse and anchor.at == capture_night.at


def _worst_change(course: Course) -> str:
    """Return the first metric that is worse in the last night, and how much; else nothing."""
    judged = course.last.entry.judged if course.last.entry else ()
    for metric in judged:
        if metric.outcome is Outcome.REGRESSION and metric.change is not None:
            if direction(metric.change, metric.better) == "worse":
                return f"{metric.metric} {metric.formatter.change(metric.change)}"
            return metric.metric
    return ""


@dataclass(frozen=True)
class FindingRow:
    """What became of one rule's finding, in words and in each night of the course.

    Of a night it is in how many of the traces the rule found something, None without traces, and
    the same in words.
    """

    rule: str
    severity: str
    message: str
    became: str
    nights: tuple[tuple[float | None, str], ...]


def finding_rows(course: Course) -> list[FindingRow]:
    """Return the findings of a course by rule: those that stand, then those that went."""
    rules = {finding.rule for fared in course.fared for finding in fared.findings if finding.traces}
    last_night = next((fared for fared in reversed(course.fared) if has_traces(fared)), None)
    standing = {rule for rule in rules if last_night and found_in(last_night, rule)}
    return [_row(rule, course) for rule in (*sorted(standing), *sorted(rules - standing))]


def has_traces(fared: Fared) -> bool:
    """Tell whether a night has traces of the capture, so that a finding could be in them."""
    pairs = fared.entry.pairs if fared.entry else ()
    return bool(fared.findings) or any(pair.traced for pair in pairs)


def found_in(fared: Fared, rule: str) -> TracedFinding | None:
    """Return what a rule found in a night; None where it found nothing."""
    return next(
        (finding for finding in fared.findings if finding.rule == rule and finding.traces), None
    )


def _row(rule: str, course: Course) -> FindingRow:
    traced_nights = [fared for fared in course.fared if has_traces(fared)]
    there = [(fared.at, found) for fared in traced_nights if (found := found_in(fared, rule))]
    last_time, found = there[-1]
    became = f"last in {night_words(course, last_time)}"
    if last_time == traced_nights[-1].at:
        became = f"now in {found.traces} of {format_count(found.of, 'trace')}"
        became += f"; the reference has it in {found.in_reference}" * bool(found.in_reference)
    became = f"first seen in {night_words(course, there[0][0])}, {became}"
    nights = tuple(_night(fared, rule, number) for number, fared in enumerate(course.fared, 1))
    return FindingRow(rule, found.severity, found.message, became, nights)


def _night(fared: Fared, rule: str, number: int) -> tuple[float | None, str]:
    night_label = f"night {number} ({day(fared.at)})"
    if not has_traces(fared):
        return None, f"{night_label}: no traces"
    found = found_in(fared, rule)
    if found is None:
        return 0.0, f"{night_label}: not found"
    words = f"{night_label}: found in {found.traces} of {format_count(found.of, 'trace')}"
    return found.traces / max(1, found.of), words


_RATE = "tokens_per_second"
_NS = 1e9


@dataclass(frozen=True)
class Claim:
    """A finding that went away, with what it claimed and what was measured, in words.

    `at` is when the first night without it began. `measured` is empty where it is not known:
    `reason` says why, or what else is to be kept in mind.
    """

    rule: str
    at: str
    claimed: str
    measured: str
    reason: str


def claims_of(course: Course) -> list[Claim]:
    """Return the findings that claimed a time for each token and went away, the latest first."""
    claims = [
        _claim(course, found, night_before, night_after)
        for night_before, night_after in pairwise(filter(has_traces, course.fared))
        for found in night_before.findings
        if found.traces and found.saving_per_token is not None
        if found_in(night_after, found.rule) is None
    ]
    return claims[::-1]


def _claim(course: Course, found: TracedFinding, night_before: Fared, night_after: Fared) -> Claim:
    old, new = (_rate(course, fared) for fared in (night_before, night_after))
    measured, reason = "", f"one of both nights has no {_RATE}"
    if old and new and old.value and new.value:
        measured = _won(old.value, new.value)
        reason = "without a reference, so the machine's own pace is in it"
        if old.reference and new.reference:
            reason = f"the reference meanwhile: {_won(old.reference, new.reference)}"
    claimed_saving = f"{duration(found.saving_per_token)} per token"
    return Claim(found.rule, night_after.at, claimed_saving, measured, reason)


def _rate(course: Course, fared: Fared) -> Point | None:
    night = fared.night.id if fared.night else ""
    rates = (point for series in course.series if series.metric == _RATE for point in series.points)
    return next((point for point in rates if point.night == night and point.value), None)


def _won(old: float, new: float) -> str:
    """Return what the time of a token became shorter by, of two rates."""
    won = _NS / old - _NS / new
    return f"{duration(abs(won))} per token {'won' if won >= 0 else 'lost'}"
