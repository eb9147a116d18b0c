"""What single nights say of a series: their words, their marks, and where these lead."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tracekit.base.units import quantity, short_commit
from tracekit.nightly.history.series import Point, Series
from tracekit.nightly.history.steps import Step
from tracekit.nightly.trend.course import Course, Fared
from tracekit.nightly.trend.picture import Tag
from tracekit.nightly.trend.shapes import Mark
from tracekit.nightly.trend.words import (
    State,
    bounds,
    day,
    days_of,
    direction,
    moment_of,
    several,
    shift,
    state_of,
)
from tracekit.report.chart import Axis

Href = Callable[[Fared], str]
Pick = Callable[[Point], float | None]

RECENT = 120  # nights that have marks of their own; of older ones only those that stand out


@dataclass(frozen=True)
class Drawing:
    """All that a course's pictures share: the axis of days, the tags, and where reports are."""

    course: Course
    x: Axis
    tags: tuple[Tag, ...]
    href: Href


def summary_of(series: Series, steps: Sequence[Step]) -> str:
    """Return what can be seen of a series, in a sentence or two."""
    known = [one for one in series.points if one.value is not None]
    if not known:
        return f"{several(len(series.points), 'night')}, none with a value."
    values = [one.value for one in known if one.value is not None]
    last = known[-1]
    told = (
        f"{several(len(series.points), 'night')}, {len(known)} with a value, "
        f"{_range(min(values), max(values), series.unit)}; "
        f"the last, of {day(last.at)}, {quantity(last.value, series.unit)}{_against(series, last)}."
    )
    changed = (f"Changed on {words}." for words in (step_words(series, one) for one in steps))
    return " ".join((told, *changed))


def _range(least: float, most: float, unit: str) -> str:
    low, high = quantity(least, unit), quantity(most, unit)
    return f"always {low}" if low == high else f"from {low} to {high}"


def step_words(series: Series, step: Step) -> str:
    """Return a change point in words: "14 Oct 2026, +4.1 %, worse"."""
    way = direction(step.change, series.better)
    words = f"{day(series.points[step.index].at)}, {shift(step.change, series.scale, series.unit)}"
    return words if way == "changed" else f"{words}, {way}"


def doubt_of(series: Series, step: Step) -> str:
    """Return between which nights a change point may lie; empty where it is one night alone."""
    if step.earliest >= step.latest:
        return ""
    first, last = (day(series.points[one].at) for one in (step.earliest, step.latest))
    return f"{first} to {last}"


def point_words(series: Series, point: Point, fared: Fared | None) -> str:
    """Return what one night says of a series."""
    told = [f"{moment_of(point.at):%d %b %Y %H:%M} UTC"]
    if point.value is not None:
        told[0] += f": {quantity(point.value, series.unit)}{_against(series, point)}"
    if point.least is not None and point.most is not None:
        least, most = (quantity(one, series.unit) for one in (point.least, point.most))
        told.append(f"pairs from {least} to {most}")
    if point.pairs:
        told.append(several(point.pairs, "pair"))
    if point.commit:
        told.append(f"commit {short_commit(point.commit)}")
    state = state_of(point.outcome) if point.outcome else fared.state if fared else None
    if state is not None and (state is not State.OK or point.outcome):
        reason = point.reason or (fared.reason if fared and state is not State.OK else "")
        told.append(f"{state}: {reason}" if reason else str(state))
    return "; ".join(told)


def _against(series: Series, point: Point) -> str:
    if point.change is None:
        return ""
    interval = bounds(point.low, point.high, series.scale, series.unit)
    words = f", {shift(point.change, series.scale, series.unit)} from the reference"
    return f"{words} ({interval})" if interval else words


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
    seen = {days_of(one.at) for one in series.points if one.value is not None}
    quiet = {State.OK, State.REGRESSION}
    found: list[Mark] = []
    for one in drawing.course.fared:
        at = days_of(one.at)
        if one.state in quiet and at in seen:
            continue
        words = f"{day(one.at)}: {one.state}" + (f": {one.reason}" if one.reason else "")
        found.append(Mark(at, 0.5, one.state, words, drawing.href(one)))
    return found
