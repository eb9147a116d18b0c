"""What people decide, and what a schedule missed: further rows, of which the last one holds."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection, insert, select

from tracekit.compare.accepted import Accepted
from tracekit.nightly.history.store.rows import plain
from tracekit.nightly.history.store.schema import ACCEPTANCES, MISSED, PINS

_WORDS = ("night", "capture", "work", "at", "reason")


@dataclass(frozen=True)
class Missed:
    """A night that was due and did not run; `due` is ISO 8601 in UTC."""

    plan: str
    machine: str
    due: str
    reason: str


def add_accepted(connection: Connection, machine: str, accepted: Sequence[Accepted]) -> None:
    """Add what is expected of a machine from now on."""
    rows = [
        {
            **{name: plain(getattr(one, name)) for name in _WORDS},
            "machine": plain(machine),
            "changes": msgspec.json.encode(one.changes).decode(),
        }
        for one in accepted
    ]
    connection.execute(insert(ACCEPTANCES), rows)


def all_accepted(connection: Connection, **of: str) -> list[Accepted]:
    """Return what was accepted, oldest first; of a machine, capture or work where named."""
    query = select(ACCEPTANCES).where(*(ACCEPTANCES.c[name] == one for name, one in of.items()))
    rows = connection.execute(query.order_by(ACCEPTANCES.c.number)).mappings()
    return [_accepted(row) for row in rows]


def all_pinned(connection: Connection) -> frozenset[str]:
    """Return what is pinned: ids of nights, and whole paths of folders."""
    query = select(PINS.c.name, PINS.c.pinned).order_by(PINS.c.number)
    last = {row.name: row.pinned for row in connection.execute(query)}
    return frozenset(name for name, held in last.items() if held)


def add_missed(connection: Connection, night: Missed) -> bool:
    """Add a night that did not run; return False where that is known already."""
    same = [MISSED.c[name] == getattr(night, name) for name in ("plan", "machine", "due")]
    if connection.scalar(select(MISSED.c.number).where(*same)) is not None:
        return False
    connection.execute(insert(MISSED), asdict(night))
    return True


def all_missed(connection: Connection) -> list[Missed]:
    """Return the nights that did not run, oldest first."""
    columns = (MISSED.c[name] for name in ("plan", "machine", "due", "reason"))
    query = select(*columns).order_by(MISSED.c.due, MISSED.c.number)
    return [Missed(**row) for row in connection.execute(query).mappings()]


def _accepted(row: Any) -> Accepted:
    changes = msgspec.json.decode(row["changes"], type=dict[str, tuple[float, ...]])
    return Accepted(**{name: row[name] for name in _WORDS}, changes=changes)
