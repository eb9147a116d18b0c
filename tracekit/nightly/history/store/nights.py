"""Nights that enter a history, each as its document and a row for each judgement."""

from sqlalchemy import Connection, insert, select

from tracekit.base import InputError
from tracekit.nightly.history.documents import (
    as_document,
    decode_night,
    judgement_rows,
    moment,
    replace_nul,
)
from tracekit.nightly.history.night import Night
from tracekit.nightly.history.store.schema import JUDGEMENTS, NIGHTS


def append(connection: Connection, night: Night) -> bool:
    """Add a night; return False if the history has the same night already."""
    document = as_document(night)
    document_query = select(NIGHTS.c.document).where(NIGHTS.c.id == night.id)
    stored = connection.scalar(document_query)
    if stored is not None:
        stored_night = decode_night(stored, night.id)
        new_night = decode_night(document, night.id)
        if stored_night != new_night:
            raise InputError(
                f"The history has another night {night.id} already.",
                hint="A history is append-only; the one that was there first stays as it is.",
            )
        return False
    night_row = {
        "id": replace_nul(night.id),
        "plan": replace_nul(night.plan),
        "machine": replace_nul(night.machine),
        "started": moment(night.started),
        "outcome": night.outcome,
        "document": document,
    }
    insertion = insert(NIGHTS).values(night_row)
    number = connection.scalar(insertion.returning(NIGHTS.c.number))
    judgements = [{"night": number, **row} for row in judgement_rows(night)]
    if judgements:
        connection.execute(insert(JUDGEMENTS), judgements)
    return True
