"""A chart as inline SVG: axes, and the lines, areas, dots and words between them.

leather lays out axes and draws; its fonts are those of the page and its colours variables of the
page's style, by name, so that a chart follows light, dark and print, without a style or a script of
its own.
"""

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import leather
from leather import theme
from leather.ticks import ScoreTicker

Words = Callable[[float], str]

_DECADE = (1, 2, 5)
_FEW = 3
_BINARY = 1024


@dataclass(frozen=True)
class Axis:
    """One axis of a chart; leather takes it as a scale.

    Attributes:
        title: What is counted along it, with its unit where ticks do not say it.
        low: The number at its beginning.
        high: The number at its end, greater than `low`.
        marks: The numbers that are written beside it.
        words: Puts a number into words.
        logarithmic: Whether equal ways stand for equal ratios.
    """

    title: str
    low: float
    high: float
    marks: tuple[float, ...]
    words: Words
    logarithmic: bool = False

    def contains(self, value: float) -> bool:
        """Tell whether a number has a place on the axis."""
        return self.low <= value <= self.high

    def project(self, value: float, begin: float, end: float) -> float:
        """Return the place of a number between those of the axis' ends; none lies outside."""
        low, high = self._way(self.low), self._way(self.high)
        share = (self._way(value) - low) / (high - low)
        return begin + (end - begin) * min(1.0, max(0.0, share))

    def ticks(self) -> list[float]:
        """Return the numbers that are written beside the axis."""
        return list(self.marks)

    def format_tick(self, value: float, place: int, count: int) -> str:  # noqa: ARG002  leather's
        """Put the number of a tick into words."""
        return self.words(value)

    def _way(self, value: float) -> float:
        return math.log10(max(value, self.low)) if self.logarithmic else value


def linear(title: str, low: float, high: float, words: Words) -> Axis:
    """Return an axis with round ticks that holds both numbers."""
    if high <= low:
        high = low + (abs(low) or 1.0)
    marks = tuple(float(tick) for tick in ScoreTicker(Decimal(low), Decimal(high)).ticks)
    return Axis(title, marks[0], marks[-1], marks, words)


def binary(title: str, low: float, high: float, words: Words) -> Axis:
    """Return an axis of bytes from zero or more, whose ticks are round in KiB, MiB, GiB …."""
    unit = 1
    while high >= unit * _BINARY:
        unit *= _BINARY
    shown = linear(title, low / unit, high / unit, words)
    marks = tuple(mark * unit for mark in shown.marks)
    return Axis(title, marks[0], marks[-1], marks, words)


def span(title: str, low: float, high: float, words: Words) -> Axis:
    """Return an axis that ends just where the numbers end, as time does; ticks lie within."""
    wide = linear(title, low, high, words)
    high = max(high, low + 1)
    inside = tuple(mark for mark in wide.marks if low <= mark <= high)
    return Axis(title, low, high, inside, words)


def logarithmic(title: str, low: float, high: float, words: Words) -> Axis:
    """Return an axis over whole decades that holds both numbers, which are above zero.

    Ticks are at 1, 2 and 5 of each decade where there are few decades.
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    last = max(last, first + 1)
    within = _DECADE if last - first < _FEW else _DECADE[:1]
    decades = range(first, last + 1)
    marks = [factor * 10.0**decade for decade in decades for factor in within]
    end = 10.0**last
    return Axis(
        title, 10.0**first, end, tuple(one for one in marks if one <= end), words, logarithmic=True
    )


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

    def at(self, point: tuple[float, float]) -> tuple[float, float]:
        """Return where a point lies."""
        across, up = point
        return self.x.project(across, 0, self.width), self.y.project(up, self.height, 0)


Shape = Callable[[Plane], Iterator[ET.Element]]


def colour(name: str) -> str:
    """Return a colour of the page's style by its name, such as "device"."""
    return f"var(--{name})"


def line(points: Points, name: str, *, dashed: bool = False) -> Shape:
    """Draw a line from point to point."""

    def draw(plane: Plane) -> Iterator[ET.Element]:
        pen = leather.Line(colour(name), width=1.8, stroke_dasharray="5 4" if dashed else None)
        yield _drawn(pen, plane, points)

    return draw


def dots(points: Points, name: str, radius: float = 4.0) -> Shape:
    """Draw a dot at each point."""

    def draw(plane: Plane) -> Iterator[ET.Element]:
        yield _drawn(leather.Dots(colour(name), radius), plane, points)

    return draw


def spikes(points: Points, name: str) -> Shape:
    """Draw a small triangle at each point: marks that are told from dots without their colour."""

    def draw(plane: Plane) -> Iterator[ET.Element]:
        places = [plane.at(point) for point in points]
        marks = "".join(f"M{x - 4:.1f} {y - 4:.1f}h8l-4 7z" for x, y in places)
        yield ET.Element("path", d=marks, fill=colour(name))

    return draw


def area(edges: Sequence[float], heights: Sequence[float], name: str) -> Shape:
    """Fill steps: from each edge to the next a height, of which there is one fewer."""

    def draw(plane: Plane) -> Iterator[ET.Element]:
        left, ground = plane.at((edges[0], plane.y.low))
        path = [f"M{left:.1f} {ground:.1f}"]
        for begin, end, height in zip(edges[:-1], edges[1:], heights, strict=True):
            _, top = plane.at((begin, height))
            path += [f"V{top:.1f}", f"H{plane.at((end, height))[0]:.1f}"]
        yield ET.Element("path", {"d": f"{''.join(path)}V{ground:.1f}Z", "fill": colour(name)})

    return draw


def upright(at: float, label: str, name: str, row: int = 0) -> Shape:
    """Draw a dashed line across the chart at a place of its first axis, with its name on top."""

    def draw(plane: Plane) -> Iterator[ET.Element]:
        x, top = plane.at((at, plane.y.high))
        stroke = {"stroke": colour(name), "stroke-dasharray": "3 3", "fill": "none"}
        yield ET.Element("path", {"d": f"M{x:.1f} {top:.1f}V{plane.height:.1f}", **stroke})
        yield _word(plane, x, top + FONT_SIZE * (1 + 1.25 * row), label)

    return draw


def words(point: tuple[float, float], label: str) -> Shape:
    """Write a label beside a point, on the side where there is room."""

    def draw(plane: Plane) -> Iterator[ET.Element]:
        x, y = plane.at(point)
        yield _word(plane, x, min(plane.height - 2, max(FONT_SIZE, y - _APART)), label)

    return draw


def above(point: tuple[float, float], label: str) -> Shape:
    """Write the name of a rising line at a point of it: on its left above, else on its right below.

    So no part of the label lies on the line.
    """

    def draw(plane: Plane) -> Iterator[ET.Element]:
        x, y = plane.at(point)
        if x - _SIDE - len(label) * _CHARACTER >= 0:
            yield _written(x - _SIDE, max(FONT_SIZE, y - _APART), label, left=True)
        else:
            yield _written(x + _SIDE, y + FONT_SIZE + _APART, label, left=False)

    return draw


def below(point: tuple[float, float], label: str) -> Shape:
    """Write a label under a point, away from a line that rises above it."""

    def draw(plane: Plane) -> Iterator[ET.Element]:
        x, y = plane.at(point)
        yield _word(plane, x, min(plane.height - 2, y + FONT_SIZE), label)

    return draw


def _word(plane: Plane, x: float, y: float, label: str) -> ET.Element:
    left = x + _SIDE + len(label) * _CHARACTER > plane.width
    return _written(x - _SIDE if left else x + _SIDE, y, label, left=left)


def _written(x: float, y: float, label: str, *, left: bool) -> ET.Element:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}"}
    side = {"text-anchor": "end"} if left else {}
    element = ET.Element("text", {**place, **side, "fill": colour("ink")})
    element.text = label
    return element


def _drawn(pen: leather.Line | leather.Dots, plane: Plane, points: Points) -> ET.Element:
    series = leather.Series([tuple(map(float, point)) for point in points])
    return pen.to_svg(plane.width, plane.height, plane.x, plane.y, series, iter(()))


WIDTH, HEIGHT = 420, 240

_THEME = {
    "margin": 0.045,
    "background_color": "none",
    "axis_title_color": colour("dim"),
    "axis_title_font_size": FONT_SIZE,
    "axis_title_font_char_height": FONT_SIZE,
    "axis_title_gap": 10,
    "tick_color": colour("line"),
    "zero_color": colour("dim"),
    "label_color": colour("dim"),
    "tick_font_size": FONT_SIZE,
    "tick_font_char_height": FONT_SIZE,
    "tick_font_char_width": 7,
}
_NUMBER = re.compile(r"-?\d+\.\d+(?:[eE]-?\d+)?")
_FONTS = ("font-family", "font-size")


@dataclass(frozen=True)
class Chart:
    """What a chart shows: in a few words, in a sentence for who cannot see it, and drawn.

    Attributes:
        title: What it is of.
        summary: What can be seen on it, in a sentence.
        x: The axis along the bottom.
        y: The axis along the left side.
        shapes: What stands between them, from the back to the front.
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
    root = ET.Element("svg", {"class": "chart", "viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img"})
    root.set("font-size", str(FONT_SIZE))
    ET.SubElement(root, "title").text = chart.title
    ET.SubElement(root, "desc").text = chart.summary
    root.extend(_laid_out(chart))
    for element in root.iter():
        _tidy(element)
        element.text = spoken(element.text) if element.text else None
    return ET.tostring(root, encoding="unicode")


def _laid_out(chart: Chart) -> Iterator[ET.Element]:
    drawing = leather.Chart()
    corners = [(chart.x.low, chart.y.low), (chart.x.high, chart.y.high)]
    drawing.add_series(leather.Series(corners), _Layers(chart.shapes))
    for axis, set_scale, add_axis in (
        (chart.x, drawing.set_x_scale, drawing.add_x_axis),
        (chart.y, drawing.set_y_scale, drawing.add_y_axis),
    ):
        set_scale(axis)
        add_axis(axis.ticks(), axis.format_tick, axis.title or None)
    with _themed():
        _ground, margin = drawing.to_svg_group(WIDTH, HEIGHT)
    yield margin


@dataclass(frozen=True)
class _Layers:
    """All shapes of a chart as the one shape of one series, so that leather lists no legend."""

    shapes: Sequence[Shape]

    def validate_series(self, series: leather.Series) -> None:
        """Take any series: the shapes bring their own."""

    def to_svg(self, width: Any, height: Any, x: Axis, y: Axis, *_: Any) -> ET.Element:
        """Draw the shapes in their order."""
        group = ET.Element("g")
        plane = Plane(float(width), float(height), x, y)
        group.extend(element for shape in self.shapes for element in shape(plane))
        return group


@contextmanager
def _themed() -> Generator[None]:
    """Lend leather our theme, which it keeps in a module, while it draws."""
    before = {name: getattr(theme, name) for name in _THEME}
    _set(_THEME)
    try:
        yield
    finally:
        _set(before)


def _set(values: Mapping[str, object]) -> None:
    for name, value in values.items():
        setattr(theme, name, value)


def _tidy(element: ET.Element) -> None:
    """Shorten numbers to a tenth, and leave fonts and classes to the page."""
    if element.tag != "svg":
        for name in (*_FONTS, "class"):
            element.attrib.pop(name, None)
        for name in [name for name, value in element.attrib.items() if not value]:
            del element.attrib[name]
    for name, value in element.attrib.items():
        element.set(name, _NUMBER.sub(_short, value))


def _short(number: re.Match[str]) -> str:
    return f"{float(number.group()):.1f}".removesuffix(".0")
