"""A night as one text that is kept whole, and what was judged of it as rows for SQL to ask for."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Connection, insert, select

from tracekit.base import InputError
from tracekit.compare import middle, shift
from tracekit.nightly.gate.decision import changes, plain_change, values
from tracekit.nightly.history.night import DOCUMENT, FORMAT, Judged, Night, Outcome, Pair, moment_of
from tracekit.nightly.history.store.schema import JUDGEMENTS, NIGHTS

_CUT_SHORT = "The night was cut short: its process was killed, or the machine went down."


def as_document(night: Night) -> str:
    """Return the night as JSON."""
    try:
        text = msgspec.json.encode(night).decode()
        msgspec.json.decode(text, type=Night)
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        # Letters that are no text in UTF-8; JSON has null for what is no number.
        raise InputError(
            f"The night {night.id} cannot be kept: {error}.",
            hint="All its values must be finite numbers, and all its words text.",
        ) from error
    return text


def decode_night(text: str | bytes, name: str) -> Night:
    """Return the night that a text holds."""
    try:
        night = msgspec.json.decode(text, type=Night)
    except msgspec.MsgspecError as error:
        raise InputError(f"The night {name} cannot be read: {error}.") from error
    if night.format > FORMAT:
        raise InputError(
            f"The night {name} has format {night.format}; this tracekit reads up to {FORMAT}.",
            hint="Update tracekit on this machine.",
        )
    return night


def night_in(folder: Path) -> Night | None:
    """Read the night that a folder holds; None where it holds none."""
    try:
        text = (folder / DOCUMENT).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{folder / DOCUMENT} cannot be read: {error.strerror}.") from error
    return decode_night(text, str(folder / DOCUMENT))


def cut_short(night: Night) -> Night:
    """Return a night whose process ended before it did, as what the history keeps of it.

    It failed, unless a regression was found before.
    """
    if night.ended and night.outcome is not None:
        return night
    worst = any(entry.outcome is Outcome.REGRESSION for entry in night.entries)
    return replace(
        night,
        partial=True,
        outcome=Outcome.REGRESSION if worst else Outcome.FAILED,
        reason=f"{night.reason} {_CUT_SHORT}".strip(),
    )


def moment(timestamp: str | datetime) -> str:
    """Return a time as the history has it: ISO 8601 in UTC, so that text sorts by time."""
    return moment_of(timestamp).isoformat(timespec="milliseconds")


def replace_nul(text: str) -> str:
    """Return text that both databases take: PostgreSQL takes no NUL."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def append(connection: Connection, night: Night) -> bool:
    """Add a night; return False where the very same is there."""
    document = as_document(night)
    stored = connection.scalar(select(NIGHTS.c.document).where(NIGHTS.c.id == night.id))
    if stored is not None:
        if decode_night(stored, night.id) != decode_night(document, night.id):
            raise InputError(
                f"The history has another night {night.id} already.",
                hint="A history is append-only; the one that was there first stays as it is.",
            )
        return False
    row = {name: replace_nul(getattr(night, name)) for name in ("id", "plan", "machine")}
    row |= {"started": moment(night.started), "outcome": night.outcome, "document": document}
    number = connection.scalar(insert(NIGHTS).values(row).returning(NIGHTS.c.number))
    if judged := [{"night": number, **row} for row in judgement_rows(night)]:
        connection.execute(insert(JUDGEMENTS), judged)
    return True


def judgement_rows(night: Night) -> Iterator[dict[str, Any]]:
    """Yield what became of each metric, and what was measured before anything was expected."""
    for place, entry in enumerate(night.entries):
        for position, judged in enumerate(entry.judged):
            row = {name: getattr(judged, name) for name in Judged.__dataclass_fields__}
            words = {
                name: replace_nul(value) for name, value in row.items() if isinstance(value, str)
            }
            yield {
                "entry": place,
                "position": position,
                "capture": replace_nul(entry.capture),
                "work": replace_nul(entry.work),
                **(row | words),
                **measured_of(entry.pairs, judged),
            }


def measured_of(pairs: tuple[Pair, ...], judged: Judged) -> dict[str, float | None]:
    """Return the change before anything was expected, on the metric's scale, and extreme pairs."""
    pair_changes = changes(pairs, judged.metric, judged.scale)
    interval = shift(pair_changes)
    candidate = values(pairs, judged.metric, "candidate")
    return {
        "measured": plain_change(middle(pair_changes), judged.scale) if pair_changes else None,
        "measured_low": plain_change(interval.lower_bound, judged.scale) if interval else None,
        "measured_high": plain_change(interval.upper_bound, judged.scale) if interval else None,
        "least": min(candidate, default=None),
        "most": max(candidate, default=None),
    }
