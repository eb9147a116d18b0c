"""What stands on a panel of nights: medians, spreads, limits, steps, marks of how nights ended."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tracekit.nightly.trend.words import TONES, State
from tracekit.report.chart import Plane, Shape

_RADIUS = 3.4
_CHARACTER = 6.2
_ROW = 13.0
# A night that went well is a disc; the others are told from it by their shape alone.
_SHAPES = {
    State.REGRESSION: "M{x} {y}m0 -5.5l5.5 9.5h-11z",
    State.INCONCLUSIVE: "M{x} {y}m-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z",
    State.FAILED: "M{x} {y}m-4 -4l8 8m0 -8l-8 8",
    State.UNFINISHED: "M{x} {y}m-4 0h1.5m1.7 0h1.6m1.7 0h1.5",
    State.NOT_RUN: "M{x} {y}m-3.5 0h7",
    State.MISSED: "M{x} {y}m-3.5 -4.5h7v9h-7z",
}


@dataclass(frozen=True)
class Mark:
    """One night on a panel or in the lane.

    Attributes:
        at: When, in days since 1970.
        value: Where it stands; nothing in a lane.
        state: How it ended; None where it is followed only.
        words: What is said of it.
        href: Where its report is; empty for nowhere.
    """

    at: float
    value: float
    state: State | None
    words: str
    href: str = ""


def medians(runs: Sequence[Sequence[tuple[float, float]]], name: str) -> Shape:
    """Draw lines through points, one for each run of nights without a gap."""

    def draw(plane: Plane) -> Iterator[ET.Element]:
        paths = [
            "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in map(plane.at, one))
            for one in runs
            if len(one) > 1
        ]
        if paths:
            yield ET.Element("path", {"class": name, "d": "".join(paths)})

    return draw


def spreads(ends: Sequence[tuple[float, float, float]]) -> Shape:
    """Draw upright strokes: (day, from, to)."""

    def draw(plane: Plane) -> Iterator[ET.Element]:
        strokes: list[str] = []
        for at, low, high in ends:
            (x, bottom), (_, top) = plane.at((at, low)), plane.at((at, high))
            strokes.append(f"M{x:.1f} {bottom:.1f}V{top:.1f}")
        if strokes:
            yield ET.Element("path", {"class": "spread", "d": "".join(strokes)})

    return draw


def between(stretches: Sequence[tuple[float, float, float, float]]) -> Shape:
    """Fill what lies between two limits: (from day, to day, lower, upper)."""

    def draw(plane: Plane) -> Iterator[ET.Element]:
        path: list[str] = []
        for begin, end, low, high in stretches:
            (left, bottom), (right, top) = plane.at((begin, low)), plane.at((end, high))
            path.append(f"M{left:.1f} {bottom:.1f}V{top:.1f}H{right:.1f}V{bottom:.1f}Z")
        if path:
            yield ET.Element("path", {"class": "band", "d": "".join(path)})

    return draw


def levels(stretches: Sequence[tuple[float, float, float]], name: str, words: str = "") -> Shape:
    """Draw level lines: (from day, to day, height)."""

    def draw(plane: Plane) -> Iterator[ET.Element]:
        path: list[str] = []
        for begin, end, height in stretches:
            (left, y), (right, _) = plane.at((begin, height)), plane.at((end, height))
            path.append(f"M{left:.1f} {y:.1f}H{right:.1f}")
        if path:
            element = ET.Element("path", {"class": name, "d": "".join(path)})
            if words:
                ET.SubElement(element, "title").text = words
            yield element

    return draw


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
        for one in marks:
            x, y = plane.at((one.at, one.value))
            yield _linked(one, _mark(one.state, x, y, radius))

    return draw


def _mark(state: State | None, x: float, y: float, radius: float) -> ET.Element:
    if state is None or state is State.OK:
        name = "followed" if state is None else "good"
        size = radius * 0.8 if state is None else radius
        place = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": f"{size:.2g}"}
        return ET.Element("circle", {"class": name, **place})
    path = _SHAPES[state].format(x=f"{x:.1f}", y=f"{y:.1f}")
    return ET.Element("path", {"class": f"{TONES[state]} {_kind(state)}", "d": path})


def _kind(state: State) -> str:
    """Return whether a shape is filled or an outline."""
    return "full" if state is State.REGRESSION else "open"


def _linked(mark: Mark, element: ET.Element) -> ET.Element:
    """Hold a mark in its link, which keys do not stop at: the table has the same ones."""
    if not mark.href:
        ET.SubElement(element, "title").text = mark.words
        return element
    link = ET.Element("a", {"href": mark.href, "tabindex": "-1"})
    ET.SubElement(link, "title").text = mark.words
    link.append(element)
    return link
