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
    changed,
    cost_of,
    courses_of,
    day,
    days,
    direction,
    happenings,
    reports_of,
    several,
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

    def shown(path: str) -> str:
        href = links(path)
        return href if redact(href) == href else ""  # half a link leads nowhere

    courses = courses_of(series, nights, accepted, missed)
    turns: list[Turn] = []
    sections: list[dict[str, Any]] = []
    for course in courses:
        curves = _curves(course, shown)
        if not course.is_anchor:  # what it measures is part of its capture's trend
            own = [turn for curve in curves for turn in turns_of(course, curve.series, curve.trend)]
            turns += join_turns(own)
        sections.append(_section(course, curves, shown, redact))
    turns.sort(key=lambda turn: (moment_of(turn.until or turn.at), turn.series.gated), reverse=True)
    lost = lost_of(nights, missed)
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
        ago=lambda at: ago(at, now),
        day=day,
        days=days,
        moment=moment_of,
        meanwhile=meanwhile_words,
        several=several,
        short_commit=short_commit,
        lately=LATELY,
        turns=turns[:MOST_CHANGES],
        more_turns=max(0, len(turns) - MOST_CHANGES),
        searched=sum(searched),
        short=len(searched) - sum(searched),
        least_nights=2 * SHORTEST,
        lost=lost[:MOST_LOST],
        more_lost=max(0, len(lost) - MOST_LOST),
        sections=sections,
        few=sum(len(course.shown) for course in courses) <= FEW_FOLLOWED,
        recent=RECENT,
    )


def _title(courses: Sequence[Course]) -> str:
    if not courses:
        return "an empty history"
    plans, machines = {course.plan for course in courses}, {course.machine for course in courses}
    of = courses[0].plan if len(plans) == 1 else several(len(plans), "plan")
    on = courses[0].machine if len(machines) == 1 else several(len(machines), "machine")
    return f"{of} on {on}"


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
    last = course.last.entry
    reference = last.reference if last else None
    figures: list[dict[str, Any]] = []
    for curve in curves:
        picture = picture_of(curve)
        drawn = Markup(svg(picture, lambda words: text.visible(redact(words))))  # noqa: S704  XML
        figures.append({"series": curve.series, "summary": picture.summary, "drawing": drawn})
    return {
        "course": course,
        "candidate": (last.candidate.words or last.candidate.workload) if last else "",
        "reference": (reference.words or reference.workload) if reference else "",
        "kind": KINDS[last.reference_kind] if last and last.reference_kind else "",
        "checked": text.sentence(last.parity) if last else "",
        "cost": cost_of(last.overhead) if last else "",
        "meanwhile": meanwhile_words(last) if last else "",
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
        own = [known.get(night, "") for known in cells]
        rows.append((number, fared, own, list(reports_of(fared, links))))
    return rows


def _cell(series: Series, point: Point) -> str:
    change = series.shown.whole(point.change, point.low, point.high)
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

    at: str
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
        return days(self.at, self.until) if self.until else day(self.at)

    @property
    def doubt(self) -> str:
        """The numbers of the nights that a step may be of; empty where it is of one alone."""
        certain = self.until or self.earliest == self.latest
        return "" if certain else f"{self.earliest} to {self.latest}"

    def is_with(self, other: "Turn") -> bool:
        """Whether both may be one: of one capture, a step each or a drift, in the same nights."""
        apart = self.latest < other.earliest or other.latest < self.earliest
        alike = (bool(self.until), self.tone) == (bool(other.until), other.tone)
        return self.course is other.course and alike and not apart


@dataclass(frozen=True)
class Lost:
    """A night, or a capture of one, that says nothing of a change."""

    at: str
    what: str
    state: CourseState
    reason: str


def deciding_words(judged: Judged) -> str:
    """Return what a metric that decides says of the last night."""
    change = judged.shown.whole(judged.change, judged.low, judged.high)
    value = f"{quantity(judged.candidate, judged.unit)}, not compared"
    return f"{heading(judged.metric)} {value if judged.change is None else change}"


def turns_of(course: Course, series: Series, trend: Changes) -> list[Turn]:
    """Return the steps of a series, and then its drifts, each oldest first."""
    others = changed(course, commits=True) if trend.steps else {}
    steps = [_turn_of_step(course, series, step, others) for step in trend.steps]
    return [*steps, *(_turn_of_drift(course, series, ramp) for ramp in trend.ramps)]


def join_turns(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns with those of one capture that came together as one, the first metric's."""
    joined: list[Turn] = []
    for turn in turns:
        place = next((at for at, known in enumerate(joined) if known.is_with(turn)), None)
        if place is None:
            joined.append(turn)
        else:
            known = joined[place]
            words = f"{heading(turn.series.metric)} {turn.change}"
            joined[place] = replace(known, also=(*known.also, words))
    return joined


def _turn_of_step(
    course: Course, series: Series, step: LevelStep, others: Mapping[str, str]
) -> Turn:
    at = series.points[step.index].at
    way = direction(step.change, series.better)
    return Turn(
        at=at,
        course=course,
        series=series,
        change=_toward(series.shown.change(step.change), way),
        tone=WAYS[way],
        levels=_levels(series, step),
        number=course.number(at),
        earliest=course.number(series.points[step.earliest].at),
        latest=course.number(series.points[step.latest].at),
        with_it=others.get(at, ""),
    )


def _turn_of_drift(course: Course, series: Series, ramp: Ramp) -> Turn:
    first, last = (series.points[place].at for place in (ramp.first, ramp.last))
    way = direction(ramp.change, series.better)
    return Turn(
        at=first,
        course=course,
        series=series,
        change=_toward(rate_words(series, ramp), way),
        tone=WAYS[way],
        levels=_levels(series, ramp),
        number=course.number(first),
        earliest=course.number(first),
        latest=course.number(last),
        until=last,
    )


def _toward(change: str, way: str) -> str:
    return change if way == "changed" else f"{change}, {way}"


def _levels(series: Series, change: LevelStep | Ramp) -> str:
    both = (change.before, change.after)
    if change.of == "change":
        return " → ".join(map(series.shown.change, both)) + " from the reference"
    return " → ".join(quantity(level, series.unit) for level in both)


def lost_of(nights: Sequence[Night], missed: Sequence[Missed]) -> list[Lost]:
    """Return what failed, was inconclusive, was cut short or missed, the latest first."""
    found = [
        Lost(miss.due, miss.plan, CourseState.MISSED, miss.reason or "it did not run")
        for miss in missed
    ]
    for night in nights:
        for entry in night.entries:
            if entry.outcome in {Outcome.FAILED, Outcome.INCONCLUSIVE, None}:
                what, state = f"{night.plan}: {entry.capture}", state_of(entry.outcome)
                found.append(Lost(night.started, what, state, entry.reason))
        if night.partial or not night.entries:
            state = CourseState.NOT_RUN if night.entries else state_of(night.outcome)
            reason = night.reason or "it ended before all of its captures were measured"
            found.append(Lost(night.started, night.plan, state, reason))
    return sorted(found, key=lambda lost: (moment_of(lost.at), lost.what), reverse=True)


def tally_of(nights: Sequence[Night], missed: Sequence[Missed]) -> list[tuple[str, str]]:
    """Return how many nights ended how, in words and tones."""
    ended = Counter(
        [*(state_of(night.outcome) for night in nights), *[CourseState.MISSED] * len(missed)]
    )
    counted = [(state, ended[state]) for state in CourseState if ended[state]]
    tally = [(f"{state.sign} {number} {state}", state.tone) for state, number in counted]
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


def headline_of(courses: Sequence[Course], now: str) -> Headline:
    """Return what the page begins with, at most twelve words; anchors are part of their capture."""
    current = _standing(courses)
    if not current:
        return Headline("unclear", "? Nothing yet", "No capture has been measured in any night.")
    last = max((course.last.at for course in current), key=moment_of)
    when = f"{day(last)} ({ago(last, now)})"
    worst = min((course.last.state for course in current), key=_RANKS.index)
    named = tuple(course for course in current if course.last.state is worst)
    if worst is CourseState.OK:
        words = f"{several(len(named), 'capture')}, nothing worse, {when}"
        return Headline(worst.tone, f"{worst.sign} OK", words)
    names = several(len(named), "capture")
    if len(named) <= _FEW_NAMED:
        names = ", ".join(course.capture for course in named)
    change = _worst_change(named[0]) if len(named) == 1 else ""
    words = f"{names}{f': {change}' if change else ''}, {when}"
    return Headline(worst.tone, f"{worst.sign} {worst.capitalize()}", words, named)


def _standing(courses: Sequence[Course]) -> list[Course]:
    """Return the courses of current work; of an anchor only if it ended that night, and worse."""
    current = [course for course in courses if course.current]
    ended = {(course.machine, course.plan, course.capture): course.last for course in current}
    standing: list[Course] = []
    for course in current:
        name = course.capture.removesuffix(ANCHORED)
        own = ended.get((course.machine, course.plan, name)) if course.is_anchor else None
        if own is None or _is_worse_than(course.last, own):
            standing.append(course)
    return standing


def _is_worse_than(anchor: Fared, own: Fared) -> bool:
    worse = _RANKS.index(anchor.state) < _RANKS.index(own.state)
    return worse and anchor.at == own.at


def _worst_change(course: Course) -> str:
    """Return the first metric that is worse in the last night, and how much; else nothing."""
    judged = course.last.entry.judged if course.last.entry else ()
    for metric in judged:
        if metric.outcome is Outcome.REGRESSION and metric.change is not None:
            if direction(metric.change, metric.better) == "worse":
                return f"{metric.metric} {metric.shown.change(metric.change)}"
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
    last = next((fared for fared in reversed(course.fared) if looked(fared)), None)
    standing = {rule for rule in rules if last and found_in(last, rule)}
    return [_row(rule, course) for rule in (*sorted(standing), *sorted(rules - standing))]


def looked(fared: Fared) -> bool:
    """Tell whether a night has traces of the capture, so that a finding could be in them."""
    pairs = fared.entry.pairs if fared.entry else ()
    return bool(fared.findings) or any(pair.traced for pair in pairs)


def found_in(fared: Fared, rule: str) -> TracedFinding | None:
    """Return what a rule found in a night; None where it found nothing."""
    return next(
        (finding for finding in fared.findings if finding.rule == rule and finding.traces), None
    )


def _row(rule: str, course: Course) -> FindingRow:
    known = [fared for fared in course.fared if looked(fared)]
    there = [(fared.at, found) for fared in known if (found := found_in(fared, rule))]
    last, found = there[-1]
    became = f"last in {night_words(course, last)}"
    if last == known[-1].at:
        became = f"now in {found.traces} of {several(found.of, 'trace')}"
        became += f"; the reference has it in {found.in_reference}" * bool(found.in_reference)
    became = f"first seen in {night_words(course, there[0][0])}, {became}"
    nights = tuple(_night(fared, rule, number) for number, fared in enumerate(course.fared, 1))
    return FindingRow(rule, found.severity, found.message, became, nights)


def _night(fared: Fared, rule: str, number: int) -> tuple[float | None, str]:
    begun = f"night {number} ({day(fared.at)})"
    if not looked(fared):
        return None, f"{begun}: no traces"
    found = found_in(fared, rule)
    if found is None:
        return 0.0, f"{begun}: not found"
    words = f"{begun}: found in {found.traces} of {several(found.of, 'trace')}"
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
        _claim(course, found, before, after)
        for before, after in pairwise(filter(looked, course.fared))
        for found in before.findings
        if found.traces and found.saving_per_token is not None
        if found_in(after, found.rule) is None
    ]
    return claims[::-1]


def _claim(course: Course, found: TracedFinding, before: Fared, after: Fared) -> Claim:
    old, new = (_rate(course, fared) for fared in (before, after))
    measured, reason = "", f"one of both nights has no {_RATE}"
    if old and new and old.value and new.value:
        measured = _won(old.value, new.value)
        reason = "without a reference, so the machine's own pace is in it"
        if old.reference and new.reference:
            reason = f"the reference meanwhile: {_won(old.reference, new.reference)}"
    claimed = f"{duration(found.saving_per_token)} per token"
    return Claim(found.rule, after.at, claimed, measured, reason)


def _rate(course: Course, fared: Fared) -> Point | None:
    night = fared.night.id if fared.night else ""
    rates = (point for series in course.series if series.metric == _RATE for point in series.points)
    return next((point for point in rates if point.night == night and point.value), None)


def _won(old: float, new: float) -> str:
    """Return what the time of a token became shorter by, of two rates."""
    won = _NS / old - _NS / new
    return f"{duration(abs(won))} per token {'won' if won >= 0 else 'lost'}"
