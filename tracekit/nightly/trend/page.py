"""The trend as one page: how things stand, every series over nights, findings, claims."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from tracekit.base import quantity, short_commit
from tracekit.nightly.history.levels import anchors_of, steps_of
from tracekit.nightly.history.night import KINDS, Accepted, Night, moment_of
from tracekit.nightly.history.steps import SHORTEST, Point, Series, is_searched
from tracekit.nightly.history.store.decisions import Missed
from tracekit.nightly.trend.course import (
    Course,
    Fared,
    Links,
    ago,
    cost_of,
    courses_of,
    day,
    days_of,
    happenings,
    reports_of,
    several,
)
from tracekit.nightly.trend.curve import RECENT, Curve, picture_of
from tracekit.nightly.trend.findings import claims_of, finding_rows
from tracekit.nightly.trend.picture import day_axis, svg
from tracekit.nightly.trend.standing import (
    LATELY,
    MOST_CHANGES,
    MOST_LOST,
    Turn,
    deciding_words,
    lost_of,
    stale_of,
    tally_of,
    turns_of,
    verdict_of,
)
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

    Args:
        series: All series that are shown, of any machines and plans.
        nights: The nights of these series; they say why something has no value.
        accepted: All that was accepted as what to expect.
        missed: Nights that were due and did not run.
        now: The time at which the page is made, ISO 8601: it says how old the last night is.
        redact: Takes out of a string what must not be shown.
        links: Returns the link to a file of the history, such as "night/run/report.html", whose
            path is relative to the history's folder where the night's is; an empty one is none.
            A link that names a person or a machine is left out.

    Returns:
        The document. The same input gives the same characters.
    """

    def shown(path: str) -> str:
        href = links(path)
        return href if redact(href) == href else ""  # half a link leads nowhere

    courses = courses_of(series, nights, accepted, missed)
    turns: list[Turn] = []
    sections: list[dict[str, Any]] = []
    for course in courses:
        curves = _curves(course, shown)
        turns += [turn for curve in curves for turn in turns_of(course, curve.series, curve.steps)]
        sections.append(_section(course, curves, shown, redact))
    turns.sort(key=lambda turn: (moment_of(turn.at), turn.series.gated), reverse=True)
    lost = lost_of(nights, missed)
    searched = [is_searched(line) for course in courses for line in course.shown]
    return document(
        environment_of(redact),
        "trend/page.html",
        styles=("page.css", "trend/trend.css"),
        scripts=(),
        title=_title(courses),
        verdict=verdict_of(courses, now),
        stale=stale_of(nights, missed, now),
        tally=tally_of(nights, missed),
        stands=[course for course in courses if course.current],
        deciding=deciding_words,
        ago=lambda at: ago(at, now),
        day=day,
        moment=moment_of,
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
    """Return what the page is of: plan and machine, where there is one of each."""
    plans = list(dict.fromkeys(course.plan for course in courses))
    machines = list(dict.fromkeys(course.machine for course in courses))
    if not courses:
        return "an empty history"
    of = plans[0] if len(plans) == 1 else several(len(plans), "plan")
    on = machines[0] if len(machines) == 1 else several(len(machines), "machine")
    return f"{of} on {on}"


def _curves(course: Course, links: Links) -> list[Curve]:
    """Return the series of a course that are drawn, with their change points."""
    x = day_axis([days_of(fared.at) for fared in course.fared])
    tags = happenings(course)

    def report(fared: Fared) -> str:
        return next((href for href, _ in reports_of(fared, links)), "")

    return [
        Curve(series, steps_of(series, anchors_of(series, course.anchors)), course, x, tags, report)
        for series in course.shown
    ]


def _section(
    course: Course, curves: Sequence[Curve], links: Links, redact: Redact
) -> dict[str, Any]:
    """Return a course as the template shows it."""
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


_Row = tuple[Fared, list[str], list[tuple[str, str]]]


def table_of(course: Course, links: Links) -> list[_Row]:
    """Return the nights of a course, the latest first, with their values and reports."""
    points = [(series, {point.night: point for point in series.points}) for series in course.shown]
    rows: list[_Row] = []
    for fared in reversed(course.fared):
        night = fared.night.id if fared.night else ""
        cells = [_cell(series, known.get(night)) for series, known in points]
        rows.append((fared, cells, list(reports_of(fared, links))))
    return rows


def _cell(series: Series, point: Point | None) -> str:
    if point is None or point.value is None:
        return ""
    change = series.shown.whole(point.change, point.low, point.high)
    return f"{quantity(point.value, series.unit)}{f'; {change}' if change else ''}"
