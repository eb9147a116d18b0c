"""Answers of every type in every format: Parquet, CSV, JSON and words."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tracekit.base.errors import UsageError
from tracekit.fleet.query.answers import Form, first, form_of, write, write_file
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


NUMBERS = "select range::bigint as n, 'a' || range as t from range(200000)"
VALUES = """
    select 9007199254740993::bigint as whole, 18446744073709551615::ubigint as id,
    sum(7::bigint) as total, 0.1::double as real, 'nan'::double as unknown,
    1.50::decimal(5, 2) as price,
    null as nothing, true as flag, ['a', null] as list, map {'k': 1} as pairs, {'x': 'y'} as one,
    interval 1 month as month, 'ab'::blob as bytes, date '2026-01-02' as day,
    'e'::enum('e', 'f') as choice, E'it"s\\n,' as words
"""


def written(database: Database, sql: str, form: Form) -> bytes:
    file = io.BytesIO()
    write(database.answer(sql), file, form)
    return file.getvalue()


def test_parquet_keeps_types_and_all_rows(database: Database, tmp_path: Path) -> None:
    assert write_file(database.answer(NUMBERS), tmp_path / "n.parquet", "parquet") == 200_000
    table = pq.read_table(tmp_path / "n.parquet")
    assert table.schema.types == [pa.int64(), pa.string()]
    assert table["n"].to_pylist() == list(range(200_000))
    [row] = pq.read_table(pa.BufferReader(written(database, VALUES, "parquet"))).to_pylist()
    assert (row["whole"], row["id"], row["list"]) == (2**53 + 1, 2**64 - 1, ["a", None])
    assert row["pairs"] == [("k", 1)]


def test_csv_is_read_by_pandas_as_it_was(database: Database) -> None:
    frame = pd.read_csv(io.BytesIO(written(database, NUMBERS, "csv")))
    assert frame["n"].tolist() == list(range(200_000))
    frame = pd.read_csv(io.BytesIO(written(database, VALUES, "csv")), dtype="string")
    row = frame.iloc[0]
    assert (row["whole"], row["id"], row["total"]) == (str(2**53 + 1), str(2**64 - 1), "7")
    assert (row["list"], row["pairs"], row["one"]) == ('["a",null]', '{"k":1}', '{"x":"y"}')
    assert row["words"] == 'it"s\n,'
    assert pd.isna(row["nothing"])


def test_json_has_an_object_for_each_row(database: Database) -> None:
    rows = json.loads(written(database, NUMBERS, "json"))
    assert rows[-1] == {"n": 199_999, "t": "a199999"}
    [row] = json.loads(written(database, VALUES, "json"))
    assert (row["whole"], row["id"], row["total"]) == (2**53 + 1, 2**64 - 1, 7)
    assert (row["unknown"], row["price"], row["nothing"]) == (None, 1.5, None)
    assert (row["pairs"], row["one"], row["choice"]) == ({"k": 1}, {"x": "y"}, "e")
    assert row["day"] == "2026-01-02"


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_an_answer_without_rows_has_its_columns(form: Form, database: Database) -> None:
    content = written(database, "select 1 as n where false", form)
    if form == "parquet":
        assert pq.read_table(pa.BufferReader(content)).column_names == ["n"]
    else:
        assert content.split() == ([b'"n"'] if form == "csv" else [b"[]"])


def test_the_first_rows_are_shown_and_all_are_counted(database: Database) -> None:
    shown, total = first(database.answer(NUMBERS), 2, short=True)
    assert (shown, total) == ([("0", "a0"), ("1", "a1")], 200_000)
    shown, _ = first(database.answer(NUMBERS), 70_000, short=True)  # more than one piece has
    assert (len(shown), shown[-1]) == (70_000, ("69999", "a69999"))


def test_cells_are_plain_words(database: Database) -> None:
    sql = "select null a, true b, 1/3 c, ['x'] d, chr(27) || '[31m' || chr(10) e"
    assert first(database.answer(sql), 9, short=True)[0] == [
        ("", "true", "0.333333", '["x"]', "\\u001b[31m\\n")
    ]
    assert first(database.answer(sql), 9, short=False)[0][0][2] == "0.3333333333333333"


def test_a_plan_is_drawn_on_lines_of_its_own(database: Database) -> None:
    [(_, drawn)] = first(database.answer("explain select 1"), 9, short=True)[0]
    assert "\n" in drawn


@pytest.mark.parametrize(
    ("output", "form", "expected"),
    [
        ("a.parquet", None, "parquet"),
        ("a.CSV", None, "csv"),
        ("a.json", "csv", "csv"),
        ("-", None, "csv"),
        ("a", "json", "json"),
    ],
)
def test_the_format_is_said_or_stands_in_the_name(
    output: str, form: Form | None, expected: str
) -> None:
    assert form_of(output, form) == expected


def test_a_name_that_says_no_format_is_refused() -> None:
    with pytest.raises(UsageError, match="no format") as raised:
        form_of("a.xlsx", None)
    assert "--format" in raised.value.hint
