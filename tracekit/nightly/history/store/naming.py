"""How people name a night: by its id, the beginning of one, its folder, or as the latest."""

from pathlib import Path

from sqlalchemy import Connection, select

from tracekit.base.errors import UsageError
from tracekit.nightly.history.night import DOCUMENT
from tracekit.nightly.history.store.document import night_in
from tracekit.nightly.history.store.schema import NIGHTS

LATEST = "latest"
_SHOWN = 5


def night_id(connection: Connection, name: str) -> str | None:
    """Return the id of the night that a name means; None where there is none.

    Raises:
        UsageError: Several ids begin so.
    """
    if name == LATEST:
        newest = select(NIGHTS.c.id).order_by(NIGHTS.c.started.desc(), NIGHTS.c.number.desc())
        return connection.scalar(newest.limit(1))
    if connection.scalar(select(NIGHTS.c.number).where(NIGHTS.c.id == name)) is not None:
        return name
    folder = Path(name).parent if Path(name).name == DOCUMENT else Path(name)
    held = night_in(folder)
    if held is not None:
        found = connection.scalar(select(NIGHTS.c.id).where(NIGHTS.c.id == held.id))
        if found is not None:
            return found
    return _beginning(connection, name) if name else None


def require_clear_latest(connection: Connection) -> None:
    """Raise UsageError where nights are of several plans or machines, so that each has a latest."""
    newest = select(NIGHTS.c.id, NIGHTS.c.plan, NIGHTS.c.machine)
    newest = newest.order_by(NIGHTS.c.started.desc(), NIGHTS.c.number.desc())
    last: dict[tuple[str, str], str] = {}
    for row in connection.execute(newest):
        last.setdefault((row.plan, row.machine), row.id)
    if len(last) > 1:
        told = [f"{night} ({plan} on {machine})" for (plan, machine), night in last.items()]
        shown = ", ".join(told[:_SHOWN]) + (", …" if len(told) > _SHOWN else "")
        raise UsageError(
            f"Nights of several plans or machines have a latest one each: {shown}.",
            hint="Name one by its id.",
        )


def _beginning(connection: Connection, name: str) -> str | None:
    like = NIGHTS.c.id.startswith(name, autoescape=True)
    found = list(connection.scalars(select(NIGHTS.c.id).where(like).order_by(NIGHTS.c.started)))
    if len(found) > 1:
        shown = ", ".join(found[:_SHOWN]) + (", …" if len(found) > _SHOWN else "")
        raise UsageError(
            f"Several nights begin with {name!r}: {shown}.", hint="Write more of the id."
        )
    return found[0] if found else None
