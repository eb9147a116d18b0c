"""A night as one text: what is kept whole beside the tables, and compared with another."""

from dataclasses import replace
from pathlib import Path

import msgspec

from tracekit.base import InputError
from tracekit.nightly.history.night import DOCUMENT, FORMAT, Night, Outcome

_CUT_SHORT = "The night was cut short: its process was killed, or the machine went down."


def as_document(night: Night) -> str:
    """Return the night as JSON.

    Raises:
        InputError: It could not be read again, as where a value is no finite number.
    """
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


def decoded(text: str | bytes, name: str) -> Night:
    """Return the night that a text holds.

    Raises:
        InputError: It cannot be understood, or a newer tracekit wrote it.
    """
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
    return decoded(text, str(folder / DOCUMENT))


def cut_short(night: Night) -> Night:
    """Return a night whose process ended before it did, as what the history keeps of it.

    It failed, unless a regression was found before.
    """
    if night.ended and night.outcome is not None:
        return night
    worst = any(one.outcome is Outcome.REGRESSION for one in night.entries)
    return replace(
        night,
        partial=True,
        outcome=Outcome.REGRESSION if worst else Outcome.FAILED,
        reason=f"{night.reason} {_CUT_SHORT}".strip(),
    )
