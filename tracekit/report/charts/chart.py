"""A chart: axes and what stands between them, as one SVG element for the page.

leather lays out axes and draws; its fonts are those of the page and its colours variables of the
page's style, so nothing in it needs a style or a script of its own.
"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import leather
from leather import theme

from tracekit.report.charts.axis import Axis
from tracekit.report.charts.shapes import FONT_SIZE, Plane, Shape, colour

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
