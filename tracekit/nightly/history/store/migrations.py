"""How the tables of a history came to be, and how those of earlier versions become today's.

Version 1 had a night's document, and all that is in it once more as rows of seven tables. In
version 2 a night is its document and what was judged of it. Version 3 knows who accepted.
"""

from sqlalchemy import Column, Connection, MetaData, Table, Text, delete, insert, inspect, select

from tracekit.nightly.history.store.schema import ACCEPTANCES, JUDGEMENTS, METADATA, NIGHTS, create

VERSIONS = ("0001", "0002", "0003")
VERSION_TABLE = "tracekit_history_version"
_VERSION = Table(VERSION_TABLE, MetaData(), Column("version_num", Text, primary_key=True))
_TABLES = (NIGHTS, JUDGEMENTS, ACCEPTANCES)
_KEPT = {
    "nights": "SELECT * FROM nights",
    "judgements": "SELECT judgements.*, entries.capture, entries.work FROM judgements "
    "JOIN entries ON entries.night = judgements.night AND entries.position = judgements.entry",
    "acceptances": "SELECT acceptances.*, '' AS who FROM acceptances",
}
# None is dropped before those that refer to it.
_DROPPED = (
    *("acceptances", "judgements", "findings", "states", "samples", "pairs", "entries"),
    *("nights", "environments"),
)


def version_of(connection: Connection) -> str | None:
    """Return the version of the tables; None where there are none."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.scalar(select(_VERSION.c.version_num))


def make_or_change(connection: Connection) -> None:
    """Make the tables, or change those of an earlier version, within the transaction."""
    version = version_of(connection)
    if version is None:
        create(connection, METADATA.sorted_tables)
        _VERSION.create(connection, checkfirst=True)
    elif version == "0001":
        _to_documents(connection)
    elif version == "0002":
        sql = f"ALTER TABLE {ACCEPTANCES.name} ADD COLUMN who TEXT NOT NULL DEFAULT ''"
        connection.exec_driver_sql(sql)
    connection.execute(delete(_VERSION))
    connection.execute(insert(_VERSION).values(version_num=VERSIONS[-1]))


def _to_documents(connection: Connection) -> None:
    """Take nights, judgements and acceptances into the tables of today; drop the others."""
    run = connection.exec_driver_sql
    for name, rows in _KEPT.items():
        run(f"CREATE TEMPORARY TABLE kept_{name} AS {rows}")
    for name in _DROPPED:
        run(f"DROP TABLE {name}")
    create(connection, _TABLES)
    for table in _TABLES:
        names = ", ".join(column.name for column in table.columns)
        # Rows get the numbers that they had; PostgreSQL is to go on counting from there.
        counts_apart = "number" in table.c and connection.dialect.name != "sqlite"
        overriding = "OVERRIDING SYSTEM VALUE" if counts_apart else ""
        rows = f"SELECT {names} FROM kept_{table.name}"  # noqa: S608
        run(f"INSERT INTO {table.name} ({names}) {overriding} {rows}")
        if counts_apart:
            last = f"SELECT max(number) FROM {table.name}"  # noqa: S608
            run(f"SELECT setval(pg_get_serial_sequence('{table.name}', 'number'), ({last}))")
        run(f"DROP TABLE kept_{table.name}")
