"""How something went over the run: levels in bins, phases, and moments that stand out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tracekit.base.units import duration
from tracekit.report.charts.axis import Axis, Words, linear, span
from tracekit.report.charts.chart import Chart
from tracekit.report.charts.shapes import Shape, area, line, spikes, upright, words

Upward = Callable[[str, float, float, Words], Axis]

_AIR = 1.3  # room above the highest level, for the names of phases


@dataclass(frozen=True)
class Level:
    """A level that holds from each of its `edges` (ns) to the next; there is one height fewer."""

    name: str
    edges: Sequence[float]
    heights: Sequence[float]
    color: str = "device"


@dataclass(frozen=True)
class Moment:
    """Something that happened at a time (ns) of the run, such as the begin of a phase."""

    at: float
    name: str


def course(
    title: str,
    summary: str,
    level: Level,
    counted: Words,
    *,
    unit: str = "",
    begins: Sequence[Moment] = (),
    marked: Sequence[float] = (),
    top: float | None = None,
) -> Chart:
    """Chart one level over time as an area.

    Args:
        title: What it is of.
        summary: What can be seen, in a sentence.
        level: What is drawn.
        counted: Puts a level into words.
        unit: What stands along the levels, where their words do not say it.
        begins: Moments that divide the run, with their names.
        marked: Times that stand out, marked with triangles on top.
        top: Where the axis ends at least.
    """
    time, up = _axes([level], counted, unit, top)
    highest = up.high / _AIR
    shapes: list[Shape] = [area(level.edges, level.heights, level.color)]
    shapes += _divided(begins, time)
    if marked:
        shapes.append(spikes([(at, highest) for at in marked], "warning"))
    return Chart(title, summary, time, up, tuple(shapes))


def levels(
    title: str,
    summary: str,
    lines: Sequence[Level],
    counted: Words,
    *,
    begins: Sequence[Moment] = (),
    upward: Upward = linear,
) -> Chart:
    """Chart several levels over time as lines, each with its name at its end.

    `upward` makes the axis of the levels, such as `binary` for bytes.
    """
    time, up = _axes(lines, counted, "", None, upward)
    shapes = _divided(begins, time)
    for place, one in enumerate(lines):
        steps = _stepped(one)
        shapes.append(line(steps, one.color, dashed=place % 2 == 1))
        shapes.append(words(steps[-1], one.name))
    return Chart(title, summary, time, up, tuple(shapes))


def _axes(
    shown: Sequence[Level],
    counted: Words,
    unit: str,
    top: float | None,
    upward: Upward = linear,
) -> tuple[Axis, Axis]:
    begin = min(one.edges[0] for one in shown)
    end = max(one.edges[-1] for one in shown)
    highest = max(max(one.heights) for one in shown)
    time = span("time of the trace", float(begin), float(end), duration)
    up = upward(unit, 0, max(highest, top or 0), counted)
    return time, Axis(up.title, up.low, up.high * _AIR, up.marks, up.words)


def _divided(begins: Sequence[Moment], time: Axis) -> list[Shape]:
    inside = [one for one in begins if time.low <= one.at < time.high]
    return [upright(one.at, one.name, "phases", row=place % 2) for place, one in enumerate(inside)]


def _stepped(level: Level) -> list[tuple[float, float]]:
    """Return the corners of the steps; what does not change has none."""
    points = [(float(level.edges[0]), float(level.heights[0]))]
    for at, value in zip(level.edges[1:-1], level.heights[1:], strict=True):
        if value != points[-1][1]:
            points += [(float(at), points[-1][1]), (float(at), float(value))]
    return [*points, (float(level.edges[-1]), points[-1][1])]
