"""A chart as inline SVG: axes, and the lines, areas, dots and words between them.

Fonts are those of the page, and colours are variables of the page's style. A chart therefore
follows light, dark and print, without a style or a script of its own.
"""

import math
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import wraps
from typing import Concatenate, ParamSpec

from tracekit.base import units

Words = Callable[[float], str]

_DECADE = (1, 2, 5)
_FEW = 3
_BINARY = 1024
_AIR = 1.25


@dataclass(frozen=True)
class Axis:
    """One axis of a chart, from `minimum` to a greater `maximum`.

    `title` names the quantity, with its unit if the ticks do not show it. `marks` are the numbers
    next to the axis, which `words` formats. On a logarithmic axis equal distances are equal ratios.
    """

    title: str
    minimum: float
    maximum: float
    marks: tuple[float, ...]
    words: Words
    logarithmic: bool = False

    def project(self, value: float, begin: float, end: float) -> float:
        """Return the place of a number between those of the axis' ends, never outside."""
        lower_end = self._way(self.minimum)
        upper_end = self._way(self.maximum)
        distance = self._way(value) - lower_end
        share = distance / (upper_end - lower_end)
        shown_share = min(1.0, max(0.0, share))
        return begin + (end - begin) * shown_share

    def _way(self, value: float) -> float:
        if self.logarithmic:
            return math.log10(max(value, self.minimum))
        return value


def linear(title: str, minimum: float, maximum: float, words: Words, steps: int = 5) -> Axis:
    """Return an axis that holds both numbers, with round ticks as close as so many steps allow."""
    if maximum <= minimum:
        maximum = minimum + (abs(minimum) or 1.0)
    marks = _round_marks(Decimal(minimum), Decimal(maximum), steps)
    return Axis(title, marks[0], marks[-1], marks, words)


def make_integer_axis(title: str, minimum: float, maximum: float, words: Words) -> Axis:
    """Return an axis as `linear` does, for things that have no halves."""
    axis = linear(title, minimum, maximum, words)
    marks = tuple(mark for mark in axis.marks if mark == round(mark))
    return replace(axis, marks=marks)


def make_count_axis(title: str, highest: float) -> Axis:
    """Return an axis of counts, with room above the highest for words."""
    maximum = highest * _AIR
    axis = make_integer_axis(title, 0, highest, units.count)
    marks = tuple(mark for mark in axis.marks if mark <= maximum)
    return Axis(title, 0, maximum, marks, units.count)


def _round_marks(minimum: Decimal, maximum: Decimal, steps: int) -> tuple[float, ...]:
    exact_step = (maximum - minimum) / steps
    power = Decimal(10) ** exact_step.adjusted()
    for factor in ("1", "2", "2.5", "5", "10", "20"):
        apart = Decimal(factor) * power
        first_place = math.floor(minimum / apart)
        last_place = math.ceil(maximum / apart)
        if last_place - first_place <= steps:
            break
    places = range(first_place, last_place + 1)
    return tuple(float(apart * place) for place in places)


def binary(title: str, minimum: float, maximum: float, words: Words) -> Axis:
    """Return an axis of bytes from zero or more, whose ticks are round in KiB, MiB, GiB …."""
    bit_count = int(max(maximum, 1)).bit_length() - 1
    unit = _BINARY ** (bit_count // 10)
    scaled_axis = linear(title, minimum / unit, maximum / unit, words, steps=4)
    marks = tuple(mark * unit for mark in scaled_axis.marks)
    return Axis(title, marks[0], marks[-1], marks, words)


def span(title: str, minimum: float, maximum: float, words: Words) -> Axis:
    """Return an axis that ends at the last number itself, as time does; ticks lie within."""
    wide = linear(title, minimum, maximum, words)
    maximum = max(maximum, minimum + 1)
    inner_marks = tuple(mark for mark in wide.marks if minimum <= mark <= maximum)
    return Axis(title, minimum, maximum, inner_marks, words)


def logarithmic(title: str, minimum: float, maximum: float, words: Words) -> Axis:
    """Return an axis over whole decades that holds both numbers, which are above zero.

    Ticks are at 1, 2 and 5 of each decade if there are few decades, else at 1.
    """
    first_decade = math.floor(math.log10(minimum))
    last_decade = math.ceil(math.log10(maximum))
    last_decade = max(last_decade, first_decade + 1)
    factors = _DECADE
    if last_decade - first_decade >= _FEW:
        factors = _DECADE[:1]
    marks: list[float] = []
    for decade in range(first_decade, last_decade):
        marks += [factor * 10.0**decade for factor in factors]
    lower_end = 10.0**first_decade
    upper_end = 10.0**last_decade
    return Axis(title, lower_end, upper_end, (*marks, upper_end), words, logarithmic=True)


Points = Sequence[tuple[float, float]]

FONT_SIZE = 15
_CHARACTER = 8.4  # the usual width of one at that size
_APART = 6.0
_SIDE = 7.0


@dataclass(frozen=True)
class Plane:
    """The part of a chart between its axes, in units of the drawing."""

    width: float
    height: float
    x: Axis
    y: Axis

    def project(self, point: tuple[float, float]) -> tuple[float, float]:
        """Return the place of a point."""
        across, up = point
        drawn_across = self.x.project(across, 0, self.width)
        drawn_up = self.y.project(up, self.height, 0)
        return drawn_across, drawn_up


Shape = Callable[[Plane], Iterator[ET.Element]]
_P = ParamSpec("_P")


def colour(name: str) -> str:
    """Return a colour of the page's style by its name, such as "device"."""
    return f"var(--{name})"


def _shape(draw: Callable[Concatenate[Plane, _P], Iterator[ET.Element]]) -> Callable[_P, Shape]:
    """Turn a function that draws on a plane into one that takes the other arguments first."""

    @wraps(draw)
    def make_shape(*arguments: _P.args, **options: _P.kwargs) -> Shape:
        return lambda plane: draw(plane, *arguments, **options)

    return make_shape


@_shape
def line(plane: Plane, points: Points, name: str, *, dashed: bool = False) -> Iterator[ET.Element]:
    """Draw a line from point to point."""
    drawn_points = map(plane.project, points)
    corners = [f"{x:.1f} {y:.1f}" for x, y in drawn_points]
    attributes = {
        "d": f"M{'L'.join(corners)}",
        "stroke": colour(name),
        "stroke-width": "1.8",
        "fill": "none",
    }
    if dashed:
        attributes["stroke-dasharray"] = "5 4"
    yield ET.Element("path", attributes)


@_shape
def dots(plane: Plane, points: Points, name: str, radius: float = 4.0) -> Iterator[ET.Element]:
    """Draw a dot at each point."""
    for x, y in map(plane.project, points):
        attributes = {
            "cx": f"{x:.1f}",
            "cy": f"{y:.1f}",
            "r": f"{radius:g}",
            "fill": colour(name),
        }
        yield ET.Element("circle", attributes)


@_shape
def spikes(plane: Plane, points: Points, name: str) -> Iterator[ET.Element]:
    """Draw a small triangle at each point: marks that differ from dots without their colour."""
    drawn_points = map(plane.project, points)
    marks = [f"M{x - 4:.1f} {y - 4:.1f}h8l-4 7z" for x, y in drawn_points]
    path = "".join(marks)
    yield ET.Element("path", d=path, fill=colour(name))


@_shape
def area(
    plane: Plane, edges: Sequence[float], heights: Sequence[float], name: str
) -> Iterator[ET.Element]:
    """Fill steps: from each edge to the next a height, of which there is one fewer."""
    left_x, ground = plane.project((edges[0], plane.y.minimum))
    path = [f"M{left_x:.1f} {ground:.1f}"]
    previous_height = None
    steps = zip(edges[:-1], heights, strict=True)
    for begin, height in steps:
        if height != previous_height:
            x, top = plane.project((begin, height))
            path.append(f"H{x:.1f}V{top:.1f}")
        previous_height = height
    right, _ = plane.project((edges[-1], plane.y.minimum))
    outline = "".join(path)
    drawn = f"{outline}H{right:.1f}V{ground:.1f}Z"
    yield ET.Element("path", {"d": drawn, "fill": colour(name)})


@_shape
def upright(
    plane: Plane, position: float, label: str, name: str, *, row: int = 0
) -> Iterator[ET.Element]:
    """Draw a dashed line across the chart at a place of its first axis, with its name on top."""
    x, top = plane.project((position, plane.y.maximum))
    attributes = {
        "d": f"M{x:.1f} {top:.1f}V{plane.height:.1f}",
        "stroke": colour(name),
        "stroke-dasharray": "3 3",
        "fill": "none",
    }
    yield ET.Element("path", attributes)
    word_y = top + FONT_SIZE * (1 + 1.25 * row)
    yield _word(plane, x, word_y, label)


@_shape
def words(
    plane: Plane, point: tuple[float, float], label: str, *, under: bool = False
) -> Iterator[ET.Element]:
    """Write a label next to a point, on the side that has room, or under it."""
    x, y = plane.project(point)
    label_y = max(FONT_SIZE, y - _APART)
    if under:
        label_y = y + FONT_SIZE
    yield _word(plane, x, min(plane.height - 2, label_y), label)


@_shape
def label_line(plane: Plane, point: tuple[float, float], label: str) -> Iterator[ET.Element]:
    """Write the name of a rising line at a point of it, so that no part of it lies on the line.

    The label is above the line on the left of the point, or below it on the right.
    """
    x, y = plane.project(point)
    left_end = x - _SIDE - len(label) * _CHARACTER
    if left_end >= 0:
        label_y = max(FONT_SIZE, y - _APART)
        yield _write_label(x - _SIDE, label_y, label, is_left=True)
    else:
        yield _write_label(x + _SIDE, y + FONT_SIZE + _APART, label, is_left=False)


def _word(plane: Plane, x: float, y: float, label: str) -> ET.Element:
    right_end = x + _SIDE + len(label) * _CHARACTER
    is_left = right_end > plane.width
    label_x = x - _SIDE if is_left else x + _SIDE
    return _write_label(label_x, y, label, is_left=is_left)


def _write_label(x: float, y: float, label: str, *, is_left: bool) -> ET.Element:
    attributes = _END if is_left else {}
    return svg_text(x, y, label, attributes, "ink")


# A chart of this width has letters of 14 px on a screen of 400 px.
WIDTH = 360
HEIGHT = 225

_MARGIN = 12.0
_TICK = 4.0
_DIGIT = 9.4  # the room of a character next to an axis
_TITLE = FONT_SIZE + 10.0
_MIDDLE = {"text-anchor": "middle"}
_END = {"text-anchor": "end"}


@dataclass(frozen=True)
class Chart:
    """A chart: its title, a sentence for readers who cannot see it, and the drawing.

    `shapes` lie between the axis along the bottom and the one along the left side, from the back
    to the front.
    """

    title: str
    summary: str
    x: Axis
    y: Axis
    shapes: tuple[Shape, ...]


def svg(chart: Chart, spoken: Callable[[str], str] = str) -> str:
    """Return the chart as an SVG element: valid XML, with a title and a description.

    It has no style, no script and no ids; the same chart gives the same characters. All words of
    it pass through `spoken`.
    """
    root = figure("chart", (WIDTH, HEIGHT), chart.title, chart.summary)
    root.set("font-size", str(FONT_SIZE))
    root.set("preserveAspectRatio", "xMinYMid meet")
    mark_lengths = [len(chart.y.words(mark)) for mark in chart.y.marks]
    longest_mark = max(mark_lengths)
    label_width = longest_mark * _DIGIT + 2 * _TICK
    left_margin = label_width
    if chart.y.title:
        left_margin += _TITLE
    under = FONT_SIZE + 2 * _TICK
    if chart.x.title:
        under += _TITLE
    width = WIDTH - 2 * _MARGIN - left_margin
    height = HEIGHT - 2 * _MARGIN - under
    plane = Plane(width, height, chart.x, chart.y)
    group = make_group(_MARGIN + left_margin, _MARGIN)
    group.extend(_axes(plane, label_width))
    for shape in chart.shapes:
        group.extend(shape(plane))
    root.append(group)
    return serialize_svg(root, spoken)


def _axes(plane: Plane, label_width: float) -> Iterator[ET.Element]:
    """Draw the lines of both axes, their numbers and titles; numbers of y take so much room."""
    width = plane.width
    height = plane.height
    label_end = -math.inf
    for mark in plane.x.marks:
        x, _ = plane.project((mark, plane.y.minimum))
        yield _grid(mark, (x, 0), (x, height + _TICK))
        label_y = height + 2 * _TICK + FONT_SIZE
        label = plane.x.words(mark)
        half_width = len(label) * _DIGIT / 2
        if x - half_width >= label_end:  # else it would cover the one before
            yield svg_text(x, label_y, label, _MIDDLE, "dim")
            label_end = x + half_width
    for mark in plane.y.marks:
        _, y = plane.project((plane.x.minimum, mark))
        yield _grid(mark, (-_TICK, y), (width, y))
        mark_words = plane.y.words(mark)
        yield svg_text(-2 * _TICK, y + _TICK, mark_words, _END, "dim")
    if plane.x.title:
        title_y = height + 2 * (_TICK + FONT_SIZE) + 10
        yield svg_text(width / 2, title_y, plane.x.title, _MIDDLE, "dim")
    if plane.y.title:
        x = -label_width - 6
        y = height / 2
        attributes = {**_MIDDLE, "transform": f"rotate(270 {x:.1f} {y:.1f})"}
        yield svg_text(x, y, plane.y.title, attributes, "dim")


def _grid(mark: float, begin: tuple[float, float], end: tuple[float, float]) -> ET.Element:
    attributes = {
        "x1": f"{begin[0]:.1f}",
        "y1": f"{begin[1]:.1f}",
        "x2": f"{end[0]:.1f}",
        "y2": f"{end[1]:.1f}",
        "stroke": colour("line" if mark else "dim"),
    }
    return ET.Element("line", attributes)


def figure(name: str, size: tuple[float, float], title: str, summary: str) -> ET.Element:
    """Return an SVG element of a class and a size, with its title and description."""
    box = f"0 0 {size[0]:g} {size[1]:g}"
    root = ET.Element("svg", {"class": name, "viewBox": box, "role": "img"})
    ET.SubElement(root, "title").text = title
    ET.SubElement(root, "desc").text = summary
    return root


def make_group(x: float, y: float) -> ET.Element:
    """Return an empty group whose origin lies at a place."""
    return ET.Element("g", {"transform": f"translate({x:g} {y:g})"})


def svg_text(
    x: float, y: float, words: str, attributes: Mapping[str, str], color: str = ""
) -> ET.Element:
    """Return words at a place, in a colour of the page's style or in that of its class."""
    element = ET.Element("text", {"x": f"{x:.1f}", "y": f"{y:.1f}", **attributes})
    if color:
        element.set("fill", colour(color))
    element.text = words
    return element


def serialize_svg(root: ET.Element, spoken: Callable[[str], str]) -> str:
    """Return an element as text; all its words pass through `spoken`."""
    for element in root.iter():
        if element.text:
            element.text = spoken(element.text)
        else:
            element.text = None
    return ET.tostring(root, encoding="unicode")
