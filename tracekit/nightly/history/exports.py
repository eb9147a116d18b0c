"""A history as one table: a row for each point of each series, or for each value of each turn."""

import codecs
import csv
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO, Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.history.store.asking import TurnValue

FlatFormat = Literal["csv", "json", "parquet"]
Redact = Callable[[str], str]

_BATCH = 50_000  # rows that are in memory at once
_KINDS: dict[Any, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    bool: pa.bool_(),
    float: pa.float64(),
    float | None: pa.float64(),
    str | None: pa.string(),
}


@dataclass(frozen=True)
class PointRow:
    """One night's point of one series; see `Series` and `Point` for what the fields are."""

    machine: str
    plan: str
    capture: str
    work: str
    metric: str
    unit: str
    better: str
    scale: str
    threshold: float
    gated: bool
    night: str
    at: str
    value: float | None
    reference: float | None
    change: float | None
    low: float | None
    high: float | None
    least: float | None
    most: float | None
    pairs: int
    outcome: str | None
    night_outcome: str | None
    reason: str
    commit: str
    folder: str
    environment: str


def point_rows(series: Iterable[Series], redact: Redact) -> Iterator[PointRow]:
    """Yield a row for each point of each series, without names of persons."""
    for one in series:
        for point in one.points:
            yield _row(one, point, redact)


def write_points(
    file: BinaryIO, series: Iterable[Series], kind: FlatFormat, redact: Redact
) -> None:
    """Write a row for each point of each series; the environment is a text of JSON."""
    _write(file, PointRow, point_rows(series, redact), kind)


def write_values(
    file: BinaryIO, values: Iterable[TurnValue], kind: FlatFormat, redact: Redact
) -> None:
    """Write a row for each value of each turn."""
    redacted = (dataclasses.replace(one, reason=redact(one.reason)) for one in values)
    _write(file, TurnValue, redacted, kind)


def _row(series: Series, point: Point, redact: Redact) -> PointRow:
    names = [one.name for one in dataclasses.fields(PointRow)]
    known: dict[str, Any] = vars(point) | vars(series)
    cells: dict[str, Any] = {
        "reason": redact(point.reason),
        "folder": redact(point.folder),
        "environment": redact(
            msgspec.json.encode(point.environment, order="deterministic").decode()
        ),
    }
    return PointRow(**{name: cells.get(name, known[name]) for name in names})


def _write(file: BinaryIO, kind: type[Any], rows: Iterable[Any], as_format: FlatFormat) -> None:
    fields = {one.name: _KINDS[one.type] for one in dataclasses.fields(kind)}
    if as_format == "parquet":
        _write_parquet(file, fields, rows)
    elif as_format == "json":
        _write_json(file, rows)
    else:
        _write_csv(file, list(fields), rows)


def _write_csv(file: BinaryIO, names: Sequence[str], rows: Iterable[Any]) -> None:
    writer = csv.writer(codecs.getwriter("utf-8")(file), lineterminator="\n")
    writer.writerow(names)
    writer.writerows([getattr(row, name) for name in names] for row in rows)


def _write_json(file: BinaryIO, rows: Iterable[Any]) -> None:
    before = b"[\n"
    for row in rows:
        file.write(before + msgspec.json.encode(row))
        before = b",\n"
    file.write(b"[]\n" if before == b"[\n" else b"\n]\n")


def _write_parquet(file: BinaryIO, fields: dict[str, pa.DataType], rows: Iterable[Any]) -> None:
    schema = pa.schema(list(fields.items()))
    with pq.ParquetWriter(file, schema) as writer:
        for batch in _batches(rows):
            columns = [[getattr(row, name) for row in batch] for name in fields]
            writer.write_table(
                pa.table(
                    [pa.array(own, schema.field(at).type) for at, own in enumerate(columns)],
                    schema=schema,
                )
            )


def _batches(rows: Iterable[Any]) -> Iterator[list[Any]]:
    left = iter(rows)
    while batch := list(islice(left, _BATCH)):
        yield batch
