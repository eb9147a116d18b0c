"""A history's tables made, or brought to what this tracekit knows; refused where they are newer."""

from pathlib import Path

from alembic.command import stamp, upgrade
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, column, inspect, select, table

from tracekit.base import InputError
from tracekit.nightly.history.store.database import Database
from tracekit.nightly.history.store.schema import METADATA, VERSION, VERSION_TABLE, create

_MIGRATIONS = str(Path(__file__).parent / "migrations")


def require_tables(database: Database, *, make: bool) -> None:
    """See that the tables are those of this tracekit: older ones are changed into them.

    Where there are none they are made if `make` is true.
    """
    with database.reading() as connection:
        if _is_current(connection, database.shown):
            return
        if not make and _version(connection) is None:
            raise InputError(
                f"{database.shown} holds no history yet.",
                hint="The next `tracekit nightly` makes it.",
            )
    with database.writing() as connection:
        if not _is_current(connection, database.shown):  # else another process was first
            _make_or_change(connection)


def _is_current(connection: Connection, shown: str) -> bool:
    """Tell whether all is as it must be; raise InputError where nothing can make it so."""
    there, wanted = set(inspect(connection).get_table_names()), set(METADATA.tables)
    version = _version(connection)
    if version is None:
        if ours := there & wanted:
            raise InputError(
                f"{shown} is not whole: it has a table {min(ours)}, and no version of its tables.",
                hint="Take it back from a copy, or name a new place for the history.",
            )
        if connection.dialect.name == "sqlite" and there - {VERSION_TABLE}:
            raise InputError(
                f"{shown} is a database of something else: it has a table {min(there)}.",
                hint="Name another file; a history is made where there is none.",
            )
    elif version == VERSION:
        if missing := sorted(wanted - there):
            raise InputError(
                f"{shown} is not whole: it has no table {', '.join(missing)}.",
                hint="Take it back from a copy; `tracekit nightly` makes one where there is none.",
            )
    elif version not in {one.revision for one in ScriptDirectory(_MIGRATIONS).walk_revisions()}:
        raise InputError(
            f"{shown} was written by a newer tracekit: its tables have version {version}, "
            f"and this one knows up to {VERSION}.",
            hint="Update tracekit on this machine.",
        )
    return version == VERSION


def _version(connection: Connection) -> str | None:
    """Return the version of the tables; None where there are none."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.scalar(select(column("version_num")).select_from(table(VERSION_TABLE)))


def _make_or_change(connection: Connection) -> None:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", _MIGRATIONS.replace("%", "%%"))
    if _version(connection) is None:
        create(connection, METADATA.sorted_tables)
        stamp(config, "head")
    else:
        upgrade(config, "head")
