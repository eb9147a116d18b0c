"""What is asked of a history: nights, series, values, by what they are of."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, TypedDict

import msgspec
from sqlalchemy import ColumnElement, Connection, RowMapping, select

from tracekit.base import InputError
from tracekit.nightly.history.night import Described, Entry, Outcome, Pair
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.history.store.documents import decoded, moment
from tracekit.nightly.history.store.schema import JUDGEMENTS, NIGHTS


class Key(NamedTuple):
    """What names a series."""

    machine: str
    plan: str
    capture: str
    work: str
    metric: str


@dataclass(frozen=True)
class EndedCapture:
    """How a capture ended, as its night's document has it."""

    capture: str
    work: str
    reference: Described | None = None
    outcome: Outcome | None = None
    reason: str = ""


@dataclass(frozen=True)
class EndedNight:
    """What series need of a night's document: how it ended, where and on what."""

    environment: dict[str, Any] = field(default_factory=dict[str, Any])
    commit: str = ""
    entries: tuple[EndedCapture, ...] = ()
    outcome: Outcome | None = None
    reason: str = ""
    partial: bool = False
    folder: str = ""


@dataclass(frozen=True)
class NightRow:
    """A night as series need it: what it is looked up by, and how it ended."""

    number: int
    id: str
    plan: str
    machine: str
    started: str
    ended: EndedNight


def series_of(nights: Sequence[NightRow], judged: Iterable[RowMapping]) -> list[Series]:
    """Return the series of nights, oldest first, and of what was judged in them.

    A night that has no value of a series because it failed, or because the capture did, is a
    point without one that says why.
    """
    found: dict[Key, dict[int, RowMapping]] = {}
    by_number = {night.number: night for night in nights}
    for row in judged:
        night = by_number[row["night"]]
        key = Key(night.machine, night.plan, row["capture"], row["work"], row["metric"])
        found.setdefault(key, {})[row["night"]] = row
    current = _current_work(nights)
    return [_series(key, rows, nights, current) for key, rows in found.items()]


def _series(
    key: Key,
    rows: dict[int, RowMapping],
    nights: Sequence[NightRow],
    current: dict[tuple[int, str], str],
) -> Series:
    points: list[Point] = []
    last: RowMapping | None = None
    for night in nights:
        if (night.machine, night.plan) != (key.machine, key.plan):
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


def _point(night: NightRow, row: RowMapping) -> Point:
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
        reference_commit=_reference_commit(night, row["capture"]),
        **_place(night),
    )


def _reference_commit(night: NightRow, capture: str) -> str:
    entries = (entry for entry in night.ended.entries if entry.capture == capture)
    return next((entry.reference.commit for entry in entries if entry.reference), "")


def _silent(night: NightRow, capture: str) -> list[Point]:
    """Return a point without a value where a night or its capture failed; else nothing."""
    whole = night.ended
    entry = next((entry for entry in whole.entries if entry.capture == capture), None)
    outcome = entry.outcome if entry else whole.outcome
    failed = outcome in {None, Outcome.FAILED} or (entry is None and whole.partial)
    if not failed:
        return []
    reason = entry.reason if entry else ""
    return [Point(value=None, reason=reason or whole.reason, **_place(night))]


def _place(night: NightRow) -> dict[str, Any]:
    return {
        "night": night.id,
        "at": night.started,
        "night_outcome": night.ended.outcome,
        "commit": night.ended.commit,
        "environment": night.ended.environment,
        "folder": night.ended.folder,
    }


def _current_work(nights: Sequence[NightRow]) -> dict[tuple[int, str], str]:
    """Return which work a capture does in each night; where it is missing, what it did last."""
    last: dict[tuple[str, str, str], str] = {}
    current: dict[tuple[int, str], str] = {}
    for night in nights:
        owner = (night.machine, night.plan)
        for entry in night.ended.entries:
            last[*owner, entry.capture] = entry.work
        for (machine, plan, capture), work in last.items():
            if (machine, plan) == owner:
                current[night.number, capture] = work
    return current


Time = str | datetime
_AT_ONCE = 50  # nights whose documents are in memory


@dataclass(frozen=True)
class TurnValue:
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
        pair: The pair's place in the session.
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


class WantedNights(TypedDict, total=False):
    """Which nights are asked for; None is all of them. `since` is in, `until` is not."""

    plan: str | None
    machine: str | None
    since: Time | None
    until: Time | None
    outcome: Outcome | None


class Wanted(WantedNights, total=False):
    """Which captures and metrics of nights are asked for; None is all of them."""

    capture: str | None
    metric: str | None


def _nights(wanted: WantedNights) -> list[ColumnElement[bool]]:
    """Return the conditions on nights."""
    equal = {
        NIGHTS.c.plan: wanted.get("plan"),
        NIGHTS.c.machine: wanted.get("machine"),
        NIGHTS.c.outcome: wanted.get("outcome"),
    }
    found = [column == value for column, value in equal.items() if value is not None]
    if (since := wanted.get("since")) is not None:
        found.append(NIGHTS.c.started >= moment(since))
    if (until := wanted.get("until")) is not None:
        found.append(NIGHTS.c.started < moment(until))
    return found


def documents(
    connection: Connection, wanted: WantedNights, limit: int | None
) -> list[tuple[str, str]]:
    """Return ids and documents of the last nights that are wanted, oldest first."""
    query = select(NIGHTS.c.id, NIGHTS.c.document).where(*_nights(wanted))
    query = query.order_by(NIGHTS.c.started.desc(), NIGHTS.c.number.desc()).limit(limit)
    return [(row.id, row.document) for row in connection.execute(query)][::-1]


def ended_nights(connection: Connection, wanted: Wanted) -> list[NightRow]:
    """Return the nights that are wanted without what they measured, oldest first."""
    query = select(NIGHTS).where(*_nights(wanted)).order_by(NIGHTS.c.started, NIGHTS.c.number)
    with connection.execute(query, execution_options={"yield_per": _AT_ONCE}) as rows:
        return [
            NightRow(row.number, row.id, row.plan, row.machine, row.started, _ended(row))
            for row in rows
        ]


def _ended(row: Any) -> EndedNight:
    try:
        return msgspec.json.decode(row.document, type=EndedNight)
    except msgspec.MsgspecError as error:
        raise InputError(f"The night {row.id} cannot be read: {error}.") from error


def judgements(connection: Connection, wanted: Wanted) -> Sequence[RowMapping]:
    """Return what was judged in the nights that are wanted, oldest first, in the plan's order."""
    query = select(JUDGEMENTS).join(NIGHTS).where(*_nights(wanted))
    if (capture := wanted.get("capture")) is not None:
        query = query.where(JUDGEMENTS.c.capture == capture)
    if (metric := wanted.get("metric")) is not None:
        query = query.where(JUDGEMENTS.c.metric == metric)
    order = (NIGHTS.c.started, NIGHTS.c.number, JUDGEMENTS.c.entry, JUDGEMENTS.c.position)
    return connection.execute(query.order_by(*order)).mappings().all()


def values(connection: Connection, wanted: Wanted) -> Iterator[TurnValue]:
    """Yield every value that is wanted, oldest night first, in the order of measuring."""
    query = select(NIGHTS).where(*_nights(wanted)).order_by(NIGHTS.c.started, NIGHTS.c.number)
    with connection.execute(query, execution_options={"yield_per": _AT_ONCE}) as rows:
        for row in rows:
            night = decoded(row.document, row.id)
            for entry in night.entries:
                if wanted.get("capture") in {None, entry.capture}:
                    for pair in entry.pairs:
                        yield from _values_of(row, entry, pair, wanted.get("metric"))


def _values_of(row: Any, entry: Entry, pair: Pair, wanted: str | None) -> Iterator[TurnValue]:
    """Yield the values of a pair in a night's row: by metric, then by side, then by turn."""
    sides = {"candidate": pair.candidate, "reference": pair.reference}
    for metric in sorted({*pair.candidate, *pair.reference}):
        if wanted not in {None, metric}:
            continue
        for side, measured in sides.items():
            for turn, value in enumerate(measured.get(metric, ())):
                yield TurnValue(
                    night=row.id,
                    at=row.started,
                    machine=row.machine,
                    plan=row.plan,
                    capture=entry.capture,
                    work=entry.work,
                    metric=metric,
                    side=side,
                    sitting=pair.sitting,
                    pair=pair.number,
                    traced=pair.traced,
                    turn=turn,
                    value=value,
                    counted=not pair.contaminated,
                    reason="; ".join(pair.contaminated),
                )
