"""A night as one text that is kept whole, and its judgements as rows. No database is needed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from tracekit.base import InputError, documents
from tracekit.comparison import shifts
from tracekit.nightly.history.night import DOCUMENT, FORMAT, Judged, Night, Outcome, Pair, moment_of
from tracekit.nightly.history.pairs import changes, plain_change, values

_CUT_SHORT = "The night was cut short: its process was killed, or the machine went down."


def as_document(night: Night) -> str:
    """Return the night as JSON."""
    try:
        text = msgspec.json.encode(night).decode()
        documents.decode_json(text, Night)
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        # Letters that UTF-8 cannot encode; or values that are not numbers, which JSON has as null.
        raise InputError(
            f"The night {night.id} cannot be kept: {error}.",
            hint="All its values must be finite numbers, and all its words text.",
        ) from error
    return text


def decode_night(text: str | bytes, name: str) -> Night:
    """Return the night of a text, which may have the keys of an earlier format."""
    try:
        format_number = documents.decode_json(text, _NightFormat).format
        if format_number > FORMAT:
            raise InputError(
                f"The night {name} has format {format_number}; this tracekit reads up to {FORMAT}.",
                hint="Update tracekit on this machine.",
            )
        if format_number < FORMAT:
            text = documents.rename_old_keys(text, DOCUMENT, format_number)
        night = documents.decode_json(text, Night)
    except msgspec.MsgspecError as error:
        raise InputError(f"The night {name} cannot be read: {error}.") from error
    return replace(night, format=FORMAT)


@dataclass(frozen=True)
class _NightFormat:
    """The format of a night's document, 1 if the document does not state it."""

    format: int = 1


def night_in(folder: Path) -> Night | None:
    """Read the night in a folder; None if there is none."""
    try:
        text = (folder / DOCUMENT).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{folder / DOCUMENT} cannot be read: {error.strerror}.") from error
    return decode_night(text, str(folder / DOCUMENT))


def cut_short(night: Night) -> Night:
    """Return a night whose process ended before it did, as the history keeps it.

    It failed, unless a regression was found before.
    """
    if night.ended and night.outcome is not None:
        return night
    outcome = Outcome.FAILED
    if any(entry.outcome is Outcome.REGRESSION for entry in night.entries):
        outcome = Outcome.REGRESSION
    reason = f"{night.reason} {_CUT_SHORT}".strip()
    return replace(night, partial=True, outcome=outcome, reason=reason)


def moment(timestamp: str | datetime) -> str:
    """Return a time as the history keeps it: ISO 8601 in UTC, so that text sorts by time."""
    return moment_of(timestamp).isoformat(timespec="milliseconds")


def replace_nul(text: str) -> str:
    """Return text that both databases take: PostgreSQL takes no NUL."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def judgement_rows(night: Night) -> Iterator[dict[str, Any]]:
    """Yield the judgement on each metric, and its measured change before any expectation."""
    for place, entry in enumerate(night.entries):
        for position, judged in enumerate(entry.judged):
            row: dict[str, Any] = {
                "entry": place,
                "position": position,
                "capture": replace_nul(entry.capture),
                "work": replace_nul(entry.work),
            }
            for name in Judged.__dataclass_fields__:
                value = getattr(judged, name)
                row[name] = replace_nul(value) if isinstance(value, str) else value
            row.update(measured_of(entry.pairs, judged))
            yield row


def measured_of(pairs: tuple[Pair, ...], judged: Judged) -> dict[str, float | None]:
    """Return the change before any expectation, on the metric's scale, and extreme pairs."""
    candidate = values(pairs, judged.metric, "candidate")
    least = min(candidate, default=None)
    most = max(candidate, default=None)
    measured: dict[str, float | None] = {
        "measured": None,
        "measured_low": None,
        "measured_high": None,
        "least": least,
        "most": most,
    }
    pair_changes = changes(pairs, judged.metric, judged.scale)
    if pair_changes:
        measured["measured"] = plain_change(shifts.find_middle(pair_changes), judged.scale)
    interval = shifts.find_interval(pair_changes)
    if interval:
        measured["measured_low"] = plain_change(interval.lower_bound, judged.scale)
        measured["measured_high"] = plain_change(interval.upper_bound, judged.scale)
    return measured
