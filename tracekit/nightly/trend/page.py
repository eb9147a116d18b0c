"""The trend as one page: the current state, every series over nights, findings, claims.

A rule estimates how much time could be won. Once its finding is gone, the nights before and
after show how much was won. The page shows both side by side, so that you can judge the estimates.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
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
    `redact` removes private text from a string. `links` returns the link to a file of the
    history, such as "night/run/report.html", or an empty string. A link that names a person or a
    machine is left out. The same input gives the same characters.
    """

    def redact_link(path: str) -> str:
        href = links(path)
        if redact(href) != href:
            return ""  # half a link leads nowhere
        return href

    courses = courses_of(series, nights, accepted, missed)
    turns: list[Turn] = []
    sections: list[dict[str, Any]] = []
    searched_count = 0
    series_count = 0
    for course in courses:
        curves = _curves(course, redact_link)
        if not course.is_anchor:  # an anchor's series are part of its capture's trend
            turns += _course_turns(course, curves)
        sections.append(_section(course, curves, redact_link, redact))
        searched_count += sum(map(is_searched, course.shown))
        series_count += len(course.shown)
    turns.sort(key=_turn_rank, reverse=True)
    lost_nights = lost_of(nights, missed)
    more_turns = max(0, len(turns) - MOST_CHANGES)
    more_lost = max(0, len(lost_nights) - MOST_LOST)
    title = _title(courses)
    headline = headline_of(courses, now)
    stale = stale_of(nights, missed, now)
    tally = tally_of(nights, missed)
    standing_courses = _standing(courses)
    return document(
        environment_of(redact),
        "trend/page.html",
        styles=("page.css", "trend/trend.css"),
        scripts=(),
        title=title,
        headline=headline,
        stale=stale,
        tally=tally,
        stands=standing_courses,
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
        more_turns=more_turns,
        searched=searched_count,
        short=series_count - searched_count,
        least_nights=2 * SHORTEST,
        lost=lost_nights[:MOST_LOST],
        more_lost=more_lost,
        sections=sections,
        few=series_count <= FEW_FOLLOWED,
        recent=RECENT,
    )


def _course_turns(course: Course, curves: Sequence[Curve]) -> list["Turn"]:
    turns: list[Turn] = []
    for curve in curves:
        turns += turns_of(course, curve.series, curve.trend)
    return join_turns(turns)


def _turn_rank(turn: "Turn") -> tuple[datetime, bool]:
    last_time = turn.until or turn.time
    return moment_of(last_time), turn.series.gated


def _title(courses: Sequence[Course]) -> str:
    if not courses:
        return "an empty history"
    plan_words = _name_or_count({course.plan for course in courses}, "plan")
    machine_words = _name_or_count({course.machine for course in courses}, "machine")
    return f"{plan_words} on {machine_words}"


def _name_or_count(names: set[str], noun: str) -> str:
    if len(names) > 1:
        return format_count(len(names), noun)
    [name] = names
    return name


def _curves(course: Course, links: Links) -> list[Curve]:
    times = tuple(fared.at for fared in course.fared)
    x = NightAxis(times)
    tags = happenings(course)

    def report(fared: Fared) -> str:
        for href, _ in reports_of(fared, links):
            return href
        return ""

    curves: list[Curve] = []
    for series in course.shown:
        trend = trend_of(series, anchors_of(series, course.anchors))
        curve = Curve(series, trend, course, x, tags, report)
        curves.append(curve)
    return curves


def _section(
    course: Course, curves: Sequence[Curve], links: Links, redact: Redact
) -> dict[str, Any]:
    large_figures: list[dict[str, Any]] = []
    small_figures: list[dict[str, Any]] = []
    for curve in curves:
        figure = _figure(curve, redact)
        if curve.series.gated:
            large_figures.append(figure)
        else:
            small_figures.append(figure)
    hidden_names: list[str] = []
    for series in course.series:
        name = heading(series.metric)
        if series not in course.shown:
            hidden_names.append(name)
    is_thinned = any(len(series.points) > RECENT for series in course.series)
    happened = happenings(course)
    findings = finding_rows(course)
    claims = claims_of(course)
    table = table_of(course, links)
    return {
        "course": course,
        **_describe_entry(course.last.entry),
        "large": large_figures,
        "small": small_figures,
        "unknown": hidden_names,
        "happened": happened,
        "findings": findings,
        "claims": claims,
        "table": table,
        "thinned": is_thinned,
    }


def _figure(curve: Curve, redact: Redact) -> dict[str, Any]:
    picture = picture_of(curve)
    drawing = svg(picture, lambda words: text.visible(redact(words)))
    return {
        "series": curve.series,
        "summary": picture.summary,
        "drawing": Markup(drawing),  # noqa: S704  XML
    }


def _describe_entry(entry: Entry | None) -> dict[str, str]:
    """Return the facts of a course's last night, by their names in the template."""
    facts = {
        "candidate": "",
        "reference": "",
        "kind": "",
        "checked": "",
        "cost": "",
        "meanwhile": "",
    }
    if entry is None:
        return facts
    facts["candidate"] = entry.candidate.words or entry.candidate.workload
    if entry.reference:
        facts["reference"] = entry.reference.words or entry.reference.workload
    if entry.reference_kind:
        facts["kind"] = KINDS[entry.reference_kind]
    facts["checked"] = text.sentence(entry.parity)
    facts["cost"] = cost_of(entry.overhead)
    facts["meanwhile"] = meanwhile_words(entry)
    return facts


def meanwhile_words(entry: Entry) -> str:
    """Describe the machine while an entry was measured, and how many pairs count."""
    state = window_words(entry.states)
    if not state:
        return ""
    return f"{state.rstrip('.')}; {entry.counting}."


_Row = tuple[int, Fared, list[str], list[tuple[str, str]]]


def table_of(course: Course, links: Links) -> list[_Row]:
    """Return the nights of a course, the latest first, with their values and reports."""
    columns = [_cells(series) for series in course.shown]
    rows: list[_Row] = []
    numbered = list(enumerate(course.fared, 1))
    for number, fared in reversed(numbered):
        night = ""
        if fared.night:
            night = fared.night.id
        row_cells = [column.get(night, "") for column in columns]
        row_reports = list(reports_of(fared, links))
        rows.append((number, fared, row_cells, row_reports))
    return rows


def _cells(series: Series) -> dict[str, str]:
    """Return a series's cells of the table, by night."""
    return {point.night: _cell(series, point) for point in series.points}


def _cell(series: Series, point: Point) -> str:
    if point.value is None:
        return ""
    value = quantity(point.value, series.unit)
    change = series.formatter.format_change(point.change, point.low, point.high)
    return "; ".join(filter(None, (value, change)))


_FRESH = timedelta(hours=36)  # a night a day, and half a day for one that is late
MOST_CHANGES = 12
MOST_LOST = 40
LATELY = 30


@dataclass(frozen=True)
class Turn:
    """A step or a drift of a series: its night, its size, and other changes of that night.

    `number` is the number of its night, or of a drift's first night. A step may belong to any
    night from `earliest` to `latest`; a drift spans them. `until` is the start of a drift's last
    night, and empty for a step. `with_it` names other changes of that night; it is empty for a
    drift, which has no single night. `also` describes other metrics of the capture that changed
    at the same time: one regression is one row.
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
        if self.until:
            return f"{self.earliest} to {self.latest}"
        return str(self.number)

    @property
    def days(self) -> str:
        """The day of its night, or those of a drift."""
        if self.until:
            return days(self.time, self.until)
        return day(self.time)

    @property
    def doubt(self) -> str:
        """The numbers of the nights that a step may belong to; empty if only one is possible."""
        if self.until or self.earliest == self.latest:
            return ""
        return f"{self.earliest} to {self.latest}"

    def is_with(self, other_turn: "Turn") -> bool:
        """Whether both may be one: the same capture, tone and kind, in overlapping nights."""
        if self.course is not other_turn.course or self.tone != other_turn.tone:
            return False
        if bool(self.until) != bool(other_turn.until):
            return False
        return self.latest >= other_turn.earliest and other_turn.latest >= self.earliest


@dataclass(frozen=True)
class Lost:
    """A night, or a capture of a night, that gives no evidence about a change."""

    at: str
    what: str
    state: CourseState
    reason: str


def deciding_words(judged: Judged) -> str:
    """Describe the last night's change of a metric that decides."""
    if judged.change is None:
        words = f"{quantity(judged.candidate, judged.unit)}, not compared"
    else:
        words = judged.formatter.format_change(judged.change, judged.low, judged.high)
    return f"{heading(judged.metric)} {words}"


def turns_of(course: Course, series: Series, trend: Changes) -> list[Turn]:
    """Return the steps of a series, and then its drifts, each oldest first."""
    other_changes: Mapping[str, str] = {}
    if trend.steps:
        other_changes = describe_changes(course, commits=True)
    turns = [_turn_of_step(course, series, step, other_changes) for step in trend.steps]
    turns += [_turn_of_drift(course, series, ramp) for ramp in trend.ramps]
    return turns


def join_turns(turns: Sequence[Turn]) -> list[Turn]:
    """Join the turns of one capture that came together, under the first metric's turn."""
    joined: list[Turn] = []
    for turn in turns:
        for place, joined_turn in enumerate(joined):
            if joined_turn.is_with(turn):
                words = f"{heading(turn.series.metric)} {turn.change}"
                also = (*joined_turn.also, words)
                joined[place] = replace(joined_turn, also=also)
                break
        else:
            joined.append(turn)
    return joined


def _turn_of_step(
    course: Course, series: Series, step: LevelStep, other_changes: Mapping[str, str]
) -> Turn:
    time = series.points[step.index].at
    way = direction(step.change, series.better)
    change = _toward(series.formatter.change(step.change), way)
    earliest_time = series.points[step.earliest].at
    latest_time = series.points[step.latest].at
    levels = _levels(series, step)
    with_it = other_changes.get(time, "")
    return Turn(
        time=time,
        course=course,
        series=series,
        change=change,
        tone=WAYS[way],
        levels=levels,
        number=course.number(time),
        earliest=course.number(earliest_time),
        latest=course.number(latest_time),
        with_it=with_it,
    )


def _turn_of_drift(course: Course, series: Series, ramp: Ramp) -> Turn:
    first_time = series.points[ramp.first_night].at
    last_time = series.points[ramp.last_night].at
    first_number = course.number(first_time)
    way = direction(ramp.change, series.better)
    change = _toward(rate_words(series, ramp), way)
    levels = _levels(series, ramp)
    latest = course.number(last_time)
    return Turn(
        time=first_time,
        course=course,
        series=series,
        change=change,
        tone=WAYS[way],
        levels=levels,
        number=first_number,
        earliest=first_number,
        latest=latest,
        until=last_time,
    )


def _toward(change: str, way: str) -> str:
    if way == "changed":
        return change
    return f"{change}, {way}"


def _levels(series: Series, change: LevelStep | Ramp) -> str:
    if change.basis == "change":
        change_before = series.formatter.change(change.level_before)
        change_after = series.formatter.change(change.level_after)
        return f"{change_before} → {change_after} from the reference"
    value_before = quantity(change.level_before, series.unit)
    value_after = quantity(change.level_after, series.unit)
    return f"{value_before} → {value_after}"


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
    current = _standing(courses)
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


def _standing(courses: Sequence[Course]) -> list[Course]:
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


@dataclass(frozen=True)
class FindingRow:
    """The history of one rule's finding, in words and in each night of the course.

    A night is the share of its traces with the finding, 0 … 1 or None without traces, and the
    same in words.
    """

    rule: str
    severity: str
    message: str
    became: str
    nights: tuple[tuple[float | None, str], ...]


def finding_rows(course: Course) -> list[FindingRow]:
    """Return the findings of a course by rule: current ones first, then those that went."""
    rules: set[str] = set()
    current_rules: set[str] = set()
    for fared in course.fared:
        night_rules = {finding.rule for finding in fared.findings if finding.traces}
        rules |= night_rules
        if has_traces(fared):
            current_rules = night_rules
    former_rules = rules - current_rules
    ordered_rules = [*sorted(current_rules), *sorted(former_rules)]
    return [_row(rule, course) for rule in ordered_rules]


def has_traces(fared: Fared) -> bool:
    """Tell whether a night has traces of the capture, so that a finding could be in them."""
    if fared.entry is None:
        return False
    return bool(fared.findings) or any(pair.traced for pair in fared.entry.pairs)


def found_in(fared: Fared, rule: str) -> TracedFinding | None:
    """Return the finding of a rule in a night; None if the rule found nothing."""
    for finding in fared.findings:
        if finding.rule == rule and finding.traces:
            return finding
    return None


def _row(rule: str, course: Course) -> FindingRow:
    traced_nights = [fared for fared in course.fared if has_traces(fared)]
    nights_with_it: list[tuple[str, TracedFinding]] = []
    for fared in traced_nights:
        finding = found_in(fared, rule)
        if finding:
            nights_with_it.append((fared.at, finding))
    first_time, _ = nights_with_it[0]
    last_time, last_finding = nights_with_it[-1]
    if last_time == traced_nights[-1].at:
        became = f"now in {_share(last_finding)}"
        if last_finding.in_reference:
            became += f"; the reference has it in {last_finding.in_reference}"
    else:
        became = f"last in {night_words(course, last_time)}"
    became = f"first seen in {night_words(course, first_time)}, {became}"
    numbered_nights = enumerate(course.fared, 1)
    nights = tuple(_night(fared, rule, number) for number, fared in numbered_nights)
    return FindingRow(rule, last_finding.severity, last_finding.message, became, nights)


def _share(finding: TracedFinding) -> str:
    return f"{finding.traces} of {format_count(finding.of, 'trace')}"


def _night(fared: Fared, rule: str, number: int) -> tuple[float | None, str]:
    night_label = f"night {number} ({day(fared.at)})"
    if not has_traces(fared):
        return None, f"{night_label}: no traces"
    found = found_in(fared, rule)
    if found is None:
        return 0.0, f"{night_label}: not found"
    share = found.traces / max(1, found.of)
    return share, f"{night_label}: found in {_share(found)}"


_RATE = "tokens_per_second"
_NS = 1e9


@dataclass(frozen=True)
class Claim:
    """A finding that went away, with its claimed and its measured saving, in words.

    `at` is the start of the first night without it. `measured` is empty if it is not known;
    `reason` then says why. With a measured saving, `reason` is a caveat.
    """

    rule: str
    at: str
    claimed: str
    measured: str
    reason: str


def claims_of(course: Course) -> list[Claim]:
    """Return the findings that claimed a time for each token and went away, the latest first."""
    claims: list[Claim] = []
    traced_nights = filter(has_traces, course.fared)
    for night_before, night_after in pairwise(traced_nights):
        for finding in night_before.findings:
            claims_time = finding.traces and finding.saving_per_token is not None
            if claims_time and found_in(night_after, finding.rule) is None:
                claims.append(_claim(course, finding, night_before, night_after))
    claims.reverse()
    return claims


def _claim(course: Course, found: TracedFinding, night_before: Fared, night_after: Fared) -> Claim:
    old = _rate(course, night_before)
    new = _rate(course, night_after)
    measured = ""
    reason = f"one of both nights has no {_RATE}"
    if old and new and old.value and new.value:
        measured = _won(old.value, new.value)
        reason = "without a reference, so the machine's own pace is in it"
        if old.reference and new.reference:
            reason = f"the reference meanwhile: {_won(old.reference, new.reference)}"
    claimed_saving = f"{duration(found.saving_per_token)} per token"
    return Claim(found.rule, night_after.at, claimed_saving, measured, reason)


def _rate(course: Course, fared: Fared) -> Point | None:
    night = ""
    if fared.night:
        night = fared.night.id
    for series in course.series:
        if series.metric != _RATE:
            continue
        for point in series.points:
            if point.night == night and point.value:
                return point
    return None


def _won(old: float, new: float) -> str:
    """Describe the time that a token became shorter or longer by, from two rates per second."""
    won = _NS / old - _NS / new
    outcome = "won" if won >= 0 else "lost"
    return f"{duration(abs(won))} per token {outcome}"
