"""The columns of a flat table."""

import pandas as pd
import pyarrow as pa
import pytest

from tracekit.tables.layout import Layout, frame_of, pandas_metadata
from tracekit.tables.xml.node import ColumnCells, ExportColumn, Node


def cells(*values: object, of: pa.DataType | None = None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, of or pa.string())])


def part(name: str, kind: str = "string", **beside: pa.ChunkedArray) -> ColumnCells:
    return ColumnCells(ExportColumn(name, name, kind), cells("1"), **beside)


def layout(*parts: ColumnCells) -> Layout:
    piece = Node("table", "", parts, 1)
    found = Layout(piece)
    found.take(piece)
    return found


def test_what_belongs_to_a_column_stands_beside_it() -> None:
    numbers = cells(7, of=pa.int64())
    found = layout(
        part("stack", "backtrace", stacks=numbers),
        part("thread", "thread", tids=cells("8"), pids=cells("9")),
        part("process", "process", pids=numbers),
        part("at", "start-time"),
    )
    assert dict(zip(found.schema.names, map(str, found.schema.types), strict=True)) == {
        "stack": "string",
        "stack.stack": "int64",
        "thread": "string",
        "thread.tid": "int64",
        "thread.pid": "int64",
        "process": "string",
        "process.pid": "int64",
        "at": "int64",
    }


@pytest.mark.parametrize(
    ("mnemonics", "names"),
    [
        ("id id id", "id id.2 id.3"),
        ("id.2 id id", "id.2 id id.3"),
        ("id id id.2", "id id.2 id.2.2"),
        ("id id id.2 id", "id id.2 id.2.2 id.3"),
        ("a b a b", "a b a.2 b.2"),
    ],
)
def test_no_two_columns_have_one_name(mnemonics: str, names: str) -> None:
    assert layout(*map(part, mnemonics.split())).raw.names == names.split()


def test_a_hundred_thousand_equal_names_are_no_trouble() -> None:
    column = part("id")
    names = Layout(Node("table", "", (column,) * 100_000, 1)).raw.names
    assert names[-1] == "id.100000"


def test_later_pieces_have_the_types_of_the_first() -> None:
    column = part("at", "start-time")
    found = Layout(Node("table", "", (column,), 1))
    numbers = ColumnCells(column.column, cells(7, of=pa.int64()))
    assert found.take(Node("table", "", (numbers,), 1)).schema == found.raw


def test_a_frame_is_its_callers_to_change() -> None:
    columns = {
        "n": cells(1, 2, of=pa.int64()),
        "nullable": cells(1, None, of=pa.uint64()),
        "flag": cells(True, None, of=pa.bool_()),
        "share": cells(0.5, None, of=pa.float64()),
        "text": cells("a", None),
    }
    frame = frame_of(columns.items(), 2)
    frame.loc[0, "n"] = 5
    frame.loc[0, "nullable"] = 6
    frame.loc[1, "nullable"] = 7
    frame.loc[1, "flag"] = False
    frame.loc[1, "share"] = 1.5
    frame.loc[1, "text"] = "b"
    assert frame["n"].tolist() == [5, 2]
    assert frame["nullable"].tolist() == [6, 7]
    assert frame["flag"].tolist() == [True, False]
    assert frame["share"].tolist() == [0.5, 1.5]
    assert frame["text"].tolist() == ["a", "b"]
    assert columns["n"].to_pylist() == [1, 2]


def test_a_frame_without_columns_has_its_rows() -> None:
    pd.testing.assert_index_equal(frame_of([], 3).index, pd.RangeIndex(3))


def test_the_metadata_are_those_that_pandas_writes() -> None:
    dtypes = {"a": "Int64", "b": "string", "c": "bool", "d": "float64", "e": "uint64"}
    frame = pd.DataFrame({name: pd.Series([], dtype=dtype) for name, dtype in dtypes.items()})
    written = pa.Schema.from_pandas(frame, preserve_index=False).pandas_metadata
    schema = pa.schema([("a", pa.int64())], metadata=pandas_metadata(dtypes))
    assert schema.pandas_metadata == written
