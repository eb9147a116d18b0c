"""Tables that were read once, kept as Parquet beside the exports.

A file's name holds the digest of the export's content and the reader's version, so that a
changed export or a new reader never meets an old table. Beside each stands a note with the
digest of the Parquet file and what the reader had to say. A damaged file is read again from
the export; a folder that cannot be written is no error.
"""

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pandas as pd

from tracekit.errors import RecordingError
from tracekit.input_file import unreadable
from tracekit.recording import save
from tracekit.tables.flat import Flat
from tracekit.tables.write import write_table

READER_VERSION = 1
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Note:
    digest: str
    damage: tuple[str, ...]
    drift: tuple[str, ...]


@dataclass(frozen=True)
class Cache:
    """A folder of Parquet files; with None for a folder nothing is kept."""

    folder: Path | None

    def load(self, export: Path, schema: str) -> Flat | None:
        """Return the table as it was kept, or None where it has to be read."""
        file = self._file(export, schema)
        if file is None or not file.exists():
            return None
        try:
            note = msgspec.json.decode(_note_of(file).read_bytes(), type=_Note)
            if note.digest == _digest(file):
                return Flat(pd.read_parquet(file), note.damage, note.drift)
        except (OSError, msgspec.MsgspecError) as error:
            _log.info("%s: %s", _note_of(file), error)
        _log.warning("%s is damaged; the export is read again.", file)
        return None

    def save(self, export: Path, schema: str, flat: Flat) -> None:
        """Keep a table for the next time."""
        file = self._file(export, schema)
        if file is None:
            return
        try:
            write_table(flat.frame, file)
            save(_note_of(file), _Note(_digest(file), flat.damage, flat.drift))
        except (OSError, RecordingError) as error:
            _log.warning("The table %s is not kept: %s", schema, error)

    def _file(self, export: Path, schema: str) -> Path | None:
        if self.folder is None:
            return None
        try:
            digest = _digest(export)
        except OSError as error:
            raise unreadable(export, error) from error
        name = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in schema)
        return self.folder / f"{name}.{digest}.{READER_VERSION}.parquet"


def _note_of(file: Path) -> Path:
    return file.with_suffix(".json")


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "blake2b").hexdigest()[:32]
