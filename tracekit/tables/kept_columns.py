"""Normalized tables, kept as Parquet next to the flat tables that they are made of.

The name of a file holds a digest of all that its content follows from: the flat table, the
declarations in `schemas.toml`, the targets, and the code that normalizes. A table of anything else
never meets it, and is removed when the table is kept anew. A note beside it has the losses, and the
stamp and digest of the file, by which damage is found: the table is then made again.
"""

import logging
import os
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pandas as pd
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
from tracekit.tables.joins import Made
from tracekit.tables.normalize import dtype_of
from tracekit.tables.schema import ColumnKind, Schema, SchemaSource
from tracekit.tables.schemas import DECLARATIONS

_log = logging.getLogger(__name__)
_CODE = (
    *("drift.py", "kept_columns.py", "labels.py", "layout.py", "losses.py", "normalize.py"),
    *("schema.py", DECLARATIONS.name),
)
_SUFFIX = ".normal.parquet"
_ROW_GROUP = 122_880  # rows; one thread of DuckDB takes so many at a time


def load_or_make(
    flat: CachedTable,
    schema: Schema,
    source: SchemaSource,
    targets: Collection[int],
    make: Callable[[], Made],
) -> Made:
    """Return a normalized table that was kept, or make it and keep it; errors are those of `make`.

    A flat table that is not in a folder of kept tables is made each time.
    """
    if not flat.note.digest:
        return make()
    file = _place(flat, schema, source, targets)
    kept = _load(file, schema)
    if kept is not None:
        return kept
    frame, losses = make()
    if frame.dtypes.map(str).to_dict() == _dtypes(schema):
        try:
            _keep(file, frame, CacheNote(None, None, "", losses=tuple(losses)))
        except (OSError, RecordingError) as error:
            _log.info("The table %s is not kept: %s", schema.name, error)
    return frame, losses


def _place(
    flat: CachedTable, schema: Schema, source: SchemaSource, targets: Collection[int]
) -> Path:
    parts = (
        _digest_code(),
        flat.note.digest,
        source.schema,
        *map(str, sorted(targets)),
    )
    key = blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()
    return flat.path.with_name(f"{_stem(flat, schema)}.{key}{_SUFFIX}")


def _stem(flat: CachedTable, schema: Schema) -> str:
    """Return the name of the flat table without its digest and version, and that of the table."""
    name, _, _, _ = flat.path.name.rsplit(".", 3)
    return f"{name}.{schema.name}"


@cache
def _digest_code() -> str:
    """Return the digest of the declarations and the code, so that no change meets an old table."""
    content = blake2b(digest_size=16)
    for name in _CODE:
        content.update(DECLARATIONS.with_name(name).read_bytes())
    return content.hexdigest()


def _dtypes(schema: Schema) -> dict[str, str]:
    dtypes: dict[str, str] = {}
    for column in schema.columns:
        dtype = dtype_of(column.kind)
        if column.kind is ColumnKind.TIME:
            dtype = "int64"
        dtypes[column.name] = dtype
    return dtypes


@cache
def _pandas_dtype(name: str) -> Any:
    return pd.api.types.pandas_dtype(name)


def _load(file: Path, schema: Schema) -> Made | None:
    note = read_intact_note(file)
    if note is None:
        return None
    fresh_note = replace(note, file=lasting(stamp(file)))
    try:
        if fresh_note != note:
            documents.save(note_path(file), fresh_note)
        with pq.ParquetFile(file, page_checksum_verification=True) as content:
            return _frame(content.read(), schema), list(note.losses)
    except (OSError, pa.ArrowException, KeyError) as error:
        _log.warning("%s is damaged: %s", file, error)
        return None


def _frame(table: pa.Table, schema: Schema) -> pd.DataFrame:
    columns: dict[str, Any] = {}  # arrays: a series for each would take most of the time
    for name, dtype_name in _dtypes(schema).items():
        dtype = _pandas_dtype(dtype_name)
        cells = table.column(name)
        if hasattr(dtype, "__from_arrow__"):
            columns[name] = dtype.__from_arrow__(cells)
        else:
            columns[name] = cells.to_numpy().copy()
    return pd.DataFrame(columns, index=pd.RangeIndex(table.num_rows), copy=False)


def _keep(file: Path, frame: pd.DataFrame, note: CacheNote) -> None:
    with files.replacing(file) as stream:
        table = pa.Table.from_pandas(frame, preserve_index=False)
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
