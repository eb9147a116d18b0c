"""Answers in every format: Parquet, CSV, JSON and words."""

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
from tracekit.fleet.query.database import (
    Form,
    QueryDatabase,
    QueryResult,
    form_of,
    make_names_unique,
)

NUMBERS = "select range::bigint as n, 'a' || range as t from range(200000)"
VALUES = """
    select 9007199254740993::bigint as whole, 18446744073709551615::ubigint as id,
    sum(7::bigint) as total, 0.1::double as real, 'nan'::double as unknown,
    1.50::decimal(5, 2) as price,
    null as nothing, true as flag, ['a', null] as list, map {'k': 1} as pairs, {'x': 'y'} as one,
    interval 1 month as month, 'ab'::blob as bytes, date '2026-01-02' as day,
    'e'::enum('e', 'f') as choice, E'it"s\\n,' as words, '' as empty
"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[QueryDatabase]:
    opened = QueryDatabase([], tmp_path)
    yield opened
    opened.close()


def write_query(database: QueryDatabase, sql: str, form: Form) -> bytes:
    file = io.BytesIO()
    QueryResult(database, sql).write(file, form)
    return file.getvalue()


def show_query(database: QueryDatabase, sql: str, row_limit: int = 9, *, short: bool = True) -> Any:
    return QueryResult(database, sql).fetch_first_rows(row_limit, short=short)


def test_a_failure_in_later_rows_is_an_error_of_the_question(database: QueryDatabase) -> None:
    sql = "select if(range = 400000, error('too far'), 1) from range(500000)"
    with pytest.raises(duckdb.Error, match="too far"):
        write_query(database, sql, "csv")


def test_columns_of_one_name_are_all_there(database: QueryDatabase) -> None:
    sql = "select 1 as a, 2 as a, 3 as a_1, 4 as b"
    assert json.loads(write_query(database, sql, "json")) == [
        {"a": 1, "a_1": 2, "a_1_1": 3, "b": 4}
    ]
    assert show_query(database, sql)[0] == [("1", "2", "3", "4")]
    assert list(QueryResult(database, sql).types) == ["a", "a_1", "a_1_1", "b"]
    assert make_names_unique(["a", "a", "a_1"]) == ["a", "a_1", "a_1_1"]


def test_parquet_keeps_types_and_all_rows(database: QueryDatabase) -> None:
    table = pq.read_table(pa.BufferReader(write_query(database, NUMBERS, "parquet")))
    assert table.schema.types == [pa.int64(), pa.string()]
    assert table["n"].to_pylist() == list(range(200_000))
    [row] = pq.read_table(pa.BufferReader(write_query(database, VALUES, "parquet"))).to_pylist()
    assert (row["whole"], row["id"], row["list"]) == (2**53 + 1, 2**64 - 1, ["a", None])
    assert row["pairs"] == [("k", 1)]
    big = "select sum(4611686018427387904::bigint) as n from range(3)"
    [row] = pq.read_table(pa.BufferReader(write_query(database, big, "parquet"))).to_pylist()
    assert row["n"] == 3 * 2**62
    with pytest.raises(duckdb.ConversionException, match=r"1701\d+ to DECIMAL\(38,0\)"):
        write_query(database, "select hugeint from test_all_types()", "parquet")


def test_csv_is_read_by_pandas_as_it_was(database: QueryDatabase) -> None:
    frame = pd.read_csv(io.BytesIO(write_query(database, NUMBERS, "csv")))
    assert frame["n"].tolist() == list(range(200_000))
    frame = pd.read_csv(io.BytesIO(write_query(database, VALUES, "csv")), dtype="string")
    row = frame.iloc[0]
    assert (row["whole"], row["id"], row["total"]) == (str(2**53 + 1), str(2**64 - 1), "7")
    assert (row["list"], row["pairs"], row["one"]) == ('["a",null]', '{"k":1}', '{"x":"y"}')
    assert row["words"] == 'it"s\n,'
    assert pd.isna(row["nothing"])
    assert write_query(database, "select '' as empty, null as nothing", "csv").endswith(b'"",\n')


def test_json_has_an_object_for_each_row(database: QueryDatabase) -> None:
    rows = json.loads(write_query(database, NUMBERS, "json"))
    assert rows[-1] == {"n": 199_999, "t": "a199999"}
    [row] = json.loads(write_query(database, VALUES, "json"))
    assert (row["whole"], row["id"], row["total"]) == (2**53 + 1, 2**64 - 1, 7)
    assert (row["unknown"], row["price"], row["nothing"]) == (None, 1.5, None)
    assert (row["pairs"], row["one"], row["choice"]) == ({"k": 1}, {"x": "y"}, "e")
    assert row["day"] == "2026-01-02"


def test_the_first_rows_are_shown_in_order_and_all_are_counted(database: QueryDatabase) -> None:
    assert show_query(database, NUMBERS, 2) == ([("0", "a0"), ("1", "a1")], 200_000)
    rows, _ = show_query(database, f"{NUMBERS} order by n desc", 70_000)
    assert (len(rows), rows[0], rows[-1]) == (70_000, ("199999", "a199999"), ("130000", "a130000"))


def test_cells_are_plain_words(database: QueryDatabase) -> None:
    sql = "select null a, true b, 1/3 c, ['x'] d, chr(27) || '[31m' || chr(10) e"
    assert show_query(database, sql)[0] == [("", "true", "0.333333", '["x"]', "\\u001b[31m\\n")]
    assert show_query(database, sql, short=False)[0][0][2] == "0.3333333333333333"
    [(_, drawn)] = show_query(database, "explain select 1")[0]
    assert "\n" in drawn, "a plan has lines of its own"


def test_the_format_is_given_or_in_the_name() -> None:
    assert form_of("a.parquet", None) == "parquet"
    assert form_of("a.CSV", None) == form_of("a.json", "csv") == form_of("-", None) == "csv"
    assert form_of("a", "json") == "json"
    with pytest.raises(UsageError, match="no format") as raised:
        form_of("a.xlsx", None)
    assert "--format" in raised.value.hint


def test_settings_last_to_the_end(database: QueryDatabase) -> None:
    with pytest.raises(duckdb.Error, match="locked"):
        database.connection.execute("SET memory_limit = '1TB'")


def test_arrow_holds_the_types_of_parquet_in_batches(database: QueryDatabase) -> None:
    sql = "select range::bigint as n, sum(7::bigint) over () as total, 'a' as t from range(150000)"
    with pa.ipc.open_file(write_query(database, sql, "arrow")) as reader:
        assert reader.num_record_batches > 1
        table = reader.read_all()
    parquet_table = pq.read_table(io.BytesIO(write_query(database, sql, "parquet")))
    assert table.equals(parquet_table)
    assert table["n"].to_pylist() == list(range(150_000))


def test_the_size_is_announced_before_the_first_byte(database: QueryDatabase) -> None:
    for form in ("csv", "json", "parquet", "arrow"):
        file = io.BytesIO()
        sizes: list[tuple[int, int]] = []

        def announce(size: int, file: io.BytesIO = file, sizes: Any = sizes) -> None:
            sizes.append((size, file.tell()))

        QueryResult(database, NUMBERS).write(file, form, 10, announce)
        assert sizes == [(len(file.getvalue()), 0)], form
