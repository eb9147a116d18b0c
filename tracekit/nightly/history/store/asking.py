"""What is asked of a history: nights, series, values, by what they are of."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypedDict

import msgspec
from sqlalchemy import ColumnElement, Connection, RowMapping, select

from tracekit.base import InputError
from tracekit.nightly.history.night import Described, Entry, Outcome, Pair
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.history.store.documents import decoded, moment
from tracekit.nightly.history.store.schema import JUDGEMENTS, NIGHTS


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
    """What series need of a night's document: all but what was measured and judged."""

    id: str
    plan: str
    machine: str
    started: str
    environment: dict[str, Any] = field(default_factory=dict[str, Any])
    commit: str = ""
    entries: tuple[EndedCapture, ...] = ()
    outcome: Outcome | None = None
    reason: str = ""
    partial: bool = False
    folder: str = ""


def series_of(nights: Mapping[int, EndedNight], judged: Iterable[RowMapping]) -> list[Series]:
    """Return the series of nights by number, oldest first, and of what was judged in them."""
    found: dict[tuple[str, ...], dict[int, RowMapping]] = {}
    for row in judged:
        night = nights[row["night"]]
        key = (night.machine, night.plan, row["capture"], row["work"], row["metric"])
        found.setdefault(key, {})[row["night"]] = row
    return [_series(rows, nights) for rows in found.values()]


def _series(rows: dict[int, RowMapping], nights: Mapping[int, EndedNight]) -> Series:
    """Return one series; `rows` are what was judged of it, by the number of the night.

    A night that has no value because it failed, or because the capture did, is a point without one
    that says why. Where the capture is missing, it would have done the work that it did last.
    """
    number, last = next(reversed(rows.items()))
    machine, plan = nights[number].machine, nights[number].plan
    points: list[Point] = []
    work = None
    for number, night in nights.items():
        if (night.machine, night.plan) != (machine, plan):
            continue
        entry = next((one for one in night.entries if one.capture == last["capture"]), None)
        work = entry.work if entry else work
        if (row := rows.get(number)) is not None or work == last["work"]:
            points += _points(night, entry, row)
    return Series(
        machine,
        plan,
        *(last[name] for name in ("capture", "work", "metric", "unit", "better", "scale")),
        *(last[name] for name in ("threshold", "gated")),
        points=tuple(points),
    )


def _points(
    night: EndedNight, entry: EndedCapture | None, row: RowMapping | None
) -> Iterator[Point]:
    point = Point(
        night=night.id,
        at=night.started,
        value=None,
        night_outcome=night.outcome,
        commit=night.commit,
        environment=night.environment,
        folder=night.folder,
    )
    if row is not None:
        yield replace(
            point,
            value=row["candidate"],
            change=row["measured"],
            low=row["measured_low"],
            high=row["measured_high"],
            outcome=Outcome(row["outcome"]) if row["outcome"] else None,
            reference_commit=entry.reference.commit if entry and entry.reference else "",
            **{name: row[name] for name in ("reference", "least", "most", "pairs", "reason")},
        )
        return
    outcome = entry.outcome if entry else night.outcome
    if outcome in {None, Outcome.FAILED} or (entry is None and night.partial):
        yield replace(point, reason=(entry and entry.reason) or night.reason)


Time = str | datetime
_AT_ONCE = 50  # nights whose documents are in memory


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


def _equal(wanted: Mapping[str, Any], **columns: ColumnElement[Any]) -> list[ColumnElement[bool]]:
    return [one == wanted[name] for name, one in columns.items() if wanted.get(name) is not None]


def _nights(wanted: WantedNights) -> list[ColumnElement[bool]]:
    """Return the conditions on nights."""
    columns = {name: NIGHTS.c[name] for name in ("plan", "machine", "outcome")}
    found = _equal(wanted, **columns)
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


def _rows(connection: Connection, wanted: Wanted) -> Iterator[Any]:
    """Yield the rows of the nights that are wanted, oldest first."""
    query = select(NIGHTS).where(*_nights(wanted)).order_by(NIGHTS.c.started, NIGHTS.c.number)
    with connection.execute(query, execution_options={"yield_per": _AT_ONCE}) as rows:
        yield from rows


def ended_nights(connection: Connection, wanted: Wanted) -> dict[int, EndedNight]:
    """Return the nights that are wanted by number, without what they measured, oldest first."""
    found: dict[int, EndedNight] = {}
    for row in _rows(connection, wanted):
        try:
            night = msgspec.json.decode(row.document, type=EndedNight)
        except msgspec.MsgspecError as error:
            raise InputError(f"The night {row.id} cannot be read: {error}.") from error
        columns = {name: getattr(row, name) for name in ("id", "plan", "machine", "started")}
        found[row.number] = replace(night, **columns)
    return found


def judgements(connection: Connection, wanted: Wanted) -> Sequence[RowMapping]:
    """Return what was judged in the nights that are wanted, oldest first, in the plan's order."""
    columns = {name: JUDGEMENTS.c[name] for name in ("capture", "metric")}
    query = select(JUDGEMENTS).join(NIGHTS).where(*_nights(wanted), *_equal(wanted, **columns))
    order = (NIGHTS.c.started, NIGHTS.c.number, JUDGEMENTS.c.entry, JUDGEMENTS.c.position)
    return connection.execute(query.order_by(*order)).mappings().all()


def values(connection: Connection, wanted: Wanted) -> Iterator[dict[str, Any]]:
    """Yield a row for every value that is wanted, oldest night first, in the order of measuring."""
    for row in _rows(connection, wanted):
        of_night = {"night": row.id, "at": row.started, "machine": row.machine, "plan": row.plan}
        for entry in decoded(row.document, row.id).entries:
            if wanted.get("capture") in {None, entry.capture}:
                for pair in entry.pairs:
                    for found in _values_of(entry, pair, wanted.get("metric")):
                        yield of_night | found


def _values_of(entry: Entry, pair: Pair, wanted: str | None) -> Iterator[dict[str, Any]]:
    """Yield the values of a pair: by metric, then by side, then by turn."""
    sides = {"candidate": pair.candidate, "reference": pair.reference}
    for metric in sorted({*pair.candidate, *pair.reference}):
        if wanted not in {None, metric}:
            continue
        for side, measured in sides.items():
            for turn, value in enumerate(measured.get(metric, ())):
                yield {
                    "capture": entry.capture,
                    "work": entry.work,
                    "metric": metric,
                    "side": side,
                    "sitting": pair.sitting,
                    "pair": pair.number,
                    "traced": pair.traced,
                    "turn": turn,
                    "value": value,
                    "counted": not pair.contaminated,
                    "reason": "; ".join(pair.contaminated),
                }
