"""Normalized and joined tables, kept as Parquet in the folder of a run's flat tables.

The name of a file holds a digest of all that its content follows from: the flat table or the tables
that were joined, the declarations in `schemas.toml`, the targets, and the code. A table of anything
else never meets it, and is removed when the table is kept anew. A note beside it has the losses,
and the stamp and digest of the file, by which damage is found: the table is then made again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base import RecordingError, documents, files
from tracekit.base.stamps import lasting, stamp
from tracekit.tables.cache import (
    CachedTable,
    CacheNote,
    digest,
    note_path,
    read_intact_note,
)
from tracekit.tables.joins import MadeFrame
from tracekit.tables.lazy import pd
from tracekit.tables.losses import Loss
from tracekit.tables.normalize import dtype_of
from tracekit.tables.schema import ColumnKind, Schema, SchemaSource
from tracekit.tables.schemas import DECLARATIONS
from tracekit.tables.table_files import digest_code

_log = logging.getLogger(__name__)
_CODE = (
    *("derived.py", "drift.py", "joins.py", "kept_columns.py", "labels.py", "layout.py"),
    *("losses.py", "normalize.py", "schema.py", DECLARATIONS.name),
)
_SUFFIX = ".normal.parquet"
_MANY_ROWS = 100_000
_UNREAD = {
    "gpu_intervals": frozenset({"label", "state", "depth", "frame", "submission"}),
    "encoders": frozenset({"process", "device", "frame"}),
    "driver_intervals": frozenset({"driver", "process", "tid", "device"}),
}
"""Columns that no metric, rule or panel names: `kernel` is a label without its `submission`.

Laws that examine rows read them one by one, as `further_columns`.
"""
_REPEATING = {
    "gpu_intervals": frozenset({"channel", "kernel", "process", "device", "clock"}),
    "encoders": frozenset({"label", "command_buffer_label", "event", "thread", "clock"}),
    "driver_intervals": frozenset({"clock"}),
}
"""Columns of few texts: a text in each row takes more memory than all numbers of the row."""
_MORE = "Float64"  # the dtype of columns beyond those of a schema
_ROW_GROUP = 122_880  # rows; one thread of DuckDB takes so many at a time


@dataclass(frozen=True, eq=False)
class FrameTable:
    """A table that was made now; `key` identifies its content, or is empty if it was not kept."""

    content: pd.DataFrame
    key: str = ""

    def __len__(self) -> int:
        return len(self.content)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(map(str, self.content.columns))

    def arrow(self) -> pa.Table:
        """Return the table as one of Arrow, with the types that a kept table has."""
        table = pa.Table.from_pandas(self.content, preserve_index=False, nthreads=_threads(self))
        return table.replace_schema_metadata()

    def frame(self) -> pd.DataFrame:
        """Return the frame."""
        return self.content

    def select(self, names: Collection[str]) -> pd.DataFrame:
        """Return those of the columns that the table has."""
        return self.content[[name for name in self.columns if name in names]]


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """A kept table, whose file was whole when it was found; `make` makes it again.

    Nothing of it is read before it is asked for, and only its frame needs pandas.
    """

    file: Path
    rows: int
    columns: tuple[str, ...]
    schema: Schema
    key: str
    make: Callable[[], MadeFrame]

    def __len__(self) -> int:
        return self.rows

    def arrow(self) -> pa.Table:
        """Read the table; one that was damaged since it was found is made again."""
        try:
            with self._open() as content:
                table = content.read(use_threads=_threads(self) is None)
                return table.replace_schema_metadata()
        except (OSError, pa.ArrowException) as error:
            return FrameTable(self._make_frame(error)).arrow()

    def frame(self) -> pd.DataFrame:
        """Read the table into a frame; one that was damaged since it was found is made again."""
        return self._load_frame(self.columns)

    def select(self, names: Collection[str]) -> pd.DataFrame:
        """Read those of the columns that the table has."""
        return self._load_frame([name for name in self.columns if name in names])

    def lean_frame(self) -> pd.DataFrame:
        """Read the columns that an analysis reads; a long table has categories of repeated texts.

        A table that was damaged since it was found is made again, with all of its columns.
        """
        columns = [name for name in self.columns if name not in self.unread]
        encoded = frozenset[str]()
        if self.rows >= _MANY_ROWS:
            encoded = _REPEATING.get(self.schema.name, encoded).intersection(columns)
        return self._load_frame(columns, encoded)

    @property
    def further_columns(self) -> Mapping[str, pd.Series]:
        """The columns that a lean frame lacks; each is read at every request."""
        return _FurtherColumns(self)

    @property
    def unread(self) -> frozenset[str]:
        """The names of the columns that a lean frame lacks."""
        return _UNREAD.get(self.schema.name, frozenset()).intersection(self.columns)

    def load_column(self, name: str) -> pd.Series:
        """Read one column; of a table that was damaged since it was found, it is made again."""
        return self._load_frame([name])[name]

    def _load_frame(self, names: Sequence[str], encoded: Collection[str] = ()) -> pd.DataFrame:
        """Read columns into a frame, the `encoded` ones as categories."""
        try:
            with self._open(encoded) as content:
                if self.rows < _MANY_ROWS:
                    table = content.read(names, use_threads=False)
                    cells = ((name, table.column(name)) for name in names)
                else:  # One after the other, so that no more than one is held twice.
                    cells = ((name, content.read([name]).column(name)) for name in names)
                return _make_frame(cells, self.rows, self.schema)
        except (OSError, pa.ArrowException) as error:
            return self._make_frame(error)

    def _open(self, encoded: Collection[str] = ()) -> pq.ParquetFile:
        return pq.ParquetFile(
            self.file, read_dictionary=list(encoded), page_checksum_verification=True
        )

    def _make_frame(self, error: Exception) -> pd.DataFrame:
        _log.warning("%s is damaged: %s", self.file, error)
        frame, _ = self.make()
        return frame


class _FurtherColumns(Mapping[str, "pd.Series"]):
    def __init__(self, table: ParquetTable) -> None:
        self._table = table

    def __getitem__(self, name: str) -> pd.Series:
        if name not in self._table.unread:
            raise KeyError(name)
        return self._table.load_column(name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._table.unread))

    def __len__(self) -> int:
        return len(self._table.unread)


def _threads(table: FrameTable | ParquetTable) -> int | None:
    """Return the number of threads that convert a table: one, or as many as there are cores.

    For a small table, to start threads takes longer than the conversion.
    """
    if len(table) < _MANY_ROWS:
        return 1
    return None


Made = tuple[FrameTable | ParquetTable, list[Loss]]


def load_or_make(
    folder: Path,
    flat: CachedTable,
    schema: Schema,
    source: SchemaSource,
    targets: Collection[int],
    *,
    make: Callable[[], MadeFrame],
) -> Made:
    """Return a normalized table that was kept, or make it and keep it; errors are those of `make`.

    A flat table that was written as such, like those of a workload, is known by its content.
    """
    if flat.note.digest:
        name, _, _, _ = flat.path.name.rsplit(".", 3)  # without its digest and version
        content_digest = flat.note.digest
    else:
        name = flat.path.stem
        content_digest = digest(flat.path)
    key = _make_key([content_digest, source.schema, *map(str, sorted(targets))])
    return _load_or_keep(folder, f"{name}.{schema.name}", schema, key, make)


def load_or_join(
    folder: Path, schema: Schema, keys: Iterable[str], make: Callable[[], MadeFrame]
) -> Made:
    """Return a joined table that was kept, or make it and keep it; errors are those of `make`.

    `keys` identify the content of the tables that are joined, in the order of the join's inputs.
    """
    key = _make_key([schema.name, *keys])
    return _load_or_keep(folder, f"joined.{schema.name}", schema, key, make)


def _load_or_keep(
    folder: Path, stem: str, schema: Schema, key: str, make: Callable[[], MadeFrame]
) -> Made:
    file = folder / f"{stem}.{key}{_SUFFIX}"
    kept = _load(file, schema, key, make)
    if kept is not None:
        return kept
    frame, losses = make()
    columns = list(map(str, frame.columns))
    dtypes = dict(zip(columns, map(str, frame.dtypes), strict=True))
    if dtypes == _dtypes(schema, columns):
        table = FrameTable(frame, key)
        try:
            folder.mkdir(exist_ok=True)
            _keep(file, table.arrow(), CacheNote(None, None, "", losses=tuple(losses)))
            if len(table) >= _MANY_ROWS:  # of which a reader may need a part
                return ParquetTable(file, len(table), tuple(columns), schema, key, make), losses
        except (OSError, RecordingError) as error:
            _log.info("The table %s is not kept: %s", schema.name, error)
        return table, losses
    return FrameTable(frame), losses


def _make_key(parts: Iterable[str]) -> str:
    text = "\n".join([digest_code(*_CODE), *parts])
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _dtypes(schema: Schema, columns: Iterable[str]) -> dict[str, str]:
    """Return the dtypes of the columns of a kept table: those of the schema, then further ones."""
    dtypes: dict[str, str] = {}
    for column in schema.columns:
        dtype = dtype_of(column.kind)
        if column.kind is ColumnKind.TIME:
            dtype = "int64"
        dtypes[column.name] = dtype
    for name in columns:
        dtypes.setdefault(name, _MORE)
    return dtypes


@cache
def _pandas_dtype(name: str) -> Any:
    return pd.api.types.pandas_dtype(name)


def _load(file: Path, schema: Schema, key: str, make: Callable[[], MadeFrame]) -> Made | None:
    note = read_intact_note(file)
    if note is None:
        return None
    fresh_note = replace(note, file=lasting(stamp(file)))
    try:
        if fresh_note != note:
            documents.save(note_path(file), fresh_note)
        with pq.ParquetFile(file) as content:
            rows = content.metadata.num_rows
            columns = tuple(content.schema_arrow.names)
    except (OSError, pa.ArrowException) as error:
        _log.warning("%s is damaged: %s", file, error)
        return None
    return ParquetTable(file, rows, columns, schema, key, make), list(note.losses)


def _make_frame(
    columns: Iterable[tuple[str, pa.ChunkedArray]], rows: int, schema: Schema
) -> pd.DataFrame:
    arrays: dict[str, Any] = {}  # a series for each would take most of the time
    dtypes = _dtypes(schema, ())
    for name, cells in columns:
        dtype = _pandas_dtype(dtypes.get(name, _MORE))
        if pa.types.is_dictionary(cells.type):
            arrays[name] = cells.to_pandas().array
        elif hasattr(dtype, "__from_arrow__"):
            arrays[name] = dtype.__from_arrow__(cells)
        else:
            arrays[name] = cells.to_numpy().copy()
    return pd.DataFrame(arrays, index=pd.RangeIndex(rows), copy=False)


def _keep(file: Path, table: pa.Table, note: CacheNote) -> None:
    with files.replacing(file) as stream:
        pq.write_table(
            table, stream, compression="zstd", row_group_size=_ROW_GROUP, write_page_checksum=True
        )
    documents.save(note_path(file), replace(note, file=lasting(stamp(file)), digest=digest(file)))
    stem = file.name.removesuffix(_SUFFIX).rpartition(".")[0]
    for name in os.listdir(file.parent):  # noqa: PTH208  a pattern for each table takes longer
        if name.startswith(f"{stem}.") and name.endswith(_SUFFIX) and name != file.name:
            other = file.with_name(name)
            note_path(other).unlink(missing_ok=True)
            other.unlink(missing_ok=True)
