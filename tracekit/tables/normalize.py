"""From an export's flat table to the columns that a schema of ours declares."""

from collections.abc import Callable, Iterable

import pandas as pd

from tracekit.base import InputError
from tracekit.tables.drift import DriftError
from tracekit.tables.labels import kernels_of
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
    """Return the table with the schema's columns and dtypes, and what is to be said about it.

    `source` is one of the schema's sources, `targets` are the pids of the recorded processes.
    `exported` names all columns of the flat table, if `frame` has only some.
    """
    losses = _drift([*(frame.columns if exported is None else exported)], schema, source)
    columns: dict[str, pd.Series] = {}
    for column in schema.columns:
        try:
            columns[column.name] = _column(frame, column, source, targets)
        except InputError as error:
            if not column.doubtful:
                raise
            columns[column.name] = _make_null_column(frame, column)
            text = f"{error.message[:-1]}, and is left null"
            losses.append(_make_change_loss(text, schema, source, column.source))
    table = pd.DataFrame(columns, index=frame.index)
    has_times = table[_times(schema)].notna().all(axis="columns")
    if not has_times.all():
        rows = int((~has_times).sum())
        remark = f"{source.schema}: {rows} rows without a time are left out"
        losses.append(_make_change_loss(remark, schema, source, rows=rows))
        table = table[has_times].reset_index(drop=True)
    return table.astype(dict.fromkeys(_times(schema), "int64")), losses


def read_by(schema: Schema) -> frozenset[str]:
    """Return the names of the flat table's columns that the schema makes use of."""
    sources = {column.source for column in schema.columns if column.source}
    pids = {
        f"{column.source}.pid" for column in schema.columns if column.kind is ColumnKind.PROCESS
    }
    return frozenset(sources | pids)


def dtype_of(kind: ColumnKind) -> str:
    """Return the dtype of a column of that kind."""
    return _DTYPES[kind]


def _times(schema: Schema) -> list[str]:
    return [column.name for column in schema.columns if column.kind is ColumnKind.TIME]


def _drift(exported: list[str], schema: Schema, source: SchemaSource) -> list[Loss]:
    known_columns = {column.source for column in schema.columns} | set(source.unused)
    known_columns |= {f"{name}{suffix}" for name in known_columns for suffix in _BESIDE}
    unknown = dict.fromkeys(name for name in exported if name not in known_columns)
    missing = dict.fromkeys(
        owner(column.source)
        for column in schema.columns
        if column.source and not column.since and owner(column.source) not in exported
    )
    column_groups = (
        (Flaw.UNKNOWN, "that tracekit does not know", unknown),
        (Flaw.LACKING, "that the export lacks", missing if source.clock == "gpu" else {}),
    )
    return [
        Loss(
            flaw,
            f"{source.schema}: columns {description}: {', '.join(columns)}",
            table=schema.name,
            schema=source.schema,
            columns=(*columns,),
        )
        for flaw, description, columns in column_groups
        if columns
    ]


def _make_change_loss(
    text: str, schema: Schema, source: SchemaSource, *columns: str, rows: int | None = None
) -> Loss:
    return Loss(Flaw.CHANGED, text, schema.name, source.schema, columns, rows)


def owner(mnemonic: str) -> str:
    """Return the export's own column, of one that the flat table puts beside it."""
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
            f"The column {column.source} of {source.schema} holds what is no {column.kind}."
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
    present_integers = integers.mask(integers == (-1 if integers.dtype == "Int64" else _NONE))
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
    # Texts that their cells share would not be shared in another storage.
    if isinstance(values.dtype, pd.StringDtype):
        return values
    return values.astype("string")


def _names(values: pd.Series, pids: pd.Series | None) -> pd.Series:
    """Take the " (pid)" off that `fmt` adds to a process's name, where it is that very pid."""
    texts = _text(values)
    if pids is None or texts.empty:
        return texts
    pairs = pd.DataFrame({"text": texts, "pid": pids})
    codes = pairs.groupby(["text", "pid"], sort=False, dropna=False).ngroup().to_numpy()
    places = pd.Series(codes).drop_duplicates().index
    some = pairs.iloc[places]
    suffixes = (" (" + some["pid"].astype("string") + ")").fillna("")
    names = [
        text.removesuffix(suffix) if isinstance(text, str) else None
        for text, suffix in zip(some["text"], suffixes, strict=True)
    ]
    process_names = pd.Series(names, dtype="string").take(codes)
    return process_names.set_axis(values.index)


_DTYPES: dict[ColumnKind, str] = {
    **dict.fromkeys(
        (
            ColumnKind.TIME,
            ColumnKind.INSTANT,
            ColumnKind.DURATION,
            ColumnKind.INTEGER,
            ColumnKind.STACK,
        ),
        "Int64",
    ),
    **dict.fromkeys((ColumnKind.IDENTIFIER, ColumnKind.BITS), "UInt64"),
    **dict.fromkeys(
        (ColumnKind.TEXT, ColumnKind.PROCESS, ColumnKind.KERNEL, ColumnKind.CLOCK), "string"
    ),
    ColumnKind.NUMBER: "Float64",
    ColumnKind.FLAG: "boolean",
    ColumnKind.TARGET: "bool",
}
_CONVERT: dict[ColumnKind, Callable[[pd.Series], pd.Series]] = {
    **{kind: _convert_signed for kind, dtype in _DTYPES.items() if dtype == "Int64"},
    ColumnKind.IDENTIFIER: _identifier,
    ColumnKind.BITS: _bits,
    ColumnKind.NUMBER: _number,
    ColumnKind.TEXT: _text,
    ColumnKind.KERNEL: lambda values: kernels_of(_text(values)),
    ColumnKind.FLAG: _flag,
}
