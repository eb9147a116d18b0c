"""The tables of a history: each night as a document, its judgements, and people's decisions.

A night's document is all that is known of it. Next to it, columns repeat the keys by which nights
are looked up; judgements are a table, so that SQL can ask for series. Nothing is ever changed or
removed: triggers of the database refuse it. A further row records a change, such as a baseline
that replaces another, or a pin that is removed.

Version 1 had a night's document, and repeated its content as rows of seven tables. In version 2 a
night is its document and its judgements. Version 3 knows the person who accepted.
"""

from collections.abc import Callable, Mapping, Sequence

import sqlalchemy as sql

METADATA = sql.MetaData()

# SQLite counts up by itself in a column of this very type only.
_NUMBER = sql.BigInteger().with_variant(sql.Integer, "sqlite")
_SENTENCE = "a history is append-only"


def _number() -> sql.Column[int]:
    return sql.Column("number", _NUMBER, sql.Identity(always=True), primary_key=True)


def _texts(*names: str) -> list[sql.Column[str]]:
    return [sql.Column(name, sql.Text, nullable=False) for name in names]


def _numbers(*names: str) -> list[sql.Column[float]]:
    return [sql.Column(name, sql.Double) for name in names]


NIGHTS = sql.Table(
    "nights",
    METADATA,
    _number(),
    sql.Column("id", sql.Text, nullable=False, unique=True),
    *_texts("plan", "machine", "started"),
    sql.Column("outcome", sql.Text),
    *_texts("document"),
    sql.Index("nights_of_a_plan", "plan", "machine", "started"),
)

JUDGEMENTS = sql.Table(
    "judgements",
    METADATA,
    sql.Column(
        "night", _NUMBER, sql.ForeignKey("nights.number"), primary_key=True, autoincrement=False
    ),
    sql.Column("entry", sql.SmallInteger, primary_key=True, autoincrement=False),
    sql.Column("metric", sql.Text, primary_key=True),
    sql.Column("position", sql.SmallInteger, nullable=False),
    *_texts("capture", "work", "unit", "better", "scale"),
    sql.Column("threshold", sql.Double, nullable=False),
    sql.Column("gated", sql.Boolean, nullable=False),
    sql.Column("outcome", sql.Text),
    *_numbers("candidate", "reference", "change", "low", "high", "expected"),
    *_numbers("measured", "measured_low", "measured_high", "least", "most"),
    *_texts("baseline"),
    sql.Column("pairs", sql.Integer, nullable=False),
    sql.Column("reproduced", sql.Boolean),
    *_texts("reason"),
)

ACCEPTANCES = sql.Table(
    "acceptances",
    METADATA,
    _number(),
    sql.Column("night", sql.Text, sql.ForeignKey("nights.id"), nullable=False),
    *_texts("machine", "capture", "work", "at", "reason", "changes"),
    sql.Column("who", sql.Text, nullable=False, server_default=""),
    sql.Index("acceptances_of_a_capture", "machine", "capture", "work"),
)

PINS = sql.Table(
    "pins",
    METADATA,
    _number(),
    *_texts("name"),
    sql.Column("pinned", sql.Boolean, nullable=False),
    *_texts("at", "reason"),
)

MISSED = sql.Table(
    "missed_nights",
    METADATA,
    _number(),
    *_texts("plan", "machine", "due", "reason"),
    sql.UniqueConstraint("plan", "machine", "due"),
)


def create(connection: sql.Connection, tables: Sequence[sql.Table]) -> None:
    """Make tables, and the triggers that keep them append-only."""
    METADATA.create_all(connection, tables, checkfirst=False)
    sqlite = connection.dialect.name == "sqlite"
    if not sqlite:
        connection.exec_driver_sql(
            "CREATE OR REPLACE FUNCTION tracekit_history_is_append_only() RETURNS trigger "
            f"LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '{_SENTENCE}'; END $$"
        )
    for table in tables:
        for statement in _triggers(table.name, sqlite=sqlite):
            connection.exec_driver_sql(statement)


def _triggers(table: str, *, sqlite: bool) -> list[str]:
    if sqlite:
        return [
            f"CREATE TRIGGER {table}_refuses_{verb.lower()} BEFORE {verb} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{_SENTENCE}'); END"
            for verb in ("UPDATE", "DELETE")
        ]
    when = f"BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} FOR EACH STATEMENT"
    then = "EXECUTE FUNCTION tracekit_history_is_append_only()"
    return [f"CREATE TRIGGER {table}_is_append_only {when} {then}"]


VERSIONS = ("0001", "0002", "0003")
VERSION_TABLE = "tracekit_history_version"
_VERSION = sql.Table(
    VERSION_TABLE, sql.MetaData(), sql.Column("version_num", sql.Text, primary_key=True)
)
_TABLES = (NIGHTS, JUDGEMENTS, ACCEPTANCES)
_KEPT = {
    "nights": "SELECT * FROM nights",
    "judgements": "SELECT judgements.*, entries.capture, entries.work FROM judgements "
    "JOIN entries ON entries.night = judgements.night AND entries.position = judgements.entry",
    "acceptances": "SELECT acceptances.*, '' AS who FROM acceptances",
}
# A table is dropped after those that refer to it.
_DROPPED = (
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


def version_of(connection: sql.Connection) -> str | None:
    """Return the version of the tables; None if there are none."""
    if not sql.inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.scalar(sql.select(_VERSION.c.version_num))


def make_or_change(connection: sql.Connection) -> None:
    """Make the tables, or change those of an earlier version, within the transaction."""
    version = version_of(connection)
    if version is None:
        create(connection, METADATA.sorted_tables)
        _VERSION.create(connection, checkfirst=True)
    elif version in MIGRATIONS:
        MIGRATIONS[version](connection)
    connection.execute(sql.delete(_VERSION))
    connection.execute(sql.insert(_VERSION).values(version_num=VERSIONS[-1]))


def _to_documents(connection: sql.Connection) -> None:
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
            last_number = f"SELECT max(number) FROM {table.name}"  # noqa: S608
            run(f"SELECT setval(pg_get_serial_sequence('{table.name}', 'number'), ({last_number}))")
        run(f"DROP TABLE kept_{table.name}")


def _add_who_accepted(connection: sql.Connection) -> None:
    """Add the column for the person who accepted a night."""
    statement = f"ALTER TABLE {ACCEPTANCES.name} ADD COLUMN who TEXT NOT NULL DEFAULT ''"
    connection.exec_driver_sql(statement)


MIGRATIONS: Mapping[str, Callable[[sql.Connection], None]] = {
    "0001": _to_documents,
    "0002": _add_who_accepted,
}
"""By version of the tables, the function that changes them into the newest version."""
