"""The roofline: what a chip allows, and where steps lie under it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tracekit.base.units import quantity
from tracekit.report.charts.axis import Axis, logarithmic
from tracekit.report.charts.chart import Chart
from tracekit.report.charts.shapes import Shape, above, below, dots, line, words

_ROOM = 3.0
_PLACES = (0.55, 0.72)


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
    shapes.append(_named(x, y, bandwidth, rate, points))
    if rate:
        shapes.append(words((x.high, rate), f"arithmetic {quantity(rate, 'FLOP/s')}"))
    for one in points:
        place = (one.intensity, one.speed)
        beside = above if one.speed > one.intensity * bandwidth else below
        shapes += [dots([place], "steps", 5.0), beside(place, one.name)]
    return Chart(title, summary, x, y, tuple(shapes))


def _roofs(
    low: float, high: float, bandwidth: float, rate: float | None
) -> list[tuple[float, float]]:
    if rate is None:
        return [(low, low * bandwidth), (high, high * bandwidth)]
    bend = rate / bandwidth
    return [(low, low * bandwidth), (bend, rate), (max(high, bend), rate)]


def _named(
    x: Axis, y: Axis, bandwidth: float, rate: float | None, points: Sequence[Placed]
) -> Shape:
    """Name the roof of memory within what is seen of it, where most room is between points."""
    begin = max(x.low, y.low / bandwidth)
    end = min(x.high, (rate or y.high) / bandwidth)
    places = [begin * (end / begin) ** share for share in _PLACES]
    at = max(places, key=lambda one: min(abs(math.log(one / p.intensity)) for p in points))
    return above((at, at * bandwidth), f"memory {quantity(bandwidth, 'bytes/s')}")


def _words(value: float) -> str:
    return quantity(value, "").strip()
