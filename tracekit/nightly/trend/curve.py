"""A series as a picture: its change from the reference, its values, its limits, its steps."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median

from tracekit.base import quantity, short_commit
from tracekit.nightly.gate.decision import plain_change
from tracekit.nightly.history.levels import levels as levels_of
from tracekit.nightly.history.levels import moves
from tracekit.nightly.history.night import Judged
from tracekit.nightly.history.steps import Point, Series, Step
from tracekit.nightly.trend.course import (
    WAYS,
    Course,
    Fared,
    Happening,
    State,
    day,
    days_of,
    direction,
    moment_of,
    several,
    state_of,
)
from tracekit.nightly.trend.picture import (
    COMPACT,
    FLAT,
    WIDE,
    Mark,
    Panel,
    Picture,
    dated,
    levels,
    lines,
    nights,
)
from tracekit.report import Axis, Shape, binary, heading, linear

Href = Callable[[Fared], str]
Pick = Callable[[Point], float | None]

RECENT = 120  # nights that have marks of their own; of older ones only those that stand out


@dataclass(frozen=True)
class Drawing:
    """All that a course's pictures share: the axis of days, the tags, and where reports are."""

    course: Course
    x: Axis
    tags: Sequence[Happening]
    href: Href


def summary_of(series: Series, steps: Sequence[Step]) -> str:
    """Return what can be seen of a series, in a sentence or two."""
    known = [point for point in series.points if point.value is not None]
    if not known:
        return f"{several(len(series.points), 'night')}, none with a value."
    values = [one.value for one in known if one.value is not None]
    last = known[-1]
    low, high = (quantity(edge(values), series.unit) for edge in (min, max))
    parts = (
        f"{several(len(series.points), 'night')}, {len(known)} with a value, "
        f"{f'always {low}' if low == high else f'from {low} to {high}'}; "
        f"the last, of {day(last.at)}, {quantity(last.value, series.unit)}{_against(series, last)}."
    )
    changed = (f"Changed on {words}." for words in (step_words(series, step) for step in steps))
    return " ".join((parts, *changed))


def total_of(series: Series, anchors: Sequence[Point]) -> str:
    """Return what all nights add up to where the reference moves along; empty where it does not."""
    found = levels_of(series, anchors)
    if not moves(series) or len(found.nights) < 2:  # noqa: PLR2004  one is tonight's own change
        return ""
    change, half = float(found.values[-1]), 1.96 * float(found.covariance[-1, -1]) ** 0.5
    ends = [plain_change(one, series.scale) for one in (change, change - half, change + half)]
    since = day(series.points[found.nights[0]].at)
    words = series.shown.whole(*ends)
    return f"From the reference of {since} on, nights add up to {words}."


def step_words(series: Series, step: Step) -> str:
    """Return a change point in words: "14 Oct 2026, +4.1 %, worse"."""
    way = direction(step.change, series.better)
    words = f"{day(series.points[step.index].at)}, {series.shown.change(step.change)}"
    return words if way == "changed" else f"{words}, {way}"


def doubt_of(series: Series, step: Step) -> str:
    """Return between which nights a change point may lie; empty where it is one night alone."""
    if step.earliest >= step.latest:
        return ""
    first, last = (day(series.points[one].at) for one in (step.earliest, step.latest))
    return f"{first} to {last}"


def point_words(series: Series, point: Point, fared: Fared | None) -> str:
    """Return what one night says of a series."""
    parts = [f"{moment_of(point.at):%d %b %Y %H:%M} UTC"]
    if point.value is not None:
        parts[0] += f": {quantity(point.value, series.unit)}{_against(series, point)}"
    if point.least is not None and point.most is not None:
        least, most = (quantity(one, series.unit) for one in (point.least, point.most))
        parts.append(f"pairs from {least} to {most}")
    if point.pairs:
        parts.append(several(point.pairs, "pair"))
    if point.commit:
        parts.append(f"commit {short_commit(point.commit)}")
    state = state_of(point.outcome) if point.outcome else fared.state if fared else None
    if state is not None and (state is not State.OK or point.outcome):
        reason = point.reason or (fared.reason if fared and state is not State.OK else "")
        parts.append(f"{state}: {reason}" if reason else str(state))
    return "; ".join(parts)


def _against(series: Series, point: Point) -> str:
    if point.change is None:
        return ""
    return f", {series.shown.whole(point.change, point.low, point.high)} from the reference"


def marks_of(series: Series, drawing: Drawing, pick: Pick) -> Iterator[Mark]:
    """Yield the marks of a series' nights; of older ones only those that stand out."""
    fared = {one.night.id: one for one in drawing.course.fared if one.night is not None}
    recent = len(series.points) - RECENT
    for place, one in enumerate(series.points):
        value = pick(one)
        state = None if one.outcome is None else state_of(one.outcome)
        if value is None or (place < recent and state in {None, State.OK}):
            continue
        night = fared.get(one.night)
        href = drawing.href(night) if night else ""
        yield Mark(days_of(one.at), value, state, point_words(series, one, night), href)


def lane_of(series: Series, drawing: Drawing) -> list[Mark]:
    """Return the marks of nights that are not seen above, or not as what they are."""
    seen = {days_of(point.at) for point in series.points if point.value is not None}
    quiet = {State.OK, State.REGRESSION}
    found: list[Mark] = []
    for fared in drawing.course.fared:
        at = days_of(fared.at)
        if fared.state in quiet and at in seen:
            continue
        words = f"{day(fared.at)}: {fared.state}" + (f": {fared.reason}" if fared.reason else "")
        found.append(Mark(at, 0.5, fared.state, words, drawing.href(fared)))
    return found


_LEAST_SPAN = 0.04  # of the median: noise is not drawn as if it were much
_LAST_NIGHT = 0.6  # of a day: how far what is expected goes beyond the last night


def picture_of(series: Series, steps: Sequence[Step], drawing: Drawing) -> Picture:
    """Return the picture of a series: large where it decides, else compact."""
    compared = series.gated and any(point.change is not None for point in series.points)
    panels: tuple[Panel, ...] = (_values(series, steps, drawing, labelled=not compared),)
    if compared:
        panels = (_changes(series, steps, drawing), *panels)
    return Picture(
        title=f"{series.capture}: {heading(series.metric)}",
        summary=summary_of(series, steps),
        size=WIDE if compared else FLAT if series.gated else COMPACT,
        x=drawing.x,
        panels=panels,
        tags=drawing.tags,
        lane=(nights(lane_of(series, drawing)),),
    )


def _changes(series: Series, steps: Sequence[Step], drawing: Drawing) -> Panel:
    limits = list(_limits(series, drawing.course))
    known = [point for point in series.points if point.change is not None]
    reach = [one.change for one in known if one.change is not None]
    reach += [edge for _, _, low, high, _ in limits for edge in (low, high)]
    reach += [edge for one in known for edge in (one.low, one.high) if edge is not None]
    title = "Change from the reference, with its 95 % interval"
    allowed = series.shown.amount(series.threshold)
    limit = f"Beyond this line a change for the worse matters: {allowed} from what is expected"
    if limits:
        title += f"; shaded: what is expected ± {allowed}; dashed: the limit"
    return Panel(
        title,
        linear("", min(reach), max(reach), series.shown.change),
        (
            lines(
                [((b, low), (b, high), (e, high), (e, low)) for b, e, low, high, _ in limits],
                "band",
                end="Z",
            ),
            levels([(b, e, edge) for b, e, *_, edge in limits], "limit", limit),
            levels([(drawing.x.low, drawing.x.high, 0.0)] * (min(reach) <= 0), "zero"),
            *_lines(series, steps, drawing.course, lambda one: one.change),
            _spreads(series, lambda one: (one.low, one.high)),
            dated(list(_dated(series, steps))),
            nights(list(marks_of(series, drawing, lambda one: one.change))),
        ),
    )


def _values(series: Series, steps: Sequence[Step], drawing: Drawing, *, labelled: bool) -> Panel:
    reach = [point.value for point in series.points if point.value is not None]
    against = [one.reference for one in series.points if one.reference is not None]
    if not reach:
        return Panel("No night has a value", linear("", 0, 1, lambda _: ""), ())
    title = "Median of the pairs, with the least and the most" if series.gated else ""
    title += "; dashed: the reference" * bool(against and series.gated)
    return Panel(
        title,
        _upward(series, [*reach, *against]),
        (
            _spreads(series, lambda one: (one.least, one.most)),
            lines(_runs(series, drawing.course, lambda one: one.reference), "reference"),
            *_lines(series, steps, drawing.course, lambda one: one.value),
            *((dated(list(_dated(series, steps))),) * labelled),
            nights(list(marks_of(series, drawing, lambda one: one.value)), 2.6),
        ),
    )


def _upward(series: Series, reach: Sequence[float]) -> Axis:
    """Return the axis of values: of all medians, and of spreads no wider than these."""
    low, high = min(reach), max(reach)
    middle = median(reach)
    share = series.unit == "ratio"
    room = max(high - low, abs(middle) * _LEAST_SPAN) or (0.02 if share else 2.0)
    spread = [
        edge for point in series.points for edge in (point.least, point.most) if edge is not None
    ]
    least = 0.0 if low >= 0 else low - room
    most = 1.0 if share and 0 <= low <= high <= 1 else math.inf
    low, high = min(low, middle - room / 2), max(high, middle + room / 2)
    low = max(least, low - room / 2, min([low, *spread]))
    high = min(high + room / 2, max([high, *spread]), most)
    make = binary if series.unit == "bytes" and low >= 0 else linear
    return make("", low, high, lambda value: quantity(value, series.unit))


def _limits(series: Series, course: Course) -> Iterator[tuple[float, float, float, float, float]]:
    """Yield where changes are as expected: from day, to day, lower, upper, and the worse one.

    Nights in a row of which the same is expected are one stretch.
    """
    begins = [days_of(fared.at) for fared in course.fared]
    ends = [*begins[1:], begins[-1] + _LAST_NIGHT]
    edges = [_edges(one.judged(series.metric)) for one in course.fared]
    held = groupby(zip(edges, begins, ends, strict=True), key=lambda one: one[0])
    for edge, group in held:
        stretch = list(group)
        if edge is not None:
            yield stretch[0][1], stretch[-1][2], *edge


def _edges(judged: Judged | None) -> tuple[float, float, float] | None:
    """Return what is expected of a night: lower, upper, and the one that is the limit."""
    if judged is None or judged.expected is None:
        return None
    least = judged.threshold
    if judged.scale == "ratio":
        factor = 1 + judged.expected
        low, high = factor / (1 + least) - 1, factor * (1 + least) - 1
    else:
        low, high = judged.expected - least, judged.expected + least
    return low, high, low if judged.better == "higher" else high


def _lines(series: Series, steps: Sequence[Step], course: Course, pick: Pick) -> Iterator[Shape]:
    """Yield the line through the medians, and the levels between the change points."""
    yield lines(_runs(series, course, pick), "median")
    cuts = [0, *(step.index for step in steps), len(series.points)]
    found: list[tuple[float, float, float]] = []
    for begin, end in pairwise(cuts if steps else ()):
        held = series.points[begin:end]
        values = [value for value in map(pick, held) if value is not None]
        if values:
            found.append((days_of(held[0].at), days_of(held[-1].at), median(values)))
    yield levels(found, "level")


def _runs(series: Series, course: Course, pick: Pick) -> list[list[tuple[float, float]]]:
    """Return the points between gaps: a night without a value is a gap, and no line crosses it."""
    places = {days_of(fared.at): None for fared in course.fared}
    places |= {days_of(point.at): pick(point) for point in series.points}
    runs: list[list[tuple[float, float]]] = [[]]
    for at in sorted(places):
        value = places[at]
        if value is None:
            runs.append([])
        else:
            runs[-1].append((at, value))
    return runs


def _spreads(series: Series, ends: Callable[[Point], tuple[float | None, float | None]]) -> Shape:
    strokes = [
        ((days_of(point.at), low), (days_of(point.at), high))
        for point in series.points
        for low, high in (ends(point),)
        if low is not None and high is not None
    ]
    return lines(strokes, "spread")


def _dated(series: Series, steps: Sequence[Step]) -> Iterator[tuple[float, str, str]]:
    for step in steps:
        at = series.points[step.index].at
        moment = moment_of(at)
        words = f"{moment.day} {moment:%b}: {series.shown.change(step.change)}"
        yield days_of(at), words, WAYS[direction(step.change, series.better)]
