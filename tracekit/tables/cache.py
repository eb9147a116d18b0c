"""Tables that were read once, of an export or a bundle, kept as Parquet beside the exports.

A table is written into the folder while it is read, and its columns are then loaded from there,
those that are asked for. A file's name holds the digest of the export's content and the
reader's version, so that a changed export or a new reader never meets an old table; older
files of the same table are dropped when a new one is written, unless they are all that is left of
an export that was put away. Beside each stands a note: what the reader had to say, the digest of
the Parquet file, and the stamps of both files. While a stamp lasts, a file is not hashed again;
where it differs, the digest decides.

Every file appears whole, so that two processes may fill one folder at once: the last one wins,
and both read what they wrote or the same. A damaged file is read again from the export; a
folder that cannot be written is no error. Files are not mapped into memory: their columns are
compressed, and a mapped file that someone cuts ends the process.
"""

import hashlib
import logging
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base import RecordingError, open_input, save
from tracekit.tables.bundle.cells.encodings import Said, of_sentence
from tracekit.tables.convert import Converted, convert, symbol_files
from tracekit.tables.direct import stored
from tracekit.tables.exports import PARQUET, PutAway, gone, put_away
from tracekit.tables.flat import Flat, read_flat
from tracekit.tables.layout import LONG_TEXTS, frame_of
from tracekit.tables.place import OPEN, Choice, Stamp, lasting, stamp
from tracekit.tables.reading import ReaderName
from tracekit.tables.toc.toc import Toc
from tracekit.tables.xml.node import Symbols, no_symbols

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


@dataclass(frozen=True)
class Note:
    """What is known of a kept table: of its files, and what its reader had to say."""

    export: Stamp | None
    file: Stamp | None
    digest: str
    symbols: tuple[str, ...] = ()
    rows: int = 0
    damage: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()
    remarks: tuple[Said, ...] = ()
    reader: ReaderName = "exact"
    irregularity: str = ""


@dataclass(frozen=True)
class Kept:
    """A table in a Parquet file; `again` reads the export where the file turns out damaged."""

    path: Path
    note: Note
    again: Callable[[], Flat]

    @property
    def said(self) -> tuple[Said, ...]:
        """What the reader had to say."""
        return (*self.note.damage, *self.note.drift, *self.note.remarks)

    @property
    def damage(self) -> tuple[str, ...]:
        """Where rows are missing."""
        return self.note.damage

    @property
    def drift(self) -> tuple[str, ...]:
        """Where columns break their declared types."""
        return self.note.drift

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return self._or_again(self._names, lambda flat: flat.names)

    @property
    def symbols(self) -> Symbols:
        """The stacks that the columns NAME.stack number."""
        return self._or_again(self._symbols, lambda flat: flat.symbols)

    def part(self, columns: Collection[str] | None = None) -> pd.DataFrame:
        """Load some columns, in the table's order; without names all of them."""
        return self._or_again(lambda: self._part(columns), lambda flat: flat.part(columns))

    def _names(self) -> tuple[str, ...]:
        return tuple(pq.read_schema(self.path).names)

    def _part(self, columns: Collection[str] | None) -> pd.DataFrame:
        wanted = [name for name in self._names() if columns is None or name in columns]
        with pq.ParquetFile(
            self.path, page_checksum_verification=True, read_dictionary=self._long()
        ) as file:
            # One after the other, so that no more than one is held twice. A name also selects
            # what has it for a prefix before a dot.
            loaded = ((name, file.read([name]).column(name)) for name in wanted)
            return frame_of(loaded, file.metadata.num_rows)

    def _long(self) -> list[str]:
        """Name the columns whose texts are long and repeated often, as the file says."""
        said = (pq.read_metadata(self.path).metadata or {}).get(LONG_TEXTS, b"[]")
        return msgspec.json.decode(said, type=list[str])

    def _symbols(self) -> Symbols:
        if not self.note.symbols:
            return no_symbols()
        frames, stacks = symbol_files(self.path)
        if (digest(frames), digest(stacks)) != self.note.symbols:
            raise pa.ArrowInvalid(f"the stacks beside {self.path} are not those it was kept with")
        return Symbols(pq.read_table(frames), pq.read_table(stacks))

    def _or_again(self, load: Callable[[], _T], of: Callable[[Flat], _T]) -> _T:
        try:
            return load()
        except (OSError, pa.ArrowException) as error:
            _log.warning("%s is damaged; the export is read again: %s", self.path, error)
        return of(self._flat)

    @cached_property
    def _flat(self) -> Flat:
        return self.again()


def digest(file: Path) -> str:
    """Return what tells a file's content from any other."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "blake2b").hexdigest()[:32]


READER_VERSION = 2


@dataclass(frozen=True)
class Cache:
    """A folder of Parquet files; with None for a folder nothing is kept."""

    folder: Path | None

    def table(
        self, export: Path, schema: str, choice: Choice = OPEN, toc: Toc | None = None
    ) -> Kept | Flat:
        """Return a table as it was kept, or read it and keep it.

        Raises:
            InputError: As `read_flat`; of an export that was put away, nothing is left.
        """
        if export.suffix == PARQUET:
            return _as_written(export)
        removed = None if export.exists() else _put_away(export).get(export)
        if self.folder is None:
            if removed is not None:
                raise gone(export, removed, "no folder of kept tables was named")
            return read_flat(export, schema, toc, choice)
        place = _Place(self.folder, export, schema, choice, toc)
        if removed is not None:
            return place.remaining(removed)
        try:
            stamped = place.stamp()
            file = place.file(stamped)
            return place.kept(file, stamped) or place.keep(file, stamped)
        except (OSError, RecordingError) as error:
            _log.warning("The table %s is not kept: %s", schema, error)
        return read_flat(export, schema, toc, choice)


def _as_written(file: Path) -> Kept | Flat:
    """Return a table that was written as a flat one, and is read where it is."""

    def damaged() -> Flat:
        text = f"{file.name} is cut or damaged, and its rows are missing."
        return Flat(pd.DataFrame(), damage=(text,))

    try:
        pq.read_metadata(file)
    except (OSError, pa.ArrowException):
        return damaged()
    return Kept(file, Note(None, None, ""), damaged)


@dataclass(frozen=True)
class _Place:
    """Where one table of one export is kept."""

    folder: Path
    export: Path
    schema: str
    choice: Choice
    toc: Toc | None

    def stamp(self) -> Stamp:
        """Return the stamp of the export; raise InputError if it is no file to be read."""
        of_bundle = stored(self.export)
        if of_bundle is not None:
            return of_bundle.stamp()
        with open_input(self.export):
            return stamp(self.export)

    def file(self, stamped: Stamp) -> Path:
        """Return the file of the export's content, which is hashed only if its stamp is new."""
        of_bundle = stored(self.export)
        found = self._known_digest(stamped)
        if found is None:
            found = digest(self.export) if of_bundle is None else of_bundle.digest()
        return self._named(found, READER_VERSION)

    def kept(self, file: Path, stamped: Stamp) -> Kept | None:
        """Return the table that is there, if it is whole."""
        note = _note(file)
        if note is None:
            return None
        if note.file != stamp(file) and note.digest != digest(file):
            _log.warning("%s is damaged; the export is read again.", file)
            return None
        known = replace(note, export=lasting(stamped), file=lasting(stamp(file)))
        if known != note:
            _save_note(file, known)
        return self._reading(file, note)

    def remaining(self, removed: PutAway) -> Kept:
        """Return the table that was kept of an export that is no more."""
        file = self._named(removed.digest, removed.reader)
        error = gone(self.export, removed, f"{file} is not what was kept of it")
        note = _note(file)
        if note is None or (note.file != stamp(file) and note.digest != digest(file)):
            raise error

        def again() -> Flat:
            raise error

        return Kept(file, note, again)

    def keep(self, file: Path, stamped: Stamp) -> Kept | Flat:
        """Read the table into the folder."""
        written = convert(self.export, file, self.schema, self.choice, toc=self.toc)
        if self.stamp() != stamped:
            file.unlink(missing_ok=True)
            _log.warning("%s changed while it was read; it is read again.", self.export)
            return read_flat(self.export, self.schema, self.toc, self.choice)
        note = _note_of(written, lasting(stamped))
        _save_note(file, note)
        self._drop_others(file)
        return self._reading(file, note)

    def _reading(self, file: Path, note: Note) -> Kept:
        def again() -> Flat:
            file.unlink(missing_ok=True)
            return read_flat(self.export, self.schema, self.toc, self.choice)

        return Kept(file, note, again)

    def _known_digest(self, stamped: Stamp) -> str | None:
        for file, found, version in self._all():
            note = _note(file) if version == READER_VERSION else None
            if note is not None and note.export == stamped:
                return found
        return None

    @property
    def _stem(self) -> str:
        name = f"{self.schema} {self.choice}".strip()
        return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name)

    def _named(self, content: str, reader: int) -> Path:
        return self.folder / f"{self._stem}.{content}.{reader}.parquet"

    def _all(self) -> Iterator[tuple[Path, str, int]]:
        name = re.compile(re.escape(self._stem) + r"\.([0-9a-f]{32})\.(\d+)\.parquet")
        for file in sorted(self.folder.glob("*.parquet")):
            found = name.fullmatch(file.name)
            if found:
                yield file, found[1], int(found[2])

    def _drop_others(self, file: Path) -> None:
        only = {one.digest for one in _put_away(self.export).values()}
        for other, found, _ in self._all():
            if other != file and found not in only:
                for one in (other.with_suffix(".json"), other, *symbol_files(other)):
                    one.unlink(missing_ok=True)


def _put_away(export: Path) -> dict[Path, PutAway]:
    """Return what was put away beside an export; nothing of a bundle ever is."""
    return put_away(export.parent) if stored(export) is None else {}


def _note_of(written: Converted, export: Stamp | None) -> Note:
    table, *symbols = written.files
    return Note(
        export=export,
        file=lasting(stamp(table)),
        digest=digest(table),
        symbols=tuple(map(digest, symbols)),
        rows=written.rows,
        damage=written.damage,
        drift=written.drift,
        remarks=written.remarks,
        reader=written.reader,
        irregularity=written.irregularity,
    )


def _note(file: Path) -> Note | None:
    note = file.with_suffix(".json")
    if not (file.exists() and note.exists()):
        return None
    try:
        known = msgspec.json.decode(note.read_bytes(), type=Note)
        return replace(known, remarks=tuple(map(of_sentence, known.remarks)))
    except (OSError, msgspec.MsgspecError) as error:
        _log.info("%s: %s", note, error)
    return None


def _save_note(file: Path, note: Note) -> None:
    save(file.with_suffix(".json"), note)
