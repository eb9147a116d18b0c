"""An answer into a file, piece by piece, or its first rows for a terminal."""

import base64
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from tracekit.base import UsageError, on_one_line, replacing, visible
from tracekit.fleet.query.database import Answer

Form = Literal["parquet", "csv", "json"]
FORMS: Mapping[str, Form] = {".parquet": "parquet", ".csv": "csv", ".json": "json"}


def form_of(output: str, form: Form | None) -> Form:
    """Return the format that is asked for, or that the file's name says; `-` is CSV.

    Raises:
        UsageError: The name says none.
    """
    suffix = Path(output).suffix.lower()
    if form is not None:
        return form
    if output != "-" and suffix not in FORMS:
        raise UsageError(
            f"{output} has a suffix that says no format.",
            hint=f"Use {', '.join(FORMS)}, or say --format.",
        )
    return FORMS.get(suffix, "csv")


def write_file(answer: Answer, path: Path, form: Form) -> int:
    """Write an answer, whole or not at all; return how many rows it has.

    Raises:
        RecordingError: The file cannot be written.
    """
    with replacing(path) as file:
        return write(answer, file, form)


def write(answer: Answer, file: BinaryIO, form: Form) -> int:
    """Write an answer, and return how many rows it has.

    Parquet keeps every type that it has; other values are the text that DuckDB has for them, as
    times are in CSV and JSON. CSV has lists, maps and structs as JSON; a text stands in quotes,
    a null is empty. JSON is an array with an object for each row, a line each.
    """
    batches, rows = answer.batches() if form == "parquet" else answer.worded(), 0
    schema = next(batches).schema  # of the first piece, which has no rows
    with _WRITERS[form](file, schema) as put:
        for batch in batches:
            put(batch)
            rows += batch.num_rows
    return rows


def plain(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Yield rows as Python's objects, maps as dicts."""
    columns = [_column(column) for column in batch.columns]
    return (dict(zip(batch.schema.names, row, strict=True)) for row in zip(*columns, strict=True))


Put = Callable[[pa.RecordBatch], None]


@contextmanager
def _parquet(file: BinaryIO, schema: pa.Schema) -> Generator[Put]:
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        yield writer.write_batch


@contextmanager
def _csv(file: BinaryIO, schema: pa.Schema) -> Generator[Put]:
    flat = pa.schema([(column.name, _flat(column.type)) for column in schema])

    def put(batch: pa.RecordBatch) -> None:
        columns = [
            column.cast(kind)
            if _castable(column.type)
            else pa.array(map(_json_text, _column(column)), kind)
            for column, kind in zip(batch.columns, flat.types, strict=True)
        ]
        writer.write_batch(pa.record_batch(columns, schema=flat))

    with pyarrow.csv.CSVWriter(file, flat) as writer:
        yield put


@contextmanager
def _json(file: BinaryIO, _schema: pa.Schema) -> Generator[Put]:
    before = chain([b"[\n"], repeat(b",\n"))

    def put(batch: pa.RecordBatch) -> None:
        file.writelines(next(before) + _ENCODER.encode(row) for row in plain(batch))

    yield put
    file.write(b"[]\n" if next(before) == b"[\n" else b"\n]\n")


def _other(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value)


_WRITERS = {"parquet": _parquet, "csv": _csv, "json": _json}
_ENCODER = msgspec.json.Encoder(decimal_format="number", enc_hook=_other)


def _json_text(value: object) -> str | None:
    return None if value is None else _ENCODER.encode(value).decode()


def _column(column: pa.Array) -> list[Any]:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.to_pylist(maps_as_pydicts="lossy")


def _flat(kind: pa.DataType) -> pa.DataType:
    """Return what CSV has for a type."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    return kind if _castable(kind) else pa.string()


def _castable(kind: pa.DataType) -> bool:
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return not (pa.types.is_nested(kind) or binary)


def first(answer: Answer, most: int, *, short: bool) -> tuple[list[tuple[str, ...]], int]:
    """Return the first rows, at most so many, and how many there are in all.

    A null is empty. Control characters, which could direct a terminal, are written out. If `short`,
    six digits of a number that is not whole will do.
    """
    drawn = list(answer.types) == ["explain_key", "explain_value"]
    shown: list[tuple[str, ...]] = []
    total = 0
    for batch in answer.worded():
        total += batch.num_rows
        if len(shown) < most and batch.num_rows:
            some = batch.slice(0, most - len(shown))
            shown += [
                tuple(_cell(value, short=short, drawn=drawn) for value in row.values())
                for row in plain(some)
            ]
    return shown, total


def _cell(value: Any, *, short: bool, drawn: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}" if short else repr(value)
    if isinstance(value, dict | list):
        return msgspec.json.encode(value, enc_hook=str).decode()
    return visible(str(value)) if drawn else on_one_line(str(value))
