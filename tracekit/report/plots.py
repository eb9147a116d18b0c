"""The charts of the page: a course over the run, a distribution, the roofline."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Times, Window
from tracekit.base import count, duration, quantity
from tracekit.report import chart
from tracekit.report.chart import Axis, Chart, Shape, Words

_AIR = 1.3  # room above the highest level, for the names of phases
MOST_POINTS = 120

Upward = Callable[[str, float, float, Words], Axis]
Begins = Sequence[tuple[float, str]]  # when (ns) each phase of the run begins, and its name


@dataclass(frozen=True)
class Level:
    """A level that holds from each of its `edges` (ns) to the next; there is one height fewer."""

    name: str
    edges: Sequence[float]
    heights: Sequence[float]
    color: str = "device"


def sample_level(
    name: str, times: Times, values: NDArray[np.float64], window: Window, color: str = "device"
) -> Level:
    """Return a level as the highest of each of MOST_POINTS equal parts of a window.

    Each value holds until the next one; before the first the level is 0.
    """
    edges = np.linspace(window.start, window.end, MOST_POINTS + 1)
    value_indexes = np.searchsorted(times, edges[:-1], side="right") - 1
    heights = np.where(value_indexes >= 0, values[np.maximum(value_indexes, 0)], 0.0)
    place = (np.searchsorted(edges, times, side="right") - 1).clip(max=heights.size - 1)
    window_mask = (times >= window.start) & (times <= window.end)
    np.maximum.at(heights, place[window_mask], values[window_mask])
    return Level(name, edges.tolist(), heights.tolist(), color)


def format_number(value: float) -> str:
    """Return a number in words without a unit."""
    return quantity(value, "").strip()


def course(
    title: str,
    summary: str,
    level: Level,
    in_words: Words,
    *,
    upward: Upward = chart.linear,
    begins: Begins = (),
    marked: Sequence[float] = (),
    top: float = 0,
) -> Chart:
    """Chart one level over time as an area.

    `in_words` puts a level into words; `upward` makes their axis, which ends at `top` at least;
    `begins` divide the run, with their names; at the times of `marked` triangles stand on top.
    """
    time, up = _axes([level], upward, in_words, top)
    shapes: list[Shape] = [
        chart.area(level.edges, level.heights, level.color),
        *_draw_phase_marks(begins, time),
    ]
    if marked:
        shapes.append(chart.spikes([(moment, up.maximum / _AIR) for moment in marked], "warning"))
    return Chart(title, summary, time, up, tuple(shapes))


def levels(
    title: str, summary: str, lines: Sequence[Level], in_words: Words, *, begins: Begins = ()
) -> Chart:
    """Chart several levels of bytes over time as lines, each with its name at its end."""
    time, up = _axes(lines, chart.binary, in_words)
    shapes = _draw_phase_marks(begins, time)
    for place, level in enumerate(lines):
        steps = _find_corners(level)
        shapes.append(chart.line(steps, level.color, dashed=place % 2 == 1))
        shapes.append(chart.words(steps[-1], level.name))
    return Chart(title, summary, time, up, tuple(shapes))


def _axes(
    drawn_levels: Sequence[Level], upward: Upward, in_words: Words, top: float = 0
) -> tuple[Axis, Axis]:
    begin = min(level.edges[0] for level in drawn_levels)
    end = max(level.edges[-1] for level in drawn_levels)
    highest = max(top, *(max(level.heights) for level in drawn_levels))
    up = upward("", 0, highest, in_words)
    time = chart.span("time of the trace", float(begin), float(end), duration)
    return time, replace(up, maximum=up.maximum * _AIR)


def _draw_phase_marks(begins: Begins, time: Axis) -> list[Shape]:
    visible_begins = [
        (begin, name) for begin, name in begins if time.minimum <= begin < time.maximum
    ]
    return [
        chart.upright(begin, name, "phases", row=place % 2)
        for place, (begin, name) in enumerate(visible_begins)
    ]


def _find_corners(level: Level) -> list[tuple[float, float]]:
    """Return the corners of the steps; what does not change has none."""
    points = [(float(level.edges[0]), float(level.heights[0]))]
    for edge, value in zip(level.edges[1:-1], level.heights[1:], strict=True):
        if value != points[-1][1]:
            points += [(float(edge), points[-1][1]), (float(edge), float(value))]
    return [*points, (float(level.edges[-1]), points[-1][1])]


Durations = NDArray[np.float64]
_MOST_BINS, _FEWEST_BINS = 40, 8
_TAIL = 0.995  # what lies beyond this share is put into the last bin
_FAR = 1.5


def distribution(title: str, values: Durations, color: str = "device") -> Chart:
    """Chart how often each duration (ns, at least one) came, with p50 and p99 marked.

    Few that are far beyond the others share the last bin.
    """
    # Twice as many bins as Rice's rule, 2 n^(1/3), for so many values.
    bins = min(_MOST_BINS, max(_FEWEST_BINS, round(4 * values.size ** (1 / 3))))
    edges = _edges(values, bins)
    counts, _ = np.histogram(np.minimum(values, edges[-1]), edges)
    p50, p99 = (float(value) for value in np.quantile(values, (0.5, 0.99)))
    has_tail = float(values.max()) > edges[-1]
    axis_title = (
        f"time; the last bin holds all up to {duration(values.max())}" if has_tail else "time"
    )
    summary = (
        f"{count(values.size)} values, half of them up to {duration(p50)}, 99 % up to "
        f"{duration(p99)}, the longest {duration(float(values.max()))}."
    )
    heights = counts.astype(float).tolist()
    return Chart(
        title,
        summary,
        chart.span(axis_title, float(edges[0]), float(edges[-1]), duration),
        chart.make_count_axis("count", float(counts.max())),
        (
            chart.area(edges.tolist(), heights, color),
            chart.upright(p50, f"p50 {duration(p50)}", "ink"),
            chart.upright(min(p99, float(edges[-1])), f"p99 {duration(p99)}", "ink", row=1),
        ),
    )


def _edges(values: Durations, bins: int) -> Durations:
    lower_edge, upper_edge = float(values.min()), float(values.max())
    tail = float(np.quantile(values, _TAIL))
    if upper_edge - lower_edge > _FAR * (tail - lower_edge) > 0:
        upper_edge = tail + (tail - lower_edge) / bins
    if upper_edge <= lower_edge:
        lower_edge, upper_edge = lower_edge * 0.9, lower_edge * 1.1 + 1
    return np.linspace(lower_edge, upper_edge, bins + 1)


_ROOM = 3.0
_PLACES = (0.55, 0.72)


@dataclass(frozen=True)
class Placed:
    """A point under the roof: operations for each byte, and operations per second."""

    name: str
    intensity: float
    speed: float


def roof(
    title: str, summary: str, points: Sequence[Placed], bandwidth: float, rate: float | None = None
) -> Chart:
    """Chart points, one or more, under the roofs of memory and, where known, of arithmetic.

    `bandwidth` is what memory delivers in bytes per second, `rate` operations per second.
    """
    ways = [point.intensity for point in points] + ([rate / bandwidth] if rate else [])
    left_end, right = min(ways) / _ROOM, max(ways) * _ROOM
    heights = [left_end * bandwidth, rate or right * bandwidth, *(point.speed for point in points)]
    x = chart.logarithmic("operations for each byte", left_end, right, "{:g}".format)
    y = chart.logarithmic(
        "operations per second", min(heights) / _ROOM, max(heights) * 2, format_number
    )
    bend = rate / bandwidth if rate else x.maximum
    corners = [(x.minimum, x.minimum * bandwidth), (bend, bend * bandwidth)]
    if rate:
        corners.append((max(x.maximum, bend), rate))
    shapes = [chart.line(corners, "ink"), _name_roof(x, y, bandwidth, rate, points)]
    if rate:
        shapes.append(chart.words((x.maximum, rate), f"arithmetic {quantity(rate, 'FLOP/s')}"))
    for point in points:
        place = (point.intensity, point.speed)
        is_above_roof = point.speed > point.intensity * bandwidth
        label = (
            chart.label_line(place, point.name)
            if is_above_roof
            else chart.words(place, point.name, under=True)
        )
        shapes += [chart.dots([place], "steps", 5.0), label]
    return Chart(title, summary, x, y, tuple(shapes))


def _name_roof(
    x: Axis, y: Axis, bandwidth: float, rate: float | None, points: Sequence[Placed]
) -> Shape:
    """Name the roof of memory within what is seen of it, where most room is between points."""
    begin = max(x.minimum, y.minimum / bandwidth)
    end = min(x.maximum, (rate or y.maximum) / bandwidth)
    places = [begin * (end / begin) ** share for share in _PLACES]
    position = max(
        places, key=lambda place: min(abs(math.log(place / p.intensity)) for p in points)
    )
    return chart.label_line(
        (position, position * bandwidth), f"memory {quantity(bandwidth, 'bytes/s')}"
    )
