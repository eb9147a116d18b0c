"""From text to values: exact, or text; a column's type follows from all its cells."""

import math

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.tables.layout import ColumnEvidence, Layout
from tracekit.tables.values import FORMS, Form, converted, dtype_of, series
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


def values(declared: str | None, cells: pa.ChunkedArray) -> pd.Series | None:
    """Return the values of a column, None where one breaks its declared type."""
    evidence = seen(declared, cells)
    return None if evidence.drift else series(converted(cells, evidence.type))


def column(cells: pa.ChunkedArray, form: Form) -> pd.Series | None:
    return values(TYPES[form], cells)


def inferred(cells: pa.ChunkedArray) -> pd.Series:
    found = values("brand-new", cells)
    assert found is not None
    return found


def seen(declared: str | None, *pieces: pa.ChunkedArray, foreign: str = "") -> ColumnEvidence:
    evidence = ColumnEvidence("name", declared)
    for piece in pieces:
        evidence.take(piece, frozenset(foreign.split()))
    return evidence


@pytest.mark.parametrize("form", list(Form))
@given(cells=st.lists(CELLS, max_size=8), size=st.integers(1, 3))
def test_pieces_say_of_a_declared_column_what_the_whole_says(
    form: Form, cells: list[str | None], size: int
) -> None:
    pieces = [texts(*cells[k : k + size]) for k in range(0, len(cells), size)] or [texts()]
    evidence = seen(TYPES[form], *pieces)
    whole = column(texts(*cells), form)
    assert (whole is None) == (evidence.drift is not None)
    if whole is None:
        assert evidence.type == pa.string()
    else:
        assert dtype_of(evidence.type, nulls=evidence.nulls) == str(whole.dtype)


@given(cells=st.lists(CELLS, max_size=8), size=st.integers(1, 3))
def test_pieces_say_of_an_unknown_column_what_the_whole_says(
    cells: list[str | None], size: int
) -> None:
    pieces = [texts(*cells[k : k + size]) for k in range(0, len(cells), size)] or [texts()]
    for declared in ("brand-new", "any"):
        evidence = seen(declared, *pieces)
        assert dtype_of(evidence.type, nulls=evidence.nulls) == str(inferred(texts(*cells)).dtype)
        assert evidence.drift is None


@pytest.mark.parametrize(
    ("declared", "pieces", "kind"),
    [
        ("uint64", ["5", str(2**64 - 1)], pa.uint64()),
        ("uint64", ["5", "-1"], pa.int64()),
        ("uint64", [str(2**64 - 1), "-1"], pa.string()),
        ("start-time", ["5", str(2**63)], pa.uint64()),
        ("start-time", ["5", "007"], pa.int64()),
        ("start-time", ["5", "5.5"], pa.string()),
        ("percent", ["5", "5.5"], pa.float64()),
        ("boolean", ["0", "3"], pa.bool_()),
        ("boolean", ["-1", str(2**64 - 1)], pa.string()),
        ("brand-new", ["5", "007"], pa.string()),
        ("brand-new", ["5", "5.5"], pa.float64()),
        ("brand-new", [None, "5"], pa.int64()),
        ("brand-new", [None, None], pa.string()),
        (None, ["5", None], pa.int64()),
        (None, ["5", "five"], pa.string()),
    ],
)
def test_one_cell_decides_for_all(
    declared: str | None, pieces: list[str | None], kind: pa.DataType
) -> None:
    assert seen(declared, *(texts(one) for one in pieces)).type == kind
    assert seen(declared, *(texts(one) for one in reversed(pieces))).type == kind


def test_cells_of_another_type_make_text_of_a_declared_column() -> None:
    evidence = seen("start-time", texts("5"), foreign="duration weight")
    assert evidence.type == pa.string()
    assert evidence.drift == (
        "name is declared as start-time and holds duration, weight; it is text"
    )


def test_a_column_of_any_type_has_the_type_of_its_cells_while_that_is_one() -> None:
    evidence = seen("any", texts("1"), foreign="uint64")
    assert evidence.type == pa.uint64()
    evidence.take(texts("2"), frozenset({"weight"}))
    assert evidence.type == pa.int64()
    assert evidence.drift is None
    broken = seen("any", texts("x"), foreign="uint64")
    assert broken.drift == "name is declared as uint64 and holds what is no unsigned; it is text"
    assert broken.type == pa.string()
    assert seen("any", texts("5"), foreign="string").type == pa.string()


@pytest.mark.parametrize(
    ("declared", "cells", "kind"),
    [
        ("start-time", pa.array([1, None], pa.int64()), pa.int64()),
        ("uint64", pa.array([2**64 - 1], pa.uint64()), pa.uint64()),
        ("percent", pa.array([math.nan], pa.float64()), pa.float64()),
        ("boolean", pa.array([0, 3], pa.int64()), pa.bool_()),
        (None, pa.array([7], pa.int64()), pa.int64()),
    ],
)
def test_numbers_of_a_reader_are_final(
    declared: str | None, cells: pa.Array, kind: pa.DataType
) -> None:
    evidence = seen(declared, pa.chunked_array([cells]))
    assert evidence.settled
    assert evidence.type == kind
    assert evidence.drift is None
    assert evidence.nulls == (cells.null_count > 0)


def test_a_column_is_settled_when_no_cell_can_change_its_type() -> None:
    assert seen("string").settled
    assert not seen("start-time", texts("5")).settled
    assert not seen("brand-new", texts("x")).settled
    assert not seen("any", texts("x"), foreign="string").settled


@pytest.mark.parametrize("declared", [one for one, form in FORMS.items() if form is Form.TEXT])
def test_texts_are_never_numbers(declared: str) -> None:
    assert seen(declared, texts("5", "6")).type == pa.string()


@pytest.mark.parametrize(
    ("form", "cells", "dtype", "values"),
    [
        pytest.param(Form.INTEGER, ["1", "-2", "007"], "int64", [1, -2, 7], id="integers"),
        pytest.param(Form.INTEGER, ["1", None], "Int64", [1, None], id="integers and null"),
        pytest.param(Form.INTEGER, [], "int64", [], id="no integers"),
        pytest.param(Form.INTEGER, [None], "Int64", [None], id="only null"),
        pytest.param(
            Form.INTEGER,
            ["9223372036854775807", "-9223372036854775808"],
            "int64",
            [2**63 - 1, -(2**63)],
            id="the largest and the smallest",
        ),
        pytest.param(Form.INTEGER, ["9223372036854775808"], "uint64", [2**63], id="a large one"),
        pytest.param(Form.UNSIGNED, ["1"], "uint64", [1], id="an id"),
        pytest.param(Form.UNSIGNED, [str(2**64 - 1)], "uint64", [2**64 - 1], id="the largest id"),
        pytest.param(
            Form.UNSIGNED, [str(2**64 - 1), None], "UInt64", [2**64 - 1, None], id="and null"
        ),
        pytest.param(Form.UNSIGNED, ["-1", "5"], "int64", [-1, 5], id="an id below zero"),
        pytest.param(
            Form.NUMBER, ["0.142594111", "3"], "float64", [0.142594111, 3.0], id="numbers"
        ),
        pytest.param(Form.NUMBER, ["-1e-9", "inf"], "float64", [-1e-9, math.inf], id="extremes"),
        pytest.param(Form.FLAG, ["0", "1", "3"], "bool", [False, True, True], id="flags"),
        pytest.param(Form.FLAG, ["0", None], "boolean", [False, None], id="flags and null"),
        pytest.param(Form.TEXT, [" a ", "", None], "string", [" a ", "", None], id="texts"),
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


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))))
def test_every_signed_integer_survives(numbers: list[int | None]) -> None:
    found = column(texts(*(None if n is None else str(n) for n in numbers)), Form.INTEGER)
    assert found is not None
    assert [None if pd.isna(one) else int(one) for one in found] == numbers


@given(st.lists(st.text(), max_size=5))
def test_text_of_unknown_type_never_changes(cells: list[str]) -> None:
    found = inferred(texts(*cells))
    if found.dtype == "string":
        assert found.tolist() == cells
    else:
        assert found.tolist() == [float(cell) for cell in cells]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_decimal_survives(number: float) -> None:
    found = column(texts(repr(number)), Form.NUMBER)
    assert found is not None
    assert found.tolist() == [number]


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
