"""The columns of a flat table."""

import pyarrow as pa
import pytest

from tracekit.tables.layout import Layout
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
