"""A chart as inline SVG: axes, and the lines, areas, dots and words between them.

Fonts are those of the page and colours variables of the page's style, by name, so that a chart
follows light, dark and print, without a style or a script of its own.
"""

import math
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import wraps
from typing import Concatenate, ParamSpec

from tracekit.base import count

Words = Callable[[float], str]

_DECADE = (1, 2, 5)
_FEW = 3
_BINARY = 1024
_AIR = 1.25


@dataclass(frozen=True)
class Axis:
    """One axis of a chart, from `minimum` to a greater `maximum`.

    `title` says what is counted, with its unit where ticks do not say it; `marks` are the numbers
    that are written beside it, by `words`. On a logarithmic one equal ways are equal ratios.
    """

    title: str
    minimum: float
    maximum: float
    marks: tuple[float, ...]
    words: Words
    logarithmic: bool = False

    def project(self, value: float, begin: float, end: float) -> float:
        """Return the place of a number between those of the axis' ends; none lies outside."""
        lower_end, upper_end = self._way(self.minimum), self._way(self.maximum)
        share = (self._way(value) - lower_end) / (upper_end - lower_end)
        return begin + (end - begin) * min(1.0, max(0.0, share))

    def _way(self, value: float) -> float:
        return math.log10(max(value, self.minimum)) if self.logarithmic else value


def linear(title: str, minimum: float, maximum: float, words: Words, steps: int = 5) -> Axis:
    """Return an axis that holds both numbers, with round ticks as close as so many steps allow."""
    if maximum <= minimum:
        maximum = minimum + (abs(minimum) or 1.0)
    marks = _round_marks(Decimal(minimum), Decimal(maximum), steps)
    return Axis(title, marks[0], marks[-1], marks, words)


def make_integer_axis(title: str, minimum: float, maximum: float, words: Words) -> Axis:
    """Return an axis as `linear` does, of what there is no half of."""
    axis = linear(title, minimum, maximum, words)
    return replace(axis, marks=tuple(mark for mark in axis.marks if mark == round(mark)))


def make_count_axis(title: str, highest: float) -> Axis:
    """Return an axis of counts, with room above the highest for words."""
    maximum = highest * _AIR
    marks = make_integer_axis(title, 0, highest, count).marks
    return Axis(title, 0, maximum, tuple(mark for mark in marks if mark <= maximum), count)


def _round_marks(minimum: Decimal, maximum: Decimal, steps: int) -> tuple[float, ...]:
    power = Decimal(10) ** ((maximum - minimum) / steps).adjusted()
    for factor in ("1", "2", "2.5", "5", "10", "20"):
        apart = Decimal(factor) * power
        first_place, last_place = math.floor(minimum / apart), math.ceil(maximum / apart)
        if last_place - first_place <= steps:
            break
    return tuple(float(apart * place) for place in range(first_place, last_place + 1))


def binary(title: str, minimum: float, maximum: float, words: Words) -> Axis:
    """Return an axis of bytes from zero or more, whose ticks are round in KiB, MiB, GiB …."""
    unit = _BINARY ** ((int(max(maximum, 1)).bit_length() - 1) // 10)
    scaled_axis = linear(title, minimum / unit, maximum / unit, words, steps=4)
    marks = tuple(mark * unit for mark in scaled_axis.marks)
    return Axis(title, marks[0], marks[-1], marks, words)


def span(title: str, minimum: float, maximum: float, words: Words) -> Axis:
    """Return an axis that ends just where the numbers end, as time does; ticks lie within."""
    wide = linear(title, minimum, maximum, words)
    maximum = max(maximum, minimum + 1)
    inner_marks = tuple(mark for mark in wide.marks if minimum <= mark <= maximum)
    return Axis(title, minimum, maximum, inner_marks, words)


def logarithmic(title: str, minimum: float, maximum: float, words: Words) -> Axis:
    """Return an axis over whole decades that holds both numbers, which are above zero.

    Ticks are at 1, 2 and 5 of each decade where there are few decades.
    """
    first_decade, last_decade = math.floor(math.log10(minimum)), math.ceil(math.log10(maximum))
    last_decade = max(last_decade, first_decade + 1)
    factors = _DECADE if last_decade - first_decade < _FEW else _DECADE[:1]
    marks = [
        factor * 10.0**decade for decade in range(first_decade, last_decade) for factor in factors
    ]
    ends = 10.0**first_decade, 10.0**last_decade
    return Axis(title, *ends, (*marks, ends[1]), words, logarithmic=True)


Points = Sequence[tuple[float, float]]

FONT_SIZE = 11
_CHARACTER = 6.2  # the usual width of one at that size
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
        """Return where a point lies."""
        across, up = point
        return self.x.project(across, 0, self.width), self.y.project(up, self.height, 0)


Shape = Callable[[Plane], Iterator[ET.Element]]
_P = ParamSpec("_P")


def colour(name: str) -> str:
    """Return a colour of the page's style by its name, such as "device"."""
    return f"var(--{name})"


def _shape(draw: Callable[Concatenate[Plane, _P], Iterator[ET.Element]]) -> Callable[_P, Shape]:
    """Let a function that draws on a plane be called first with what it draws."""

    @wraps(draw)
    def make_shape(*arguments: _P.args, **options: _P.kwargs) -> Shape:
        return lambda plane: draw(plane, *arguments, **options)

    return make_shape


@_shape
def line(plane: Plane, points: Points, name: str, *, dashed: bool = False) -> Iterator[ET.Element]:
    """Draw a line from point to point."""
    corners = "L".join(f"{x:.1f} {y:.1f}" for x, y in map(plane.project, points))
    pen = {"stroke": colour(name), "stroke-width": "1.8", "fill": "none"}
    dashes = {"stroke-dasharray": "5 4"} if dashed else {}
    yield ET.Element("path", {"d": f"M{corners}", **pen, **dashes})


@_shape
def dots(plane: Plane, points: Points, name: str, radius: float = 4.0) -> Iterator[ET.Element]:
    """Draw a dot at each point."""
    for x, y in map(plane.project, points):
        place = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": f"{radius:g}"}
        yield ET.Element("circle", {**place, "fill": colour(name)})


@_shape
def spikes(plane: Plane, points: Points, name: str) -> Iterator[ET.Element]:
    """Draw a small triangle at each point: marks that differ from dots without their colour."""
    places = [plane.project(point) for point in points]
    marks = "".join(f"M{x - 4:.1f} {y - 4:.1f}h8l-4 7z" for x, y in places)
    yield ET.Element("path", d=marks, fill=colour(name))


@_shape
def area(
    plane: Plane, edges: Sequence[float], heights: Sequence[float], name: str
) -> Iterator[ET.Element]:
    """Fill steps: from each edge to the next a height, of which there is one fewer."""
    left_x, ground = plane.project((edges[0], plane.y.minimum))
    path = [f"M{left_x:.1f} {ground:.1f}"]
    previous_height = None
    for begin, height in zip(edges[:-1], heights, strict=True):
        if height != previous_height:
            x, top = plane.project((begin, height))
            path.append(f"H{x:.1f}V{top:.1f}")
        previous_height = height
    right, _ = plane.project((edges[-1], plane.y.minimum))
    drawn = f"{''.join(path)}H{right:.1f}V{ground:.1f}Z"
    yield ET.Element("path", {"d": drawn, "fill": colour(name)})


@_shape
def upright(
    plane: Plane, position: float, label: str, name: str, *, row: int = 0
) -> Iterator[ET.Element]:
    """Draw a dashed line across the chart at a place of its first axis, with its name on top."""
    x, top = plane.project((position, plane.y.maximum))
    stroke = {"stroke": colour(name), "stroke-dasharray": "3 3", "fill": "none"}
    yield ET.Element("path", {"d": f"M{x:.1f} {top:.1f}V{plane.height:.1f}", **stroke})
    yield _word(plane, x, top + FONT_SIZE * (1 + 1.25 * row), label)


@_shape
def words(
    plane: Plane, point: tuple[float, float], label: str, *, under: bool = False
) -> Iterator[ET.Element]:
    """Write a label beside a point, on the side where there is room, or under it."""
    x, y = plane.project(point)
    up = y + FONT_SIZE if under else max(FONT_SIZE, y - _APART)
    yield _word(plane, x, min(plane.height - 2, up), label)


@_shape
def label_line(plane: Plane, point: tuple[float, float], label: str) -> Iterator[ET.Element]:
    """Write the name of a rising line at a point of it: on its left above, else on its right below.

    So no part of the label lies on the line.
    """
    x, y = plane.project(point)
    if x - _SIDE - len(label) * _CHARACTER >= 0:
        yield _write_label(x - _SIDE, max(FONT_SIZE, y - _APART), label, is_left=True)
    else:
        yield _write_label(x + _SIDE, y + FONT_SIZE + _APART, label, is_left=False)


def _word(plane: Plane, x: float, y: float, label: str) -> ET.Element:
    is_left = x + _SIDE + len(label) * _CHARACTER > plane.width
    return _write_label(x - _SIDE if is_left else x + _SIDE, y, label, is_left=is_left)


def _write_label(x: float, y: float, label: str, *, is_left: bool) -> ET.Element:
    return svg_text(x, y, label, {"text-anchor": "end"} if is_left else {}, "ink")


WIDTH, HEIGHT = 420, 240

_MARGIN = 18.9
_TICK = 4.0
_DIGIT = 7.0  # the room of a character beside an axis
_TITLE = FONT_SIZE + 10.0
_MIDDLE = {"text-anchor": "middle"}


@dataclass(frozen=True)
class Chart:
    """What a chart shows: in a few words, in a sentence for who cannot see it, and drawn.

    `shapes` stand between the axis along the bottom and that along the left side, from the back to
    the front.
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
    label_width = max(len(chart.y.words(mark)) for mark in chart.y.marks) * _DIGIT + 2 * _TICK
    left_margin = label_width + (_TITLE if chart.y.title else 0)
    under = FONT_SIZE + 2 * _TICK + (_TITLE if chart.x.title else 0)
    width, height = WIDTH - 2 * _MARGIN - left_margin, HEIGHT - 2 * _MARGIN - under
    plane = Plane(width, height, chart.x, chart.y)
    group = make_group(_MARGIN + left_margin, _MARGIN)
    group.extend(_axes(plane, label_width))
    group.extend(element for shape in chart.shapes for element in shape(plane))
    root.append(group)
    return serialize_svg(root, spoken)


def _axes(plane: Plane, label_width: float) -> Iterator[ET.Element]:
    """Draw the lines of both axes, their numbers and titles; numbers of y take so much room."""
    width, height = plane.width, plane.height
    for mark in plane.x.marks:
        x, _ = plane.project((mark, plane.y.minimum))
        yield _grid(mark, (x, 0), (x, height + _TICK))
        yield svg_text(x, height + 2 * _TICK + FONT_SIZE, plane.x.words(mark), _MIDDLE, "dim")
    for mark in plane.y.marks:
        _, y = plane.project((plane.x.minimum, mark))
        yield _grid(mark, (-_TICK, y), (width, y))
        yield svg_text(-2 * _TICK, y + _TICK, plane.y.words(mark), {"text-anchor": "end"}, "dim")
    if plane.x.title:
        title_y = height + 2 * (_TICK + FONT_SIZE) + 10
        yield svg_text(width / 2, title_y, plane.x.title, _MIDDLE, "dim")
    if plane.y.title:
        x, y = 2 * _TICK - label_width - 10, height / 2
        turned = {"transform": f"rotate(270 {x:.1f} {y:.1f})"}
        yield svg_text(x, y, plane.y.title, _MIDDLE | turned, "dim")


def _grid(mark: float, begin: tuple[float, float], end: tuple[float, float]) -> ET.Element:
    names = zip(("x1", "y1", "x2", "y2"), (*begin, *end), strict=True)
    places = {name: f"{value:.1f}" for name, value in names}
    return ET.Element("line", {**places, "stroke": colour("line" if mark else "dim")})


def figure(name: str, size: tuple[float, float], title: str, summary: str) -> ET.Element:
    """Begin an SVG element of a class and a size, with what it shows in words."""
    box = f"0 0 {size[0]:g} {size[1]:g}"
    root = ET.Element("svg", {"class": name, "viewBox": box, "role": "img"})
    ET.SubElement(root, "title").text = title
    ET.SubElement(root, "desc").text = summary
    return root


def make_group(x: float, y: float) -> ET.Element:
    """Return an empty group whose origin lies there."""
    return ET.Element("g", {"transform": f"translate({x:g} {y:g})"})


def svg_text(
    x: float, y: float, words: str, attributes: Mapping[str, str], color: str = ""
) -> ET.Element:
    """Return words at a place, in a colour of the page's style or in that of its class."""
    fill = {"fill": colour(color)} if color else {}
    element = ET.Element("text", {"x": f"{x:.1f}", "y": f"{y:.1f}", **attributes, **fill})
    element.text = words
    return element


def serialize_svg(root: ET.Element, spoken: Callable[[str], str]) -> str:
    """Return an element as text; all its words pass through `spoken`."""
    for element in root.iter():
        element.text = spoken(element.text) if element.text else None
    return ET.tostring(root, encoding="unicode")
