"""Exports whose XML was removed to make room, and whose kept tables stand for them.

`pruned.json` beside the exports says what each file held; the Parquet files that were made of it
are then all that there is of its tables. A file that is there again is read as ever.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from tracekit.base.errors import InputError
from tracekit.base.files import read_input
from tracekit.base.recording import save
from tracekit.tables.headers import Header

NOTE = "pruned.json"
FORMAT = 1


@dataclass(frozen=True)
class PutAway:
    """An export that was removed.

    Attributes:
        name: The file's name.
        digest: The digest of its content, which the names of its kept tables hold.
        reader: The version of the reader that made them.
        size: How many bytes it had.
        headers: The tables that it held.
        at: When it was removed, ISO 8601.
    """

    name: str
    digest: str
    reader: int
    size: int
    headers: tuple[Header, ...]
    at: str


@dataclass(frozen=True)
class _Note:
    exports: tuple[PutAway, ...] = ()
    format: int = FORMAT


def put_away(folder: Path) -> dict[Path, PutAway]:
    """Return the exports of a folder that were removed and are not there again, by their paths.

    Raises:
        InputError: The note about them cannot be read, or a newer tracekit wrote it.
    """
    noted = {folder / one.name: one for one in _read(folder).exports}
    return {path: one for path, one in noted.items() if not path.exists()}


def note_put_away(folder: Path, *exports: PutAway) -> None:
    """Note exports that are to be removed next; a later note of a name takes the place of others.

    Raises:
        InputError: As `put_away`.
        RecordingError: The note cannot be written.
    """
    noted = {one.name: one for one in (*_read(folder).exports, *exports)}
    save(folder / NOTE, _Note(tuple(noted[name] for name in sorted(noted))))


def gone(path: Path, one: PutAway, why: str) -> InputError:
    """Say that nothing can be read of an export that was removed."""
    return InputError(
        f"{path} was pruned on {one.at[:10]}, and {why}.",
        hint="Nothing of this table is left but what result.json and the page say.",
    )


def _read(folder: Path) -> _Note:
    note = folder / NOTE
    try:
        found = msgspec.json.decode(read_input(note), type=_Note)
    except FileNotFoundError:
        return _Note()
    except msgspec.MsgspecError as error:
        raise InputError(f"{note} cannot be read: {error}") from error
    if found.format > FORMAT:
        raise InputError(
            f"{note} has format {found.format}; this tracekit reads up to {FORMAT}.",
            hint="Use the tracekit that wrote it, or a newer one.",
        )
    plain = (one for one in found.exports if Path(one.name).name == one.name)
    return replace(found, exports=tuple(plain))
