"""The place of a history, and the names by which people choose a night of it."""

from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import URL, Connection, make_url, select
from sqlalchemy.exc import ArgumentError

from tracekit.base import UsageError
from tracekit.nightly.history.documents import night_in
from tracekit.nightly.history.night import DOCUMENT, LATEST
from tracekit.nightly.history.store.schema import NIGHTS

_SQLITE = {"sqlite", "sqlite+pysqlite"}
_POSTGRESQL = {"postgresql", "postgres", "postgresql+psycopg"}
_HINT = (
    "Write sqlite:///nights/history.db or the path of a file, "
    "or postgresql://user@host/database for several machines."
)


def url_of(text: str) -> URL:
    """Return the URL of a history as SQLAlchemy takes it; a path names a file of SQLite.

    Errors do not repeat the text, which may hold a password.
    """
    if not text.strip():
        raise UsageError("The history's URL is empty.", hint=_HINT)
    if "://" not in text:
        return URL.create("sqlite", database=str(Path(text).expanduser()))
    scheme, _, url_path = text.partition("://")
    if scheme in _SQLITE:
        # All of it is the path: make_url would take options from the first question mark.
        file = url_path.removeprefix("/")
        if not file or file == ":memory:" or file.startswith("file:"):
            raise UsageError("A history in SQLite is a file, and the URL names none.", hint=_HINT)
        return URL.create("sqlite", database=file)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        raise UsageError("The history's URL cannot be read.", hint=_HINT) from error
    if url.drivername in _POSTGRESQL:
        return url.set(drivername="postgresql+psycopg")
    raise UsageError(
        f"A history is kept in SQLite or PostgreSQL, not in {url.drivername}.", hint=_HINT
    )


def describe_url(url: URL) -> str:
    """Return the name of a history in sentences: without a password, and without options."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    port = ""
    if url.port:
        port = f":{url.port}"
    return f"postgresql://{url.host or ''}{port}/{url.database or ''}"


def file_of(text: str) -> Path | None:
    """Return the file that holds a history; None for a server.

    Folders of nights are relative to its folder.
    """
    url = url_of(text)
    if url.get_backend_name() != "sqlite":
        return None
    return Path(str(url.database)).expanduser().absolute()


def night_id(connection: Connection, name: str) -> str | None:
    """Return the id of the night with a name; None if there is none."""
    if not name:
        return None
    if name == LATEST:
        night_ids = select(NIGHTS.c.id)
        newest = night_ids.order_by(NIGHTS.c.started.desc(), NIGHTS.c.number.desc())
        return connection.scalar(newest.limit(1))
    same_name = select(NIGHTS.c.number).where(NIGHTS.c.id == name)
    if connection.scalar(same_name) is not None:
        return name
    folder = Path(name)
    if folder.name == DOCUMENT:
        folder = folder.parent
    folder_night = night_in(folder)
    if folder_night is not None:
        same_id = select(NIGHTS.c.id).where(NIGHTS.c.id == folder_night.id)
        stored_id = connection.scalar(same_id)
        if stored_id is not None:
            return stored_id
    prefix_condition = NIGHTS.c.id.startswith(name, autoescape=True)
    matching_nights = select(NIGHTS.c.id).where(prefix_condition)
    ids = connection.scalars(matching_nights.order_by(NIGHTS.c.started)).all()
    if len(ids) > 1:
        raise UsageError(
            f"Several nights begin with {name!r}: {_join_names(ids)}.", hint="Write more of the id."
        )
    return ids[0] if ids else None


def require_clear_latest(connection: Connection) -> None:
    """Raise UsageError if nights are of several plans or machines, so that each has a latest."""
    newest = select(NIGHTS.c.id, NIGHTS.c.plan, NIGHTS.c.machine)
    newest = newest.order_by(NIGHTS.c.started.desc(), NIGHTS.c.number.desc())
    latest_nights: dict[tuple[str, str], str] = {}
    for row in connection.execute(newest):
        latest_nights.setdefault((row.plan, row.machine), row.id)
    if len(latest_nights) > 1:
        night_names = [
            f"{night} ({plan} on {machine})" for (plan, machine), night in latest_nights.items()
        ]
        raise UsageError(
            "Nights of several plans or machines have a latest one each: "
            f"{_join_names(night_names)}.",
            hint="Name one by its id.",
        )


_SHOWN = 5  # names in a sentence


def _join_names(names: Sequence[str]) -> str:
    words = ", ".join(names[:_SHOWN])
    if len(names) > _SHOWN:
        words += ", …"
    return words
