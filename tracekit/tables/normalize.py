"""From the flat table of an export to the columns that one of our schemas declares."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tracekit.base import InputError
from tracekit.tables.drift import DriftError
from tracekit.tables.labels import kernels_of
from tracekit.tables.lazy import pd
from tracekit.tables.losses import Flaw, Loss
from tracekit.tables.schema import Column, ColumnKind, Schema, SchemaSource

_NONE = 2**64 - 1
_LARGEST_SIGNED = 2**63 - 1
_UNSIGNED = ("uint64", "UInt64")
_BESIDE = (".pid", ".tid", ".stack")


def normalize(
    frame: pd.DataFrame,
    schema: Schema,
    source: SchemaSource,
    targets: frozenset[int],
    exported: Iterable[str] | None = None,
) -> tuple[pd.DataFrame, list[Loss]]:
    """Return the table with the columns and dtypes of the schema, and its losses.

    `source` is one of the sources of the schema, `targets` are the pids of the recorded processes.
    `exported` names all columns of the flat table, if `frame` has only some.
    """
    if exported is None:
        exported = frame.columns
    losses = _drift(list(exported), schema, source)
    columns: dict[str, pd.Series] = {}
    for column in schema.columns:
        try:
            columns[column.name] = _column(frame, column, source, targets)
        except InputError as error:
            if not column.doubtful:
                raise
            columns[column.name] = _make_null_column(frame, column)
            text = f"{error.message[:-1]}, and is left null"
            loss = _make_change_loss(text, schema, source, column.source)
            losses.append(loss)
    table = pd.DataFrame(columns, index=frame.index)
    time_names = _times(schema)
    has_times = table[time_names].notna().all(axis="columns")
    if not has_times.all():
        rows = int((~has_times).sum())
        remark = f"{source.schema}: {rows} rows without a time are left out"
        losses.append(_make_change_loss(remark, schema, source, rows=rows))
        table = table[has_times].reset_index(drop=True)
    return table.astype(dict.fromkeys(time_names, "int64")), losses


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


def _column(
    frame: pd.DataFrame, column: Column, source: SchemaSource, targets: frozenset[int]
) -> pd.Series:
    if column.kind is ColumnKind.CLOCK:
        return pd.Series(source.clock, index=frame.index, dtype="string")
    if column.source not in frame:
        if column.required or column.kind is ColumnKind.TARGET:
            raise DriftError(
                f"The export of {source.schema} has no column {column.source}, "
                f"which says {column.meaning}.",
                hint="Export it again, with all its columns.",
            )
        return _make_null_column(frame, column)
    values = frame[column.source]
    if column.kind is ColumnKind.PROCESS:
        return _names(values, frame.get(f"{column.source}.pid"))
    try:
        if column.kind is ColumnKind.TARGET:
            return _convert_signed(values).isin(targets).astype("bool")
        return _CONVERT[column.kind](values)
    except (TypeError, ValueError, OverflowError) as error:
        raise DriftError(
            f"The column {column.source} of {source.schema} has values that are not of the kind "
            f"{column.kind}."
        ) from error


def _make_null_column(frame: pd.DataFrame, column: Column) -> pd.Series:
    return pd.Series(pd.NA, index=frame.index, dtype=_DTYPES[column.kind])


def _convert_signed(values: pd.Series) -> pd.Series:
    integers = _integers(values)
    if integers.dtype == "Int64":
        return integers
    present_integers = integers.mask(integers == _NONE)
    if (present_integers > _LARGEST_SIGNED).any():
        raise OverflowError
    return present_integers.astype("Int64")


def _identifier(values: pd.Series) -> pd.Series:
    integers = _integers(values)
    none = -1
    if integers.dtype != "Int64":
        none = _NONE
    present_integers = integers.mask(integers == none)
    if (present_integers < 0).any():
        raise OverflowError
    return present_integers.astype("UInt64")


def _bits(values: pd.Series) -> pd.Series:
    integers = _integers(values)
    if (integers < 0).any():
        raise OverflowError
    return integers.astype("UInt64")


def _integers(values: pd.Series) -> pd.Series:
    if values.isna().all():
        return pd.Series(pd.NA, index=values.index, dtype="Int64")
    if not pd.api.types.is_integer_dtype(values.dtype):
        raise TypeError(values.dtype)
    return values.astype("UInt64" if values.dtype in _UNSIGNED else "Int64")


def _number(values: pd.Series) -> pd.Series:
    if values.isna().all():
        return pd.Series(pd.NA, index=values.index, dtype="Float64")
    if not pd.api.types.is_numeric_dtype(values.dtype):
        raise TypeError(values.dtype)
    return values.astype("Float64")


def _flag(values: pd.Series) -> pd.Series:
    if pd.api.types.is_bool_dtype(values.dtype):
        return values.astype("boolean")
    return _integers(values).ne(0).astype("boolean")


def _text(values: pd.Series) -> pd.Series:
    # In another storage, cells would not share their texts.
    if isinstance(values.dtype, pd.StringDtype):
        return values
    return values.astype("string")


def _names(values: pd.Series, pids: pd.Series | None) -> pd.Series:
    """Remove the " (pid)" that `fmt` adds to the name of a process, if it is the pid of its row."""
    texts = _text(values)
    if pids is None or texts.empty:
        return texts
    pairs = pd.DataFrame({"text": texts, "pid": pids})
    groups = pairs.groupby(["text", "pid"], sort=False, dropna=False)
    codes = groups.ngroup().to_numpy()
    places = pd.Series(codes).drop_duplicates().index
    some = pairs.iloc[places]
    pid_texts = some["pid"].astype("string")
    suffixes = (" (" + pid_texts + ")").fillna("")
    names: list[str | None] = []
    suffixed_texts = zip(some["text"], suffixes, strict=True)
    for text, suffix in suffixed_texts:
        if isinstance(text, str):
            names.append(text.removesuffix(suffix))
        else:
            names.append(None)
    process_names = pd.Series(names, dtype="string").take(codes)
    return process_names.set_axis(values.index)


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
_CONVERT: dict[ColumnKind, Callable[[pd.Series], pd.Series]] = {
    ColumnKind.TIME: _convert_signed,
    ColumnKind.INSTANT: _convert_signed,
    ColumnKind.DURATION: _convert_signed,
    ColumnKind.INTEGER: _convert_signed,
    ColumnKind.STACK: _convert_signed,
    ColumnKind.IDENTIFIER: _identifier,
    ColumnKind.BITS: _bits,
    ColumnKind.NUMBER: _number,
    ColumnKind.TEXT: _text,
    ColumnKind.KERNEL: lambda values: kernels_of(_text(values)),
    ColumnKind.FLAG: _flag,
}
