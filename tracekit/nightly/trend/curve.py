"""A series as a picture: its changes and its values over nights, with its steps and drifts."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median

import numpy as np

from tracekit.base import units
from tracekit.nightly.history.night import Judged, moment_of
from tracekit.nightly.history.pairs import plain_change
from tracekit.nightly.history.steps import Point, Series, anchors_of, levels, moves
from tracekit.nightly.history.stretches import ends_of_line
from tracekit.nightly.history.trend_changes import Changes, Ramp
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
    draw_lines,
    draw_marks,
)
from tracekit.pages import chart, text

RECENT = 120  # nights that all have marks; of older nights only the striking ones have marks
_WIDE = 1280
_COMPACT = 360
_HIGH = 150
_FLAT = 110
_LEAST_SPAN = 0.04  # of the median: noise is not drawn as if it were much
_OF_95_PERCENT = 1.96  # standard deviations: half of an interval of 95 % of a normal distribution
_LAST_NIGHT = 0.5  # of a night: how far the expected range goes beyond the last night

_Line = Sequence[tuple[float, float]]  # places and values
_Pick = Callable[[Point], float | None]
_Ends = Callable[[Point], tuple[float | None, float | None]]


@dataclass(frozen=True)
class Curve:
    """A series with its steps and drifts, and the parts that pictures of its course share."""

    series: Series
    trend: Changes
    course: Course
    x: NightAxis
    tags: Sequence[CourseEvent]
    href: Callable[[Fared], str]


def summary_of(curve: Curve) -> str:
    """Describe a series, its steps and its drifts in sentences."""
    series = curve.series
    known_points: list[Point] = []
    values: list[float] = []
    for point in series.points:
        if point.value is not None:
            known_points.append(point)
            values.append(point.value)
    count_words = format_count(len(series.points), "night")
    if not known_points:
        return f"{count_words}, none with a value."
    lowest = units.quantity(min(values), series.unit)
    highest = units.quantity(max(values), series.unit)
    span = _describe_span(lowest, highest)
    last_point = known_points[-1]
    last_value = _describe_point(series, last_point)
    latest = f"the last, of {day(last_point.at)}, {last_value}"
    sentences = [f"{count_words}, {len(known_points)} with a value, {span}; {latest}."]
    for step in curve.trend.steps:
        step_time = series.points[step.index].at
        night = night_words(curve.course, step_time)
        change = series.formatter.change(step.change)
        words = f"Changed in {night}, {change}"
        sentences.append(_end_with_way(words, series, step.change))
    for ramp in curve.trend.ramps:
        first_time = series.points[ramp.first_night].at
        last_time = series.points[ramp.last_night].at
        first_number = curve.course.number(first_time)
        last_number = curve.course.number(last_time)
        numbers = f"{first_number} to {last_number}"
        dates = days(first_time, last_time)
        words = f"Drifted in nights {numbers} ({dates}), {rate_words(series, ramp)}"
        sentences.append(_end_with_way(words, series, ramp.change))
    sentences += _describe_total(curve)
    return " ".join(sentences)


def _describe_span(lowest_value: str, highest_value: str) -> str:
    if lowest_value == highest_value:
        return f"always {lowest_value}"
    return f"from {lowest_value} to {highest_value}"


def _end_with_way(words: str, series: Series, change: float) -> str:
    """End a sentence about a change with "worse" or "better", if the series has a direction."""
    way = direction(change, series.better)
    if way == "changed":
        return f"{words}."
    return f"{words}, {way}."


def night_words(course: Course, time: str) -> str:
    """Return a night by its number and day, such as "night 12 (3 Nov 2026)"."""
    return f"night {course.number(time)} ({day(time)})"


def rate_words(series: Series, ramp: Ramp) -> str:
    """Return the rate of a drift, such as "+2.3 % a night"."""
    return f"{series.formatter.change(ramp.rate)} a night"


def _describe_point(series: Series, point: Point) -> str:
    change = series.formatter.format_change(point.change, point.low, point.high)
    value = units.quantity(point.value, series.unit)
    if not change:
        return value
    return f"{value}, {change} from the reference"


def _describe_total(curve: Curve) -> Iterator[str]:
    """Yield the sum of the changes of all nights, if the reference moves along."""
    series = curve.series
    if not moves(series):
        return
    anchors = anchors_of(series, curve.course.anchors)
    night_levels = levels(series, anchors)
    if len(night_levels.nights) > 1:
        weights = np.zeros(len(night_levels.nights))
        weights[-1] = 1.0  # the level of the last night alone
        change, deviation = night_levels.total(weights)
        half_width = _OF_95_PERCENT * deviation
        middle = plain_change(change, series.scale)
        lower_end = plain_change(change - half_width, series.scale)
        upper_end = plain_change(change + half_width, series.scale)
        total_words = series.formatter.format_change(middle, lower_end, upper_end)
        first_place = night_levels.nights[0]
        since = day(series.points[first_place].at)
        yield f"From the reference of {since} on, nights add up to {total_words}."


def picture_of(curve: Curve) -> Picture:
    """Return the picture of a series: large if the series decides, else compact."""
    series = curve.series
    width = _WIDE if series.gated else _COMPACT
    compared = series.gated and any(point.change is not None for point in series.points)
    if compared:
        panels: tuple[TrendPanel, ...] = (
            _make_panel_of_changes(curve),
            _make_panel_of_values(curve, _FLAT, has_trend=False),
        )
    elif series.gated:
        panels = (_make_panel_of_values(curve, _HIGH, has_trend=True),)
    else:
        panels = (_make_panel_of_values(curve, _FLAT, has_trend=True),)
    title = f"{series.capture}: {text.heading(series.metric)}"
    summary = summary_of(curve)
    lane = (draw_marks(list(_iter_lane_marks(curve))),)
    return Picture(
        title=title,
        summary=summary,
        width=width,
        x=curve.x,
        panels=panels,
        tags=curve.tags,
        lane=lane,
    )


def _make_panel_of_changes(curve: Curve) -> TrendPanel:
    """Return the panel of changes against the reference, with those that are expected."""
    series = curve.series
    stretches = list(_expected_stretches(curve))
    reach: list[float] = []
    for point in series.points:
        ends = (point.change, point.low, point.high)
        reach += [end for end in ends if end is not None]
    band: list[_Line] = []
    limit_lines: list[_Line] = []
    for begin, end, edges in stretches:
        reach += [edges.low, edges.high]
        corners = ((begin, edges.low), (begin, edges.high), (end, edges.high), (end, edges.low))
        band.append(corners)
        limit_line = ((begin, edges.limit), (end, edges.limit))
        limit_lines.append(limit_line)
    zero_lines: list[_Line] = []
    if min(reach) <= 0:
        zero_line = ((curve.x.axis.minimum, 0.0), (curve.x.axis.maximum, 0.0))
        zero_lines.append(zero_line)
    allowed = series.formatter.amount(series.threshold)
    title = "Change"
    if stretches:
        title = f"{title}; dashed: limit {allowed}"
    limit = f"Beyond this line a change for the worse matters: {allowed} from the expected change"
    axis = chart.linear("", min(reach), max(reach), series.formatter.change)
    drawn_changes = _draw_points(
        curve, lambda point: point.change, lambda point: (point.low, point.high), RADIUS
    )
    shapes = (
        draw_lines(band, "band", end="Z"),
        draw_lines(limit_lines, "limit", limit),
        draw_lines(zero_lines, "zero"),
        *drawn_changes,
        _draw_trend(curve),
    )
    return TrendPanel(
        title,
        _HIGH,
        axis,
        shapes,
    )


def _make_panel_of_values(curve: Curve, height: float, *, has_trend: bool) -> TrendPanel:
    """Return the panel of medians and references; `has_trend` adds the steps and drifts."""
    series = curve.series
    references: list[float] = []
    values: list[float] = []
    for point in series.points:
        if point.reference is not None:
            references.append(point.reference)
        if point.value is not None:
            values.append(point.value)
    if not values:
        empty_axis = chart.linear("", 0, 1, lambda _: "")
        return TrendPanel("No night has a value", height, empty_axis, ())
    title = "Median" if series.gated else ""
    if references and series.gated:
        title = f"{title}; dashed: reference"
    reference_runs = _find_runs(curve, lambda point: point.reference)
    drawn_values = _draw_points(
        curve, lambda point: point.value, lambda point: (point.least, point.most), 2.6
    )
    shapes = [
        draw_lines(reference_runs, "reference"),
        *drawn_values,
    ]
    if has_trend:
        shapes.append(_draw_trend(curve))
    axis = _make_value_axis(series, references + values)
    return TrendPanel(title, height, axis, tuple(shapes))


def _make_value_axis(series: Series, reach: Sequence[float]) -> chart.Axis:
    """Return the axis of medians, with half of their span on both sides for their spreads."""
    low = min(reach)
    high = max(reach)
    least_span = abs(median(reach)) * _LEAST_SPAN
    room = max(high - low, least_span) or 1.0
    floor = 0.0 if low >= 0 else -math.inf
    ceiling = 1.0 if series.unit == "ratio" and high <= 1 else math.inf
    axis_low = max(floor, low - room / 2)
    axis_high = min(ceiling, high + room / 2)
    make = chart.linear
    if series.unit == "bytes" and axis_low >= 0:
        make = chart.binary
    return make("", axis_low, axis_high, lambda value: units.quantity(value, series.unit))


@dataclass(frozen=True)
class _ExpectedEdges:
    """The range of changes that are expected of a night; beyond `limit` is worse."""

    low: float
    high: float
    limit: float


def _expected_stretches(curve: Curve) -> Iterator[tuple[float, float, _ExpectedEdges]]:
    """Yield the expected ranges of changes, each with the places of its begin and end.

    Nights in a row with the same range are one stretch.
    """
    fared_nights = curve.course.fared
    places: list[float] = []
    edges: list[_ExpectedEdges | None] = []
    for fared in fared_nights:
        places.append(curve.x.place(fared.at))
        judged = fared.find_judgement(curve.series.metric)
        edges.append(_find_edges(judged))
    places.append(places[-1] + _LAST_NIGHT)
    groups = groupby(range(len(edges)), key=edges.__getitem__)
    for stretch_edges, group in groups:
        if stretch_edges is not None:
            indexes = list(group)
            yield places[indexes[0]], places[indexes[-1] + 1], stretch_edges


def _find_edges(judged: Judged | None) -> _ExpectedEdges | None:
    """Return the range of changes that is expected of a night."""
    if judged is None or judged.expected is None:
        return None
    threshold = judged.threshold
    if judged.scale == "ratio":
        factor = 1 + judged.expected
        low = factor / (1 + threshold) - 1
        high = factor * (1 + threshold) - 1
    else:
        low = judged.expected - threshold
        high = judged.expected + threshold
    limit = low if judged.better == "higher" else high
    return _ExpectedEdges(low, high, limit)


def _draw_points(curve: Curve, pick: _Pick, ends: _Ends, radius: float) -> Iterator[chart.Shape]:
    """Yield spreads, the line through the nights, levels between change points, and marks."""
    spreads: list[_Line] = []
    for point in curve.series.points:
        low, high = ends(point)
        if low is not None and high is not None:
            place = curve.x.place(point.at)
            line = ((place, low), (place, high))
            spreads.append(line)
    yield draw_lines(spreads, "spread")
    yield draw_lines(_find_runs(curve, pick), "median")
    yield draw_lines(_iter_level_lines(curve, pick), "level")
    yield draw_marks(list(_iter_marks(curve, pick)), radius)


def _iter_level_lines(curve: Curve, pick: _Pick) -> Iterator[list[tuple[float, float]]]:
    """Yield the levels between changes, and the lines of drifts; none without a change."""
    points = curve.series.points
    trend = curve.trend
    if not trend.steps and not trend.ramps:
        return
    cuts = {0, len(points)}
    cuts.update(step.index for step in trend.steps)
    for ramp in trend.ramps:
        cuts |= {ramp.first_night, ramp.last_night + 1}
    for begin, end in pairwise(sorted(cuts)):
        stretch_points = points[begin:end]
        values = [value for value in map(pick, stretch_points) if value is not None]
        if not values:
            continue
        if len(values) > 1 and _is_in_drift(begin, trend.ramps):
            begin_level, end_level = ends_of_line(np.array(values))
        else:
            begin_level = end_level = median(values)
        begin_place = curve.x.place(stretch_points[0].at)
        last_point = stretch_points[-1]
        end_place = curve.x.place(last_point.at)
        yield [(begin_place, begin_level), (end_place, end_level)]


def _is_in_drift(night: int, ramps: Sequence[Ramp]) -> bool:
    return any(ramp.first_night <= night <= ramp.last_night for ramp in ramps)


def _find_runs(curve: Curve, pick: _Pick) -> list[list[tuple[float, float]]]:
    """Return the points between gaps: a night without a value is a gap, and no line crosses it."""
    place = curve.x.place
    values: dict[float, float | None] = {}
    for fared in curve.course.fared:
        values[place(fared.at)] = None
    for point in curve.series.points:
        values[place(point.at)] = pick(point)
    runs: list[list[tuple[float, float]]] = [[]]
    for night_place in sorted(values):
        value = values[night_place]
        if value is None:
            runs.append([])
        else:
            runs[-1].append((night_place, value))
    return runs


def _draw_trend(curve: Curve) -> chart.Shape:
    """Draw the steps and drifts of a series at their nights."""
    series = curve.series
    changes: list[tuple[float, float, str, str]] = []
    for step in curve.trend.steps:
        time = series.points[step.index].at
        place = curve.x.place(time)
        change = series.formatter.change(step.change)
        words = f"night {curve.course.number(time)}: {change}"
        tone = WAYS[direction(step.change, series.better)]
        changes.append((place, place, words, tone))
    for ramp in curve.trend.ramps:
        first_night = series.points[ramp.first_night]
        first_place = curve.x.place(first_night.at)
        last_night = series.points[ramp.last_night]
        last_place = curve.x.place(last_night.at)
        tone = WAYS[direction(ramp.change, series.better)]
        changes.append((first_place, last_place, rate_words(series, ramp), tone))
    return draw_changes(sorted(changes))


def _iter_marks(curve: Curve, pick: _Pick) -> Iterator[Mark]:
    """Yield the marks of a series' nights; of older nights only the striking ones."""
    fared_by_night = {fared.night.id: fared for fared in curve.course.fared if fared.night}
    points = curve.series.points
    oldest_recent = len(points) - RECENT
    for index, point in enumerate(points):
        value = pick(point)
        state = None
        if point.outcome is not None:
            state = state_of(point.outcome)
        is_plain = state in {None, CourseState.OK}
        if value is None or (index < oldest_recent and is_plain):
            continue
        number = curve.course.number(point.at)
        words = _describe_mark(curve.series, point, number)
        fared = fared_by_night.get(point.night)
        href = ""
        if fared:
            href = curve.href(fared)
        mark_place = curve.x.place(point.at)
        yield Mark(mark_place, value, state, words, href)


def _describe_mark(series: Series, point: Point, number: int) -> str:
    date = moment_of(point.at)
    night_label = f"night {number}, {date:%d %b %Y %H:%M} UTC"
    parts = [f"{night_label}: {_describe_point(series, point)}"]
    if point.least is not None and point.most is not None:
        smallest_value = units.quantity(point.least, series.unit)
        largest_value = units.quantity(point.most, series.unit)
        parts.append(f"pairs from {smallest_value} to {largest_value}")
    if point.pairs:
        parts.append(format_count(point.pairs, "pair"))
    if point.commit:
        parts.append(f"commit {units.short_commit(point.commit)}")
    if point.outcome and point.reason:
        parts.append(f"{point.outcome}: {point.reason}")
    elif point.outcome:
        parts.append(str(point.outcome))
    return "; ".join(parts)


def _iter_lane_marks(curve: Curve) -> Iterator[Mark]:
    """Yield the marks of nights that have none above, or whose state cannot be seen there."""
    place = curve.x.place
    seen_places = {place(point.at) for point in curve.series.points if point.value is not None}
    for fared in curve.course.fared:
        night_place = place(fared.at)
        is_compared = fared.state in {CourseState.OK, CourseState.REGRESSION}
        if is_compared and night_place in seen_places:
            continue
        parts = [night_words(curve.course, fared.at), str(fared.state)]
        if fared.reason:
            parts.append(fared.reason)
        yield Mark(night_place, 0.5, fared.state, ": ".join(parts), curve.href(fared))
