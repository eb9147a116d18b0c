"""Notes next to the exports of a run, as JSON with a format; one names the bundle to read directly.

An XML export next to `direct.json` has priority over the bundle that it names.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self, TypeVar

import msgspec

from tracekit.base import InputError, documents, files

_Note = TypeVar("_Note")
PRUNED_NOTE = "pruned.json"
"""The note of exports that were pruned; see `tracekit.tables.pruned`."""


@dataclass(frozen=True)
class _TableFormat:
    format: int = 1


def read_note(note: Path, note_type: type[_Note], format_: int) -> _Note | None:
    """Return a note next to exports, or None; raise InputError if it cannot be read."""
    try:
        content = files.read_input(note)
        format_number = documents.decode_json(content, _TableFormat).format
        if format_number > format_:
            raise InputError(
                f"{note} has format {format_number}; this tracekit reads up to {format_}.",
                hint="Use the tracekit that wrote it, or a newer one.",
            )
        return documents.decode_json(content, note_type)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        raise InputError(f"{note} cannot be read: {error}") from error


_FORMAT = 1


@dataclass(frozen=True)
class DirectNote:
    """The tables that are read directly: those of some schemas, or all if these are None.

    The path of the bundle is absolute, or relative to the folder of the note. `include` names the
    private parts of a GPU frame capture that become tables.
    """

    FILE: ClassVar[str] = "direct.json"

    bundle: str
    schemas: tuple[str, ...] | None = None
    format: int = _FORMAT
    include: tuple[str, ...] = ()

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """Return the note in a folder of exports; None if there is none."""
        return read_note(folder / cls.FILE, cls, _FORMAT)

    def save(self, folder: Path) -> None:
        """Write the note; raise RecordingError if it cannot be written."""
        documents.save(folder / self.FILE, self)

    def path(self, folder: Path) -> Path:
        """Return the path of the bundle, for a note in that folder."""
        bundle_path = os.path.normpath(folder / self.bundle)
        return Path(bundle_path)
