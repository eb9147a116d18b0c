"""A database that holds a history: connections, whole transactions, its tables, refusals."""

import sqlite3
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, inspect, text
from sqlalchemy.exc import DBAPIError

from tracekit.base import InputError, RecordingError, TracekitError, distribution
from tracekit.nightly.history.store.migrations import (
    VERSION_TABLE,
    VERSIONS,
    make_or_change,
    version_of,
)
from tracekit.nightly.history.store.place import describe_url, url_of
from tracekit.nightly.history.store.schema import METADATA

_NOTHING_LOST = "The history is unchanged, and the night's folder keeps its night.json."


def as_error(error: DBAPIError, url: URL) -> TracekitError:
    """Return a database's error as a TracekitError; it never has the password."""
    # The first line is the cause; the others repeat attempts, or are hints.
    lines = str(error.orig).strip().splitlines() or [type(error.orig).__name__]
    cause = lines[0].strip().rstrip(".")
    password = str(url.password or "")
    if password:
        cause = cause.replace(password, "…")
    message = f"{describe_url(url)} cannot be used as a history: {cause}."
    name = str(getattr(error.orig, "sqlite_errorname", ""))
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        hint = "Name another file, or recover the data from a copy: sqlite3 COPY .recover"
        return InputError(message, hint=hint)
    return RecordingError(message, hint=_NOTHING_LOST)


class NoHistoryError(RecordingError):
    """There is no history yet, so nothing was kept in it, and nothing was accepted."""


PATIENCE = 30.0  # s that a writer waits for another
_WRITES = "tracekit_writes"
# Writers of a history wait for each other by this number; nobody else may use it.
_LOCK = 7_411_937_204_511
_CONNECT_TIMEOUT = 10  # s


@dataclass(frozen=True)
class Database:
    """A history's database; a writer waits for another for `patience` seconds."""

    engine: Engine
    url: URL
    patience: float = PATIENCE

    @property
    def display_name(self) -> str:
        """Its name in sentences."""
        return describe_url(self.url)

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file."""
        return self.engine.dialect.name == "sqlite"

    def reading(self) -> AbstractContextManager[Connection]:
        """Give a connection to read with; raise a TracekitError if that fails."""
        return self._transaction(writes=False)

    @contextmanager
    def writing(self) -> Generator[Connection]:
        """Give a connection to write with, alone: all of it is kept at the end, or nothing."""
        with self._transaction(writes=True) as connection:
            if not self.is_sqlite:
                patience = round(self.patience * 1000)
                connection.execute(text(f"SET LOCAL lock_timeout = {patience}"))
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
            yield connection

    @contextmanager
    def _transaction(self, *, writes: bool) -> Generator[Connection]:
        options: dict[str, Any] = {_WRITES: writes}
        if not (writes or self.is_sqlite):
            options["isolation_level"] = "REPEATABLE READ"  # all tables at one moment, as in SQLite
        try:
            with (
                self.engine.connect().execution_options(**options) as connection,
                connection.begin(),
            ):
                yield connection
        except DBAPIError as error:
            raise as_error(error, self.url) from error


def database(url: str, *, create: bool, patience: float = PATIENCE) -> Database:
    """Return the database at a URL; of SQLite, `create` makes its folder and file."""
    location = url_of(url)
    if location.get_backend_name() == "sqlite":
        return Database(_sqlite(location, create=create, patience=patience), location, patience)
    try:
        engine = create_engine(
            location,
            poolclass=NullPool,
            connect_args={"connect_timeout": _CONNECT_TIMEOUT, "application_name": "tracekit"},
        )
    except ImportError as error:
        raise distribution.missing_extra("postgresql", "psycopg") from error
    return Database(engine, location, patience)


def _sqlite(url: URL, *, create: bool, patience: float) -> Engine:
    expanded = Path(str(url.database)).expanduser()
    path = expanded.absolute()
    _require_file(path, create=create)

    def connect() -> sqlite3.Connection:
        # `_begin` starts transactions: sqlite3 starts none before DDL, and no IMMEDIATE one.
        address = f"{path.as_uri()}?mode=rw"
        return sqlite3.connect(address, uri=True, timeout=patience, isolation_level=None)

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _require_file(path: Path, *, create: bool) -> None:
    if path.is_dir():
        raise RecordingError(f"{path} is a folder, not a history.", hint="Name a file in it.")
    if create:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():  # only made here: one that is removed later stays away
                path.touch()
        except OSError as error:
            raise RecordingError(
                f"{path} cannot be made: {error.strerror}.",
                hint="Name a place for the history that you may write to.",
            ) from error
    elif not path.exists():
        raise NoHistoryError(
            f"There is no history at {path}.",
            hint="`tracekit nightly run` makes it with its night.",
        )


def _prepare(connection: Any, _: object) -> None:
    for pragma in (
        "foreign_keys = ON",
        # A night that was acknowledged outlasts a power cut: on macOS fsync alone does not
        # empty the drive's cache.
        "synchronous = EXTRA",
        "fullfsync = ON",
        # Else REPLACE would remove rows past the triggers.
        "recursive_triggers = ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def require_tables(database: Database, *, make: bool) -> None:
    """Ensure that the tables are those of this tracekit: older ones are changed into them.

    If there are none, they are made if `make` is true.
    """
    with database.reading() as connection:
        if _is_current(connection, database.display_name):
            return
        if not make and version_of(connection) is None:
            raise NoHistoryError(
                f"{database.display_name} holds no history yet.",
                hint="The next `tracekit nightly run` makes it.",
            )
    with database.writing() as connection:
        if not _is_current(connection, database.display_name):  # else another process was first
            make_or_change(connection)


def _is_current(connection: Connection, display_name: str) -> bool:
    """Tell whether the tables are current; raise InputError if nothing can make them so."""
    table_names = set(inspect(connection).get_table_names())
    version = version_of(connection)
    if version is None:
        _refuse_others(connection, table_names, display_name)
        return False
    if version not in VERSIONS:
        raise InputError(
            f"{display_name} was written by a newer tracekit: its tables have version {version}, "
            f"and this one knows up to {VERSIONS[-1]}.",
            hint="Update tracekit on this machine.",
        )
    if version != VERSIONS[-1]:
        return False
    missing_tables = sorted(set(METADATA.tables) - table_names)
    if missing_tables:
        raise InputError(
            f"{display_name} is not whole: it has no table {', '.join(missing_tables)}.",
            hint="Restore it from a copy, or remove it: `tracekit nightly run` makes a new one.",
        )
    return True


def _refuse_others(connection: Connection, table_names: set[str], display_name: str) -> None:
    """Raise InputError if a database without a version has tables that a history cannot have."""
    if connection.dialect.name == "sqlite":
        existing_tables = table_names - {VERSION_TABLE}
    else:
        existing_tables = table_names & set(METADATA.tables)
    if existing_tables:
        raise InputError(
            f"{display_name} is not a history, or is damaged: it has a table "
            f"{min(existing_tables)}, but no version.",
            hint="Name another file for a new history, or restore this one from a copy.",
        )
