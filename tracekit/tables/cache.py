"""Tables that were read once, kept as Parquet beside the exports.

A file's name holds the digest of the export's content and the reader's version, so that a
changed export or a new reader never meets an old table. A damaged file is read again from the
export; a folder that cannot be written is no error.
"""

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.errors import RecordingError
from tracekit.tables.flat import Flat
from tracekit.tables.write import replacing
from tracekit.toc import unreadable

READER_VERSION = 1
_log = logging.getLogger(__name__)


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
            table = pq.read_table(file, page_checksum_verification=True)
            frame = table.to_pandas()
            notes = frame.attrs
            flat = Flat(frame, tuple(notes["damage"]), tuple(notes["drift"]))
        except (OSError, ValueError, KeyError, TypeError, NotImplementedError) as error:
            _log.warning("%s is damaged and is read again: %s", file, error)
            return None
        frame.attrs = {}
        return flat

    def save(self, export: Path, schema: str, flat: Flat) -> None:
        """Keep a table for the next time."""
        file = self._file(export, schema)
        if file is None:
            return
        frame = flat.frame.copy(deep=False)
        frame.attrs = {"damage": list(flat.damage), "drift": list(flat.drift)}
        try:
            with replacing(file) as handle:
                table = pa.Table.from_pandas(frame, preserve_index=False)
                pq.write_table(table, handle, write_page_checksum=True)
        except RecordingError as error:
            _log.warning("%s", error)

    def _file(self, export: Path, schema: str) -> Path | None:
        if self.folder is None:
            return None
        try:
            with export.open("rb") as content:
                digest = hashlib.file_digest(content, "blake2b").hexdigest()[:32]
        except OSError as error:
            raise unreadable(export, error) from error
        name = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in schema)
        return self.folder / f"{name}.{digest}.{READER_VERSION}.parquet"
