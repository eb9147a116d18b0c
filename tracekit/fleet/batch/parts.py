"""The files of a batch's data set: one for each source while it grows, then parts of many.

Ten thousand small files take longer to open than to read. When a batch ends, small files become
parts of 64 to 128 MB, each with a list of the files that it was made of, in the order of its rows.
Before one of these is replaced, its part is taken apart. To join files and to take them apart, a
whole new folder is put in the place of the old one, so that a process that is killed leaves each
row once. Nobody else may write into the folder meanwhile.

A part has rows of one month, so that a reader who asks for a month skips the others by their
statistics. There are no folders of months, so that a file which is written again, with another
date, replaces the old one.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import msgspec

from tracekit.base import RecordingError, documents
from tracekit.tables import losses
from tracekit.tables.lazy import pa, pq

_log = logging.getLogger(__name__)
_PART = "part-"
_JOINED = b"tracekit.joined"
_MONTH = b"tracekit.month"
_SMALL = 64 << 20  # bytes; a larger file stays as it is
_FEWEST = 16  # small files from which a part is worth its making
_ROW_GROUP = 122_880  # rows; one thread of DuckDB takes so many at a time
_T = TypeVar("_T")
MOST_TRIES = 5
"""Times that files of a batch are listed before its readers give up, because they change."""


@dataclass(frozen=True)
class _JoinedFile:
    """A file whose rows are in a part: its name without the ending, and the number of its rows."""

    name: str
    row_count: int


def list_folders(top: Path) -> list[Path]:
    """Return the folders in a folder, by the names that they have after `recover`."""
    names: set[str] = set()
    if top.is_dir():
        for folder in top.iterdir():
            if folder.name.startswith("."):
                names.add(folder.stem.removeprefix("."))
            else:
                names.add(folder.name)
    return [top / name for name in sorted(names)]


def find_folder(folder: Path) -> Path:
    """Return a folder, or the one in its place that a killed process was about to replace."""
    old = _old(folder)
    if not folder.exists() and old.exists():
        return old
    return folder


def find_files(folder: Path) -> list[Path]:
    """Return the files of a folder, in the order of their names; none if it is not there.

    A folder that was replaced meanwhile is listed again, because it is emptied then.
    """
    while True:
        place = find_folder(folder)
        identity = _identify(place)
        files: list[Path] = []
        with suppress(FileNotFoundError):
            files = sorted(place.glob("*.parquet"))
        if _identify(find_folder(folder)) == identity:
            return files


def read_files(folder: Path, read: Callable[[list[Path]], _T]) -> _T:
    """Return the outcome of `read` for the files of a folder; for new ones if a file is gone.

    Raise RecordingError if the files change each time.
    """
    for _ in range(MOST_TRIES):
        with suppress(FileNotFoundError):
            return read(find_files(folder))
    raise RecordingError(f"The files of {folder} change.", hint="Ask again once its batch ended.")


def names_in(file: Path) -> list[str]:
    """Return the names of the files that a part was made of; of any other file its own name.

    Raise FileNotFoundError if a part is gone.
    """
    if not file.name.startswith(_PART):
        return [file.stem]
    try:
        return [joined_file.name for joined_file in _read_list(file)]
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException):
        return [file.stem]


def recover(folder: Path) -> None:
    """Finish or undo the work of a killed process; one folder is left, with all rows."""
    new, old = _new(folder), _old(folder)
    if not folder.exists() and old.exists():
        whole_folder = new if new.exists() else old
        whole_folder.rename(folder)
    for leftover in (old, new):
        shutil.rmtree(leftover, ignore_errors=True)


def mark_month(table: pa.Table, month: str | None) -> pa.Table:
    """Return a table to be written, which shares parts only with others of its month."""
    if month is None:
        return table
    return table.replace_schema_metadata({**(table.schema.metadata or {}), _MONTH: month.encode()})


def report_damage(file: Path, error: Exception) -> None:
    """Report that the rows of a file of a batch cannot be read."""
    reason = " ".join(str(error).split()).rstrip(".")
    text = f"{file} is damaged, so its rows are left out: {reason}."
    losses.report([losses.Loss(losses.Flaw.DAMAGED, text)])


def set_damaged_aside(folder: Path) -> Iterator[Path]:
    """Rename the parts that cannot be read, and yield their new places."""
    for part in sorted(folder.glob(f"{_PART}*.parquet")):
        try:
            _read(part)
            _read_list(part)
        except (OSError, pa.ArrowException):
            yield part.rename(part.with_name(f"{part.name}.damaged"))


def take_apart(folder: Path, sources: Collection[str], options: Mapping[str, Any]) -> None:
    """Make single files again of the parts that have rows of these sources.

    The name of a file is the key of a source, or for one of its recordings KEY-NUMBER.

    `options` are those with which a single file is written. Raise RecordingError if the folder
    cannot be written.
    """
    parts: set[Path] = set()
    for part in folder.glob(f"{_PART}*.parquet"):
        part_sources = {name.partition("-")[0] for name in names_in(part)}
        if not part_sources.isdisjoint(sources):
            parts.add(part)
    if not parts:
        return
    try:
        with _renewing(folder, parts) as new_folder:
            for part in parts:
                for name, table in _split(part):
                    pq.write_table(table, new_folder / f"{name}.parquet", **options)
    except (OSError, pa.ArrowException) as error:
        raise RecordingError(f"{folder} cannot be written anew: {error}") from error


def join(folder: Path) -> None:
    """Make parts of the small files, except damaged ones; change nothing if that fails."""
    small_files = [file for file in find_files(folder) if file.stat().st_size < _SMALL]
    single_files = [file for file in small_files if not file.name.startswith(_PART)]
    if len(single_files) < _FEWEST:
        return
    try:
        replaced_files: set[Path] = set()
        with _renewing(folder, replaced_files) as new_folder:
            for schema, like_files in _group_by_schema(small_files):
                rows_by_file = _read_each(like_files, replaced_files)
                _write_parts(schema, _collect(rows_by_file), new_folder)
    except (OSError, pa.ArrowException) as error:
        _log.warning("The small files of %s stay as they are: %s", folder, error)


def places_of(folder: Path) -> tuple[Path, ...]:
    """Return the folder, and the one that has its files while it is replaced."""
    return folder, _old(folder)


def _new(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.new")


def _old(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def _identify(folder: Path) -> tuple[Path, int, int] | None:
    """Return the place and the number of a folder; None if it is not there."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return folder, status.st_dev, status.st_ino


@contextmanager
def _renewing(folder: Path, replaced_files: set[Path]) -> Generator[Path]:
    """Yield a folder that takes the place of `folder`, with all files that were not replaced."""
    new, old = _new(folder), _old(folder)
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    try:
        yield new
        for file in folder.iterdir():
            if file not in replaced_files:
                _lend(file, new / file.name)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _lend(file: Path, place: Path) -> None:
    """Link a file to a place, or copy it if the file system has no links."""
    try:
        os.link(file, place)
    except OSError:
        shutil.copy2(file, place)


def _read_list(part: Path) -> list[_JoinedFile]:
    """Return the files that a part was made of; raise ArrowInvalid if it does not say."""
    metadata = pq.read_metadata(part).metadata or {}
    try:
        return documents.decode_json(metadata.get(_JOINED, b""), list[_JoinedFile])
    except msgspec.MsgspecError as error:
        raise pa.ArrowInvalid(f"{part} does not name its files: {error}") from error


def _split(part: Path) -> Iterator[tuple[str, pa.Table]]:
    """Yield the name and the rows of each file that a part was made of."""
    table = _read(part)
    table = table.cast(_plain(table.schema))
    start = 0
    for joined_file in _read_list(part):
        rows = table.slice(start, joined_file.row_count)
        yield joined_file.name, _shorten_dictionaries(rows)
        start += joined_file.row_count


def _shorten_dictionaries(rows: pa.Table) -> pa.Table:
    """Return rows whose dictionaries have no other values; a part shares one among its files."""
    for place, field in enumerate(rows.schema):
        if pa.types.is_dictionary(field.type):
            values = rows.column(place).cast(field.type.value_type)
            column = values.dictionary_encode().cast(field.type)
            rows = rows.set_column(place, field, column)
    return rows


def _read(file: Path) -> pa.Table:
    """Return the rows of a file; raise an error of Arrow or of the system if it is damaged."""
    with pq.ParquetFile(file, page_checksum_verification=True) as parquet:
        return parquet.read(use_threads=False)


def _group_by_schema(small_files: Sequence[Path]) -> Iterator[tuple[pa.Schema, list[Path]]]:
    """Yield the files of each schema, if not all of them are parts; damaged ones are left out."""
    groups: dict[bytes, tuple[pa.Schema, list[Path]]] = {}
    for file in small_files:
        with suppress(OSError, pa.ArrowException):
            schema = _plain(pq.read_schema(file))
            key = schema.serialize().to_pybytes()
            _, files = groups.setdefault(key, (schema, []))
            files.append(file)
    for schema, files in groups.values():
        if not all(file.name.startswith(_PART) for file in files):
            yield schema, files


def _plain(schema: pa.Schema) -> pa.Schema:
    """Return a schema without the list of a part's files."""
    metadata = dict(schema.metadata or {})
    metadata.pop(_JOINED, None)
    return schema.with_metadata(metadata)


_JoinedRows = tuple[list[_JoinedFile], "pa.Table"]


def _read_each(files: Sequence[Path], read_files: set[Path]) -> Iterator[_JoinedRows]:
    """Yield the rows of each file that is not damaged, and note it among those that were read."""
    for file in files:
        try:
            rows = _read(file).replace_schema_metadata()
            joined_files = [_JoinedFile(file.stem, rows.num_rows)]
            if file.name.startswith(_PART):
                joined_files = _read_list(file)
        except (OSError, pa.ArrowException):
            continue
        read_files.add(file)
        yield joined_files, rows


def _collect(rows_by_file: Iterator[_JoinedRows]) -> Iterator[_JoinedRows]:
    """Yield the rows of files, together as many as a row group has."""
    joined_files: list[_JoinedFile] = []
    tables: list[pa.Table] = []
    row_count = 0
    for names, rows in rows_by_file:
        joined_files += names
        tables.append(rows)
        row_count += rows.num_rows
        if row_count >= _ROW_GROUP:
            yield joined_files, pa.concat_tables(tables).unify_dictionaries()
            joined_files = []
            tables = []
            row_count = 0
    if tables:
        yield joined_files, pa.concat_tables(tables).unify_dictionaries()


def _write_parts(schema: pa.Schema, all_rows: Iterator[_JoinedRows], folder: Path) -> None:
    """Write rows into parts; each but the last one has 64 MB at least."""
    for first_rows in all_rows:
        joined_files: list[_JoinedFile] = []
        place = folder / f"{_PART}{uuid4().hex}.parquet"
        with (
            pa.OSFile(str(place), "wb") as sink,
            pq.ParquetWriter(sink, schema, compression="zstd", write_page_checksum=True) as writer,
        ):
            for names, rows in chain([first_rows], all_rows):
                writer.write_table(rows.cast(schema), row_group_size=_ROW_GROUP)
                joined_files += names
                if sink.tell() >= _SMALL:
                    break
            writer.add_key_value_metadata({_JOINED: documents.encode_json(joined_files)})
        with place.open("rb") as stream:
            os.fsync(stream.fileno())
