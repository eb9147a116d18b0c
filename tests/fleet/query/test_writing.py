"""Answers as Parquet, CSV, JSON and words, with every type that SQL can give."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tracekit.base.errors import UsageError
from tracekit.fleet.query.answers import Form, first, form_of, write, write_file
from tracekit.fleet.query.database import Database

NUMBERS = "select range::bigint as n, 'a' || range as t from range(200000)"
TYPES = """
    select 9007199254740993::bigint as whole, 18446744073709551615::ubigint as id,
    sum(7::bigint) as total, 0.1::double as real, 'nan'::double as unknown,
    1.50::decimal(5, 2) as price,
    null as nothing, true as flag, ['a', null] as list, map {'k': 1} as pairs, {'x': 'y'} as one,
    interval 1 month as month, 'ab'::blob as bytes, date '2026-01-02' as day,
    'e'::enum('e', 'f') as choice, E'it"s\\n,' as words
"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database([], tmp_path)
    yield opened
    opened.close()


def written(database: Database, sql: str, form: Form) -> bytes:
    file = io.BytesIO()
    write(database.answer(sql), file, form)
    return file.getvalue()


def test_parquet_keeps_types_and_all_rows(database: Database, tmp_path: Path) -> None:
    assert write_file(database.answer(NUMBERS), tmp_path / "n.parquet", "parquet") == 200_000
    table = pq.read_table(tmp_path / "n.parquet")
    assert table.schema.types == [pa.int64(), pa.string()]
    assert table["n"].to_pylist() == list(range(200_000))
    [row] = pq.read_table(pa.BufferReader(written(database, TYPES, "parquet"))).to_pylist()
    assert (row["whole"], row["id"], row["list"]) == (2**53 + 1, 2**64 - 1, ["a", None])
    assert row["pairs"] == [("k", 1)]


def test_csv_is_read_by_pandas_as_it_was(database: Database) -> None:
    frame = pd.read_csv(io.BytesIO(written(database, NUMBERS, "csv")))
    assert frame["n"].tolist() == list(range(200_000))
    frame = pd.read_csv(io.BytesIO(written(database, TYPES, "csv")), dtype="string")
    row = frame.iloc[0]
    assert (row["whole"], row["id"], row["total"]) == (str(2**53 + 1), str(2**64 - 1), "7")
    assert (row["list"], row["pairs"], row["one"]) == ('["a",null]', '{"k":1}', '{"x":"y"}')
    assert row["words"] == 'it"s\n,'
    assert pd.isna(row["nothing"])


def test_json_has_an_object_for_each_row(database: Database) -> None:
    rows = json.loads(written(database, NUMBERS, "json"))
    assert rows[-1] == {"n": 199_999, "t": "a199999"}
    [row] = json.loads(written(database, TYPES, "json"))
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
