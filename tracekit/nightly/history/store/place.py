"""Where a history is: what a URL names, and how it is shown to people."""

from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from tracekit.base.errors import UsageError

_SQLITE = {"sqlite", "sqlite+pysqlite"}
_POSTGRESQL = {"postgresql", "postgres", "postgresql+psycopg"}
_HINT = (
    "Write sqlite:///nights/history.db or the path of a file, "
    "or postgresql://user@host/database for several machines."
)


def place(text: str) -> URL:
    """Return the URL of a history as SQLAlchemy takes it; a path names a file of SQLite.

    Raises:
        UsageError: It names no database, or one that is neither SQLite nor PostgreSQL. The text
            is not repeated, for it may hold a password.
    """
    if not text.strip():
        raise UsageError("The history's URL is empty.", hint=_HINT)
    if "://" not in text:
        return URL.create("sqlite", database=str(Path(text).expanduser()))
    scheme, _, rest = text.partition("://")
    if scheme in _SQLITE:
        # All of it is the path: make_url would take options from the first question mark.
        file = rest.removeprefix("/")
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


def shown(url: URL) -> str:
    """Return how a history is called in sentences: without a password, and without options."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    port = f":{url.port}" if url.port else ""
    return f"postgresql://{url.host or ''}{port}/{url.database or ''}"


def folder_of(text: str) -> Path | None:
    """Return the folder that holds a history, which folders of nights are relative to.

    It is None where a server holds it.
    """
    file = file_of(text)
    return file.parent if file else None


def file_of(text: str) -> Path | None:
    """Return the file that holds a history; None where a server does."""
    url = place(text)
    if url.get_backend_name() != "sqlite":
        return None
    return Path(str(url.database)).expanduser().absolute()
