"""The tables of a history: each night as a document, what was judged of it, what people decided.

A night's document is all that is known of it. Of the night beside it, columns repeat what nights
are looked up by; judgements are a table, so that SQL can ask for series. Nothing is ever changed
or removed: triggers of the database refuse it. What changes is said by a further row, as a
baseline that takes the place of another, or a pin that is taken out.
"""

from collections.abc import Sequence

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
)

METADATA = MetaData()

# SQLite counts up by itself in a column of this very type only.
_NUMBER = BigInteger().with_variant(Integer, "sqlite")
_SENTENCE = "a history is append-only"


def _number() -> Column[int]:
    return Column("number", _NUMBER, Identity(always=True), primary_key=True)


def _texts(*names: str) -> list[Column[str]]:
    return [Column(name, Text, nullable=False) for name in names]


NIGHTS = Table(
    "nights",
    METADATA,
    _number(),
    Column("id", Text, nullable=False, unique=True),
    *_texts("plan", "machine", "started"),
    Column("outcome", Text),
    *_texts("document"),
    Index("nights_of_a_plan", "plan", "machine", "started"),
)

JUDGEMENTS = Table(
    "judgements",
    METADATA,
    Column("night", _NUMBER, ForeignKey("nights.number"), primary_key=True, autoincrement=False),
    Column("entry", SmallInteger, primary_key=True, autoincrement=False),
    Column("metric", Text, primary_key=True),
    Column("position", SmallInteger, nullable=False),
    *_texts("capture", "work", "unit", "better", "scale"),
    Column("threshold", Double, nullable=False),
    Column("gated", Boolean, nullable=False),
    Column("outcome", Text),
    *(Column(name, Double) for name in ("candidate", "reference", "change", "low", "high")),
    *(Column(name, Double) for name in ("expected", "measured", "measured_low", "measured_high")),
    *(Column(name, Double) for name in ("least", "most")),
    *_texts("baseline"),
    Column("pairs", Integer, nullable=False),
    Column("reproduced", Boolean),
    *_texts("reason"),
)

ACCEPTANCES = Table(
    "acceptances",
    METADATA,
    _number(),
    Column("night", Text, ForeignKey("nights.id"), nullable=False),
    *_texts("machine", "capture", "work", "at", "reason", "changes"),
    Column("who", Text, nullable=False, server_default=""),
    Index("acceptances_of_a_capture", "machine", "capture", "work"),
)

PINS = Table(
    "pins",
    METADATA,
    _number(),
    *_texts("name"),
    Column("pinned", Boolean, nullable=False),
    *_texts("at", "reason"),
)

MISSED = Table(
    "missed_nights",
    METADATA,
    _number(),
    *_texts("plan", "machine", "due", "reason"),
    UniqueConstraint("plan", "machine", "due"),
)


def create(connection: Connection, tables: Sequence[Table]) -> None:
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
