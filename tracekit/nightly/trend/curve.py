"""A series as a picture: panels above one another that share the axis of days, and their shapes."""

import math
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby, pairwise
from statistics import median

import numpy as np

from tracekit.base import quantity, short_commit
from tracekit.nightly.gate.decision import plain_change
from tracekit.nightly.history.changes import Slope, Trend
from tracekit.nightly.history.night import Judged, moment_of
from tracekit.nightly.history.steps import Point, Series, anchors_of, levels, moves
from tracekit.nightly.history.stretches import ends_of_line
from tracekit.nightly.trend.course import (
    WAYS,
    Course,
    Fared,
    Happening,
    State,
    date_of,
    day,
    days_of,
    direction,
    several,
    state_of,
)
from tracekit.report import (
    Axis,
    Plane,
    Shape,
    binary,
    figure,
    finished,
    heading,
    linear,
    moved,
    svg_text,
)

_LEFT, _RIGHT = 10.0, 92.0  # the room beside panels: the numbers of their axes stand on the right
_HEAD, _GAP, _LANE, _FOOT = 16.0, 24.0, 20.0, 18.0  # tags, above a panel, marks below, dates
_STEPS = (1, 2, 7, 14, 28, 91, 182, 364, 1820)  # days between dates
_APART = 66.0  # the least room of a date
_CHARACTER = 6.0


@dataclass(frozen=True)
class Panel:
    """One of the panels: what stands above it, its axis and what is drawn, from back to front."""

    title: str
    height: float
    y: Axis
    shapes: tuple[Shape, ...]


@dataclass(frozen=True)
class Picture:
    """What a picture shows: panels over an axis of days since 1970, lettered lines through all.

    The `lane` stands under the last panel, on a plane of its own.
    """

    title: str
    summary: str
    width: float
    x: Axis
    panels: tuple[Panel, ...]
    tags: Sequence[Happening] = ()
    lane: tuple[Shape, ...] = ()


def svg(picture: Picture, spoken: Callable[[str], str] = str) -> str:
    """Return the picture as an SVG element without style, script and ids.

    All words of it pass through `spoken`. The same picture gives the same characters.
    """
    bottom = _HEAD - 6 + sum(_GAP + panel.height for panel in picture.panels)
    across = picture.width - _LEFT - _RIGHT
    size = picture.width, bottom + _LANE + _FOOT
    root = figure("nights", size, picture.title, picture.summary)
    for at, words in day_marks(picture.x, across):
        x = _LEFT + picture.x.project(at, 0, across)
        room = len(words) * _CHARACTER / 2
        place = min(max(x, room + 1), picture.width - room)
        ET.SubElement(root, "path", {"class": "grid", "d": f"M{x:.1f} {bottom:.1f}v{_LANE:g}"})
        root.append(_text(place, size[1] - 5, words, "mid"))
    root.extend(_tags(picture, across, bottom))
    top = _HEAD - 6
    for panel in picture.panels:
        root.append(_panel(panel, picture.x, across, top + _GAP))
        top += _GAP + panel.height
    lane = moved(_LEFT, bottom)
    plane = Plane(across, _LANE, picture.x, Axis("", 0, 1, (), str))
    lane.extend(element for shape in picture.lane for element in shape(plane))
    root.append(lane)
    return finished(root, spoken)


def day_marks(x: Axis, width: float) -> list[tuple[float, str]]:
    """Return where dates stand on an axis so wide, and their words; the year where it begins."""
    most = max(2, int(width / _APART))
    first = date_of(x.low)
    midnight = first.replace(hour=0, minute=0, second=0, microsecond=0)
    days = [midnight + timedelta(days=at) for at in range(1, int(x.high - x.low) + 2)]
    days = [day for day in days if day <= date_of(x.high)]
    step = next((stride for stride in _STEPS if len(days) <= most * stride), _STEPS[-1])
    year = 0
    marks: list[tuple[float, str]] = []
    for each in days[::step]:
        words = f"{each.day} {each:%b}" if each.year == year else f"{each.day} {each:%b %Y}"
        year = each.year
        marks.append((x.low + (each - first) / timedelta(days=1), words))
    return marks


def day_axis(days: Sequence[float]) -> Axis:
    """Return the axis over nights, with room at both ends; of one night alone, too."""
    air = max(0.6, (max(days) - min(days)) * 0.015)
    return Axis("", min(days) - air, max(days) + air, (), str)


def _panel(panel: Panel, x: Axis, across: float, top: float) -> ET.Element:
    group = moved(_LEFT, top)
    plane = Plane(across, panel.height, x, panel.y)
    group.append(_text(across, -7, panel.title, "name end"))
    for mark in panel.y.marks:
        _, y = plane.at((x.low, mark))
        ET.SubElement(group, "path", {"class": "grid", "d": f"M0 {y:.1f}H{across:g}"})
        group.append(_text(across + 7, y + 4, panel.y.words(mark)))
    group.extend(element for shape in panel.shapes for element in shape(plane))
    return group


def _tags(picture: Picture, across: float, bottom: float) -> Iterator[ET.Element]:
    """Draw a lettered line through all panels for each tag; no letter covers another."""
    end = 0.0
    for tag in picture.tags:
        x = _LEFT + picture.x.project(days_of(tag.at), 0, across)
        width = len(tag.letter) * 7.5 + 6
        place = max(x - width / 2, end + 1)
        end = place + width
        group = ET.Element("g", {"class": "accepted" if tag.accepted else "changed"})
        ET.SubElement(group, "title").text = f"{tag.letter}: {tag.words}"
        line = f"M{x:.1f} {_HEAD:g}V{bottom:g}"
        ET.SubElement(group, "path", {"class": "through", "d": line})
        box = {"x": f"{place:.1f}", "y": "0", "width": f"{width:g}", "height": f"{_HEAD:g}"}
        ET.SubElement(group, "rect", {**box, "rx": "8" if tag.accepted else "2"})
        group.append(_text(place + width / 2, 12, tag.letter, "mid"))
        yield group


def _text(x: float, y: float, words: str, name: str = "") -> ET.Element:
    return svg_text(x, y, words, {"class": name} if name else {})


RADIUS = 3.4
_ROW = 13.0
# A night that went well is a disc; the others differ from it by their shape alone.
_SHAPES = {
    State.REGRESSION: "M{x} {y}m0 -5.5l5.5 9.5h-11z",
    State.INCONCLUSIVE: "M{x} {y}m-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z",
    State.UNJUDGED: "M{x} {y}m0 -4l4 4l-4 4l-4 -4z",
    State.FAILED: "M{x} {y}m-4 -4l8 8m0 -8l-8 8",
    State.UNFINISHED: "M{x} {y}m-4 0h1.5m1.7 0h1.6m1.7 0h1.5",
    State.NOT_RUN: "M{x} {y}m-3.5 0h7",
    State.MISSED: "M{x} {y}m-3.5 -4.5h7v9h-7z",
}


@dataclass(frozen=True)
class Mark:
    """One night, in days since 1970; `state` is None where it is followed only."""

    at: float
    value: float
    state: State | None
    words: str
    href: str = ""


def lines(
    runs: Iterable[Sequence[tuple[float, float]]], name: str, words: str = "", *, end: str = ""
) -> Shape:
    """Draw a line through each run of points; an `end` of "Z" closes each.

    A point alone has no line.
    """

    def draw(plane: Plane) -> Iterator[ET.Element]:
        path = "".join(
            "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in map(plane.at, run)) + end
            for run in runs
            if len(run) > 1
        )
        if path:
            element = ET.Element("path", {"class": name, "d": path})
            if words:
                ET.SubElement(element, "title").text = words
            yield element

    return draw


def dated(changes: Sequence[tuple[float, float, str, str]]) -> Shape:
    """Draw steps and drifts: (first day, last day, words, tone), oldest first.

    A step, whose days are the same, is a line through the panel; a drift is a bracket over its
    nights. Their words are in rows so that none covers another.
    """

    def draw(plane: Plane) -> Iterator[ET.Element]:
        ends: list[float] = []
        for first, last, words, tone in changes:
            x, _ = plane.at((first, plane.y.low))
            until, _ = plane.at((last, plane.y.low))
            room = len(words) * _CHARACTER + 10
            left = x + room > plane.width
            begin = x - room if left else x
            row = next((n for n, end in enumerate(ends) if end <= begin), len(ends))
            ends[row : row + 1] = [max(begin + room, until)]
            group = ET.Element("g", {"class": f"{'drift' if last > first else 'step'} {tone}"})
            foot = 14 + row * _ROW
            bracket = f"M{x:.1f} {foot - 3:g}v6m0 -3H{until:.1f}m0 -3v6"
            line = f"M{x:.1f} 0V{plane.height:g}"
            ET.SubElement(group, "path", {"d": bracket if last > first else line})
            beside, name = (x - 5, "end") if left else (x + 5, "")
            group.append(_text(beside, 11 + row * _ROW, words, name))
            yield group

    return draw


def nights(marks: Sequence[Mark], radius: float = RADIUS) -> Shape:
    """Draw a mark for each night, with its words, and a link where it leads anywhere."""

    def draw(plane: Plane) -> Iterator[ET.Element]:
        for mark in marks:
            x, y = plane.at((mark.at, mark.value))
            element = _mark(mark.state, x, y, radius)
            if mark.href:  # keys do not stop at it: the table has the same links
                link = ET.Element("a", {"href": mark.href, "tabindex": "-1"})
                ET.SubElement(link, "title").text = mark.words
                link.append(element)
                yield link
            else:
                ET.SubElement(element, "title").text = mark.words
                yield element

    return draw


def _mark(state: State | None, x: float, y: float, radius: float) -> ET.Element:
    if state is None or state is State.OK:
        size = radius * 0.8 if state is None else radius
        return ET.Element("circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": f"{size:.2g}"})
    kind = "full" if state is State.REGRESSION else "open"
    path = _SHAPES[state].format(x=f"{x:.1f}", y=f"{y:.1f}")
    return ET.Element("path", {"class": f"{state.tone} {kind}", "d": path})


RECENT = 120  # nights that have marks of their own; of older ones only those that stand out
_WIDE, _COMPACT = 960, 400
_HIGH, _FLAT = 150, 80
_LEAST_SPAN = 0.04  # of the median: noise is not drawn as if it were much
_LAST_NIGHT = 0.6  # of a day: how far what is expected goes beyond the last night

_Pick = Callable[[Point], float | None]
_Ends = Callable[[Point], tuple[float | None, float | None]]


@dataclass(frozen=True)
class Curve:
    """A series with its steps and drifts, and what pictures of its course share: axis, tags, links."""

    series: Series
    trend: Trend
    course: Course
    x: Axis
    tags: Sequence[Happening]
    href: Callable[[Fared], str]


def summary_of(curve: Curve) -> str:
    """Return what can be seen of a series, in sentences."""
    series = curve.series
    known = [(point, point.value) for point in series.points if point.value is not None]
    nights = several(len(series.points), "night")
    if not known:
        return f"{nights}, none with a value."
    last, values = known[-1][0], [value for _, value in known]
    low, high = (quantity(edge(values), series.unit) for edge in (min, max))
    span = f"always {low}" if low == high else f"from {low} to {high}"
    latest = f"the last, of {day(last.at)}, {_said(series, last)}"
    parts = [f"{nights}, {len(known)} with a value, {span}; {latest}."]
    for step in curve.trend.steps:
        way = direction(step.change, series.better)
        at, change = day(series.points[step.index].at), series.shown.change(step.change)
        parts.append(f"Changed on {at}, {change}{f', {way}' * (way != 'changed')}.")
    for slope in curve.trend.slopes:
        way = direction(slope.change, series.better)
        first, last = (day(series.points[place].at) for place in (slope.first, slope.last))
        words = f"Drifted from {first} to {last}, {rate_words(series, slope)}"
        parts.append(f"{words}, {way}." if way != "changed" else f"{words}.")
    return " ".join([*parts, *_total(curve)])


def rate_words(series: Series, slope: Slope) -> str:
    """Return the rate of a drift, such as "+2.3 % a night"."""
    return f"{series.shown.change(slope.rate)} a night"


def _said(series: Series, point: Point) -> str:
    change = series.shown.whole(point.change, point.low, point.high)
    value = quantity(point.value, series.unit)
    return f"{value}, {change} from the reference" if change else value


def _total(curve: Curve) -> Iterator[str]:
    """Yield what all nights add up to where the reference moves along."""
    series = curve.series
    if not moves(series):
        return
    found = levels(series, anchors_of(series, curve.course.anchors))
    if len(found.nights) > 1:
        change, deviation = found.total(np.eye(len(found.nights))[-1])
        ends = [plain_change(change + 1.96 * at * deviation, series.scale) for at in (0, -1, 1)]
        since = day(series.points[found.nights[0]].at)
        yield f"From the reference of {since} on, nights add up to {series.shown.whole(*ends)}."


def picture_of(curve: Curve) -> Picture:
    """Return the picture of a series: large where it decides, else compact."""
    series = curve.series
    compared = series.gated and any(point.change is not None for point in series.points)
    values = _values(curve, _HIGH if series.gated and not compared else _FLAT, dates=not compared)
    return Picture(
        title=f"{series.capture}: {heading(series.metric)}",
        summary=summary_of(curve),
        width=_WIDE if series.gated else _COMPACT,
        x=curve.x,
        panels=(_changes(curve), values) if compared else (values,),
        tags=curve.tags,
        lane=(nights(list(_lane(curve))),),
    )


def _changes(curve: Curve) -> Panel:
    series = curve.series
    limits = list(_limits(curve))
    ends = [(point.change, point.low, point.high) for point in series.points]
    reach = [end for point in ends for end in point if end is not None]
    reach += [edge for _, _, low, high, _ in limits for edge in (low, high)]
    allowed = series.shown.amount(series.threshold)
    title = "Change from the reference, with its 95 % interval"
    title += f"; shaded: what is expected ± {allowed}; dashed: the limit" * bool(limits)
    limit = f"Beyond this line a change for the worse matters: {allowed} from what is expected"
    band = [((b, low), (b, high), (e, high), (e, low)) for b, e, low, high, _ in limits]
    return Panel(
        title,
        _HIGH,
        linear("", min(reach), max(reach), series.shown.change),
        (
            lines(band, "band", end="Z"),
            lines([((b, edge), (e, edge)) for b, e, *_, edge in limits], "limit", limit),
            lines([((curve.x.low, 0.0), (curve.x.high, 0.0))] * (min(reach) <= 0), "zero"),
            *_drawn(
                curve, lambda point: point.change, lambda point: (point.low, point.high), RADIUS
            ),
            _dates(curve),
        ),
    )


def _values(curve: Curve, height: float, *, dates: bool) -> Panel:
    series = curve.series
    against = [point.reference for point in series.points if point.reference is not None]
    reach = against + [point.value for point in series.points if point.value is not None]
    if len(reach) == len(against):
        return Panel("No night has a value", height, linear("", 0, 1, lambda _: ""), ())
    title = "Median of the pairs, with the least and the most" * series.gated
    title += "; dashed: the reference" * bool(against and series.gated)
    return Panel(
        title,
        height,
        _upward(series, reach),
        (
            lines(_runs(curve, lambda point: point.reference), "reference"),
            *_drawn(curve, lambda point: point.value, lambda point: (point.least, point.most), 2.6),
            *([_dates(curve)] * dates),
        ),
    )


def _upward(series: Series, reach: Sequence[float]) -> Axis:
    """Return the axis of medians, with half of what they span on both sides for their spreads."""
    low, high = min(reach), max(reach)
    room = max(high - low, abs(median(reach)) * _LEAST_SPAN) or 1.0
    least = 0.0 if low >= 0 else -math.inf
    most = 1.0 if series.unit == "ratio" and high <= 1 else math.inf
    low, high = max(least, low - room / 2), min(most, high + room / 2)
    make = binary if series.unit == "bytes" and low >= 0 else linear
    return make("", low, high, lambda value: quantity(value, series.unit))


def _limits(curve: Curve) -> Iterator[tuple[float, float, float, float, float]]:
    """Yield where changes are as expected: from day, to day, lower, upper, and the worse one.

    Nights in a row of which the same is expected are one stretch.
    """
    fared = curve.course.fared
    begins = [days_of(night.at) for night in fared]
    ends = [*begins[1:], begins[-1] + _LAST_NIGHT]
    edges = [_edges(night.judged(curve.series.metric)) for night in fared]
    for edge, group in groupby(zip(edges, begins, ends, strict=True), key=lambda row: row[0]):
        stretch = list(group)
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


def _drawn(curve: Curve, pick: _Pick, ends: _Ends, radius: float) -> Iterator[Shape]:
    """Yield spreads, the line through the nights, levels between change points, and marks."""
    points = curve.series.points
    spreads = [
        ((days_of(point.at), low), (days_of(point.at), high))
        for point in points
        for low, high in (ends(point),)
        if low is not None and high is not None
    ]
    yield lines(spreads, "spread")
    yield lines(_runs(curve, pick), "median")
    yield lines(_fitted(curve, pick), "level")
    yield nights(list(_marks(curve, pick)), radius)


def _fitted(curve: Curve, pick: _Pick) -> Iterator[list[tuple[float, float]]]:
    """Yield the levels between changes, and the lines of drifts; none where nothing changed."""
    points = curve.series.points
    steps = [step.index for step in curve.trend.steps]
    drifts = {slope.first: slope.last + 1 for slope in curve.trend.slopes}
    if not steps and not drifts:
        return
    cuts = sorted({0, *steps, *drifts, *drifts.values(), len(points)})
    for begin, end in pairwise(cuts):
        held = points[begin:end]
        values = [value for value in map(pick, held) if value is not None]
        if not values:
            continue
        drifting = any(first <= begin < last for first, last in drifts.items())
        if drifting and len(values) > 1:
            ends = ends_of_line(np.array(values))
        else:
            ends = (median(values), median(values))
        yield list(zip((days_of(held[0].at), days_of(held[-1].at)), ends, strict=True))


def _runs(curve: Curve, pick: _Pick) -> list[list[tuple[float, float]]]:
    """Return the points between gaps: a night without a value is a gap, and no line crosses it."""
    places = {days_of(fared.at): None for fared in curve.course.fared}
    places |= {days_of(point.at): pick(point) for point in curve.series.points}
    runs: list[list[tuple[float, float]]] = [[]]
    for at in sorted(places):
        value = places[at]
        if value is None:
            runs.append([])
        else:
            runs[-1].append((at, value))
    return runs


def _dates(curve: Curve) -> Shape:
    series = curve.series
    found: list[tuple[float, float, str, str]] = []
    for step in curve.trend.steps:
        at = series.points[step.index].at
        words = f"{day(at)[:-5]}: {series.shown.change(step.change)}"
        tone = WAYS[direction(step.change, series.better)]
        found.append((days_of(at), days_of(at), words, tone))
    for slope in curve.trend.slopes:
        first, last = (days_of(series.points[place].at) for place in (slope.first, slope.last))
        tone = WAYS[direction(slope.change, series.better)]
        found.append((first, last, rate_words(series, slope), tone))
    return dated(sorted(found))


def _marks(curve: Curve, pick: _Pick) -> Iterator[Mark]:
    """Yield the marks of a series' nights; of older ones only those that stand out."""
    fared = {result.night.id: result for result in curve.course.fared if result.night is not None}
    points = curve.series.points
    for place, point in enumerate(points):
        value = pick(point)
        state = None if point.outcome is None else state_of(point.outcome)
        older = place < len(points) - RECENT
        if value is not None and not (older and state in {None, State.OK}):
            words = _words(curve.series, point)
            href = curve.href(fared[point.night]) if point.night in fared else ""
            yield Mark(days_of(point.at), value, state, words, href)


def _words(series: Series, point: Point) -> str:
    parts = [f"{moment_of(point.at):%d %b %Y %H:%M} UTC: {_said(series, point)}"]
    if point.least is not None and point.most is not None:
        least, most = (quantity(value, series.unit) for value in (point.least, point.most))
        parts.append(f"pairs from {least} to {most}")
    parts += [several(point.pairs, "pair")] * bool(point.pairs)
    parts += [f"commit {short_commit(point.commit)}"] * bool(point.commit)
    if point.outcome:
        parts.append(f"{point.outcome}: {point.reason}" if point.reason else str(point.outcome))
    return "; ".join(parts)


def _lane(curve: Curve) -> Iterator[Mark]:
    """Yield the marks of nights that are not seen above, or not as what they are."""
    seen = {days_of(point.at) for point in curve.series.points if point.value is not None}
    for fared in curve.course.fared:
        at = days_of(fared.at)
        if fared.state not in {State.OK, State.REGRESSION} or at not in seen:
            words = ": ".join(filter(None, (day(fared.at), fared.state, fared.reason)))
            yield Mark(at, 0.5, fared.state, words, curve.href(fared))
