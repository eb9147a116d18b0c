"""What other programs are given of a history, read back as they read it."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest

from tracekit.base.errors import InconclusiveError, UsageError
from tracekit.base.redaction import nothing, own_redaction
from tracekit.nightly.history.exports import bencher, benchmarks, otava, write_points, write_values
from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.history.store.asking import Value

# What its reference says of the format, in our own words.
BENCHER = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "properties": {
                name: {"type": "number"} for name in ("value", "lower_value", "upper_value")
            },
            "required": ["value"],
            "additionalProperties": False,
        },
    },
}
GITHUB = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "unit": {"type": "string"},
            "value": {"type": "number"},
            "range": {"type": "string"},
            "extra": {"type": "string"},
        },
        "required": ["name", "unit", "value"],
        "additionalProperties": False,
    },
}


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
    value = Value(
        *("n1", "2026-03-01", "mini", "nightly", "decode", "w1", "step_p50", "candidate"),
        *(1, 1, False, 0, 3.5, False, "see /Users/ada/log"),
    )
    file = io.BytesIO()
    write_values(file, [value], kind, own_redaction())
    assert b"ada" not in file.getvalue()


def test_values_are_written_raw_in_batches(tmp_path: Path) -> None:
    many = [
        Value(
            *("n1", "2026-03-01", "mini", "nightly", "decode", "w1", "step_p50", "candidate"),
            *(1, number, False, 0, number / 3, True, ""),
        )
        for number in range(60_000)
    ]
    with (tmp_path / "values.parquet").open("wb") as file:
        write_values(file, iter(many), "parquet", nothing)
    table = pq.read_table(tmp_path / "values.parquet")
    assert table["value"].to_pylist() == [one.value for one in many]
    assert table["counted"].to_pylist()[0] is True


def test_otava_gets_no_empty_cell() -> None:
    one = series_of(point_of(1, 10.0), point_of(2, None), point_of(3, 30.0), point_of(4, 40.0))
    other = series_of(point_of(1, 1.0), point_of(3, 3.0), metric="tokens", better="higher")
    made = otava([one, other], "nights.csv")
    rows = list(csv.reader(io.StringIO(made.csv)))
    assert rows == [
        ["time", "night", "commit", "step_p50", "tokens"],
        ["2026-03-01T02:30:00.000+00:00", "n1", "1a2b3c4", "10.0", "1.0"],
        ["2026-03-03T02:30:00.000+00:00", "n3", "1a2b3c4", "30.0", "3.0"],
    ]
    assert made.left_out == 2
    assert '"step_p50": {column: "step_p50", direction: -1}' in made.test
    assert '"tokens": {column: "tokens", direction: 1}' in made.test
    assert 'file: "nights.csv"' in made.test


def test_otava_s_columns_say_the_capture_where_there_are_several() -> None:
    made = otava([series_of(point_of(1)), series_of(point_of(1), capture="prefill")])
    assert made.csv.splitlines()[0] == "time,night,commit,decode.step_p50,prefill.step_p50"


def test_otava_gets_the_last_work_of_a_capture() -> None:
    made = otava([series_of(point_of(2, 20.0), work="w2"), series_of(point_of(1, 10.0))])
    assert made.csv.splitlines()[1:] == ["2026-03-02T02:30:00.000+00:00,n2,1a2b3c4,20.0"]


def test_otava_gets_one_machine_s_nights() -> None:
    several = [series_of(point_of(1)), series_of(point_of(1), machine="studio")]
    with pytest.raises(UsageError, match="one machine at a time, and there are mini, studio"):
        otava(several)
    with pytest.raises(UsageError, match="one plan at a time"):
        otava([series_of(point_of(1)), series_of(point_of(1), plan="weekly")])
    with pytest.raises(UsageError, match="No night has a value"):
        otava([series_of(point_of(1, None))])


def test_bencher_gets_the_last_night() -> None:
    several = [
        series_of(point_of(1, 10.0), point_of(2, 20.0)),
        series_of(point_of(2, 5.0, change=None, least=None, most=None), metric="tokens"),
        series_of(point_of(1), metric="gone"),
    ]
    found = bencher(several)
    jsonschema.validate(found, BENCHER)
    assert found == {
        "nightly/decode": {
            "step_p50": {"value": 20.0, "lower_value": 99.0, "upper_value": 101.0},
            "step_p50-against-reference": {
                "value": 0.11, "lower_value": 0.1, "upper_value": 0.12,
            },
            "tokens": {"value": 5.0},
        }
    }  # fmt: skip


def test_github_action_benchmark_gets_metrics_of_one_direction() -> None:
    several = [
        series_of(point_of(1, 10.0), point_of(2, 20.0)),
        series_of(point_of(2, 5.0, least=None, most=None), metric="tokens", better="higher"),
    ]
    lower, higher = benchmarks(several, "lower"), benchmarks(several, "higher")
    jsonschema.validate(lower, GITHUB)
    jsonschema.validate(higher, GITHUB)
    assert lower == [
        {
            "name": "nightly/decode: step_p50",
            "unit": "ns",
            "value": 20.0,
            "range": "99 … 101",
            "extra": "night n2\npairs 10",
        }
    ]
    assert [(one["name"], one["value"]) for one in higher] == [("nightly/decode: tokens", 5.0)]
    with pytest.raises(UsageError, match="No metric here is better if it is higher") as told:
        benchmarks(several[:1], "higher")
    assert told.value.hint == "Ask for the others: --better lower"


def test_no_older_night_is_given_for_the_last_one() -> None:
    failed = series_of(point_of(1), point_of(2, None, reason="Parity failed."))
    for export in (lambda: bencher([failed]), lambda: benchmarks([failed], "lower")):
        with pytest.raises(InconclusiveError, match="The last night, n2, has no value: Parity"):
            export()
    with pytest.raises(UsageError, match="There is no night here"):
        bencher([])
