"""The charts of the page: a course over the run, a distribution, the roofline."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import intervals
from tracekit.base import units
from tracekit.pages import chart
from tracekit.pages.chart import Axis, Chart, Shape, Words

_AIR = 1.55  # room above the highest level, for the names of phases
MOST_POINTS = 120

Upward = Callable[[str, float, float, Words], Axis]
Begins = Sequence[tuple[float, str]]  # the begin (ns) of each phase of the run, and its name


@dataclass(frozen=True)
class Level:
    """A level that holds from each of its `edges` (ns) to the next; there is one height fewer."""

    name: str
    edges: Sequence[float]
    heights: Sequence[float]
    color: str = "device"


def sample_level(
    name: str,
    times: intervals.Times,
    values: NDArray[np.float64],
    window: intervals.Window,
    color: str = "device",
) -> Level:
    """Return a level as the highest of each of MOST_POINTS equal parts of a window.

    Each value holds until the next one; before the first the level is 0.
    """
    edges = np.linspace(window.start, window.end, MOST_POINTS + 1)
    next_indexes = np.searchsorted(times, edges[:-1], side="right")
    value_indexes = next_indexes - 1
    known_values = values[np.maximum(value_indexes, 0)]
    heights = np.where(value_indexes >= 0, known_values, 0.0)
    next_edges = np.searchsorted(edges, times, side="right")
    place = (next_edges - 1).clip(max=heights.size - 1)
    is_after_start = times >= window.start
    is_before_end = times <= window.end
    window_mask = is_after_start & is_before_end
    np.maximum.at(heights, place[window_mask], values[window_mask])
    return Level(name, edges.tolist(), heights.tolist(), color)


def format_number(value: float) -> str:
    """Return a number in words without a unit."""
    return units.quantity(value, "").strip()


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
    `begins` divide the run, with their names; triangles on top mark the times of `marked`.
    """
    time, up = _axes([level], upward, in_words, top)
    phase_marks = _draw_phase_marks(begins, time)
    shapes: list[Shape] = [
        chart.area(level.edges, level.heights, level.color),
        *phase_marks,
    ]
    if marked:
        height = up.maximum / _AIR
        marks = [(moment, height) for moment in marked]
        shapes.append(chart.spikes(marks, "warning"))
    return Chart(title, summary, time, up, tuple(shapes))


def levels(
    title: str, summary: str, lines: Sequence[Level], in_words: Words, *, begins: Begins = ()
) -> Chart:
    """Chart several levels of bytes over time as lines, each with its name at its end."""
    time, up = _axes(lines, chart.binary, in_words)
    shapes = _draw_phase_marks(begins, time)
    for place, level in enumerate(lines):
        steps = _find_corners(level)
        line = chart.line(steps, level.color, dashed=place % 2 == 1)
        shapes.append(line)
        name = chart.words(steps[-1], level.name)
        shapes.append(name)
    return Chart(title, summary, time, up, tuple(shapes))


def _axes(
    drawn_levels: Sequence[Level], upward: Upward, in_words: Words, top: float = 0
) -> tuple[Axis, Axis]:
    begin = min(level.edges[0] for level in drawn_levels)
    last_edges = [level.edges[-1] for level in drawn_levels]
    end = max(last_edges)
    level_heights = [max(level.heights) for level in drawn_levels]
    highest = max(top, *level_heights)
    up = upward("", 0, highest, in_words)
    time = chart.span("time of the trace", float(begin), float(end), units.duration)
    return time, replace(up, maximum=up.maximum * _AIR)


def _draw_phase_marks(begins: Begins, time: Axis) -> list[Shape]:
    shapes: list[Shape] = []
    for begin, name in begins:
        if time.minimum <= begin < time.maximum:
            row = len(shapes) % 2  # so that the names of neighbours do not overlap
            shapes.append(chart.upright(begin, name, "phases", row=row))
    return shapes


def _find_corners(level: Level) -> list[tuple[float, float]]:
    """Return the corners of the steps; neighbours of equal height have none between them."""
    height = float(level.heights[0])
    points = [(float(level.edges[0]), height)]
    inner_steps = zip(level.edges[1:-1], level.heights[1:], strict=True)
    for edge, next_height in inner_steps:
        if next_height != height:
            points.append((float(edge), height))
            height = float(next_height)
            points.append((float(edge), height))
    last_edge = float(level.edges[-1])
    points.append((last_edge, height))
    return points


Durations = NDArray[np.float64]
_MOST_BINS = 40
_FEWEST_BINS = 8
_TAIL = 0.995  # values beyond this share are put into the last bin
_FAR = 1.5


def distribution(title: str, values: Durations, color: str = "device") -> Chart:
    """Chart how often each duration (ns, at least one) came, with p50 and p99 marked.

    Few that are far beyond the others share the last bin.
    """
    edges = _edges(values, _count_bins(values))
    clipped_values = np.minimum(values, edges[-1])
    counts, _ = np.histogram(clipped_values, edges)
    quantiles = np.quantile(values, (0.5, 0.99))
    p50 = float(quantiles[0])
    p99 = float(quantiles[1])
    begin = float(edges[0])
    end = float(edges[-1])
    axis_title = "time"
    if float(values.max()) > end:
        axis_title = f"time; the last bin holds all up to {units.duration(values.max())}"
    value_count = units.count(values.size)
    longest = units.duration(float(values.max()))
    summary = (
        f"{value_count} values, half of them up to {units.duration(p50)}, 99 % up to "
        f"{units.duration(p99)}, the longest {longest}."
    )
    heights = counts.astype(float).tolist()
    p50_mark = chart.upright(p50, f"p50 {units.duration(p50)}", "ink")
    p99_mark = chart.upright(min(p99, end), f"p99 {units.duration(p99)}", "ink", row=1)
    shapes = (
        chart.area(edges.tolist(), heights, color),
        p50_mark,
        p99_mark,
    )
    time = chart.span(axis_title, begin, end, units.duration)
    up = chart.make_count_axis("count", float(counts.max()))
    return Chart(title, summary, time, up, shapes)


def _count_bins(values: Durations) -> int:
    """Return twice as many bins as Rice's rule, 2 n^(1/3), within limits."""
    bins = round(4 * values.size ** (1 / 3))
    return min(_MOST_BINS, max(_FEWEST_BINS, bins))


def _edges(values: Durations, bins: int) -> Durations:
    lower_edge = float(values.min())
    upper_edge = float(values.max())
    tail = float(np.quantile(values, _TAIL))
    if upper_edge - lower_edge > _FAR * (tail - lower_edge) > 0:
        upper_edge = tail + (tail - lower_edge) / bins
    if upper_edge <= lower_edge:
        upper_edge = lower_edge * 1.1 + 1
        lower_edge = lower_edge * 0.9
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
    """Chart points, one or more, under the roofs of memory and, if it is known, of arithmetic.

    `bandwidth` is the rate of memory in bytes per second, `rate` operations per second.
    """
    x, y = _roof_axes(points, bandwidth, rate)
    bend = x.maximum
    if rate:
        bend = rate / bandwidth
    corners = [(x.minimum, x.minimum * bandwidth), (bend, bend * bandwidth)]
    if rate:
        corners.append((max(x.maximum, bend), rate))
    shapes = [chart.line(corners, "ink"), _name_roof(x, y, bandwidth, rate, points)]
    if rate:
        rate_words = units.quantity(rate, "FLOP/s")
        shapes.append(chart.words((x.maximum, rate), f"arithmetic {rate_words}"))
    for point in points:
        place = (point.intensity, point.speed)
        shapes.append(chart.dots([place], "steps", 5.0))
        is_above_roof = point.speed > point.intensity * bandwidth
        if is_above_roof:
            shapes.append(chart.label_line(place, point.name))
        else:
            shapes.append(chart.words(place, point.name, under=True))
    return Chart(title, summary, x, y, tuple(shapes))


def _roof_axes(points: Sequence[Placed], bandwidth: float, rate: float | None) -> tuple[Axis, Axis]:
    """Return axes with room for the points, and for the bend between the roofs if there is one."""
    intensities = [point.intensity for point in points]
    if rate:
        intensities.append(rate / bandwidth)
    left_end = min(intensities) / _ROOM
    right_end = max(intensities) * _ROOM
    speeds = [point.speed for point in points]
    right_speed = rate or right_end * bandwidth
    speeds += [left_end * bandwidth, right_speed]
    lowest = min(speeds) / _ROOM
    highest = max(speeds) * 2
    x = chart.logarithmic("operations for each byte", left_end, right_end, "{:g}".format)
    y = chart.logarithmic("operations per second", lowest, highest, format_number)
    return x, y


def _name_roof(
    x: Axis, y: Axis, bandwidth: float, rate: float | None, points: Sequence[Placed]
) -> Shape:
    """Name the roof of memory on its visible part, at the place with most room between points."""
    begin = max(x.minimum, y.minimum / bandwidth)
    highest_speed = rate or y.maximum
    end = min(x.maximum, highest_speed / bandwidth)

    def measure_room(place: float) -> float:
        distances = [abs(math.log(place / point.intensity)) for point in points]
        return min(distances)

    places = [begin * (end / begin) ** share for share in _PLACES]
    position = max(places, key=measure_room)
    label = f"memory {units.quantity(bandwidth, 'bytes/s')}"
    return chart.label_line((position, position * bandwidth), label)
