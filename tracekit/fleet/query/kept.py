"""One normalized table of one run as a Parquet file, kept beside what it was read from.

The file's name holds a digest of everything that the table follows from: the stamps of the
exports, and of the bundle where tables are read from it, the targets, the table's columns, and
the versions of what reads it. So a table that is no longer true has another name, and is never
met; and a checksum of its content, so that neither is one that was damaged. A file appears whole
or not at all; what its reader had to say stands in it.
"""

import logging
import os
import zlib
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base.errors import RecordingError
from tracekit.base.files import replacing
from tracekit.base.recording import Recording
from tracekit.pipeline import tables_of
from tracekit.tables.cache import READER_VERSION
from tracekit.tables.direct import direct
from tracekit.tables.schemas import SCHEMAS
from tracekit.tables.stamp import lasting, stamp

FORMAT = 1
_SAID = b"tracekit.said"
_ROW_GROUP = 122_880  # rows; what one thread of DuckDB takes at a time
_BLOCK = 1 << 20
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Part:
    """A table of one run: the file that holds it, and what its reader had to say."""

    file: Path
    said: tuple[str, ...] = ()


def normalized(recording: Recording, name: str, workshop: Path) -> Part:
    """Return a normalized table of a run, made if it is not kept already.

    Args:
        recording: The run.
        name: The table.
        workshop: A folder for what cannot be kept: of a run that nothing can be written into,
            or whose exports are so young that a change could leave no trace.

    Raises:
        MissingTableError: The run does not have the table.
        TracekitError: The table cannot be read.
    """
    before = _digest(recording, name)
    if before is None:
        return _made(recording, name, workshop)
    kept = sorted(recording.normalized.glob(f"{name}.{before}-*.parquet"))
    whole = next(filter(None, map(_whole, kept)), None)
    return whole or _keep(recording, name, before, workshop)


def _keep(recording: Recording, name: str, digest: str, workshop: Path) -> Part:
    made = _made(recording, name, workshop)
    if digest != _digest(recording, name):
        return made
    try:
        file = recording.normalized / f"{name}.{digest}-{_checksum(made.file)}.parquet"
        with replacing(file) as kept, made.file.open("rb") as content:
            while block := content.read(_BLOCK):
                kept.write(block)
        for other in file.parent.glob(f"{name}.*.parquet"):
            if other != file:
                other.unlink(missing_ok=True)
    except (OSError, RecordingError) as error:
        _log.info("The table %s is not kept: %s", name, error)
        return made
    made.file.unlink()
    return Part(file, made.said)


def _made(recording: Recording, name: str, workshop: Path) -> Part:
    tables = tables_of(recording)
    known = tables.warnings
    frame = tables[name]
    said = tuple(one for one in tables.warnings if one not in known)
    place = blake2b(str(recording.folder.resolve()).encode(), digest_size=8).hexdigest()
    file = workshop / f"{name}.{place}.parquet"
    table = pa.Table.from_pandas(frame, preserve_index=False)
    table = table.replace_schema_metadata({_SAID: msgspec.json.encode(said)})
    with replacing(file) as made:
        pq.write_table(table, made, compression="zstd", row_group_size=_ROW_GROUP)
    return Part(file, said)


def _whole(file: Path) -> Part | None:
    """Return the table that is kept there; None where it is not what was written."""
    try:
        if not file.stem.endswith(f"-{_checksum(file)}"):
            _log.info("%s is damaged, and made again", file)
            return None
        metadata = pq.read_metadata(file).metadata or {}
        return Part(file, msgspec.json.decode(metadata[_SAID], type=tuple[str, ...]))
    except (OSError, KeyError, pa.ArrowException, msgspec.MsgspecError) as error:
        _log.info("%s is made again: %s", file, error)
        return None


def _checksum(file: Path) -> str:
    """Return a checksum of a file's content; DuckDB looks at none, and would answer wrongly."""
    found = 0
    with file.open("rb") as content:
        while block := content.read(_BLOCK):
            found = zlib.crc32(block, found)
    return f"{found:08x}"


def _digest(recording: Recording, name: str) -> str | None:
    """Return the digest of what the table follows from; None where it may change unseen."""
    stamps: list[tuple[str, ...]] = []
    for path in _inputs(recording):
        lasts = lasting(stamp(path))
        if lasts is None:
            return None
        stamps.append((os.path.relpath(path, recording.folder), *map(str, astuple(lasts))))
    provenance = recording.provenance()
    targets = sorted(one.pid for one in provenance.targets)
    told = (_way_of_reading(name), targets, provenance.run, stamps)
    return blake2b(msgspec.json.encode(told), digest_size=16).hexdigest()


@cache
def _way_of_reading(name: str) -> tuple[int, str, int, str]:
    """Return what a table follows from besides its run."""
    return FORMAT, version("tracekit"), READER_VERSION, repr(SCHEMAS[name].columns)


def _inputs(recording: Recording) -> Iterator[Path]:
    """Yield the files that tables are read from: the exports, and what the bundle holds."""
    yield from sorted(path for path in recording.exports.glob("*") if path.is_file())
    note = direct(recording.exports)
    if note is not None:
        yield from sorted(one for one in note.path(recording.exports).rglob("*") if one.is_file())
