"""What is asked of a history: nights, series, values, by what they are of."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Column, ColumnElement, Connection, RowMapping, select

from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.history.store.rows import moment
from tracekit.nightly.history.store.schema import (
    ENTRIES,
    ENVIRONMENTS,
    JUDGEMENTS,
    NIGHTS,
    PAIRS,
    SAMPLES,
)


class Key(NamedTuple):
    """What names a series."""

    machine: str
    plan: str
    capture: str
    work: str
    metric: str


@dataclass(frozen=True)
class Ended:
    """A night as series need it: how it ended, and which work its captures did.

    Attributes:
        number: Its number in the database.
        row: Its row.
        environment: Facts of the machine.
        entries: How each capture ended, by its name: work, outcome and reason.
    """

    number: int
    row: RowMapping
    environment: dict[str, Any]
    entries: dict[str, tuple[str, str | None, str]] = field(
        default_factory=dict[str, tuple[str, str | None, str]]
    )


def series_of(nights: Sequence[Ended], judged: Iterable[RowMapping]) -> list[Series]:
    """Return the series of nights, oldest first, and of what was judged in them.

    A night that has no value of a series because it failed, or because the capture did, is a
    point without one that says why.
    """
    found: dict[Key, dict[int, RowMapping]] = {}
    by_number = {night.number: night for night in nights}
    for row in judged:
        night = by_number[row["night"]].row
        key = Key(night["machine"], night["plan"], row["capture"], row["work"], row["metric"])
        found.setdefault(key, {})[row["night"]] = row
    current = _current_work(nights)
    return [_series(key, rows, nights, current) for key, rows in found.items()]


def _series(
    key: Key,
    rows: dict[int, RowMapping],
    nights: Sequence[Ended],
    current: dict[tuple[int, str], str],
) -> Series:
    points: list[Point] = []
    last: RowMapping | None = None
    for night in nights:
        if (night.row["machine"], night.row["plan"]) != (key.machine, key.plan):
            continue
        row = rows.get(night.number)
        if row is not None:
            points.append(_point(night, row))
            last = row
        elif current.get((night.number, key.capture)) == key.work:
            points += _silent(night, key.capture)
    assert last is not None, "a series is made of what was judged"
    return Series(
        *key,
        **{name: last[name] for name in ("unit", "better", "scale", "threshold", "gated")},
        points=tuple(points),
    )


def _point(night: Ended, row: RowMapping) -> Point:
    return Point(
        value=row["candidate"],
        reference=row["reference"],
        change=row["measured"],
        low=row["measured_low"],
        high=row["measured_high"],
        least=row["least"],
        most=row["most"],
        pairs=row["pairs"],
        outcome=Outcome(row["outcome"]) if row["outcome"] else None,
        reason=row["reason"],
        **_place(night),
    )


def _silent(night: Ended, capture: str) -> list[Point]:
    """Return a point without a value where a night or its capture failed; else nothing."""
    _, outcome, reason = night.entries.get(capture, ("", night.row["outcome"], ""))
    failed = outcome in {None, Outcome.FAILED} or (
        capture not in night.entries and night.row["partial"]
    )
    if not failed:
        return []
    return [Point(value=None, reason=reason or night.row["reason"], **_place(night))]


def _place(night: Ended) -> dict[str, Any]:
    row = night.row
    return {
        "night": row["id"],
        "at": row["started"],
        "night_outcome": Outcome(row["outcome"]) if row["outcome"] else None,
        "commit": row["git_commit"],
        "environment": night.environment,
        "folder": row["folder"],
    }


def _current_work(nights: Sequence[Ended]) -> dict[tuple[int, str], str]:
    """Return which work a capture does in each night; where it is missing, what it did last."""
    last: dict[tuple[str, str, str], str] = {}
    current: dict[tuple[int, str], str] = {}
    for night in nights:
        owner = (night.row["machine"], night.row["plan"])
        for capture, (work, *_) in night.entries.items():
            last[*owner, capture] = work
        for (machine, plan, capture), work in last.items():
            if (machine, plan) == owner:
                current[night.number, capture] = work
    return current


Time = str | datetime


@dataclass(frozen=True)
class Value:
    """One value of one turn, as it was measured, with what it is of.

    Attributes:
        night: The night's id.
        at: When the night began.
        machine: What the history calls the machine.
        plan: The plan's name.
        capture: The capture's name.
        work: The digest of its work.
        metric: The metric.
        side: candidate or reference.
        sitting: The sitting, from 1.
        pair: The pair's place in the sitting.
        traced: Whether the pair was traced.
        turn: The turn of this side in the pair, from 0.
        value: The value, in the metric's unit.
        counted: Whether the pair counts.
        reason: Why it does not; empty where it does.
    """

    night: str
    at: str
    machine: str
    plan: str
    capture: str
    work: str
    metric: str
    side: str
    sitting: int
    pair: int
    traced: bool
    turn: int
    value: float
    counted: bool
    reason: str


@dataclass(frozen=True)
class Wanted:
    """Which nights, captures and metrics are asked for; None is all of them.

    `since` is in, `until` is not.
    """

    plan: str | None = None
    machine: str | None = None
    capture: str | None = None
    metric: str | None = None
    since: Time | None = None
    until: Time | None = None
    outcome: Outcome | None = None


def _nights(wanted: Wanted) -> list[ColumnElement[bool]]:
    """Return the conditions on nights."""
    found: list[ColumnElement[bool]] = []
    if wanted.plan is not None:
        found.append(NIGHTS.c.plan == wanted.plan)
    if wanted.machine is not None:
        found.append(NIGHTS.c.machine == wanted.machine)
    if wanted.outcome is not None:
        found.append(NIGHTS.c.outcome == wanted.outcome)
    if wanted.since is not None:
        found.append(NIGHTS.c.started >= moment(wanted.since))
    if wanted.until is not None:
        found.append(NIGHTS.c.started < moment(wanted.until))
    return found


def _all(wanted: Wanted, metric: Column[Any]) -> list[ColumnElement[bool]]:
    """Return the conditions on nights, captures and metrics."""
    found = _nights(wanted)
    if wanted.capture is not None:
        found.append(ENTRIES.c.capture == wanted.capture)
    if wanted.metric is not None:
        found.append(metric == wanted.metric)
    return found


def documents(connection: Connection, wanted: Wanted, limit: int | None) -> list[tuple[str, str]]:
    """Return ids and documents of the last nights that are wanted, oldest first."""
    query = select(NIGHTS.c.id, NIGHTS.c.document).where(*_nights(wanted))
    query = query.order_by(NIGHTS.c.started.desc(), NIGHTS.c.number.desc()).limit(limit)
    return [(row.id, row.document) for row in connection.execute(query)][::-1]


def ended_nights(connection: Connection, wanted: Wanted) -> list[Ended]:
    """Return the nights that are wanted without what they measured, oldest first."""
    columns = [one for one in NIGHTS.c if one.name != "document"]
    query = select(*columns).where(*_nights(wanted))
    query = query.order_by(NIGHTS.c.started, NIGHTS.c.number)
    rows = connection.execute(query).mappings().all()
    known = select(ENVIRONMENTS.c.digest, ENVIRONMENTS.c.document)
    facts = {row.digest: msgspec.json.decode(row.document) for row in connection.execute(known)}
    nights = {row["number"]: Ended(row["number"], row, facts[row["environment"]]) for row in rows}
    entries = select(ENTRIES).join(NIGHTS).where(*_nights(wanted))
    for entry in connection.execute(entries):
        found = (entry.work, entry.outcome, entry.reason)
        nights[entry.night].entries[entry.capture] = found
    return list(nights.values())


def judgements(connection: Connection, wanted: Wanted) -> Sequence[Any]:
    """Return what was judged in the nights that are wanted, oldest first, in the plan's order."""
    query = select(JUDGEMENTS, ENTRIES.c.capture, ENTRIES.c.work)
    query = query.select_from(JUDGEMENTS.join(ENTRIES).join(NIGHTS))
    query = query.where(*_all(wanted, JUDGEMENTS.c.metric))
    order = (NIGHTS.c.started, NIGHTS.c.number, JUDGEMENTS.c.entry, JUDGEMENTS.c.position)
    return connection.execute(query.order_by(*order)).mappings().all()


def values(connection: Connection, wanted: Wanted) -> Iterator[Value]:
    """Yield every value that is wanted, oldest night first, in the order of measuring."""
    query = select(
        NIGHTS.c.id.label("night"),
        NIGHTS.c.started.label("at"),
        *(NIGHTS.c.machine, NIGHTS.c.plan, ENTRIES.c.capture, ENTRIES.c.work),
        *(SAMPLES.c.metric, SAMPLES.c.side, PAIRS.c.sitting, PAIRS.c.number.label("pair")),
        *(PAIRS.c.traced, SAMPLES.c.turn, SAMPLES.c.value, PAIRS.c.counted, PAIRS.c.reason),
    )
    query = query.select_from(SAMPLES.join(PAIRS).join(ENTRIES).join(NIGHTS))
    query = query.where(*_all(wanted, SAMPLES.c.metric))
    query = query.order_by(
        *(NIGHTS.c.started, NIGHTS.c.number, SAMPLES.c.entry, SAMPLES.c.pair),
        *(SAMPLES.c.metric, SAMPLES.c.side, SAMPLES.c.turn),
    )
    names = [one.name for one in fields(Value)]
    with connection.execute(query, execution_options={"yield_per": 1000}) as rows:
        for row in rows.mappings():
            yield Value(**{name: row[name] for name in names})
