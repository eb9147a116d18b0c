"""Every type of DuckDB in every format, with the values that it has there."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from tracekit.fleet.query.answers import first, write, write_file
from tracekit.fleet.query.database import Database, named

# ruff: noqa: S608  # these are columns of our own
TYPES = [str(one) for one in duckdb.sql("FROM test_all_types()").columns]
# What is a number, a flag, null or nested in JSON; all else is the text that DuckDB has for it.
AS_TEXT = {
    *("bignum", "bit", "date", "geometry", "interval", "time", "time_ns", "time_tz", "timestamp"),
    *("timestamp_s", "timestamp_ms", "timestamp_ns", "timestamp_tz", "timestamp_tz_ns"),
    *("uhugeint", "union", "uuid", "varchar", "small_enum", "medium_enum", "large_enum"),
}
NESTED = """
    select {'day': [date 'infinity', null], 'e': 'x'::enum('x', 'y'), 'none': null} as struct,
    [map {{'x': date '2020-01-01'}: {'y': {}, 'z': [1::bignum]}}] as list,
    [[time '24:00:00'], []]::time[][2] as fixed, row(1, bit '101') as pair,
    [{}] as hollow, {'v': 1::variant} as any, [interval 1 day] as waits
"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database([], tmp_path)
    yield opened
    opened.close()


def as_json(database: Database, sql: str) -> list[dict[str, Any]]:
    file = io.BytesIO()
    write(database.answer(sql), file, "json")
    return json.loads(file.getvalue())


def texts(sql: str) -> list[str | None]:
    return [row[0] for row in duckdb.sql(f'select "#1"::varchar from ({sql}) t("#1")').fetchall()]


def test_everything_that_duckdb_has_is_one_of_the_columns(database: Database) -> None:
    sql = "select * from test_all_types()"
    for form in ("csv", "json"):
        assert write(database.answer(sql), io.BytesIO(), form) == 3
    held = "select * exclude (hugeint) from test_all_types()"
    assert write(database.answer(held), io.BytesIO(), "parquet") == 3
    assert first(database.answer(sql), 9, short=True)[1] == 3
    assert list(database.answer(sql).types) == TYPES


def test_parquet_holds_every_value(database: Database, tmp_path: Path) -> None:
    held = [f'"{one}"' for one in TYPES if one not in {"hugeint", "tuple"}]
    sql = f"select {', '.join(held)} from test_all_types()"
    file = tmp_path / "types.parquet"
    write_file(database.answer(sql), file, "parquet")
    different = [
        one
        for one in held
        if texts(f"select {one} from '{file}'") != texts(f"select {one} from test_all_types()")
    ]
    assert different == []


def test_words_are_those_of_duckdb(database: Database) -> None:
    columns = sorted(AS_TEXT)
    quoted = ", ".join(f'"{one}"' for one in columns)
    sql = f"select {quoted} from test_all_types()"
    expected = {one: texts(f'select "{one}" from test_all_types()') for one in columns}
    rows = as_json(database, sql)
    assert {one: [row[one] for row in rows] for one in columns} == expected
    file = io.BytesIO()
    write(database.answer(sql), file, "csv")
    read = pd.read_csv(io.BytesIO(file.getvalue()), dtype="string", skip_blank_lines=False)
    for column in columns:
        known = [None if pd.isna(one) else str(one) for one in read[column][:3]]
        assert (column, known) == (column, expected[column])
    shown, _ = first(database.answer(sql), 9, short=True)
    for column, cells in zip(columns, zip(*shown, strict=True), strict=True):
        known = [one.replace("\\u0000", "\0") for one in cells]
        assert (column, known) == (column, [one or "" for one in expected[column]])


@pytest.mark.parametrize("sql", ["hugeint as big", "[hugeint] as big"])
def test_parquet_refuses_a_number_of_more_digits_than_it_has(
    sql: str, database: Database, tmp_path: Path
) -> None:
    with pytest.raises(duckdb.ConversionException, match=r"1701\d+ to DECIMAL\(38,0\)"):
        write_file(
            database.answer(f"select {sql} from test_all_types()"),
            tmp_path / "n.parquet",
            "parquet",
        )
    assert not (tmp_path / "n.parquet").exists()


def test_what_fails_among_later_rows_is_an_error_of_the_question(database: Database) -> None:
    sql = "select if(range = 400000, error('too far'), 1) from range(500000)"
    with pytest.raises(duckdb.DataError, match="too far"):
        write(database.answer(sql), io.BytesIO(), "csv")


def test_values_within_others_are_held_too(database: Database, tmp_path: Path) -> None:
    [row] = as_json(database, NESTED)
    assert row == {
        "struct": {"day": ["infinity", None], "e": "x", "none": None},
        "list": [{"{'x': 2020-01-01}": {"y": {}, "z": ["1"]}}],
        "fixed": [["24:00:00"], []],
        "pair": {"element1": 1, "element2": "101"},
        "hollow": [{}],
        "any": {"v": "1"},
        "waits": ["1 day"],
    }
    write_file(database.answer(NESTED), tmp_path / "nested.parquet", "parquet")
    file = tmp_path / "nested.parquet"
    assert {one: texts(f"select \"{one}\" from '{file}'")[0] for one in row} == {
        "struct": "{'day': [infinity, NULL], 'e': x, 'none': NULL}",
        "list": "[{{'x': 2020-01-01}={'y': '{}', 'z': [1]}}]",
        "fixed": "[['24:00:00'], []]",
        "pair": "{'element1': 1, 'element2': 101}",
        "hollow": "['{}']",
        "any": "{'v': 1}",
        "waits": "[1 day]",
    }


def test_columns_of_one_name_are_all_there(database: Database) -> None:
    sql = "select 1 as a, 2 as a, 3 as a_1, 4 as A"
    assert as_json(database, sql) == [{"a": 1, "a_1": 2, "a_1_1": 3, "A": 4}]
    assert first(database.answer(sql), 9, short=True)[0] == [("1", "2", "3", "4")]
    assert list(database.answer(sql).types) == ["a", "a_1", "a_1_1", "A"]
    assert named(["a", "a", "a_1"]) == ["a", "a_1", "a_1_1"]
