"""What single nights say of a series, and the shapes that stand for it on a panel."""

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tracekit.base import quantity, short_commit
from tracekit.nightly.gate.changes import plain_change
from tracekit.nightly.history.levels import levels as levels_of
from tracekit.nightly.history.levels import moves
from tracekit.nightly.history.steps import Point, Series, Step
from tracekit.nightly.trend.course import Course, Fared
from tracekit.nightly.trend.happened import Happening
from tracekit.nightly.trend.words import (
    State,
    bounds,
    change_words,
    day,
    days_of,
    direction,
    moment_of,
    several,
    shift,
    state_of,
)
from tracekit.report import Axis, Plane, Shape

_RADIUS = 3.4
_CHARACTER = 6.2
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
    """One night on a panel or in the lane: `at` is in days since 1970.

    `state` is None where the night is followed only; `href` leads to its report, if it has one.
    """

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


def levels(stretches: Iterable[tuple[float, float, float]], name: str, words: str = "") -> Shape:
    """Draw level lines: (from day, to day, height)."""
    runs = [((begin, height), (end, height)) for begin, end, height in stretches]
    return lines(runs, name, words)


def dated(steps: Sequence[tuple[float, str, str]]) -> Shape:
    """Draw change points: (day, words, tone), their words in rows so that none covers another."""

    def draw(plane: Plane) -> Iterator[ET.Element]:
        ends: list[float] = []
        for at, words, tone in steps:
            x, _ = plane.at((at, plane.y.low))
            room = len(words) * _CHARACTER + 8
            left = x + room > plane.width
            begin = x - room if left else x
            row = next((n for n, end in enumerate(ends) if end <= begin), len(ends))
            ends[row : row + 1] = [begin + room]
            group = ET.Element("g", {"class": f"step {tone}"})
            ET.SubElement(group, "path", {"d": f"M{x:.1f} 0V{plane.height:g}"})
            place = {"x": f"{x + (-5 if left else 5):.1f}", "y": f"{11 + row * _ROW:.1f}"}
            if left:
                place["text-anchor"] = "end"
            ET.SubElement(group, "text", place).text = words
            yield group

    return draw


def nights(marks: Sequence[Mark], radius: float = _RADIUS) -> Shape:
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
        name = "followed" if state is None else "good"
        size = radius * 0.8 if state is None else radius
        place = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": f"{size:.2g}"}
        return ET.Element("circle", {"class": name, **place})
    kind = "full" if state is State.REGRESSION else "open"
    path = _SHAPES[state].format(x=f"{x:.1f}", y=f"{y:.1f}")
    return ET.Element("path", {"class": f"{state.tone} {kind}", "d": path})


Href = Callable[[Fared], str]
Pick = Callable[[Point], float | None]

RECENT = 120  # nights that have marks of their own; of older ones only those that stand out


@dataclass(frozen=True)
class Drawing:
    """All that a course's pictures share: the axis of days, the tags, and where reports are."""

    course: Course
    x: Axis
    tags: Sequence[Happening]
    href: Href


def summary_of(series: Series, steps: Sequence[Step]) -> str:
    """Return what can be seen of a series, in a sentence or two."""
    known = [point for point in series.points if point.value is not None]
    if not known:
        return f"{several(len(series.points), 'night')}, none with a value."
    values = [one.value for one in known if one.value is not None]
    last = known[-1]
    low, high = (quantity(edge(values), series.unit) for edge in (min, max))
    parts = (
        f"{several(len(series.points), 'night')}, {len(known)} with a value, "
        f"{f'always {low}' if low == high else f'from {low} to {high}'}; "
        f"the last, of {day(last.at)}, {quantity(last.value, series.unit)}{_against(series, last)}."
    )
    changed = (f"Changed on {words}." for words in (step_words(series, step) for step in steps))
    return " ".join((parts, *changed))


def total_of(series: Series, anchors: Sequence[Point]) -> str:
    """Return what all nights add up to where the reference moves along; empty where it does not."""
    found = levels_of(series, anchors)
    if not moves(series) or len(found.nights) < 2:  # noqa: PLR2004  one is tonight's own change
        return ""
    change, half = float(found.values[-1]), 1.96 * float(found.covariance[-1, -1]) ** 0.5
    ends = [plain_change(one, series.scale) for one in (change, change - half, change + half)]
    since = day(series.points[found.nights[0]].at)
    words = change_words(ends[0], ends[1], ends[2], series.scale, series.unit)
    return f"From the reference of {since} on, nights add up to {words}."


def step_words(series: Series, step: Step) -> str:
    """Return a change point in words: "14 Oct 2026, +4.1 %, worse"."""
    way = direction(step.change, series.better)
    words = f"{day(series.points[step.index].at)}, {shift(step.change, series.scale, series.unit)}"
    return words if way == "changed" else f"{words}, {way}"


def doubt_of(series: Series, step: Step) -> str:
    """Return between which nights a change point may lie; empty where it is one night alone."""
    if step.earliest >= step.latest:
        return ""
    first, last = (day(series.points[one].at) for one in (step.earliest, step.latest))
    return f"{first} to {last}"


def point_words(series: Series, point: Point, fared: Fared | None) -> str:
    """Return what one night says of a series."""
    parts = [f"{moment_of(point.at):%d %b %Y %H:%M} UTC"]
    if point.value is not None:
        parts[0] += f": {quantity(point.value, series.unit)}{_against(series, point)}"
    if point.least is not None and point.most is not None:
        least, most = (quantity(one, series.unit) for one in (point.least, point.most))
        parts.append(f"pairs from {least} to {most}")
    if point.pairs:
        parts.append(several(point.pairs, "pair"))
    if point.commit:
        parts.append(f"commit {short_commit(point.commit)}")
    state = state_of(point.outcome) if point.outcome else fared.state if fared else None
    if state is not None and (state is not State.OK or point.outcome):
        reason = point.reason or (fared.reason if fared and state is not State.OK else "")
        parts.append(f"{state}: {reason}" if reason else str(state))
    return "; ".join(parts)


def _against(series: Series, point: Point) -> str:
    if point.change is None:
        return ""
    interval = bounds(point.low, point.high, series.scale, series.unit)
    words = f", {shift(point.change, series.scale, series.unit)} from the reference"
    return f"{words} ({interval})" if interval else words


def marks_of(series: Series, drawing: Drawing, pick: Pick) -> Iterator[Mark]:
    """Yield the marks of a series' nights; of older ones only those that stand out."""
    fared = {one.night.id: one for one in drawing.course.fared if one.night is not None}
    recent = len(series.points) - RECENT
    for place, one in enumerate(series.points):
        value = pick(one)
        state = None if one.outcome is None else state_of(one.outcome)
        if value is None or (place < recent and state in {None, State.OK}):
            continue
        night = fared.get(one.night)
        href = drawing.href(night) if night else ""
        yield Mark(days_of(one.at), value, state, point_words(series, one, night), href)


def lane_of(series: Series, drawing: Drawing) -> list[Mark]:
    """Return the marks of nights that are not seen above, or not as what they are."""
    seen = {days_of(point.at) for point in series.points if point.value is not None}
    quiet = {State.OK, State.REGRESSION}
    found: list[Mark] = []
    for fared in drawing.course.fared:
        at = days_of(fared.at)
        if fared.state in quiet and at in seen:
            continue
        words = f"{day(fared.at)}: {fared.state}" + (f": {fared.reason}" if fared.reason else "")
        found.append(Mark(at, 0.5, fared.state, words, drawing.href(fared)))
    return found
