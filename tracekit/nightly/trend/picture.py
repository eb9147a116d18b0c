"""A picture of nights: panels above one another that share the axis of nights, and their shapes."""

import xml.etree.ElementTree as ET
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from tracekit.nightly.history.night import moment_of
from tracekit.nightly.trend.course import CourseEvent, CourseState
from tracekit.pages import chart

_LEFT = 10.0  # the room on the left of panels
_RIGHT = 118.0  # the room on their right, for the numbers of their axes
_HEAD = 20.0  # tags
_GAP = 30.0  # above a panel
_LANE = 22.0  # marks below the panels
_FOOT = 42.0  # the numbers and dates of nights
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)  # nights between labels
_APART = 90.0  # the least room of a date
_CHARACTER = 8.4  # the usual width of one
_AIR = 0.5  # of a night, at both ends of the axis


@dataclass(frozen=True)
class NightAxis:
    """The axis over nights: their places are 1, 2, 3 … in the order in which they began.

    `times` are their times, ISO 8601, oldest first; nights of one day are as far apart as others.
    """

    times: tuple[str, ...]

    @cached_property
    def _moments(self) -> list[datetime]:
        return [moment_of(time) for time in self.times]

    @cached_property
    def axis(self) -> chart.Axis:
        """The axis, with room at both ends."""
        air = max(_AIR, len(self.times) * 0.015)
        last_place = len(self.times) + air
        return chart.Axis("", 1 - air, last_place, (), str)

    def place(self, time: str) -> float:
        """Return the place of the night that began at a time; between nights for another time."""
        moment = moment_of(time)
        place = bisect_right(self._moments, moment)
        if place and self._moments[place - 1] == moment:
            return place
        return place + 0.5

    def labels(self, width: float) -> list[tuple[int, str]]:
        """Return the places of labels on an axis so wide, and the date or time of each night.

        A date is written when it changes, the year when it begins; else the time of day.
        """
        labels: list[tuple[int, str]] = []
        previous_moment: datetime | None = None
        for place in self._label_places(width):
            moment = self._moments[place - 1]
            labels.append((place, _date(moment, previous_moment)))
            previous_moment = moment
        return labels

    def _label_places(self, width: float) -> Sequence[int]:
        nights = len(self.times)
        if nights == 2:  # noqa: PLR2004
            return (1, 2)
        max_labels = max(2, int(width / _APART))
        fitting_steps = (stride for stride in _STEPS if nights <= max_labels * stride)
        step = next(fitting_steps, _STEPS[-1])
        first_place = min(step, nights)
        return range(first_place, nights + 1, step)


def _date(moment: datetime, previous_moment: datetime | None) -> str:
    if previous_moment is None or moment.year != previous_moment.year:
        return f"{moment.day} {moment:%b %Y}"
    if moment.date() == previous_moment.date():
        return f"{moment:%H:%M}"
    return f"{moment.day} {moment:%b}"


@dataclass(frozen=True)
class TrendPanel:
    """One of the panels: its title, its axis, and its shapes from back to front."""

    title: str
    height: float
    y: chart.Axis
    shapes: tuple[chart.Shape, ...]


@dataclass(frozen=True)
class Picture:
    """The parts of a picture: panels over an axis of nights, with lettered lines through all.

    The `lane` is under the last panel, on a plane of its own.
    """

    title: str
    summary: str
    width: float
    x: NightAxis
    panels: tuple[TrendPanel, ...]
    tags: Sequence[CourseEvent] = ()
    lane: tuple[chart.Shape, ...] = ()


def svg(picture: Picture, spoken: Callable[[str], str] = str) -> str:
    """Return the picture as an SVG element without style, script and ids.

    All words of it pass through `spoken`. The same picture gives the same characters.
    """
    panel_heights = [_GAP + panel.height for panel in picture.panels]
    bottom = _HEAD - 6 + sum(panel_heights)
    height = bottom + _LANE + _FOOT
    across = picture.width - _LEFT - _room_on_the_right(picture)
    root = chart.figure("nights", (picture.width, height), picture.title, picture.summary)
    root.set("role", "group")  # an image has no links
    axis = picture.x.axis
    for number, words in picture.x.labels(across):
        x = _LEFT + axis.project(number, 0, across)
        room = len(words) * _CHARACTER / 2
        rightmost_place = picture.width - room
        place = min(max(x, room + 1), rightmost_place)
        line = f"M{x:.1f} {bottom:.1f}v{_LANE:g}"
        ET.SubElement(root, "path", {"class": "grid", "d": line})
        number_text = _text(x, height - 24, f"{number:,}", "mid number")
        root.append(number_text)
        words_text = _text(place, height - 6, words, "mid")
        root.append(words_text)
    unit_text = _text(_LEFT + across + 14, height - 24, "night")
    root.append(unit_text)
    root.extend(_tags(picture, across, bottom))
    top = _HEAD - 6
    for panel in picture.panels:
        drawn_panel = _panel(panel, axis, across, top + _GAP)
        root.append(drawn_panel)
        top += _GAP + panel.height
    lane = chart.make_group(_LEFT, bottom)
    lane_axis = chart.Axis("", 0, 1, (), str)
    plane = chart.Plane(across, _LANE, axis, lane_axis)
    for shape in picture.lane:
        lane.extend(shape(plane))
    root.append(lane)
    return chart.serialize_svg(root, spoken)


def _room_on_the_right(picture: Picture) -> float:
    longest = 0
    for panel in picture.panels:
        for mark in panel.y.marks:
            longest = max(longest, len(panel.y.words(mark)))
    return max(_RIGHT, 8 + _CHARACTER * longest)


def _panel(panel: TrendPanel, x: chart.Axis, across: float, top: float) -> ET.Element:
    group = chart.make_group(_LEFT, top)
    plane = chart.Plane(across, panel.height, x, panel.y)
    title = _text(across, -7, panel.title, "name end")
    group.append(title)
    for mark in panel.y.marks:
        _, y = plane.project((x.minimum, mark))
        line = f"M0 {y:.1f}H{across:g}"
        ET.SubElement(group, "path", {"class": "grid", "d": line})
        label = _text(across + 7, y + 5, panel.y.words(mark))
        group.append(label)
    for shape in panel.shapes:
        group.extend(shape(plane))
    return group


def _tags(picture: Picture, across: float, bottom: float) -> Iterator[ET.Element]:
    """Draw a lettered line through all panels for each tag; no letter covers another."""
    end = 0.0
    for tag in picture.tags:
        tag_place = picture.x.place(tag.at)
        x = _LEFT + picture.x.axis.project(tag_place, 0, across)
        width = len(tag.letter) * 10 + 8
        place = max(x - width / 2, end + 1)
        end = place + width
        if tag.accepted:
            name = "accepted"
            corner_radius = "10"
        else:
            name = "changed"
            corner_radius = "2"
        group = ET.Element("g", {"class": name})
        title = ET.SubElement(group, "title")
        title.text = f"{tag.letter}: {tag.words}"
        line = f"M{x:.1f} {_HEAD:g}V{bottom:g}"
        ET.SubElement(group, "path", {"class": "through", "d": line})
        box = {
            "x": f"{place:.1f}",
            "y": "0",
            "width": f"{width:g}",
            "height": f"{_HEAD:g}",
            "rx": corner_radius,
        }
        ET.SubElement(group, "rect", box)
        letter = _text(place + width / 2, 15, tag.letter, "mid")
        group.append(letter)
        yield group


def _text(x: float, y: float, words: str, name: str = "") -> ET.Element:
    return chart.svg_text(x, y, words, {"class": name} if name else {})


RADIUS = 3.4
_ROW = 18.0
# A night that went well is a disc; the others differ from it by their shape alone.
_SHAPES = {
    CourseState.REGRESSION: "M{x} {y}m0 -5.5l5.5 9.5h-11z",
    CourseState.INCONCLUSIVE: "M{x} {y}m-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z",
    CourseState.UNJUDGED: "M{x} {y}m0 -4l4 4l-4 4l-4 -4z",
    CourseState.FAILED: "M{x} {y}m-4 -4l8 8m0 -8l-8 8",
    CourseState.UNFINISHED: "M{x} {y}m-4 0h1.5m1.7 0h1.6m1.7 0h1.5",
    CourseState.NOT_RUN: "M{x} {y}m-3.5 0h7",
    CourseState.MISSED: "M{x} {y}m-3.5 -4.5h7v9h-7z",
}


@dataclass(frozen=True)
class Mark:
    """One night, at its place; `state` is None if the series is followed only."""

    place: float
    value: float
    state: CourseState | None
    words: str
    href: str = ""


def draw_lines(
    runs: Iterable[Sequence[tuple[float, float]]], name: str, words: str = "", *, end: str = ""
) -> chart.Shape:
    """Draw a line through each run of points; an `end` of "Z" closes each.

    A point alone has no line.
    """

    def draw(plane: chart.Plane) -> Iterator[ET.Element]:
        path = ""
        for run in runs:
            if len(run) > 1:
                points = [f"{x:.1f} {y:.1f}" for x, y in map(plane.project, run)]
                path += "M" + "L".join(points) + end
        if path:
            element = ET.Element("path", {"class": name, "d": path})
            if words:
                ET.SubElement(element, "title").text = words
            yield element

    return draw


def draw_changes(changes: Sequence[tuple[float, float, str, str]]) -> chart.Shape:
    """Draw steps and drifts: (first place, last place, words, tone), oldest first.

    A step, whose places are the same, is a line through the panel; a drift is a bracket over its
    nights. Their words are in rows so that none covers another.
    """

    def draw(plane: chart.Plane) -> Iterator[ET.Element]:
        ends: list[float] = []
        for first_place, last_place, words, tone in changes:
            x, _ = plane.project((first_place, plane.y.minimum))
            until, _ = plane.project((last_place, plane.y.minimum))
            room = len(words) * _CHARACTER + 10
            is_left = x + room > plane.width
            begin = max(0.0, x - room) if is_left else x
            free_rows = (n for n, end in enumerate(ends) if end <= begin)
            row = next(free_rows, len(ends))
            ends[row : row + 1] = [max(begin + room, until)]
            if last_place > first_place:
                kind = "drift"
                foot = 19 + row * _ROW
                path = f"M{x:.1f} {foot - 3:g}v6m0 -3H{until:.1f}m0 -3v6"
            else:
                kind = "step"
                path = f"M{x:.1f} 0V{plane.height:g}"
            group = ET.Element("g", {"class": f"{kind} {tone}"})
            ET.SubElement(group, "path", {"d": path})
            words_y = 15 + row * _ROW
            if is_left:
                label = _text(begin + room - 5, words_y, words, "end")
                group.append(label)
            else:
                group.append(_text(x + 5, words_y, words))
            yield group

    return draw


def draw_marks(marks: Sequence[Mark], radius: float = RADIUS) -> chart.Shape:
    """Draw a mark for each night, with its words, and its link if it has one."""

    def draw(plane: chart.Plane) -> Iterator[ET.Element]:
        for mark in marks:
            x, y = plane.project((mark.place, mark.value))
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


def _mark(state: CourseState | None, x: float, y: float, radius: float) -> ET.Element:
    if state is None or state is CourseState.OK:
        size = radius * 0.8 if state is None else radius
        attributes = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": f"{size:.2g}"}
        return ET.Element("circle", attributes)
    kind = "full" if state is CourseState.REGRESSION else "open"
    path = _SHAPES[state].format(x=f"{x:.1f}", y=f"{y:.1f}")
    return ET.Element("path", {"class": f"{state.tone} {kind}", "d": path})
