"""What other programs are given of a history, read back as they read it."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tracekit.base.redaction import nothing, own_redaction
from tracekit.nightly.history.listing import write_points, write_values
from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.steps import Point, Series


def point_of(day: int, value: float | None = 100.0, **more: Any) -> Point:
    made = Point(
        f"n{day}", f"2026-03-{day:02d}T02:30:00.000+00:00", value, 90.0, 0.11, 0.1, 0.12,
        99.0, 101.0, 10, Outcome.OK, "", Outcome.OK, "1a2b3c4", {"chip": "Apple M1"}, f"n{day}",
    )  # fmt: skip
    return replace(made, **more)


def series_of(*points: Point, **more: Any) -> Series:
    made = Series("mini", "nightly", "decode", "w1", "step_p50", "ns", "lower", points=points)
    return replace(made, **more)


def written(series: list[Series], kind: Any, redact: Any = nothing) -> bytes:
    file = io.BytesIO()
    write_points(file, series, kind, redact)
    return file.getvalue()


VALUE: dict[str, Any] = {
    "night": "n1",
    "at": "2026-03-01",
    "machine": "mini",
    "plan": "nightly",
    "capture": "decode",
    "work": "w1",
    "metric": "step_p50",
    "side": "candidate",
    "sitting": 1,
    "pair": 1,
    "traced": False,
    "turn": 0,
    "value": 3.5,
    "counted": True,
    "reason": "",
}
HOSTILE = 'a,"b"\n; =cmd()</script>'
ROWS = [series_of(point_of(1, reason=HOSTILE), point_of(2, None, change=None, outcome=None))]


def test_csv_has_a_row_for_each_point() -> None:
    rows = list(csv.DictReader(io.StringIO(written(ROWS, "csv").decode(), newline="")))
    assert [row["night"] for row in rows] == ["n1", "n2"]
    assert [row["value"] for row in rows] == ["100.0", ""]
    assert [row["outcome"] for row in rows] == ["ok", ""]
    assert rows[0]["reason"] == HOSTILE
    assert json.loads(rows[0]["environment"]) == {"chip": "Apple M1"}


def test_json_has_the_same_rows_with_nulls() -> None:
    rows = json.loads(written(ROWS, "json"))
    assert [row["value"] for row in rows] == [100.0, None]
    assert rows[0]["reason"] == HOSTILE
    assert list(rows[0]) == list(
        csv.DictReader(io.StringIO(written(ROWS, "csv").decode())).fieldnames or []
    )


def test_parquet_has_the_same_rows_with_types() -> None:
    table = pq.read_table(io.BytesIO(written(ROWS, "parquet")))
    assert table.to_pylist() == json.loads(written(ROWS, "json"))
    assert str(table.schema.field("value").type) == "double"
    assert str(table.schema.field("pairs").type) == "int64"


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_nothing_is_a_table_without_rows(kind: Any) -> None:
    content = written([], kind)
    if kind == "json":
        assert json.loads(content) == []
    elif kind == "csv":
        assert content.count(b"\n") == 1
    else:
        assert pq.read_table(io.BytesIO(content)).num_rows == 0


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_no_person_is_named(kind: Any) -> None:
    point = point_of(
        1,
        folder="/Users/ada/nights/n1",
        reason="/home/ada/x failed",
        environment={"at": "/Users/ada"},
    )
    content = written([series_of(point)], kind, own_redaction())
    assert b"ada" not in content
    value = VALUE | {"counted": False, "reason": "see /Users/ada/log"}
    file = io.BytesIO()
    write_values(file, [value], kind, own_redaction())
    assert b"ada" not in file.getvalue()


def test_values_are_written_raw_in_batches(tmp_path: Path) -> None:
    many = [VALUE | {"pair": number, "value": number / 3} for number in range(60_000)]
    with (tmp_path / "values.parquet").open("wb") as file:
        write_values(file, iter(many), "parquet", nothing)
    table = pq.read_table(tmp_path / "values.parquet")
    assert table["value"].to_pylist() == [one["value"] for one in many]
    assert table["counted"].to_pylist()[0] is True
