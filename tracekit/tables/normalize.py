"""From the flat table of an export to the columns that one of our schemas declares."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tracekit.base import InputError
from tracekit.tables.drift import DriftError
from tracekit.tables.labels import kernels_of
from tracekit.tables.lazy import np, pa, pd
from tracekit.tables.losses import Flaw, Loss
from tracekit.tables.schema import Column, ColumnKind, Schema, SchemaSource

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NONE = 2**64 - 1
_LARGEST_SIGNED = 2**63 - 1
_BESIDE = (".pid", ".tid", ".stack")


def normalize(
    flat: pa.Table,
    schema: Schema,
    source: SchemaSource,
    targets: frozenset[int],
    exported: Iterable[str] | None = None,
) -> tuple[pd.DataFrame, list[Loss]]:
    """Return the table with the columns and dtypes of the schema, and its losses.

    `source` is one of the sources of the schema, `targets` are the pids of the recorded processes.
    `exported` names all columns of the flat table, if `flat` has only some.
    """
    exported_columns: list[str] = flat.column_names
    if exported is not None:
        exported_columns = list(exported)
    losses = _drift(exported_columns, schema, source)
    columns: dict[str, Any] = {}  # arrays: a series for each would take most of the time
    for column in schema.columns:
        try:
            columns[column.name] = _column(flat, column, source, targets)
        except InputError as error:
            if not column.doubtful:
                raise
            columns[column.name] = _make_null_column(flat.num_rows, column)
            text = f"{error.message[:-1]}, and is left null"
            loss = _make_change_loss(text, schema, source, column.source)
            losses.append(loss)
    time_names = _times(schema)
    has_times = np.ones(flat.num_rows, np.bool_)
    for name in time_names:
        has_times &= ~columns[name].isna()
    rows = int(has_times.sum())
    if rows < flat.num_rows:
        left_out = flat.num_rows - rows
        remark = f"{source.schema}: {left_out} rows without a time are left out"
        losses.append(_make_change_loss(remark, schema, source, rows=left_out))
        columns = {name: cells[has_times] for name, cells in columns.items()}
    for name in time_names:
        columns[name] = columns[name].to_numpy(np.int64)
    return pd.DataFrame(columns, index=pd.RangeIndex(rows), copy=False), losses


def read_by(schema: Schema) -> frozenset[str]:
    """Return the names of the columns of the flat table that the schema uses."""
    names: set[str] = set()
    for column in schema.columns:
        if column.source:
            names.add(column.source)
        if column.kind is ColumnKind.PROCESS:
            names.add(f"{column.source}.pid")
    return frozenset(names)


def dtype_of(kind: ColumnKind) -> str:
    """Return the dtype of a column of that kind."""
    return _DTYPES[kind]


def _times(schema: Schema) -> list[str]:
    return [column.name for column in schema.columns if column.kind is ColumnKind.TIME]


def _drift(exported: list[str], schema: Schema, source: SchemaSource) -> list[Loss]:
    """Return losses for the exported columns that are unknown, and the known ones that are not."""
    losses: list[Loss] = []
    unknown_columns = _find_unknown_columns(exported, schema, source)
    if unknown_columns:
        words = f"columns that tracekit does not know: {', '.join(unknown_columns)}"
        losses.append(_make_column_loss(Flaw.UNKNOWN, words, schema, source, unknown_columns))
    missing_columns = _find_missing_columns(exported, schema)
    if missing_columns and source.clock == "gpu":
        words = f"columns that the export lacks: {', '.join(missing_columns)}"
        loss = _make_column_loss(Flaw.LACKING, words, schema, source, missing_columns)
        losses.append(loss)
    return losses


def _find_unknown_columns(exported: list[str], schema: Schema, source: SchemaSource) -> list[str]:
    known_columns = set(source.unused)
    known_columns.update(column.source for column in schema.columns)
    unknown_columns = [
        name for name in exported if name not in known_columns and owner(name) not in known_columns
    ]
    return list(dict.fromkeys(unknown_columns))


def _find_missing_columns(exported: list[str], schema: Schema) -> list[str]:
    missing_columns: dict[str, None] = {}
    for column in schema.columns:
        name = owner(column.source)
        if name and not column.since and name not in exported:
            missing_columns[name] = None
    return list(missing_columns)


def _make_column_loss(
    flaw: Flaw, words: str, schema: Schema, source: SchemaSource, columns: list[str]
) -> Loss:
    text = f"{source.schema}: {words}"
    return Loss(flaw, text, table=schema.name, schema=source.schema, columns=tuple(columns))


def _make_change_loss(
    text: str, schema: Schema, source: SchemaSource, *columns: str, rows: int | None = None
) -> Loss:
    return Loss(Flaw.CHANGED, text, schema.name, source.schema, columns, rows)


def owner(mnemonic: str) -> str:
    """Return the column of the export, for one that the flat table puts next to it."""
    name, dot, suffix = mnemonic.rpartition(".")
    if f"{dot}{suffix}" in _BESIDE:
        return name
    return mnemonic


def _column(flat: pa.Table, column: Column, source: SchemaSource, targets: frozenset[int]) -> Any:
    """Return the cells of a column as an array of numpy or pandas."""
    if column.kind is ColumnKind.CLOCK:
        return _make_texts(pa.chunked_array([pa.repeat(source.clock, flat.num_rows)]))
    if column.source not in flat.column_names:
        if column.required or column.kind is ColumnKind.TARGET:
            raise DriftError(
                f"The export of {source.schema} has no column {column.source}, "
                f"which says {column.meaning}.",
                hint="Export it again, with all its columns.",
            )
        return _make_null_column(flat.num_rows, column)
    cells = flat.column(column.source)
    if column.kind is ColumnKind.PROCESS:
        names = _text(cells)
        pid_name = f"{column.source}.pid"
        if pid_name in flat.column_names:
            names = _remove_pids(names, flat.column(pid_name))
        return _make_texts(names)
    try:
        if column.kind is ColumnKind.TARGET:
            pids = _convert_signed(cells)
            return np.isin(pids.values, list(targets)) & ~pids.nulls
        return _CONVERT[column.kind](cells)
    except (TypeError, ValueError, OverflowError) as error:
        raise DriftError(
            f"The column {column.source} of {source.schema} has values that are not of the kind "
            f"{column.kind}."
        ) from error


def _make_null_column(rows: int, column: Column) -> Any:
    return _pandas_dtype(_DTYPES[column.kind]).__from_arrow__(pa.nulls(rows))


class _Numbers(NamedTuple):
    """The values of cells, of which those of `nulls` have no meaning."""

    values: NDArray[Any]
    nulls: NDArray[np.bool_]


def _convert_signed(cells: pa.ChunkedArray) -> _Numbers:
    values, nulls = _integers(cells)
    if values.dtype == np.uint64:
        nulls |= values == _NONE
        if (values[~nulls] > _LARGEST_SIGNED).any():
            raise OverflowError
        values = values.view(np.int64)
    return _Numbers(values, nulls)


def _identifier(cells: pa.ChunkedArray) -> _Numbers:
    values, nulls = _integers(cells)
    if values.dtype == np.uint64:
        nulls |= values == _NONE
    else:
        nulls |= values == -1
    return _bits_of(_Numbers(values, nulls))


def _bits(cells: pa.ChunkedArray) -> _Numbers:
    return _bits_of(_integers(cells))


def _bits_of(numbers: _Numbers) -> _Numbers:
    """Return integers without a sign; raise OverflowError if one has a sign."""
    values, nulls = numbers
    if values.dtype == np.int64 and (values[~nulls] < 0).any():
        raise OverflowError
    return _Numbers(values.view(np.uint64), nulls)


def _integers(cells: pa.ChunkedArray) -> _Numbers:
    """Return integers of 64 bits, with a sign unless they are unsigned; nulls may be of any type.

    The arrays are the caller's own.
    """
    nulls = _find_nulls(cells)
    if nulls.all():
        return _Numbers(np.zeros(len(cells), np.int64), nulls)
    if not pa.types.is_integer(cells.type):
        raise TypeError(cells.type)
    dtype = np.uint64 if pa.types.is_uint64(cells.type) else np.int64
    return _Numbers(_read_values(cells, 0).astype(dtype), nulls)


def _number(cells: pa.ChunkedArray) -> _Numbers:
    nulls = _find_nulls(cells)
    if nulls.all():
        return _Numbers(np.zeros(len(cells)), nulls)
    if pa.types.is_string(cells.type) or pa.types.is_dictionary(cells.type):
        raise TypeError(cells.type)
    return _Numbers(_read_values(cells, 0).astype(np.float64), nulls)


def _flag(cells: pa.ChunkedArray) -> _Numbers:
    if pa.types.is_boolean(cells.type):
        return _Numbers(_read_values(cells, False).astype(np.bool_), _find_nulls(cells))
    values, nulls = _integers(cells)
    return _Numbers(values != 0, nulls)


def _find_nulls(cells: pa.ChunkedArray) -> NDArray[np.bool_]:
    if cells.null_count == 0 and not pa.types.is_floating(cells.type):
        return np.zeros(len(cells), np.bool_)
    return cells.is_null(nan_is_null=True).to_numpy().copy()


def _read_values(cells: pa.ChunkedArray, null_value: object) -> NDArray[Any]:
    if cells.null_count:
        cells = cells.fill_null(null_value)
    return cells.to_numpy()


def _text(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return cells as texts; numbers are spelled as pandas does."""
    if pa.types.is_dictionary(cells.type):
        return cells.cast(pa.string())
    if pa.types.is_string(cells.type):
        return cells
    from tracekit.tables.values import series  # noqa: PLC0415  numbers as texts are rare

    return pa.chunked_array([pa.array(series(cells).astype("string"), pa.string())])


def _make_texts(cells: pa.ChunkedArray) -> Any:
    return _pandas_dtype("string").__from_arrow__(cells)


@cache
def _pandas_dtype(name: str) -> Any:
    return pd.api.types.pandas_dtype(name)


def _remove_pids(texts: pa.ChunkedArray, pids: pa.ChunkedArray) -> pa.ChunkedArray:
    """Remove the " (pid)" that `fmt` adds to the name of a process, if it is the pid of its row."""
    coded_texts = texts.combine_chunks().dictionary_encode(null_encoding="encode")
    coded_pids = pids.combine_chunks().dictionary_encode(null_encoding="encode")
    all_pids = coded_pids.dictionary.to_pylist()
    all_texts = coded_texts.dictionary.to_pylist()
    pairs = coded_texts.indices.to_numpy().astype(np.int64) * len(all_pids)
    pairs += coded_pids.indices.to_numpy()
    coded_pairs = pa.array(pairs).dictionary_encode()
    names: list[str | None] = []
    for pair in coded_pairs.dictionary.to_pylist():
        text_code, pid_code = divmod(pair, len(all_pids))
        text = all_texts[text_code]
        pid = all_pids[pid_code]
        if text is not None and pid is not None:
            text = text.removesuffix(f" ({pid})")
        names.append(text)
    return pa.chunked_array([pa.array(names, pa.string()).take(coded_pairs.indices)])


_DTYPES: dict[ColumnKind, str] = {
    ColumnKind.TIME: "Int64",
    ColumnKind.INSTANT: "Int64",
    ColumnKind.DURATION: "Int64",
    ColumnKind.INTEGER: "Int64",
    ColumnKind.STACK: "Int64",
    ColumnKind.IDENTIFIER: "UInt64",
    ColumnKind.BITS: "UInt64",
    ColumnKind.TEXT: "string",
    ColumnKind.PROCESS: "string",
    ColumnKind.KERNEL: "string",
    ColumnKind.CLOCK: "string",
    ColumnKind.NUMBER: "Float64",
    ColumnKind.FLAG: "boolean",
    ColumnKind.TARGET: "bool",
}


def _make_integers(numbers: _Numbers) -> Any:
    return pd.arrays.IntegerArray(numbers.values, numbers.nulls)


_CONVERT: dict[ColumnKind, Callable[[pa.ChunkedArray], Any]] = {
    ColumnKind.TIME: lambda cells: _make_integers(_convert_signed(cells)),
    ColumnKind.INSTANT: lambda cells: _make_integers(_convert_signed(cells)),
    ColumnKind.DURATION: lambda cells: _make_integers(_convert_signed(cells)),
    ColumnKind.INTEGER: lambda cells: _make_integers(_convert_signed(cells)),
    ColumnKind.STACK: lambda cells: _make_integers(_convert_signed(cells)),
    ColumnKind.IDENTIFIER: lambda cells: _make_integers(_identifier(cells)),
    ColumnKind.BITS: lambda cells: _make_integers(_bits(cells)),
    ColumnKind.NUMBER: lambda cells: pd.arrays.FloatingArray(*_number(cells)),
    ColumnKind.TEXT: lambda cells: _make_texts(_text(cells)),
    ColumnKind.KERNEL: lambda cells: _make_texts(kernels_of(_text(cells))),
    ColumnKind.FLAG: lambda cells: pd.arrays.BooleanArray(*_flag(cells)),
}
