"""A night written into the tables, in the transaction that it is given."""

from typing import Any

from sqlalchemy import Connection, Table, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from tracekit.base.errors import InputError
from tracekit.nightly.history.night import Night
from tracekit.nightly.history.store import rows
from tracekit.nightly.history.store.document import as_document, decoded
from tracekit.nightly.history.store.schema import (
    ENTRIES,
    ENVIRONMENTS,
    FINDINGS,
    JUDGEMENTS,
    NIGHTS,
    PAIRS,
    SAMPLES,
    STATES,
)

_OF_ENTRIES = (
    (PAIRS, rows.pair_rows),
    (SAMPLES, rows.sample_rows),
    (STATES, rows.state_rows),
    (JUDGEMENTS, rows.judgement_rows),
    (FINDINGS, rows.finding_rows),
)


def append(connection: Connection, night: Night) -> bool:
    """Add a night; return False where the very same is there.

    Raises:
        InputError: There is another one of its id, or it cannot be kept as a document.
    """
    document = as_document(night)
    stored = connection.scalar(select(NIGHTS.c.document).where(NIGHTS.c.id == night.id))
    if stored is not None:
        if decoded(stored, night.id) != decoded(document, night.id):
            raise InputError(
                f"The history has another night {night.id} already.",
                hint="A history is append-only; the one that was there first stays as it is.",
            )
        return False
    environment = rows.environment_row(night)
    _insert_new(connection, environment)
    row = rows.night_row(night, environment["digest"], document)
    number = connection.scalar(insert(NIGHTS).values(row).returning(NIGHTS.c.number))
    _insert(connection, ENTRIES, number, rows.entry_rows(night))
    for table, of_entry in _OF_ENTRIES:
        _insert(connection, table, number, rows.of_entries(night, of_entry))
    return True


def _insert(
    connection: Connection, table: Table, number: int | None, found: list[rows.Row]
) -> None:
    if found:
        connection.execute(insert(table), [{"night": number, **row} for row in found])


def _insert_new(connection: Connection, environment: dict[str, Any]) -> None:
    """Insert what may be there; neither database says so in the other's words."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    connection.execute(dialect.insert(ENVIRONMENTS).values(environment).on_conflict_do_nothing())
