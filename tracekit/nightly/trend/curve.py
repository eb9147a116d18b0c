"""A series as a picture: its changes and its values over nights, with what the trend found."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median

import numpy as np

from tracekit.base import quantity, short_commit
from tracekit.nightly.gate.decision import plain_change
from tracekit.nightly.history.changes import Changes, Ramp
from tracekit.nightly.history.night import Judged, moment_of
from tracekit.nightly.history.steps import Point, Series, anchors_of, levels, moves
from tracekit.nightly.history.stretches import ends_of_line
from tracekit.nightly.trend.course import (
    WAYS,
    Course,
    CourseEvent,
    CourseState,
    Fared,
    day,
    days,
    direction,
    format_count,
    state_of,
)
from tracekit.nightly.trend.picture import (
    RADIUS,
    Mark,
    NightAxis,
    Picture,
    TrendPanel,
    draw_changes,
    lines,
    nights,
)
from tracekit.report import Axis, Shape, binary, heading, linear

RECENT = 120  # nights that have marks of their own; of older ones only those that stand out
_WIDE, _COMPACT = 960, 400
_HIGH, _FLAT = 150, 80
_LEAST_SPAN = 0.04  # of the median: noise is not drawn as if it were much
_LAST_NIGHT = 0.5  # of a night: how far what is expected goes beyond the last one

_Pick = Callable[[Point], float | None]
_Ends = Callable[[Point], tuple[float | None, float | None]]


@dataclass(frozen=True)
class Curve:
    """A series with its steps and drifts, and what pictures of its course share."""

    series: Series
    trend: Changes
    course: Course
    x: NightAxis
    tags: Sequence[CourseEvent]
    href: Callable[[Fared], str]


def summary_of(curve: Curve) -> str:
    """Return what can be seen of a series, in sentences."""
    series = curve.series
    known_points = [(point, point.value) for point in series.points if point.value is not None]
    nights = format_count(len(series.points), "night")
    if not known_points:
        return f"{nights}, none with a value."
    last, values = known_points[-1][0], [value for _, value in known_points]
    lowest_value, highest_value = (quantity(edge(values), series.unit) for edge in (min, max))
    span = (
        f"always {lowest_value}"
        if lowest_value == highest_value
        else f"from {lowest_value} to {highest_value}"
    )
    latest = f"the last, of {day(last.at)}, {_describe_point(series, last)}"
    parts = [f"{nights}, {len(known_points)} with a value, {span}; {latest}."]
    for step in curve.trend.steps:
        way = direction(step.change, series.better)
        change = series.formatter.change(step.change)
        words = f"Changed in {night_words(curve.course, series.points[step.index].at)}, {change}"
        parts.append(f"{words}, {way}." if way != "changed" else f"{words}.")
    for ramp in curve.trend.ramps:
        way = direction(ramp.change, series.better)
        first_night, last = (
            series.points[place].at for place in (ramp.first_night, ramp.last_night)
        )
        numbers = f"{curve.course.number(first_night)} to {curve.course.number(last)}"
        words = (
            f"Drifted in nights {numbers} ({days(first_night, last)}), {rate_words(series, ramp)}"
        )
        parts.append(f"{words}, {way}." if way != "changed" else f"{words}.")
    return " ".join([*parts, *_total(curve)])


def night_words(course: Course, time: str) -> str:
    """Return a night by its number and day, such as "night 12 (3 Nov 2026)"."""
    return f"night {course.number(time)} ({day(time)})"


def rate_words(series: Series, ramp: Ramp) -> str:
    """Return the rate of a drift, such as "+2.3 % a night"."""
    return f"{series.formatter.change(ramp.rate)} a night"


def _describe_point(series: Series, point: Point) -> str:
    change = series.formatter.format_change(point.change, point.low, point.high)
    value = quantity(point.value, series.unit)
    return f"{value}, {change} from the reference" if change else value


def _total(curve: Curve) -> Iterator[str]:
    """Yield what all nights add up to where the reference moves along."""
    series = curve.series
    if not moves(series):
        return
    night_levels = levels(series, anchors_of(series, curve.course.anchors))
    if len(night_levels.nights) > 1:
        change, deviation = night_levels.total(np.eye(len(night_levels.nights))[-1])
        ends = [plain_change(change + 1.96 * sign * deviation, series.scale) for sign in (0, -1, 1)]
        since = day(series.points[night_levels.nights[0]].at)
        yield (
            f"From the reference of {since} on, nights add up to "
            f"{series.formatter.format_change(*ends)}."
        )


def picture_of(curve: Curve) -> Picture:
    """Return the picture of a series: large where it decides, else compact."""
    series = curve.series
    compared = series.gated and any(point.change is not None for point in series.points)
    values = _values(curve, _HIGH if series.gated and not compared else _FLAT, dates=not compared)
    return Picture(
        title=f"{series.capture}: {heading(series.metric)}",
        summary=summary_of(curve),
        width=_WIDE if series.gated else _COMPACT,
        x=curve.x,
        panels=(_changes(curve), values) if compared else (values,),
        tags=curve.tags,
        lane=(nights(list(_lane(curve))),),
    )


def _changes(curve: Curve) -> TrendPanel:
    series = curve.series
    limits = list(_limits(curve))
    ends = [(point.change, point.low, point.high) for point in series.points]
    reach = [end for point in ends for end in point if end is not None]
    reach += [edge for _, _, low, high, _ in limits for edge in (low, high)]
    allowed = series.formatter.amount(series.threshold)
    title = "Change from the reference"
    if limits:
        title = f"{title}; dashed: the limit, {allowed}"
    limit = f"Beyond this line a change for the worse matters: {allowed} from what is expected"
    band = [((b, low), (b, high), (e, high), (e, low)) for b, e, low, high, _ in limits]
    return TrendPanel(
        title,
        _HIGH,
        linear("", min(reach), max(reach), series.formatter.change),
        (
            lines(band, "band", end="Z"),
            lines([((b, edge), (e, edge)) for b, e, *_, edge in limits], "limit", limit),
            lines(
                [((curve.x.axis.minimum, 0.0), (curve.x.axis.maximum, 0.0))] * (min(reach) <= 0),
                "zero",
            ),
            *_drawn(
                curve, lambda point: point.change, lambda point: (point.low, point.high), RADIUS
            ),
            _dates(curve),
        ),
    )


def _values(curve: Curve, height: float, *, dates: bool) -> TrendPanel:
    series = curve.series
    against = [point.reference for point in series.points if point.reference is not None]
    reach = against + [point.value for point in series.points if point.value is not None]
    if len(reach) == len(against):
        return TrendPanel("No night has a value", height, linear("", 0, 1, lambda _: ""), ())
    title = "Median of the pairs" if series.gated else ""
    if against and series.gated:
        title = f"{title}; dashed: the reference"
    return TrendPanel(
        title,
        height,
        _upward(series, reach),
        (
            lines(_runs(curve, lambda point: point.reference), "reference"),
            *_drawn(curve, lambda point: point.value, lambda point: (point.least, point.most), 2.6),
            *([_dates(curve)] * dates),
        ),
    )


def _upward(series: Series, reach: Sequence[float]) -> Axis:
    """Return the axis of medians, with half of what they span on both sides for their spreads."""
    low, high = min(reach), max(reach)
    room = max(high - low, abs(median(reach)) * _LEAST_SPAN) or 1.0
    floor = 0.0 if low >= 0 else -math.inf
    ceiling = 1.0 if series.unit == "ratio" and high <= 1 else math.inf
    low, high = max(floor, low - room / 2), min(ceiling, high + room / 2)
    make = binary if series.unit == "bytes" and low >= 0 else linear
    return make("", low, high, lambda value: quantity(value, series.unit))


def _limits(curve: Curve) -> Iterator[tuple[float, float, float, float, float]]:
    """Yield where changes are as expected: from day, to day, lower, upper, and the worse one.

    Nights in a row of which the same is expected are one stretch.
    """
    fared = curve.course.fared
    begins = [curve.x.place(night.at) for night in fared]
    ends = [*begins[1:], begins[-1] + _LAST_NIGHT]
    edges = [_edges(night.find_judgement(curve.series.metric)) for night in fared]
    for edge, group in groupby(zip(edges, begins, ends, strict=True), key=lambda row: row[0]):
        stretch = list(group)
        if edge is not None:
            yield stretch[0][1], stretch[-1][2], *edge


def _edges(judged: Judged | None) -> tuple[float, float, float] | None:
    """Return what is expected of a night: lower, upper, and the one that is the limit."""
    if judged is None or judged.expected is None:
        return None
    threshold = judged.threshold
    if judged.scale == "ratio":
        factor = 1 + judged.expected
        low, high = factor / (1 + threshold) - 1, factor * (1 + threshold) - 1
    else:
        low, high = judged.expected - threshold, judged.expected + threshold
    return low, high, low if judged.better == "higher" else high


def _drawn(curve: Curve, pick: _Pick, ends: _Ends, radius: float) -> Iterator[Shape]:
    """Yield spreads, the line through the nights, levels between change points, and marks."""
    points = curve.series.points
    spreads = [
        ((curve.x.place(point.at), low), (curve.x.place(point.at), high))
        for point in points
        for low, high in (ends(point),)
        if low is not None and high is not None
    ]
    yield lines(spreads, "spread")
    yield lines(_runs(curve, pick), "median")
    yield lines(_iter_level_lines(curve, pick), "level")
    yield nights(list(_marks(curve, pick)), radius)


def _iter_level_lines(curve: Curve, pick: _Pick) -> Iterator[list[tuple[float, float]]]:
    """Yield the levels between changes, and the lines of drifts; none where nothing changed."""
    points = curve.series.points
    steps = [step.index for step in curve.trend.steps]
    drifts = {ramp.first_night: ramp.last_night + 1 for ramp in curve.trend.ramps}
    if not steps and not drifts:
        return
    cuts = sorted({0, *steps, *drifts, *drifts.values(), len(points)})
    for begin, end in pairwise(cuts):
        stretch_points = points[begin:end]
        values = [value for value in map(pick, stretch_points) if value is not None]
        if not values:
            continue
        drifting = any(
            drift_begin <= begin < drift_end for drift_begin, drift_end in drifts.items()
        )
        if drifting and len(values) > 1:
            ends = ends_of_line(np.array(values))
        else:
            ends = (median(values), median(values))
        places = curve.x.place(stretch_points[0].at), curve.x.place(stretch_points[-1].at)
        yield list(zip(places, ends, strict=True))


def _runs(curve: Curve, pick: _Pick) -> list[list[tuple[float, float]]]:
    """Return the points between gaps: a night without a value is a gap, and no line crosses it."""
    place = curve.x.place
    places = {place(fared.at): None for fared in curve.course.fared}
    places |= {place(point.at): pick(point) for point in curve.series.points}
    runs: list[list[tuple[float, float]]] = [[]]
    for night_place in sorted(places):
        value = places[night_place]
        if value is None:
            runs.append([])
        else:
            runs[-1].append((night_place, value))
    return runs


def _dates(curve: Curve) -> Shape:
    series = curve.series
    changes: list[tuple[float, float, str, str]] = []
    for step in curve.trend.steps:
        time = series.points[step.index].at
        words = f"night {curve.course.number(time)}: {series.formatter.change(step.change)}"
        tone = WAYS[direction(step.change, series.better)]
        changes.append((curve.x.place(time), curve.x.place(time), words, tone))
    for ramp in curve.trend.ramps:
        first_place, last_place = (
            curve.x.place(series.points[place].at) for place in (ramp.first_night, ramp.last_night)
        )
        tone = WAYS[direction(ramp.change, series.better)]
        changes.append((first_place, last_place, rate_words(series, ramp), tone))
    return draw_changes(sorted(changes))


def _marks(curve: Curve, pick: _Pick) -> Iterator[Mark]:
    """Yield the marks of a series' nights; of older ones only those that stand out."""
    fared = {result.night.id: result for result in curve.course.fared if result.night is not None}
    points = curve.series.points
    for place, point in enumerate(points):
        value = pick(point)
        state = None if point.outcome is None else state_of(point.outcome)
        older = place < len(points) - RECENT
        if value is not None and not (older and state in {None, CourseState.OK}):
            words = _words(curve.series, point, curve.course.number(point.at))
            href = curve.href(fared[point.night]) if point.night in fared else ""
            yield Mark(curve.x.place(point.at), value, state, words, href)


def _words(series: Series, point: Point, number: int) -> str:
    night_label = f"night {number}, {moment_of(point.at):%d %b %Y %H:%M} UTC"
    parts = [f"{night_label}: {_describe_point(series, point)}"]
    if point.least is not None and point.most is not None:
        smallest_value, largest_value = (
            quantity(value, series.unit) for value in (point.least, point.most)
        )
        parts.append(f"pairs from {smallest_value} to {largest_value}")
    parts += [format_count(point.pairs, "pair")] * bool(point.pairs)
    parts += [f"commit {short_commit(point.commit)}"] * bool(point.commit)
    if point.outcome:
        parts.append(f"{point.outcome}: {point.reason}" if point.reason else str(point.outcome))
    return "; ".join(parts)


def _lane(curve: Curve) -> Iterator[Mark]:
    """Yield the marks of nights that are not seen above, or not as what they are."""
    place = curve.x.place
    seen_places = {place(point.at) for point in curve.series.points if point.value is not None}
    for fared in curve.course.fared:
        night_place = place(fared.at)
        if (
            fared.state not in {CourseState.OK, CourseState.REGRESSION}
            or night_place not in seen_places
        ):
            night = night_words(curve.course, fared.at)
            words = ": ".join(filter(None, (night, fared.state, fared.reason)))
            yield Mark(night_place, 0.5, fared.state, words, curve.href(fared))
