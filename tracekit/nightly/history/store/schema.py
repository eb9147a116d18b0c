"""The tables of a history: each night as a document, its judgements, and people's decisions.

A night's document is all that is known of it. Next to it, columns repeat the keys by which nights
are looked up; judgements are a table, so that SQL can ask for series. Nothing is ever changed or
removed: triggers of the database refuse it. A further row records a change, such as a baseline
that replaces another, or a pin that is removed.

A change of a table is a migration, too: see `migrations.py`.
"""

import sqlalchemy as sql

METADATA = sql.MetaData()

# SQLite counts up by itself in a column of this very type only.
_NUMBER = sql.BigInteger().with_variant(sql.Integer, "sqlite")
_SENTENCE = "a history is append-only"


def number_column() -> sql.Column[int]:
    """Return the column of the number that the database gives to a row."""
    return sql.Column("number", _NUMBER, sql.Identity(always=True), primary_key=True)


def text_columns(*names: str) -> list[sql.Column[str]]:
    """Return columns of texts, none of which may be null."""
    return [sql.Column(name, sql.Text, nullable=False) for name in names]


def _numbers(*names: str) -> list[sql.Column[float]]:
    return [sql.Column(name, sql.Double) for name in names]


NIGHTS = sql.Table(
    "nights",
    METADATA,
    number_column(),
    sql.Column("id", sql.Text, nullable=False, unique=True),
    *text_columns("plan", "machine", "started"),
    sql.Column("outcome", sql.Text),
    *text_columns("document"),
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
    *text_columns("capture", "work", "unit", "better", "scale"),
    sql.Column("threshold", sql.Double, nullable=False),
    sql.Column("gated", sql.Boolean, nullable=False),
    sql.Column("outcome", sql.Text),
    *_numbers("candidate", "reference", "change", "low", "high", "expected"),
    *_numbers("measured", "measured_low", "measured_high", "least", "most"),
    *text_columns("baseline"),
    sql.Column("pairs", sql.Integer, nullable=False),
    sql.Column("reproduced", sql.Boolean),
    *text_columns("reason"),
)

ACCEPTANCES = sql.Table(
    "acceptances",
    METADATA,
    number_column(),
    sql.Column("night", sql.Text, sql.ForeignKey("nights.id"), nullable=False),
    *text_columns("machine", "capture", "work", "at", "reason", "changes"),
    sql.Column("who", sql.Text, nullable=False, server_default=""),
    sql.Index("acceptances_of_a_capture", "machine", "capture", "work"),
)

PINS = sql.Table(
    "pins",
    METADATA,
    number_column(),
    *text_columns("name"),
    sql.Column("pinned", sql.Boolean, nullable=False),
    *text_columns("at", "reason"),
)

MISSED = sql.Table(
    "missed_nights",
    METADATA,
    number_column(),
    *text_columns("plan", "machine", "due", "reason"),
    sql.UniqueConstraint("plan", "machine", "due"),
)


def create(connection: sql.Connection, metadata: sql.MetaData = METADATA) -> None:
    """Make all tables, and the triggers that keep them append-only."""
    metadata.create_all(connection, checkfirst=False)
    sqlite = connection.dialect.name == "sqlite"
    if not sqlite:
        connection.exec_driver_sql(
            "CREATE OR REPLACE FUNCTION tracekit_history_is_append_only() RETURNS trigger "
            f"LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '{_SENTENCE}'; END $$"
        )
    for table in metadata.sorted_tables:
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
