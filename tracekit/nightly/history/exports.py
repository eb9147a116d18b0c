"""A history as one table: a row for each point of each series, or for each value of each turn."""

import codecs
import csv
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO, Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.nightly.history.steps import Point, Series

FlatFormat = Literal["csv", "json", "parquet"]
Redact = Callable[[str], str]

_BATCH = 50_000  # rows that are in memory at once
_TEXT, _NUMBER, _WHOLE, _FLAG = pa.string(), pa.float64(), pa.int64(), pa.bool_()
# `Series` and `Point` say what these are; the environment is a text of JSON. Of values, `turn` is
# that of this side in the pair, from 0; `counted` whether the pair counts, `reason` why not.
_POINTS = pa.schema(
    [
        *((name, _TEXT) for name in ("machine", "plan", "capture", "work", "metric", "unit")),
        *(("better", _TEXT), ("scale", _TEXT), ("threshold", _NUMBER), ("gated", _FLAG)),
        *(("night", _TEXT), ("at", _TEXT)),
        *((name, _NUMBER) for name in ("value", "reference", "change", "low", "high")),
        *(("least", _NUMBER), ("most", _NUMBER), ("pairs", _WHOLE)),
        *((name, _TEXT) for name in ("outcome", "night_outcome", "reason", "commit", "folder")),
        ("environment", _TEXT),
    ]
)
_VALUES = pa.schema(
    [
        *((name, _TEXT) for name in ("night", "at", "machine", "plan", "capture", "work")),
        *(("metric", _TEXT), ("side", _TEXT), ("sitting", _WHOLE), ("pair", _WHOLE)),
        *(("traced", _FLAG), ("turn", _WHOLE), ("value", _NUMBER), ("counted", _FLAG)),
        ("reason", _TEXT),
    ]
)


def write_points(
    file: BinaryIO, series: Iterable[Series], kind: FlatFormat, redact: Redact
) -> None:
    """Write a row for each point of each series, without names of persons."""
    rows = (_row(each, point, redact) for each in series for point in each.points)
    _write(file, _POINTS, rows, kind)


def write_values(
    file: BinaryIO, values: Iterable[dict[str, Any]], kind: FlatFormat, redact: Redact
) -> None:
    """Write a row for each value of each turn, without names of persons."""
    rows = (value | {"reason": redact(value["reason"])} for value in values)
    _write(file, _VALUES, rows, kind)


def _row(series: Series, point: Point, redact: Redact) -> dict[str, Any]:
    known = vars(point) | vars(series)
    environment = msgspec.json.encode(point.environment, order="deterministic").decode()
    known |= {"reason": redact(point.reason), "folder": redact(point.folder)}
    known |= {"environment": redact(environment)}
    return {name: known[name] for name in _POINTS.names}


def _write(
    file: BinaryIO, schema: pa.Schema, rows: Iterator[dict[str, Any]], kind: FlatFormat
) -> None:
    if kind == "parquet":
        with pq.ParquetWriter(file, schema) as writer:
            while batch := list(islice(rows, _BATCH)):
                writer.write_table(pa.Table.from_pylist(batch, schema))
    elif kind == "json":
        before = b"[\n"
        for row in rows:
            file.write(before + msgspec.json.encode(row))
            before = b",\n"
        file.write(b"[]\n" if before == b"[\n" else b"\n]\n")
    else:
        writer = csv.DictWriter(codecs.getwriter("utf-8")(file), schema.names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
