"""From text to values: exact, or text; a column's type follows from all its cells."""

import math

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.tables.layout import Layout
from tracekit.tables.values import Form
from tracekit.tables.xml.node import ColumnCells, ExportColumn, Node

TYPES = {
    Form.INTEGER: "start-time",
    Form.UNSIGNED: "uint64",
    Form.NUMBER: "percent",
    Form.FLAG: "boolean",
    Form.TEXT: "string",
}
CELLS = st.one_of(
    st.none(),
    st.sampled_from(
        ["0", "-0", "007", "-1", "1.5", "1e5", "nan", "inf", "x", "", " 1", "+1", "0x1F", "٣",
         str(2**63 - 1), str(2**63), str(2**64 - 1), str(2**64), str(-(2**63)), "-1.0"]
    ),
    st.integers(-3, 3).map(str),
)  # fmt: skip


def texts(*cells: str | None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(cells, pa.string())])


def seen(
    declared: str | None, *pieces: pa.ChunkedArray, foreign: str = ""
) -> tuple[pd.Series, str | None]:
    """Return a column that comes in pieces, and its drift; without a type, that of pids."""
    kind, types = declared or "process", frozenset(foreign.split())
    about = ExportColumn("name", "name", kind)
    nodes = [
        Node("table", "", (ColumnCells(about, one, types),), len(one))
        if declared
        else Node("table", "", (ColumnCells(about, texts(*["x"] * len(one)), pids=one),), len(one))
        for one in pieces
    ]
    found = Layout(nodes[0])
    frame = found.frame(pa.concat_tables([found.take(one) for one in nodes]))
    (drift,) = found.drift or (None,)
    return frame["name" if declared else "name.pid"], drift


def column(cells: pa.ChunkedArray, form: Form) -> pd.Series | None:
    found, drift = seen(TYPES[form], cells)
    return None if drift else found


def inferred(cells: pa.ChunkedArray) -> pd.Series:
    return seen("brand-new", cells)[0]


@pytest.mark.parametrize("declared", [*TYPES.values(), "brand-new", "any"])
@given(cells=st.lists(CELLS, max_size=8), size=st.integers(1, 3))
def test_pieces_say_of_a_column_what_the_whole_says(
    declared: str, cells: list[str | None], size: int
) -> None:
    pieces = [texts(*cells[k : k + size]) for k in range(0, len(cells), size)] or [texts()]
    (whole, drift), (joined, also) = seen(declared, texts(*cells)), seen(declared, *pieces)
    pd.testing.assert_series_equal(joined, whole)
    assert also == drift


@pytest.mark.parametrize(
    ("cell", "foreign", "dtype", "broken"),
    [
        ("1", "uint64", "uint64", False),
        ("1", "uint64 weight", "int64", False),
        ("x", "uint64", "string", True),
        ("5", "string", "string", False),
    ],
)
def test_a_column_of_any_type_has_the_type_of_its_cells_while_that_is_one(
    cell: str, foreign: str, dtype: str, *, broken: bool
) -> None:
    found, drift = seen("any", texts(cell), foreign=foreign)
    assert found.dtype == dtype
    assert (drift is not None) == broken


@pytest.mark.parametrize(
    ("declared", "cells", "dtype"),
    [
        ("start-time", pa.array([1, None], pa.int64()), "Int64"),
        ("uint64", pa.array([2**64 - 1], pa.uint64()), "uint64"),
        ("percent", pa.array([math.nan], pa.float64()), "float64"),
        ("boolean", pa.array([0, 3], pa.int64()), "bool"),
        (None, pa.array([7], pa.int64()), "int64"),
    ],
)
def test_numbers_of_a_reader_are_final(declared: str | None, cells: pa.Array, dtype: str) -> None:
    found, drift = seen(declared, pa.chunked_array([cells]))
    assert found.dtype == dtype
    assert drift is None


@pytest.mark.parametrize(
    ("form", "cells", "dtype", "values"),
    [
        (Form.INTEGER, ["1", "-2", "007"], "int64", [1, -2, 7]),
        (Form.INTEGER, ["1", None], "Int64", [1, None]),
        (Form.INTEGER, [], "int64", []),
        (Form.INTEGER, [None], "Int64", [None]),
        (Form.INTEGER, [str(2**63 - 1), str(-(2**63))], "int64", [2**63 - 1, -(2**63)]),
        (Form.INTEGER, [str(2**63)], "uint64", [2**63]),
        (Form.UNSIGNED, ["1"], "uint64", [1]),
        (Form.UNSIGNED, [str(2**64 - 1)], "uint64", [2**64 - 1]),
        (Form.UNSIGNED, [str(2**64 - 1), None], "UInt64", [2**64 - 1, None]),
        (Form.UNSIGNED, ["-1", "5"], "int64", [-1, 5]),
        (Form.NUMBER, ["0.142594111", "3"], "float64", [0.142594111, 3.0]),
        (Form.NUMBER, ["-1e-9", "inf"], "float64", [-1e-9, math.inf]),
        (Form.FLAG, ["0", "1", "3"], "bool", [False, True, True]),
        (Form.FLAG, ["0", None], "boolean", [False, None]),
        (Form.TEXT, [" a ", "", None], "string", [" a ", "", None]),
    ],
)
def test_a_form_gives_its_dtype(
    form: Form, cells: list[str | None], dtype: str, values: list[object]
) -> None:
    found = column(texts(*cells), form)
    assert found is not None
    assert found.dtype == dtype
    assert [None if pd.isna(one) else one for one in found] == values


@pytest.mark.parametrize("form", [Form.INTEGER, Form.UNSIGNED, Form.FLAG])
@pytest.mark.parametrize(
    "cell",
    ["", " 1", "1 ", "1\n", "+1", "0x1F", "1_000", "1,000", "1.0", "1e3", "٣", "--1", "-", "abc",
     "18446744073709551616", "-9223372036854775809"],
)  # fmt: skip
def test_what_is_no_integer_is_none(form: Form, cell: str) -> None:
    assert column(texts("1", cell), form) is None


@pytest.mark.parametrize("cell", ["", " 1.5", "1,5", "1.5%", ".5", "0x1p3", "1.5.5", "infinity"])
def test_what_is_no_number_is_none(cell: str) -> None:
    assert column(texts(cell), Form.NUMBER) is None


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        (["1", "2"], "int64"),
        (["1", None], "Int64"),
        (["0", "-5"], "int64"),
        ([str(2**64 - 1)], "uint64"),
        (["1", "2.5"], "float64"),
        (["-0.5"], "float64"),
        (["007"], "string"),
        (["-0"], "float64"),
        (["1", "x"], "string"),
        (["1e5"], "string"),
        (["40 4770"], "string"),
        ([""], "string"),
        ([None], "string"),
        ([], "string"),
        (["-1", str(2**63)], "string"),
    ],
)
def test_an_unknown_type_is_read_by_what_it_holds(cells: list[str | None], dtype: str) -> None:
    assert inferred(texts(*cells)).dtype == dtype


def cells(*values: object, of: pa.DataType | None = None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, of or pa.string())])


def part(name: str, kind: str = "string", **beside: pa.ChunkedArray) -> ColumnCells:
    return ColumnCells(ExportColumn(name, name, kind), cells("1"), **beside)


def layout(*parts: ColumnCells) -> pa.Table:
    piece = Node("table", "", parts, 1)
    found = Layout(piece)
    return found.converted(found.take(piece))


def test_what_belongs_to_a_column_stands_beside_it() -> None:
    numbers = cells(7, of=pa.int64())
    found = layout(
        part("stack", "backtrace", stacks=numbers),
        part("thread", "thread", tids=cells("8"), pids=cells("9")),
        part("process", "process", pids=numbers),
        part("at", "start-time"),
    )
    assert dict(zip(found.column_names, map(str, found.schema.types), strict=True)) == {
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
    assert layout(*map(part, mnemonics.split())).column_names == names.split()
