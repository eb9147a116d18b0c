"""What stands on a chart, between its axes: lines, areas, dots and words.

Colours are variables of the page's style, by name, so that a chart follows light, dark and print.
"""

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import leather

from tracekit.report.charts.axis import Axis

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
