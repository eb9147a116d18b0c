"""The versions of the tables of a history, and the migrations between them, in their order.

Version 1 had a night's document, and repeated its content as rows of seven tables. In version 2 a
night is its document and its judgements. Version 3 knows the person who accepted.

To change the tables, change them in `schema.py`, and add a migration at the end of `MIGRATIONS`. A
migration makes the tables of its own version, so that those after it can follow: as soon as
`schema.py` changes a table that an earlier migration takes from it, that migration gets a copy of
the table as it was. Test it with a dump of a history of the version before.
"""

from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sql

from tracekit.nightly.history.store.schema import (
    JUDGEMENTS,
    NIGHTS,
    create,
    number_column,
    text_columns,
)

VERSION_TABLE = "tracekit_history_version"
_VERSION = sql.Table(
    VERSION_TABLE, sql.MetaData(), sql.Column("version_num", sql.Text, primary_key=True)
)


@dataclass(frozen=True)
class Migration:
    """A change of the tables of the version before into those of `version`."""

    version: str
    apply: Callable[[sql.Connection], None]


def version_of(connection: sql.Connection) -> str | None:
    """Return the version of the tables; None if there are none."""
    if not sql.inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.scalar(sql.select(_VERSION.c.version_num))


def make_or_change(connection: sql.Connection) -> None:
    """Make the tables, or change those of an earlier version, within the transaction."""
    version = version_of(connection)
    if version is None:
        create(connection)
        _VERSION.create(connection, checkfirst=True)
    else:
        for migration in MIGRATIONS[VERSIONS.index(version) :]:
            migration.apply(connection)
    connection.execute(sql.delete(_VERSION))
    connection.execute(sql.insert(_VERSION).values(version_num=VERSIONS[-1]))


_ROWS_OF_1 = {
    "nights": "SELECT * FROM nights",
    "judgements": "SELECT judgements.*, entries.capture, entries.work FROM judgements "
    "JOIN entries ON entries.night = judgements.night AND entries.position = judgements.entry",
    "acceptances": "SELECT * FROM acceptances",
}
"""The rows of the tables of version 2, selected from those of version 1."""
# A table is dropped after those that refer to it.
_TABLES_OF_1 = (
    "acceptances",
    "judgements",
    "findings",
    "states",
    "samples",
    "pairs",
    "entries",
    "nights",
    "environments",
)


def _describe_tables_of_2() -> sql.MetaData:
    """Return the tables of version 2 that have another form than those of version 1."""
    metadata = sql.MetaData()
    NIGHTS.to_metadata(metadata)
    JUDGEMENTS.to_metadata(metadata)
    sql.Table(
        "acceptances",
        metadata,
        number_column(),
        sql.Column("night", sql.Text, sql.ForeignKey("nights.id"), nullable=False),
        *text_columns("machine", "capture", "work", "at", "reason", "changes"),
        sql.Index("acceptances_of_a_capture", "machine", "capture", "work"),
    )
    return metadata


def _keep_documents(connection: sql.Connection) -> None:
    """Take nights, judgements and acceptances into the tables of version 2; drop the others."""
    run = connection.exec_driver_sql
    for name, rows in _ROWS_OF_1.items():
        run(f"CREATE TEMPORARY TABLE kept_{name} AS {rows}")
    for name in _TABLES_OF_1:
        run(f"DROP TABLE {name}")
    metadata = _describe_tables_of_2()
    create(connection, metadata)
    for table in metadata.sorted_tables:
        names = ", ".join(column.name for column in table.columns)
        # Rows get the numbers that they had; PostgreSQL is to go on counting from there.
        counts_apart = "number" in table.c and connection.dialect.name != "sqlite"
        overriding = "OVERRIDING SYSTEM VALUE" if counts_apart else ""
        rows = f"SELECT {names} FROM kept_{table.name}"  # noqa: S608
        run(f"INSERT INTO {table.name} ({names}) {overriding} {rows}")
        if counts_apart:
            last_number = f"SELECT max(number) FROM {table.name}"  # noqa: S608
            run(f"SELECT setval(pg_get_serial_sequence('{table.name}', 'number'), ({last_number}))")
        run(f"DROP TABLE kept_{table.name}")


def _add_who_accepted(connection: sql.Connection) -> None:
    """Add the column for the person who accepted a night."""
    statement = "ALTER TABLE acceptances ADD COLUMN who TEXT NOT NULL DEFAULT ''"
    connection.exec_driver_sql(statement)


MIGRATIONS = (
    Migration("0002", _keep_documents),
    Migration("0003", _add_who_accepted),
)
VERSIONS = ("0001", *(migration.version for migration in MIGRATIONS))
"""All versions that can be read, the oldest first."""
