"""A history: nights are added, nothing in it ever changes, and nights and series are read."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

import msgspec
from sqlalchemy import ColumnElement, Connection, RowMapping, Table, insert, select

from tracekit.base import InputError, UsageError, make_timestamp
from tracekit.nightly.history.documents import decode_night, moment, replace_nul
from tracekit.nightly.history.night import Accepted, Described, Missed, Night, Outcome, Pair
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.history.store.database import PATIENCE, Database, database, require_tables
from tracekit.nightly.history.store.decisions import (
    Refused,
    acceptances_of,
    add_accepted,
    all_accepted,
    all_pinned,
    require_reason,
    revocations_of,
)
from tracekit.nightly.history.store.nights import append
from tracekit.nightly.history.store.place import night_id
from tracekit.nightly.history.store.schema import JUDGEMENTS, MISSED, NIGHTS, PINS


@dataclass(frozen=True)
class _StoredCapture:
    """The fields of a capture that series need, whatever version wrote its night."""

    capture: str
    work: str
    reference: Described | None = None
    outcome: Outcome | None = None
    reason: str = ""


@dataclass(frozen=True)
class _StoredNight:
    """The fields of a night that series need, whatever version wrote it."""

    id: str
    plan: str
    machine: str
    started: str
    environment: dict[str, Any] = field(default_factory=dict[str, Any])
    commit: str = ""
    entries: tuple[_StoredCapture, ...] = ()
    outcome: Outcome | None = None
    reason: str = ""
    partial: bool = False
    folder: str = ""


def series_of(nights: Mapping[int, _StoredNight], judged: Iterable[RowMapping]) -> list[Series]:
    """Return the series of nights by number, oldest first, and of the judgements in them."""
    rows_by_series: dict[tuple[str, ...], dict[int, RowMapping]] = {}
    for row in judged:
        night = nights[row["night"]]
        key = (night.machine, night.plan, row["capture"], row["work"], row["metric"])
        rows_by_series.setdefault(key, {})[row["night"]] = row
    return [_series(rows, nights) for rows in rows_by_series.values()]


def _series(rows: dict[int, RowMapping], nights: Mapping[int, _StoredNight]) -> Series:
    """Return one series; `rows` are its judgements, by the number of the night.

    A night that has no value because it failed, or because the capture did, is a point without one
    that gives the reason. A missing capture would have done the work that it did last.
    """
    number, last_row = next(reversed(rows.items()))
    machine = nights[number].machine
    plan = nights[number].plan
    points: list[Point] = []
    work = None
    for number, night in nights.items():
        if (night.machine, night.plan) != (machine, plan):
            continue
        entry = _find_entry(night, last_row["capture"])
        if entry:
            work = entry.work
        row = rows.get(number)
        if row is not None or work == last_row["work"]:
            points += _points(night, entry, row)
    return Series(
        machine=machine,
        plan=plan,
        capture=last_row["capture"],
        work=last_row["work"],
        metric=last_row["metric"],
        unit=last_row["unit"],
        better=last_row["better"],
        scale=last_row["scale"],
        threshold=last_row["threshold"],
        gated=last_row["gated"],
        points=tuple(points),
    )


def _find_entry(night: _StoredNight, capture: str) -> _StoredCapture | None:
    entries_of_capture = (entry for entry in night.entries if entry.capture == capture)
    return next(entries_of_capture, None)


def _points(
    night: _StoredNight, entry: _StoredCapture | None, row: RowMapping | None
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
        outcome = None
        if row["outcome"]:
            outcome = Outcome(row["outcome"])
        reference_commit = ""
        if entry and entry.reference:
            reference_commit = entry.reference.commit
        yield replace(
            point,
            value=row["candidate"],
            reference=row["reference"],
            change=row["measured"],
            low=row["measured_low"],
            high=row["measured_high"],
            least=row["least"],
            most=row["most"],
            pairs=row["pairs"],
            outcome=outcome,
            reason=row["reason"],
            reference_commit=reference_commit,
        )
    elif entry is None:
        if night.outcome in {None, Outcome.FAILED} or night.partial:
            yield replace(point, reason=night.reason)
    elif entry.outcome in {None, Outcome.FAILED}:
        yield replace(point, reason=entry.reason or night.reason)


Time = str | datetime
_AT_ONCE = 50  # nights whose documents are in memory


class WantedNights(TypedDict, total=False):
    """A selection of nights; None selects all. It includes `since`, and excludes `until`."""

    plan: str | None
    machine: str | None
    since: Time | None
    until: Time | None
    outcome: Outcome | None


class Wanted(WantedNights, total=False):
    """A selection of captures and metrics of nights; None selects all."""

    capture: str | None
    metric: str | None


def _equal(
    selection: Mapping[str, Any], **columns: ColumnElement[Any]
) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    for name, column in columns.items():
        value = selection.get(name)
        if value is not None:
            conditions.append(column == value)
    return conditions


def _nights(
    selection: WantedNights, table: Table = NIGHTS, time: str = "started"
) -> list[ColumnElement[bool]]:
    """Return the conditions on nights, or on others that have a plan, a machine and a time."""
    conditions = _equal(selection, plan=table.c.plan, machine=table.c.machine)
    if "outcome" in table.c:
        conditions += _equal(selection, outcome=table.c.outcome)
    since = selection.get("since")
    if since is not None:
        conditions.append(table.c[time] >= moment(since))
    until = selection.get("until")
    if until is not None:
        conditions.append(table.c[time] < moment(until))
    return conditions


def _rows(connection: Connection, selection: Wanted) -> Iterator[Any]:
    matching_nights = select(NIGHTS).where(*_nights(selection))
    query = matching_nights.order_by(NIGHTS.c.started, NIGHTS.c.number)
    with connection.execute(query, execution_options={"yield_per": _AT_ONCE}) as rows:
        yield from rows


def ended_nights(connection: Connection, selection: Wanted) -> dict[int, _StoredNight]:
    """Return the selected nights by number, without their measurements, oldest first."""
    decoder = msgspec.json.Decoder(_StoredNight)
    nights: dict[int, _StoredNight] = {}
    for row in _rows(connection, selection):
        try:
            night = decoder.decode(row.document)
        except msgspec.MsgspecError as error:
            raise InputError(
                f"The night {row.id} cannot be read: {error}.",
                hint="Update tracekit on this machine.",
            ) from error
        stored_night = replace(night, started=row.started)
        nights[row.number] = stored_night
    return nights


def judgements(connection: Connection, selection: Wanted) -> Sequence[RowMapping]:
    """Return the judgements of the selected nights, oldest first, in the plan's order."""
    conditions = _nights(selection)
    judgement_conditions = _equal(
        selection, capture=JUDGEMENTS.c.capture, metric=JUDGEMENTS.c.metric
    )
    conditions += judgement_conditions
    query = select(JUDGEMENTS).join(NIGHTS).where(*conditions)
    order = (NIGHTS.c.started, NIGHTS.c.number, JUDGEMENTS.c.entry, JUDGEMENTS.c.position)
    ordered_query = query.order_by(*order)
    return connection.execute(ordered_query).mappings().all()


def values(connection: Connection, selection: Wanted) -> Iterator[dict[str, Any]]:
    """Yield a row for every selected value, oldest night first, in the order of measuring."""
    for row in _rows(connection, selection):
        of_night = {"night": row.id, "at": row.started, "machine": row.machine, "plan": row.plan}
        for entry in decode_night(row.document, row.id).entries:
            if selection.get("capture") not in {None, entry.capture}:
                continue
            of_entry = of_night | {"capture": entry.capture, "work": entry.work}
            for pair in entry.pairs:
                for turn_row in _values_of(pair, selection.get("metric")):
                    yield of_entry | turn_row


def _values_of(pair: Pair, wanted_metric: str | None) -> Iterator[dict[str, Any]]:
    """Yield the values of a pair: by metric, then by side, then by turn."""
    of_pair = {
        "session": pair.session,
        "pair": pair.number,
        "traced": pair.traced,
        "counted": not pair.rejections,
        "reason": "; ".join(pair.rejections),
    }
    for metric in sorted({*pair.candidate, *pair.reference}):
        if wanted_metric not in {None, metric}:
            continue
        sides = (("candidate", pair.candidate), ("reference", pair.reference))
        for side, measured in sides:
            values = measured.get(metric, ())
            for turn, value in enumerate(values):
                of_value = {"metric": metric, "side": side, "turn": turn, "value": value}
                yield of_pair | of_value


@dataclass(frozen=True)
class Store:
    """A history in a database; a failure raises a TracekitError, and leaves nothing half done."""

    database: Database

    @classmethod
    @contextmanager
    def connect(cls, url: str, *, make: bool = True, patience: float = PATIENCE) -> Generator[Self]:
        """Open the history at a URL, or in a file of SQLite.

        It is made if there is none and `make` is true; tables of an older version are changed in
        any case. A writer waits for another for `patience` seconds.
        """
        opened = database(url, create=make, patience=patience)
        try:
            require_tables(opened, make=make)
            yield cls(opened)
        finally:
            opened.engine.dispose()

    def append(self, night: Night) -> bool:
        """Add a night, whole or not at all; return False if the history has it already."""
        with self.database.writing() as connection:
            return append(connection, night)

    def nights(self, *, limit: int | None = None, **selection: Unpack[WantedNights]) -> list[Night]:
        """Return nights, oldest first; of more than `limit`, the last ones."""
        documents = select(NIGHTS.c.id, NIGHTS.c.document)
        query = documents.where(*_nights(selection))
        newest_first = query.order_by(NIGHTS.c.started.desc(), NIGHTS.c.number.desc())
        query = newest_first.limit(limit)
        with self.database.reading() as connection:
            rows = connection.execute(query).all()
        return [decode_night(row.document, row.id) for row in reversed(rows)]

    def night(self, name: str) -> Night:
        """Return the night of an id, of the beginning of one, of a folder, or the `latest`."""
        with self.database.reading() as connection:
            return _night(connection, name)

    def series(self, **selection: Unpack[Wanted]) -> list[Series]:
        """Return the series of the judgements, each oldest night first."""
        with self.database.reading() as connection:
            return series_of(ended_nights(connection, selection), judgements(connection, selection))

    def require_series(self, **selection: Unpack[Wanted]) -> list[Series]:
        """Return the series as `series` does; raise UsageError if the history has none."""
        series = self.series(**selection)
        if series:
            return series
        raise UsageError(
            "The history has no series of this.",
            hint="`tracekit nightly history --metric all` lists those that it has.",
        )

    def samples(self, **selection: Unpack[Wanted]) -> Iterator[dict[str, Any]]:
        """Yield a row for every value of every turn, as `write_values` writes them."""
        with self.database.reading() as connection:
            yield from values(connection, selection)

    def accept(
        self,
        night: str,
        captures: Sequence[str],
        reason: str,
        decision_time: str | None = None,
        *,
        others: Sequence[str] = (),
        least: int = 1,
        who: str = "",
    ) -> tuple[list[Accepted], list[Refused]]:
        """Expect the changes of a night from now on, and of others, as `acceptances_of` does."""
        decision_time = moment(decision_time or make_timestamp())
        with self.database.writing() as connection:
            nights = [_night(connection, name) for name in (night, *others)]
            accepted, refused = acceptances_of(
                nights, captures, reason, decision_time, min_pairs=least, who=who
            )
            add_accepted(connection, nights[0].machine, accepted)
        return accepted, refused

    def find_baseline(self, machine: str, capture: str, work: str) -> Accepted | None:
        """Return the expectation of a capture; None if nothing was accepted, or it was revoked."""
        with self.database.reading() as connection:
            baselines = all_accepted(connection, machine=machine, capture=capture, work=work)
        if not baselines or not baselines[-1].changes:
            return None
        return baselines[-1]

    def revoke(
        self,
        night: str,
        captures: Sequence[str],
        reason: str,
        decision_time: str | None = None,
        *,
        who: str = "",
    ) -> list[Accepted]:
        """End the acceptances of a night that are in force; return the revocations."""
        decision_time = moment(decision_time or make_timestamp())
        with self.database.writing() as connection:
            stored_night = _night(connection, night)
            baselines = all_accepted(connection, machine=stored_night.machine)
            revoked = revocations_of(
                baselines, stored_night.id, captures, reason, decision_time=decision_time, who=who
            )
            add_accepted(connection, stored_night.machine, revoked)
        return revoked

    def acceptances(self, machine: str | None = None) -> list[Accepted]:
        """Return all acceptances, oldest first; a machine's last of a capture holds."""
        filters = {}
        if machine is not None:
            filters = {"machine": machine}
        with self.database.reading() as connection:
            return all_accepted(connection, **filters)

    def machines(self) -> list[str]:
        """Return the names of the machines that nights ran on."""
        with self.database.reading() as connection:
            return sorted(connection.scalars(select(NIGHTS.c.machine).distinct()))

    def ids(self) -> frozenset[str]:
        """Return the ids of all nights."""
        with self.database.reading() as connection:
            return frozenset(connection.scalars(select(NIGHTS.c.id)))

    def list_pins(self) -> frozenset[str]:
        """Return the pins: ids of nights, and absolute paths of folders."""
        with self.database.reading() as connection:
            return all_pinned(connection)

    def record_missed(self, plan: str, machine: str, due_time: str, reason: str) -> bool:
        """Record a night that was due and did not run; return False if it is recorded already."""
        night = {
            "plan": replace_nul(plan),
            "machine": replace_nul(machine),
            "due": moment(due_time),
        }
        with self.database.writing() as connection:
            conditions = _equal(
                night, plan=MISSED.c.plan, machine=MISSED.c.machine, due=MISSED.c.due
            )
            same_miss = select(MISSED.c.number).where(*conditions)
            if connection.scalar(same_miss) is not None:
                return False
            row = night | {"reason": replace_nul(reason)}
            connection.execute(insert(MISSED), row)
            return True

    def missed_nights(self, **selection: Unpack[WantedNights]) -> list[Missed]:
        """Return the nights that did not run, oldest first."""
        columns = [MISSED.c[column.name] for column in fields(Missed)]
        stored_misses = select(*columns)
        query = stored_misses.where(*_nights(selection, MISSED, "due"))
        with self.database.reading() as connection:
            ordered_query = query.order_by(MISSED.c.due, MISSED.c.number)
            rows = connection.execute(ordered_query).mappings()
            return [Missed(**row) for row in rows]

    def pin(self, name: str, reason: str, *, pinned: bool = True) -> str:
        """Keep a night or a folder of runs from being pruned, or no longer; return which it is."""
        if pinned:
            require_reason("A pin", reason)
        with self.database.writing() as connection:
            pin_name = night_id(connection, name)
            if pin_name is None:
                folder = Path(name).expanduser().resolve()
                if not folder.is_dir():
                    raise _unknown(name)
                pin_name = str(folder)
            if not pinned and pin_name not in all_pinned(connection):
                raise UsageError(f"{pin_name} is not pinned.", hint="Nothing is different now.")
            row = {
                "name": pin_name,
                "pinned": pinned,
                "at": moment(make_timestamp()),
                "reason": replace_nul(reason.strip()),
            }
            connection.execute(insert(PINS), row)
        return pin_name


def _night(connection: Connection, name: str) -> Night:
    stored_id = night_id(connection, name)
    if stored_id is None:
        raise _unknown(name)
    document_query = select(NIGHTS.c.document).where(NIGHTS.c.id == stored_id)
    document = connection.scalar(document_query)
    return decode_night(str(document), stored_id)


def _unknown(name: str) -> UsageError:
    return UsageError(
        f"The history has no night {name!r}.",
        hint="`tracekit nightly history` lists the nights it has.",
    )
