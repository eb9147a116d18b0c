"""Version 2: a night is its document and what was judged of it.

What version 1 had in further tables is in the document, word for word. The tables are made as
`schema` has them now: the version after this one only added a column.
"""

from alembic import op
from sqlalchemy import Connection

from tracekit.nightly.history.store.schema import ACCEPTANCES, JUDGEMENTS, NIGHTS, create

revision = "0002"
down_revision = "0001"

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


def upgrade() -> None:
    """Take nights, judgements and acceptances into the tables of this version; drop the others."""
    connection = op.get_bind()
    for name, rows in _KEPT.items():
        op.execute(f"CREATE TEMPORARY TABLE kept_{name} AS {rows}")
    for name in _DROPPED:
        op.execute(f"DROP TABLE {name}")
    create(connection, _TABLES)
    for table in _TABLES:
        names = ", ".join(column.name for column in table.columns)
        _fill(connection, table.name, names, numbered="number" in table.c)
        op.execute(f"DROP TABLE kept_{table.name}")


def _fill(connection: Connection, table: str, names: str, *, numbered: bool) -> None:
    """Put rows back with the numbers that they had; PostgreSQL is to go on counting from there."""
    counts_apart = numbered and connection.dialect.name != "sqlite"
    overriding = "OVERRIDING SYSTEM VALUE" if counts_apart else ""
    op.execute(f"INSERT INTO {table} ({names}) {overriding} SELECT {names} FROM kept_{table}")  # noqa: S608
    if counts_apart:
        last = f"SELECT max(number) FROM {table}"  # noqa: S608
        op.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'number'), ({last}))")
