"""The values of a course as a table: a row for each night, the latest first."""

from collections.abc import Iterator
from dataclasses import dataclass

from tracekit.base.units import quantity, short_commit
from tracekit.nightly.history.series import Point, Series
from tracekit.nightly.trend.course import Course, Fared
from tracekit.nightly.trend.reports import Links, reports_of
from tracekit.nightly.trend.words import SIGNS, TONES, bounds, moment_of, shift
from tracekit.report.text import heading


@dataclass(frozen=True)
class Row:
    """A night: when, how it ended, its values, and where its reports are."""

    when: str
    tone: str
    ended: str
    reason: str
    cells: tuple[str, ...]
    commit: str
    reports: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """The heads of the columns of values, and the rows."""

    heads: tuple[str, ...]
    rows: tuple[Row, ...]


def table_of(course: Course, links: Links) -> Table:
    """Return the values of a course."""
    points = [{one.night: one for one in series.points} for series in course.shown]
    rows: list[Row] = []
    for fared in reversed(course.fared):
        night = fared.night.id if fared.night else ""
        held = zip(course.shown, (one.get(night) for one in points), strict=True)
        cells = tuple(_cell(series, point) for series, point in held)
        rows.append(_row(fared, cells, links))
    return Table(tuple(heading(one.metric) for one in course.shown), tuple(rows))


def _row(fared: Fared, cells: tuple[str, ...], links: Links) -> Row:
    return Row(
        when=f"{moment_of(fared.at):%Y-%m-%d %H:%M}",
        tone=TONES[fared.state],
        ended=f"{SIGNS[fared.state]} {fared.state}",
        reason=fared.reason,
        cells=cells,
        commit=short_commit(fared.night.commit) if fared.night else "",
        reports=tuple(reports_of(fared, links)),
    )


def _cell(series: Series, point: Point | None) -> str:
    return "; ".join(_said(series, point)) if point else ""


def _said(series: Series, point: Point) -> Iterator[str]:
    if point.value is None:
        return
    yield quantity(point.value, series.unit)
    if point.change is not None:
        words = shift(point.change, series.scale, series.unit)
        interval = bounds(point.low, point.high, series.scale, series.unit)
        yield f"{words} ({interval})" if interval else words
