"""Nights in a line each: how they ended, and the one change that says most of it."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tracekit.history.accepted import Accepted
from tracekit.history.gate.shift import middle
from tracekit.history.gate.words import Shown
from tracekit.history.night import Judged, Night, Outcome
from tracekit.history.series import Series
from tracekit.history.spread import Interval
from tracekit.history.store import Missed
from tracekit.units import quantity, stamp

_DIGITS = 9  # of a commit or a digest
_SAYS_MOST = (Outcome.REGRESSION, Outcome.FAILED, Outcome.INCONCLUSIVE, Outcome.OK)


@dataclass(frozen=True)
class Line:
    """A night in short.

    Attributes:
        id: The night's id.
        plan: The plan's name.
        machine: What the history calls the machine.
        started: When it began, ISO 8601 in UTC.
        outcome: How it ended; None where it has not.
        reason: Why.
        commit: The git commit of the folder that holds the plan.
        partial: Whether captures are missing.
        capture: The capture whose metric says most of the night; empty where none was judged.
        metric: That metric.
        change: Its change, beyond what was expected, on its own scale.
        low: Lower end of the change's 95 % interval.
        high: Its upper end.
        words: The change in words.
    """

    id: str
    plan: str
    machine: str
    started: str
    outcome: Outcome | None
    reason: str
    commit: str
    partial: bool
    capture: str = ""
    metric: str = ""
    change: float | None = None
    low: float | None = None
    high: float | None = None
    words: str = ""


@dataclass(frozen=True)
class Held:
    """What was accepted on a machine, and whether it holds still."""

    machine: str
    holds: bool
    accepted: Accepted


def line(night: Night) -> Line:
    """Return a night in short."""
    of_night = (
        *(night.id, night.plan, night.machine, night.started, night.outcome, night.reason),
        *(night.commit, night.partial),
    )
    found = max(_deciding(night), key=_says, default=None)
    if found is None:
        return Line(*of_night)
    capture, judged = found
    words = f"{capture} {judged.metric} {change_words(judged)}"
    of_metric = (capture, judged.metric, judged.change, judged.low, judged.high)
    return Line(*of_night, *of_metric, words)


def change_words(judged: Judged) -> str:
    """Return a metric's change with its interval, in words; empty where there is none."""
    if judged.change is None:
        return ""
    interval = None
    if judged.low is not None and judged.high is not None:
        interval = Interval(judged.change, judged.low, judged.high)
    return Shown(judged.scale, judged.unit).whole(judged.change, interval)


def _deciding(night: Night) -> Iterator[tuple[str, Judged]]:
    for entry in night.entries:
        for judged in entry.judged:
            if judged.gated and judged.outcome is not None and judged.change is not None:
                yield entry.capture, judged


def _says(found: tuple[str, Judged]) -> tuple[int, float]:
    """Return how much a metric says: first by how it ended, then by how far it got worse."""
    judged = found[1]
    assert judged.outcome is not None
    assert judged.change is not None
    sign = {"lower": 1, "higher": -1, "neither": 0}[judged.better]
    worse = sign * judged.change if sign else abs(judged.change)
    return -_SAYS_MOST.index(judged.outcome), worse / (judged.threshold or 1)


def missed_among(
    missed: Iterable[Missed],
    lines: Sequence[Line],
    limit: int,
    *,
    plan: str | None,
    machine: str | None,
    since: datetime | None,
    until: datetime | None,
) -> list[Missed]:
    """Return the missed nights that belong beside nights of these conditions.

    Where the limit cut nights off, those that were missed before them are cut off, too.
    """
    first = lines[0].started if len(lines) == limit else ""
    begin = max(since.astimezone(UTC).isoformat() if since else "", first)
    return [
        one
        for one in missed
        if plan in {None, one.plan}
        and machine in {None, one.machine}
        and one.due >= begin
        and (until is None or one.due < until.astimezone(UTC).isoformat())
    ]


def table_of(
    lines: Sequence[Line], missed: Sequence[Missed], pinned: Collection[str]
) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Return columns and rows of nights, those that were missed among them, oldest first."""
    machines = {one.machine for one in (*lines, *missed)}
    rows: list[tuple[str, Sequence[str]]] = []
    for one in lines:
        lead = (stamp(one.started), one.id + (" (pinned)" if one.id in pinned else ""))
        ended = f"{one.outcome or 'not ended'}{' (partial)' if one.partial else ''}"
        rows.append((one.started, (*lead, one.plan, one.machine, ended, *_told(one))))
    rows += [
        (one.due, (stamp(one.due), "", one.plan, one.machine, "missed", "", one.reason, ""))
        for one in missed
    ]
    columns = ("began", "night", "plan", "machine", "outcome", "change", "reason", "commit")
    found = [row for _, row in sorted(rows, key=lambda row: row[0])]
    if len(machines) > 1:
        return columns, found
    return (*columns[:3], *columns[4:]), [(*row[:3], *row[4:]) for row in found]


def series_table(series: Series) -> tuple[str, Sequence[str], list[Sequence[str]]]:
    """Return title, columns and rows of a metric over nights."""
    shown = Shown(series.scale, series.unit)
    title = f"{series.capture} {series.metric}, {series.better} is better"
    title += f": {series.plan} on {series.machine}, work {series.work[:_DIGITS]}"
    columns = ("began", "value", "reference", "change", "pairs", "outcome", "commit", "reason")
    rows: list[Sequence[str]] = []
    for one in series.points:
        change = ""
        if one.change is not None:
            known = one.low is not None and one.high is not None
            interval = Interval(one.change, one.low or 0, one.high or 0) if known else None
            change = shown.whole(one.change, interval)
        values = [_value(number, series.unit) for number in (one.value, one.reference)]
        ended = str(one.outcome or one.night_outcome or "")
        commit = one.commit[:_DIGITS]
        rows.append((stamp(one.at), *values, change, str(one.pairs), ended, commit, one.reason))
    return title, columns, rows


def held_on(machine: str, accepted: Sequence[Accepted]) -> list[Held]:
    """Return what was accepted on a machine, oldest first; the last of a work holds."""
    last = {(one.capture, one.work): number for number, one in enumerate(accepted)}
    return [
        Held(machine, last[one.capture, one.work] == number, one)
        for number, one in enumerate(accepted)
    ]


def expected_words(night: Night, accepted: Accepted, metric: str) -> str:
    """Return the change that is expected of a metric since a night was accepted, in words."""
    entry = next(one for one in night.entries if one.capture == accepted.capture)
    judged = next(one for one in entry.judged if one.metric == metric)
    change = middle(accepted.changes[metric])
    plain = math.expm1(change) if judged.scale == "ratio" else change
    return f"{Shown(judged.scale, judged.unit).change(plain)} against the reference"


def _told(line: Line) -> tuple[str, str, str]:
    return line.words, line.reason, line.commit[:_DIGITS]


def _value(value: float | None, unit: str) -> str:
    return "" if value is None else quantity(value, unit)
