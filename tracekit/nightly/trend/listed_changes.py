"""The changes that the trend page lists: steps and drifts of series, joined to one row each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tracekit.base import units
from tracekit.nightly.history.steps import Series
from tracekit.nightly.history.trend_changes import Changes, LevelStep, Ramp
from tracekit.nightly.trend.course import WAYS, Course, day, days, describe_changes, direction
from tracekit.nightly.trend.curve import rate_words
from tracekit.pages import text


@dataclass(frozen=True)
class ListedChange:
    """A step or a drift of a series: its night, its size, and other changes of that night.

    `number` is the number of its night, or of a drift's first night. A step may belong to any
    night from `earliest` to `latest`; a drift spans them. `until` is the start of a drift's last
    night, and empty for a step. `with_it` names other changes of that night; it is empty for a
    drift, which has no single night. `also` describes other metrics of the capture that changed
    at the same time: one regression is one row.
    """

    time: str
    course: Course
    series: Series
    change: str
    tone: str
    levels: str
    number: int
    earliest: int
    latest: int
    with_it: str = ""
    until: str = ""
    also: tuple[str, ...] = ()

    @property
    def nights(self) -> str:
        """The number of its night, or those of a drift's first and last."""
        if self.until:
            return f"{self.earliest} to {self.latest}"
        return str(self.number)

    @property
    def days(self) -> str:
        """The day of its night, or those of a drift."""
        if self.until:
            return days(self.time, self.until)
        return day(self.time)

    @property
    def doubt(self) -> str:
        """The numbers of the nights that a step may belong to; empty if only one is possible."""
        if self.until or self.earliest == self.latest:
            return ""
        return f"{self.earliest} to {self.latest}"

    def is_with(self, other_change: "ListedChange") -> bool:
        """Whether both may be one: the same capture, tone and kind, in overlapping nights."""
        if self.course is not other_change.course or self.tone != other_change.tone:
            return False
        if bool(self.until) != bool(other_change.until):
            return False
        return self.latest >= other_change.earliest and other_change.latest >= self.earliest


def list_changes(course: Course, series: Series, trend: Changes) -> list[ListedChange]:
    """Return the steps of a series, and then its drifts, each oldest first."""
    other_changes: Mapping[str, str] = {}
    if trend.steps:
        other_changes = describe_changes(course, commits=True)
    rows = [_row_of_step(course, series, step, other_changes) for step in trend.steps]
    rows += [_row_of_drift(course, series, ramp) for ramp in trend.ramps]
    return rows


def join_changes(rows: Sequence[ListedChange]) -> list[ListedChange]:
    """Join the rows of one capture that came together, under the first metric's row."""
    joined: list[ListedChange] = []
    for row in rows:
        for place, joined_row in enumerate(joined):
            if joined_row.is_with(row):
                words = f"{text.heading(row.series.metric)} {row.change}"
                also = (*joined_row.also, words)
                joined[place] = replace(joined_row, also=also)
                break
        else:
            joined.append(row)
    return joined


def _row_of_step(
    course: Course, series: Series, step: LevelStep, other_changes: Mapping[str, str]
) -> ListedChange:
    time = series.points[step.index].at
    way = direction(step.change, series.better)
    change = _toward(series.formatter.change(step.change), way)
    earliest_time = series.points[step.earliest].at
    latest_time = series.points[step.latest].at
    levels = _levels(series, step)
    with_it = other_changes.get(time, "")
    return ListedChange(
        time=time,
        course=course,
        series=series,
        change=change,
        tone=WAYS[way],
        levels=levels,
        number=course.number(time),
        earliest=course.number(earliest_time),
        latest=course.number(latest_time),
        with_it=with_it,
    )


def _row_of_drift(course: Course, series: Series, ramp: Ramp) -> ListedChange:
    first_time = series.points[ramp.first_night].at
    last_time = series.points[ramp.last_night].at
    first_number = course.number(first_time)
    way = direction(ramp.change, series.better)
    change = _toward(rate_words(series, ramp), way)
    levels = _levels(series, ramp)
    latest = course.number(last_time)
    return ListedChange(
        time=first_time,
        course=course,
        series=series,
        change=change,
        tone=WAYS[way],
        levels=levels,
        number=first_number,
        earliest=first_number,
        latest=latest,
        until=last_time,
    )


def _toward(change: str, way: str) -> str:
    if way == "changed":
        return change
    return f"{change}, {way}"


def _levels(series: Series, change: LevelStep | Ramp) -> str:
    if change.basis == "change":
        change_before = series.formatter.change(change.level_before)
        change_after = series.formatter.change(change.level_after)
        return f"{change_before} → {change_after} from the reference"
    value_before = units.quantity(change.level_before, series.unit)
    value_after = units.quantity(change.level_after, series.unit)
    return f"{value_before} → {value_after}"
