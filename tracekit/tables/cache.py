"""Tables that were read once, of an export or a bundle, kept as Parquet next to the exports.

A table is written into the folder while it is read, and the requested columns are then loaded from
there. The name of a file holds the digest of the export and the version of the reader, so that a
changed export or a new reader never meets an old table. Older files of the same table are dropped
when a new one is written, unless they are all that is left of a pruned export. Each file has a
note: the losses that the reader reported, the digest of the Parquet file, and the stamps of both
files. While a stamp lasts, a file is not hashed again; if it differs, the digest decides.

Every file appears whole, so that two processes may fill one folder at once: the last one wins,
and both read their own file or an equal one. If the digest of a file differs, the export is read
again; a folder that cannot be written is not an error. Files are not mapped into memory: their
columns are compressed, and cutting a mapped file ends the process.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections import Counter
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base import InputError, RecordingError, documents, files
from tracekit.base.stamps import Stamp, lasting, stamp
from tracekit.tables.direct import Listed, Stored, TableRef
from tracekit.tables.drift import ReadNotes
from tracekit.tables.export_files import PARQUET
from tracekit.tables.exports import ExportIndex, index
from tracekit.tables.headers import TableHeader
from tracekit.tables.layout import frame_of
from tracekit.tables.lazy import pd
from tracekit.tables.losses import EncodingEvidence, Flaw, Loss, Severity, collecting, report
from tracekit.tables.place import OPEN, Choice, xpath_of
from tracekit.tables.pruned import PrunedExport, find_pruned_exports
from tracekit.tables.table_files import file_name, symbol_files
from tracekit.tables.toc import Toc
from tracekit.tables.xml.node import Symbols, no_symbols

if TYPE_CHECKING:
    from tracekit.tables.flat import Flat

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Unsure:
    """Columns that were read by an uncertain encoding, as readers up to the third noted them."""

    evidence: EncodingEvidence
    schema: str
    columns: tuple[str, ...]
    bundle: str = ""


@dataclass(frozen=True)
class CacheNote:
    """The note on a kept table: the state of its files, and the losses that its reader reported.

    Readers up to the third wrote sentences: `damage`, `drift` and `remarks`.
    """

    export: Stamp | None
    file: Stamp | None
    digest: str
    symbols: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()
    damage: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()
    remarks: tuple[str | _Unsure, ...] = ()

    @property
    def every_loss(self) -> tuple[Loss, ...]:
        """The losses that its reader reported, of whatever version it was."""
        losses = list(self.losses)
        losses += [Loss(Flaw.DAMAGED, text) for text in self.damage]
        losses += [Loss(Flaw.CHANGED, text) for text in self.drift]
        losses += [_convert_remark(remark) for remark in self.remarks]
        return tuple(losses)


def _convert_remark(remark: str | _Unsure) -> Loss:
    """Return a remark of a reader up to the third as a loss."""
    if isinstance(remark, str):
        return Loss(Flaw.NOTED, remark)
    return Loss(
        Flaw.UNSURE,
        schema=remark.schema,
        columns=remark.columns,
        evidence=remark.evidence,
        bundle=remark.bundle,
    )


@dataclass(frozen=True)
class CachedTable:
    """A table in a Parquet file, whose columns are loaded on request.

    It was whole when it was opened. Loading raises InputError if it is damaged since then.
    """

    path: Path
    note: CacheNote

    @property
    def notes(self) -> ReadNotes:
        """The losses that the reader reported."""
        return ReadNotes(self.note.every_loss)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        with self._reading():
            return tuple(pq.read_schema(self.path).names)

    @property
    def symbols(self) -> Symbols:
        """The stacks that the columns NAME.stack number."""
        if not self.note.symbols:
            return no_symbols()
        frames, stacks = symbol_files(self.path)
        with self._reading():
            if (digest(frames), digest(stacks)) != self.note.symbols:
                raise pa.ArrowInvalid(f"the stacks next to {self.path} are not its own")
            return Symbols(pq.read_table(frames), pq.read_table(stacks))

    def arrow(self, columns: Collection[str]) -> pa.Table:
        """Load some columns, in the order of the table."""
        chosen_names = [name for name in self.names if name in columns]
        with self._reading(), pq.ParquetFile(self.path, page_checksum_verification=True) as file:
            # A name also selects the columns that have it as a prefix before a dot.
            return file.read(chosen_names, use_threads=False).select(chosen_names)

    @property
    def frame(self) -> pd.DataFrame:
        """All columns as a frame of pandas."""
        return frame_of(self.arrow(self.names))

    @contextmanager
    def _reading(self) -> Generator[None]:
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            hint = ""
            if self.note.digest:
                hint = "Where its export is still there, remove the file."
            raise InputError(f"{self.path} is damaged.", hint=hint) from error


def digest(file: Path) -> str:
    """Return the BLAKE2b digest of a file, as 32 hexadecimal digits."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "blake2b").hexdigest()[:32]


class PrunedError(InputError):
    """An export was pruned, and no readable table of it was kept."""


READER_VERSION = 4
_ENDING = re.compile(r"[0-9a-f]{32}\.(\d+)\.parquet")  # of the name of a kept table


def load_or_read(
    folder: Path | None,
    ref: TableRef,
    schema: str,
    choice: Choice = OPEN,
    toc: Toc | None = None,
) -> CachedTable | Flat:
    """Return a table that was kept in the folder, or read it and keep it; without one, read it.

    Its losses are reported, whether it is read now or was read at another time.
    """
    table = _load_or_read(folder, ref, schema, choice, toc)
    report(table.notes.losses)
    return table


def _load_or_read(
    folder: Path | None, ref: TableRef, schema: str, choice: Choice, toc: Toc | None
) -> CachedTable | Flat:
    if isinstance(ref, Path) and ref.suffix == PARQUET:
        return _as_written(ref)
    pruned_export = _find_pruned_export(ref)
    if folder is None:
        if pruned_export is not None:
            raise _make_pruned_error(ref, pruned_export, "no folder of kept tables was named")
        return _read_flat(ref, schema, toc, choice)
    place = _CachePlace(folder, ref, schema, choice, toc)
    if pruned_export is not None:
        return place.load_remaining(pruned_export)
    try:
        stamped = place.stamp()
        file = place.file(stamped)
        return place.load_kept(file, stamped) or place.keep(file, stamped)
    except (OSError, RecordingError) as error:
        _log.warning("The table %s is not kept: %s", schema, error)
    return place.read()


def _read_flat(ref: TableRef, schema: str, toc: Toc | None, choice: Choice) -> Flat:
    """Read a table by readers that a process with kept tables never imports."""
    from tracekit.tables.flat import read_flat  # noqa: PLC0415

    return read_flat(ref, schema, toc, choice)


def _find_pruned_export(ref: TableRef) -> PrunedExport | None:
    """Return the note on the export of a table, if that was pruned and is not there again."""
    if not isinstance(ref, Path) or ref.exists():
        return None
    return find_pruned_exports(ref.parent).get(ref)


def _as_written(file: Path) -> CachedTable | Flat:
    """Return a table that was written as a flat one, without a copy in the cache."""
    try:
        pq.read_metadata(file)
    except (OSError, pa.ArrowException):
        text = f"{file.name} is cut or damaged, and its rows are missing."
        loss = Loss(Flaw.DAMAGED, text, schema=file.stem)
        from tracekit.tables.flat import Flat  # noqa: PLC0415  as in `_read_flat`

        return Flat(pa.table({}), ReadNotes((loss,)))
    return CachedTable(file, CacheNote(None, None, ""))


def _make_pruned_error(ref: TableRef, pruned_export: PrunedExport, reason: str) -> PrunedError:
    day, _, _ = pruned_export.at.partition("T")
    return PrunedError(
        f"{ref} was pruned on {day}, and {reason}.",
        hint="Only the figures in result.json and on the page are left of this table.",
    )


@dataclass(frozen=True)
class _CachePlace:
    folder: Path
    ref: TableRef
    schema: str
    choice: Choice
    toc: Toc | None

    def read(self) -> Flat:
        return _read_flat(self.ref, self.schema, self.toc, self.choice)

    def stamp(self) -> Stamp:
        """Return the stamp of the export; raise InputError if it is not a readable file."""
        if not isinstance(self.ref, Path):
            return self.ref.stamp()
        with files.open_input(self.ref):
            return stamp(self.ref)

    def file(self, stamped: Stamp) -> Path:
        """Return the file for the content of the export, which is hashed if its stamp is new."""
        for file, version in self._all():
            if version != READER_VERSION:
                continue
            note = _note(file)
            if note is not None and note.export == stamped:
                return file
        ref = self.ref
        content_digest = digest(ref) if isinstance(ref, Path) else ref.digest()
        return self._build_path(content_digest, READER_VERSION)

    def load_kept(self, file: Path, stamped: Stamp) -> CachedTable | None:
        """Return the table that is there, if it is whole."""
        note = read_intact_note(file)
        if note is None:
            return None
        export = lasting(stamped)
        fresh_note = replace(note, export=export, file=lasting(stamp(file)))
        if fresh_note != note:
            with suppress(OSError, RecordingError):  # in a folder that cannot be written
                documents.save(note_path(file), fresh_note)
        return CachedTable(file, note)

    def load_remaining(self, removed: PrunedExport) -> CachedTable:
        """Return the table that was kept of a pruned export."""
        file = self._build_path(removed.digest, removed.reader)
        note = read_intact_note(file)
        if note is None:
            raise _make_pruned_error(self.ref, removed, f"{file} is not its cached table")
        return CachedTable(file, note)

    def keep(self, file: Path, stamped: Stamp) -> CachedTable | Flat:
        """Read the table into the folder."""
        from tracekit.tables.convert import convert_table  # noqa: PLC0415  as in `_read_flat`

        conversion = convert_table(self.ref, file, self.schema, self.choice, toc=self.toc)
        if self.stamp() != stamped:
            file.unlink(missing_ok=True)
            _log.warning("%s changed while it was read; it is read again.", self.ref)
            return self.read()
        table, *symbols = conversion.files
        export = lasting(stamped)
        note = CacheNote(
            export=export,
            file=lasting(stamp(table)),
            digest=digest(table),
            symbols=tuple(map(digest, symbols)),
            losses=conversion.notes.losses,
        )
        documents.save(note_path(file), note)
        self._drop_others(file)
        return CachedTable(file, note)

    @property
    def _stem(self) -> str:
        return file_name(f"{self.schema} {self.choice}".strip())

    def _build_path(self, content: str, reader: int) -> Path:
        return self.folder / f"{self._stem}.{content}.{reader}.parquet"

    def _all(self) -> Iterator[tuple[Path, int]]:
        beginning = f"{self._stem}."
        names = os.listdir(self.folder) if self.folder.is_dir() else []  # noqa: PTH208  as paths
        for name in sorted(names):
            if name.startswith(beginning):
                match = _ENDING.fullmatch(name, len(beginning))
                if match:
                    yield self.folder / name, int(match[1])

    def _drop_others(self, file: Path) -> None:
        """Remove the other files of the table, except those that were kept of a pruned export."""
        pruned_digests: set[str] = set()
        if isinstance(self.ref, Path):
            pruned_exports = find_pruned_exports(self.ref.parent)
            pruned_digests = {export.digest for export in pruned_exports.values()}
        for cached_file, _ in self._all():
            content_digest = cached_file.name.split(".")[-3]
            if cached_file == file or content_digest in pruned_digests:
                continue
            note_path(cached_file).unlink(missing_ok=True)
            cached_file.unlink(missing_ok=True)
            for path in symbol_files(cached_file):
                path.unlink(missing_ok=True)


def note_path(file: Path) -> Path:
    """Return the path of the note on a kept table."""
    return file.with_suffix(".json")


def read_intact_note(file: Path) -> CacheNote | None:
    """Return the note on a kept table; return None if there is none, or the table is damaged."""
    note = _note(file)
    if note is None:
        return None
    if _is_intact(file, note):
        return note
    _log.warning("%s is damaged.", file)
    return None


def _is_intact(file: Path, note: CacheNote) -> bool:
    """Return whether a kept table has all its files, and its own matches the note."""
    if note.symbols:
        for path in symbol_files(file):
            if not path.exists():
                return False
    return note.file == stamp(file) or note.digest == digest(file)


def _note(file: Path) -> CacheNote | None:
    try:
        file.stat()
        note_content = note_path(file).read_bytes()
        return documents.decode_json(note_content, CacheNote)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        _log.info("%s: %s", file, error)
    return None


def find_choice(listed: Listed, tables: Sequence[Listed]) -> Choice:
    """Return the choice by which a table of a schema is read and kept, among all of that schema.

    If there are several it is the place of the table, even if each has a file of its own, so that
    the kept file of one never replaces that of another.
    """
    if len(tables) == 1:
        return OPEN
    tables_in_file = [table for table in tables if table.ref == listed.ref]
    if len(tables_in_file) == 1 and listed.place.index is None:
        return OPEN
    return listed.choice


def keep_exported_tables(
    exports: Path, cache: Path, removed_at: str
) -> tuple[list[PrunedExport], dict[Path, str]]:
    """Keep every table of every export that is there, and return the exports that may be pruned.

    The second value gives, for each other file, the reason why it must stay: it is not an export
    or is a link, is damaged, or its tables could not be kept.
    """
    export_index = index(exports)
    tables_by_file = _list_files(export_index)
    stems = Counter[str]()
    for tables in tables_by_file.values():
        stems.update(_stem(export_index, table) for table in tables)
    pruned_exports: list[PrunedExport] = []
    stays = dict.fromkeys(export_index.strange, "it is not an export")
    for path, tables in tables_by_file.items():
        if path.is_symlink():
            reason = "it is a link"
        else:
            reason = _reason(export_index, tables, stems, cache)
        if reason:
            stays[path] = reason
        else:
            headers = export_index.headers[path]
            size = path.stat().st_size
            pruned_exports.append(
                PrunedExport(path.name, digest(path), READER_VERSION, size, headers, removed_at)
            )
    return pruned_exports, stays


def _list_files(export_index: ExportIndex) -> dict[Path, list[Listed]]:
    """Return the tables of each XML file that is there."""
    tables_by_file: dict[Path, list[Listed]] = {}
    for table in export_index.all_tables:
        ref = table.ref
        if isinstance(ref, Path) and ref.suffix != PARQUET and ref.exists():
            tables_by_file.setdefault(ref, []).append(table)
    return tables_by_file


def keep_bundle_tables(
    exports: Path, cache: Path, removed_at: str
) -> tuple[list[PrunedExport], str]:
    """Keep every table that is read from a bundle, and return the notes that replace them.

    The second value is the reason why the bundle must stay; one of the two is empty.
    """
    export_index = index(exports)
    missing_losses = (*export_index.unread, *export_index.missing_losses)
    if missing_losses:
        return [], str(missing_losses[0])
    stems = Counter(_stem(export_index, table) for table in export_index.all_tables)
    pruned_exports: list[PrunedExport] = []
    for table in export_index.all_tables:
        ref = table.ref
        if isinstance(ref, Path):
            continue
        reason = _reason(export_index, [table], stems, cache)
        if reason:
            return [], f"{table.schema}, which is read from it: {reason}"
        if isinstance(ref, Stored):
            name = f"{ref.bundle.name}.run{ref.run}.store{ref.number}"
            xpath = xpath_of(table.place)
        else:
            name = f"{ref.bundle.name}.{ref.schema}"
            xpath = ""
        header = TableHeader(table.schema, xpath, 1, rows=table.rows)
        size = ref.file.stat().st_size
        pruned_exports.append(
            PrunedExport(name, ref.digest(), READER_VERSION, size, (header,), removed_at)
        )
    return pruned_exports, ""


def _reason(
    export_index: ExportIndex, tables: list[Listed], stems: Counter[str], cache: Path
) -> str:
    """Return the reason why an export with these tables must stay; "" if it may be removed."""
    for table in tables:
        if stems[_stem(export_index, table)] > 1:
            return "another file holds a table that cannot be distinguished from one of its own"
    for table in tables:
        reason = _reason_of_table(export_index, table, cache)
        if reason:
            return reason
    return ""


def _reason_of_table(export_index: ExportIndex, table: Listed, cache: Path) -> str:
    choice = find_choice(table, export_index.tables[table.schema])
    try:
        with collecting():  # the reason that is returned describes these losses
            kept_table = load_or_read(cache, table.ref, table.schema, choice, export_index.toc)
    except InputError as error:
        return f"it cannot be read: {error.message}"
    if not isinstance(kept_table, CachedTable):
        return "its tables could not be kept"
    if kept_table.notes.damage:
        return "it is damaged, and rows are missing"
    for loss in kept_table.notes.losses:
        if loss.severity is Severity.ERROR:
            return "it is damaged, and names are missing"
    return ""


def _stem(export_index: ExportIndex, listed: Listed) -> str:
    return f"{listed.schema} {find_choice(listed, export_index.tables[listed.schema])}"
