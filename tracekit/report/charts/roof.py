"""The roofline: what a chip allows, and where steps lie under it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tracekit.report.charts.axis import Axis, logarithmic
from tracekit.report.charts.chart import Chart
from tracekit.report.charts.shapes import Shape, above, dots, line, words
from tracekit.units import quantity

_ROOM = 3.0


@dataclass(frozen=True)
class Placed:
    """A point under the roof: operations for each byte, and operations per second."""

    name: str
    intensity: float
    speed: float


def roof(
    title: str,
    summary: str,
    points: Sequence[Placed],
    bandwidth: float,
    rate: float | None = None,
) -> Chart:
    """Chart points under the roofs of memory and, where it is known, of arithmetic.

    Args:
        title: What it is of.
        summary: What can be seen, in a sentence.
        points: One or more.
        bandwidth: Bytes per second that memory delivers.
        rate: Operations per second.
    """
    ways = [one.intensity for one in points] + ([rate / bandwidth] if rate else [])
    left, right = min(ways) / _ROOM, max(ways) * _ROOM
    heights = [left * bandwidth, rate or right * bandwidth, *(one.speed for one in points)]
    x = logarithmic("operations for each byte", left, right, "{:g}".format)
    y = logarithmic("operations per second", min(heights) / _ROOM, max(heights) * 2, _words)
    shapes = [line(_roofs(x.low, x.high, bandwidth, rate), "ink")]
    shapes.append(_named(x, y, bandwidth, rate))
    if rate:
        shapes.append(words((x.high, rate), f"arithmetic {quantity(rate, 'FLOP/s')}"))
    for one in points:
        place = (one.intensity, one.speed)
        shapes += [dots([place], "steps", 5.0), words(place, one.name)]
    return Chart(title, summary, x, y, tuple(shapes))


def _roofs(
    low: float, high: float, bandwidth: float, rate: float | None
) -> list[tuple[float, float]]:
    if rate is None:
        return [(low, low * bandwidth), (high, high * bandwidth)]
    bend = rate / bandwidth
    return [(low, low * bandwidth), (bend, rate), (max(high, bend), rate)]


def _named(x: Axis, y: Axis, bandwidth: float, rate: float | None) -> Shape:
    """Name the roof of memory at the middle of what is seen of it."""
    begin = max(x.low, y.low / bandwidth)
    end = min(x.high, (rate or y.high) / bandwidth)
    at = math.sqrt(begin * end)
    return above((at, at * bandwidth), f"memory {quantity(bandwidth, 'bytes/s')}")


def _words(value: float) -> str:
    return quantity(value, "").strip()
