"""The trend as one page: the current state, every series over nights, findings, claims."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from markupsafe import Markup

from tracekit.base import streams, units
from tracekit.machine import window_words
from tracekit.nightly.history.night import (
    KINDS,
    Accepted,
    Entry,
    Missed,
    Night,
    moment_of,
)
from tracekit.nightly.history.steps import Point, Series, anchors_of, is_searched, trend_of
from tracekit.nightly.history.stretches import SHORTEST
from tracekit.nightly.trend.course import (
    Course,
    Fared,
    Links,
    ago,
    cost_of,
    courses_of,
    day,
    days,
    format_count,
    happenings,
    reports_of,
)
from tracekit.nightly.trend.curve import RECENT, Curve, picture_of
from tracekit.nightly.trend.findings import claims_of, finding_rows
from tracekit.nightly.trend.headline import (
    deciding_words,
    find_standing,
    headline_of,
    lost_of,
    stale_of,
    tally_of,
)
from tracekit.nightly.trend.listed_changes import (
    ListedChange,
    join_changes,
    list_changes,
)
from tracekit.nightly.trend.picture import NightAxis, svg
from tracekit.pages import Redact, document, environment_of, text

MOST_CHANGES = 12
MOST_LINES = 5  # changes that are read on the first screen
LONGEST_LINE = 80
_LONGEST_TITLE = 70
MOST_LOST = 40
LATELY = 30


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
    changes: list[ListedChange] = []
    sections: list[dict[str, Any]] = []
    searched_count = 0
    series_count = 0
    for course, label in zip(courses, _label_courses(courses), strict=True):
        curves = _curves(course, redact_link)
        if not course.is_anchor:  # an anchor's series are part of its capture's trend
            changes += _list_course_changes(course, curves)
        section = _section(course, curves, redact_link, redact)
        sections.append({**section, "label": label})
        searched_count += sum(map(is_searched, course.shown))
        series_count += len(course.shown)
    changes.sort(key=_change_rank, reverse=True)
    lost_nights = lost_of(nights, missed)
    more_changes = max(0, len(changes) - MOST_CHANGES)
    more_lost = max(0, len(lost_nights) - MOST_LOST)
    title = _title(courses)
    headline = headline_of(courses, now)
    stale = stale_of(nights, missed, now)
    tally = tally_of(nights, missed)
    standing_courses = find_standing(courses)
    _open_sections(sections)
    listed_changes = changes[:MOST_CHANGES]
    return document(
        environment_of(redact),
        "trend/page.html",
        styles=("page.css", "trend/trend.css"),
        scripts=(),
        title=text.clip(title, _LONGEST_TITLE),
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
        short_commit=units.short_commit,
        lately=LATELY,
        lines=list(map(_describe_change, listed_changes[:MOST_LINES])),
        changes=listed_changes,
        more_changes=more_changes,
        searched=searched_count,
        short=series_count - searched_count,
        least_nights=2 * SHORTEST,
        lost=lost_nights[:MOST_LOST],
        more_lost=more_lost,
        sections=sections,
        recent=RECENT,
    )


def _label_courses(courses: Sequence[Course]) -> list[str]:
    """Return a label of each course that no other one has: its capture, and what differs."""
    parts = list(map(_list_label_parts, courses))
    labels: list[str] = []
    for own_parts in parts:
        number = 2
        while sum(other[:number] == own_parts[:number] for other in parts) > 1:
            number += 1
        labels.append(", ".join(filter(None, own_parts[:number])))
    return labels


def _list_label_parts(course: Course) -> tuple[str, ...]:
    age = ""
    if not course.current:
        age = "earlier work"
    nights = days(course.fared[0].at, course.fared[-1].at)
    return course.capture, age, course.plan, course.machine, nights, course.name


def _open_sections(sections: Sequence[dict[str, Any]]) -> None:
    """Open the sections of current work whose last night is not good; without any, the first."""
    for section in sections:
        course: Course = section["course"]
        section["open"] = course.current and course.last.state.tone not in {"good", "plain"}
    if sections and not any(section["open"] for section in sections):
        sections[0]["open"] = True


def _describe_change(change: ListedChange) -> tuple[str, str, str]:
    """Return the tone of a step or drift, its line, and the section that draws it."""
    nights = f"Night {change.nights}"
    if change.until:
        nights = f"Nights {change.nights}"
    metric = text.heading(change.series.metric)
    line = f"{nights}: {metric} {change.change}, {change.course.capture}"
    return change.tone, text.clip(line, LONGEST_LINE), change.course.name


def _list_course_changes(course: Course, curves: Sequence[Curve]) -> list[ListedChange]:
    changes: list[ListedChange] = []
    for curve in curves:
        changes += list_changes(course, curve.series, curve.trend)
    return join_changes(changes)


def _change_rank(change: ListedChange) -> tuple[datetime, bool]:
    last_time = change.until or change.time
    return moment_of(last_time), change.series.gated


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
        name = text.heading(series.metric)
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
    drawing = svg(picture, lambda words: streams.visible(redact(words)))
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
    value = units.quantity(point.value, series.unit)
    change = series.formatter.format_change(point.change, point.low, point.high)
    return "; ".join(filter(None, (value, change)))
