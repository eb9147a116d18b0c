"""A series as a picture: its change from the reference, its values, its limits, its steps."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from statistics import median

from tracekit.base import quantity
from tracekit.compare import Shown
from tracekit.nightly.history.night import Judged
from tracekit.nightly.history.steps import Point, Series, Step
from tracekit.nightly.trend import points
from tracekit.nightly.trend.course import Course
from tracekit.nightly.trend.picture import COMPACT, FLAT, WIDE, Panel, Picture
from tracekit.nightly.trend.points import Drawing, Pick, lane_of, marks_of, summary_of
from tracekit.nightly.trend.words import WAYS, days_of, direction, moment_of, shift
from tracekit.report import Axis, binary, heading, linear

_LEAST_SPAN = 0.04  # of the median: noise is not drawn as if it were much
_LAST_NIGHT = 0.6  # of a day: how far what is expected goes beyond the last night


def picture_of(series: Series, steps: Sequence[Step], drawing: Drawing) -> Picture:
    """Return the picture of a series: large where it decides, else compact."""
    compared = series.gated and any(point.change is not None for point in series.points)
    panels: tuple[Panel, ...] = (_values(series, steps, drawing, labelled=not compared),)
    if compared:
        panels = (_changes(series, steps, drawing), *panels)
    return Picture(
        title=f"{series.capture}: {heading(series.metric)}",
        summary=summary_of(series, steps),
        size=WIDE if compared else FLAT if series.gated else COMPACT,
        x=drawing.x,
        panels=panels,
        tags=drawing.tags,
        lane=(points.nights(lane_of(series, drawing)),),
    )


def _changes(series: Series, steps: Sequence[Step], drawing: Drawing) -> Panel:
    limits = list(_limits(series, drawing.course))
    known = [point for point in series.points if point.change is not None]
    reach = [one.change for one in known if one.change is not None]
    reach += [edge for _, _, low, high, _ in limits for edge in (low, high)]
    reach += [edge for one in known for edge in (one.low, one.high) if edge is not None]
    title = "Change from the reference, with its 95 % interval"
    allowed = Shown(series.scale, series.unit).amount(series.threshold)
    limit = f"Beyond this line a change for the worse matters: {allowed} from what is expected"
    if limits:
        title += f"; shaded: what is expected ± {allowed}; dashed: the limit"
    return Panel(
        title,
        linear("", min(reach), max(reach), lambda one: shift(one, series.scale, series.unit)),
        (
            points.lines(
                [((b, low), (b, high), (e, high), (e, low)) for b, e, low, high, _ in limits],
                "band",
                end="Z",
            ),
            points.levels([(b, e, edge) for b, e, *_, edge in limits], "limit", limit),
            points.levels([(drawing.x.low, drawing.x.high, 0.0)] * (min(reach) <= 0), "zero"),
            *_lines(series, steps, drawing.course, lambda one: one.change),
            _spreads(series, lambda one: (one.low, one.high)),
            points.dated(list(_dated(series, steps))),
            points.nights(list(marks_of(series, drawing, lambda one: one.change))),
        ),
    )


def _values(series: Series, steps: Sequence[Step], drawing: Drawing, *, labelled: bool) -> Panel:
    reach = [point.value for point in series.points if point.value is not None]
    against = [one.reference for one in series.points if one.reference is not None]
    if not reach:
        return Panel("No night has a value", linear("", 0, 1, lambda _: ""), ())
    axis, unit = _upward(series, [*reach, *against])
    title = "Median of the pairs, with the least and the most" if series.gated else ""
    title = ", ".join(one for one in (title, f"in {unit}" * bool(unit)) if one)
    title += "; dashed: the reference" * bool(against and series.gated)
    return Panel(
        title,
        axis,
        (
            _spreads(series, lambda one: (one.least, one.most)),
            points.lines(_runs(series, drawing.course, lambda one: one.reference), "reference"),
            *_lines(series, steps, drawing.course, lambda one: one.value),
            *((points.dated(list(_dated(series, steps))),) * labelled),
            points.nights(list(marks_of(series, drawing, lambda one: one.value)), 2.6),
        ),
    )


def _upward(series: Series, reach: Sequence[float]) -> tuple[Axis, str]:
    """Return the axis of values, and the unit that its numbers leave out.

    It is of all medians, and of spreads as far as they are no wider than these.
    """
    low, high = min(reach), max(reach)
    middle = median(reach)
    share = series.unit == "ratio"
    room = max(high - low, abs(middle) * _LEAST_SPAN) or (0.02 if share else 2.0)
    spread = [
        edge for point in series.points for edge in (point.least, point.most) if edge is not None
    ]
    least = 0.0 if low >= 0 else low - room
    most = 1.0 if share and 0 <= low <= high <= 1 else math.inf
    low, high = min(low, middle - room / 2), max(high, middle + room / 2)
    low = max(least, low - room / 2, min([low, *spread]))
    high = min(high + room / 2, max([high, *spread]), most)
    make = binary if series.unit == "bytes" and low >= 0 else linear
    axis = make("", low, high, lambda one: quantity(one, series.unit))
    marked = {axis.words(mark): mark for mark in reversed(axis.marks)}
    units = {words.partition(" ")[2] for words in marked if words != "0"}
    axis = replace(axis, marks=tuple(sorted(marked.values())))
    if len(units) != 1:
        return axis, ""
    bare = replace(axis, words=lambda one: quantity(one, series.unit).partition(" ")[0])
    return bare, units.pop()


def _limits(series: Series, course: Course) -> Iterator[tuple[float, float, float, float, float]]:
    """Yield where changes are as expected: from day, to day, lower, upper, and the worse one.

    Nights in a row of which the same is expected are one stretch.
    """
    begins = [days_of(fared.at) for fared in course.fared]
    ends = [*begins[1:], begins[-1] + _LAST_NIGHT]
    edges = [_edges(one.judged(series.metric)) for one in course.fared]
    held = groupby(zip(edges, begins, ends, strict=True), key=lambda one: one[0])
    for edge, nights in held:
        stretch = list(nights)
        if edge is not None:
            yield stretch[0][1], stretch[-1][2], *edge


def _edges(judged: Judged | None) -> tuple[float, float, float] | None:
    """Return what is expected of a night: lower, upper, and the one that is the limit."""
    if judged is None or judged.expected is None:
        return None
    least = judged.threshold
    if judged.scale == "ratio":
        factor = 1 + judged.expected
        low, high = factor / (1 + least) - 1, factor * (1 + least) - 1
    else:
        low, high = judged.expected - least, judged.expected + least
    return low, high, low if judged.better == "higher" else high


def _lines(
    series: Series, steps: Sequence[Step], course: Course, pick: Pick
) -> Iterator[points.Shape]:
    """Yield the line through the medians, and the levels between the change points."""
    yield points.lines(_runs(series, course, pick), "median")
    cuts = [0, *(step.index for step in steps), len(series.points)]
    found: list[tuple[float, float, float]] = []
    for begin, end in pairwise(cuts if steps else ()):
        held = series.points[begin:end]
        values = [value for value in map(pick, held) if value is not None]
        if values:
            found.append((days_of(held[0].at), days_of(held[-1].at), median(values)))
    yield points.levels(found, "level")


def _runs(series: Series, course: Course, pick: Pick) -> list[list[tuple[float, float]]]:
    """Return the points between gaps: a night without a value is a gap, and no line crosses it."""
    places = {days_of(fared.at): None for fared in course.fared}
    places |= {days_of(point.at): pick(point) for point in series.points}
    runs: list[list[tuple[float, float]]] = [[]]
    for at in sorted(places):
        value = places[at]
        if value is None:
            runs.append([])
        else:
            runs[-1].append((at, value))
    return runs


def _spreads(
    series: Series, ends: Callable[[Point], tuple[float | None, float | None]]
) -> points.Shape:
    strokes = [
        ((days_of(point.at), low), (days_of(point.at), high))
        for point in series.points
        for low, high in (ends(point),)
        if low is not None and high is not None
    ]
    return points.lines(strokes, "spread")


def _dated(series: Series, steps: Sequence[Step]) -> Iterator[tuple[float, str, str]]:
    for step in steps:
        at = series.points[step.index].at
        moment = moment_of(at)
        words = f"{moment.day} {moment:%b}: {shift(step.change, series.scale, series.unit)}"
        yield days_of(at), words, WAYS[direction(step.change, series.better)]
