"""What is asked of a history: nights, series, values, by what they are of."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Column, ColumnElement, Connection, select

from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.store.points import Ended
from tracekit.nightly.history.store.rows import moment
from tracekit.nightly.history.store.schema import (
    ENTRIES,
    ENVIRONMENTS,
    JUDGEMENTS,
    NIGHTS,
    PAIRS,
    SAMPLES,
)

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
