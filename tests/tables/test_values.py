"""From text to values: exact, or text; a column's type follows from all its cells."""

import gc
import math
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundle_writer import TIME, Col, Table, write_bundle
from tracekit.base.errors import InputError
from tracekit.tables import values
from tracekit.tables.convert import convert_table
from tracekit.tables.direct import Stored
from tracekit.tables.flat import ReaderName, read_flat
from tracekit.tables.layout import Layout, frame_of
from tracekit.tables.values import LONG, long_bytes, without_collecting
from tracekit.tables.xml.node import ColumnCells, ExportColumn, Node

Export = Callable[..., Path]
INTEGER, UNSIGNED, NUMBER, FLAG, TEXT = "start-time", "uint64", "percent", "boolean", "string"
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


def read_pieces(
    declared: str | None, *pieces: pa.ChunkedArray, foreign: str = ""
) -> tuple[pd.Series, str | None]:
    """Return a column that comes in pieces, and its drift; without a type, that of pids."""
    export_column, types = (
        ExportColumn("name", "name", declared or "process"),
        frozenset(foreign.split()),
    )
    parts = [
        ColumnCells(export_column, cells, types)
        if declared
        else ColumnCells(export_column, texts(*["x"] * len(cells)), pids=cells)
        for cells in pieces
    ]
    nodes = [Node("table", "", (part,), len(part.cells)) for part in parts]
    piece_layout = Layout(nodes[0])
    frame = frame_of(
        piece_layout.convert_table(pa.concat_tables([piece_layout.take(node) for node in nodes]))
    )
    (drift,) = piece_layout.drift or (None,)
    return frame["name" if declared else "name.pid"], drift


@pytest.mark.parametrize("declared", [INTEGER, UNSIGNED, NUMBER, FLAG, TEXT, "brand-new", "any"])
@given(cells=st.lists(CELLS, max_size=8), size=st.integers(1, 3))
def test_pieces_agree_with_the_whole_on_a_column(
    declared: str, cells: list[str | None], size: int
) -> None:
    pieces = [texts(*cells[k : k + size]) for k in range(0, len(cells), size)] or [texts()]
    (whole_column, drift), (joined, also) = (
        read_pieces(declared, texts(*cells)),
        read_pieces(declared, *pieces),
    )
    pd.testing.assert_series_equal(joined, whole_column)
    assert also == drift


def test_a_column_of_any_type_has_the_type_of_its_cells_while_that_is_one() -> None:
    for cell, foreign, dtype, drift in (
        ("1", "uint64", "uint64", None),
        ("1", "uint64 weight", "int64", None),
        (
            "x",
            "uint64",
            "string",
            "table: name is declared as uint64 and holds values other than unsigned; it is text",
        ),
        ("5", "string", "string", None),
    ):
        column, column_drift = read_pieces("any", texts(cell), foreign=foreign)
        assert (column.dtype, column_drift) == (dtype, drift)


def test_the_collector_is_afterwards_as_it_was_before() -> None:
    for switch, was_enabled in ((gc.disable, False), (gc.enable, True)):
        switch()
        with pytest.raises(ValueError, match="False"), without_collecting():
            raise ValueError(gc.isenabled())
        is_enabled = gc.isenabled()
        gc.enable()
        assert is_enabled is was_enabled


def test_numbers_of_a_reader_are_final() -> None:
    for declared, cells, dtype in (
        (INTEGER, pa.array([1, None], pa.int64()), "Int64"),
        (UNSIGNED, pa.array([2**64 - 1], pa.uint64()), "uint64"),
        (NUMBER, pa.array([math.nan], pa.float64()), "float64"),
        (FLAG, pa.array([0, 3], pa.int64()), "bool"),
        (None, pa.array([7], pa.int64()), "int64"),
    ):
        column, drift = read_pieces(declared, pa.chunked_array([cells]))
        assert (column.dtype, drift) == (dtype, None)


def test_a_type_gives_its_dtype_and_an_unknown_one_its_contents() -> None:
    for declared, cells, dtype, expected in (
        (INTEGER, ["1", "-2", "007"], "int64", [1, -2, 7]),
        (INTEGER, ["1", None], "Int64", [1, None]),
        (INTEGER, [], "int64", []),
        (INTEGER, [None], "Int64", [None]),
        (INTEGER, [str(2**63 - 1), str(-(2**63))], "int64", [2**63 - 1, -(2**63)]),
        (INTEGER, [str(2**63)], "uint64", [2**63]),
        (UNSIGNED, ["1"], "uint64", [1]),
        (UNSIGNED, [str(2**64 - 1)], "uint64", [2**64 - 1]),
        (UNSIGNED, [str(2**64 - 1), None], "UInt64", [2**64 - 1, None]),
        (UNSIGNED, ["-1", "5"], "int64", [-1, 5]),
        (NUMBER, ["0.142594111", "3"], "float64", [0.142594111, 3.0]),
        (NUMBER, ["-1e-9", "inf"], "float64", [-1e-9, math.inf]),
        (FLAG, ["0", "1", "3"], "bool", [False, True, True]),
        (FLAG, ["0", None], "boolean", [False, None]),
        (TEXT, [" a ", "", None], "string", [" a ", "", None]),
        ("brand-new", ["1", "2"], "int64", [1, 2]),
        ("brand-new", ["1", None], "Int64", [1, None]),
        ("brand-new", ["0", "-5"], "int64", [0, -5]),
        ("brand-new", [str(2**64 - 1)], "uint64", [2**64 - 1]),
        ("brand-new", ["1", "2.5"], "float64", [1.0, 2.5]),
        ("brand-new", ["-0.5"], "float64", [-0.5]),
        ("brand-new", ["007"], "string", ["007"]),
        ("brand-new", ["-0"], "float64", [-0.0]),
        ("brand-new", ["1", "x"], "string", ["1", "x"]),
        ("brand-new", ["1e5"], "string", ["1e5"]),
        ("brand-new", ["40 4770"], "string", ["40 4770"]),
        ("brand-new", [""], "string", [""]),
        ("brand-new", [None], "string", [None]),
        ("brand-new", [], "string", []),
        ("brand-new", ["-1", str(2**63)], "string", ["-1", str(2**63)]),
    ):
        column, drift = read_pieces(declared, texts(*cells))
        assert (column.dtype, drift) == (dtype, None), (declared, cells)
        assert [None if pd.isna(value) else value for value in column] == expected, (
            declared,
            cells,
        )


@pytest.mark.parametrize("declared", [INTEGER, UNSIGNED, FLAG])
def test_other_values_are_not_integers_but_text(declared: str) -> None:
    cells = ["", " 1", "1 ", "1\n", "+1", "0x1F", "1_000", "1,000", "1.0", "1e3", "٣", "--1", "-",
             "abc", str(2**64), str(-(2**63) - 1)]  # fmt: skip
    assert [cell for cell in cells if read_pieces(declared, texts("1", cell))[1] is None] == []


def test_other_values_are_not_numbers_but_text() -> None:
    cells = ["", " 1.5", "1,5", "1.5%", ".5", "0x1p3", "1.5.5", "infinity"]
    assert [cell for cell in cells if read_pieces(NUMBER, texts(cell))[1] is None] == []


def part(name: str, kind: str = "string", **extra_cells: pa.ChunkedArray) -> ColumnCells:
    return ColumnCells(ExportColumn(name, name, kind), texts("1"), **extra_cells)


def layout(*parts: ColumnCells) -> pa.Table:
    piece = Node("table", "", parts, 1)
    piece_layout = Layout(piece)
    return piece_layout.convert_table(piece_layout.take(piece))


def test_companions_of_a_column_follow_it() -> None:
    numbers = pa.chunked_array([pa.array([7], pa.int64())])
    table = layout(
        part("stack", "backtrace", stacks=numbers),
        part("thread", "thread", tids=texts("8"), pids=texts("9")),
        part("process", "process", pids=numbers),
        part("at", "start-time"),
    )
    assert dict(zip(table.column_names, map(str, table.schema.types), strict=True)) == {
        "stack": "string",
        "stack.stack": "int64",
        "thread": "string",
        "thread.tid": "int64",
        "thread.pid": "int64",
        "process": "string",
        "process.pid": "int64",
        "at": "int64",
    }


def test_no_two_columns_have_one_name() -> None:
    for mnemonics, names in (
        ("id id id", "id id.2 id.3"),
        ("id.2 id id", "id.2 id id.3"),
        ("id id id.2", "id id.2 id.2.2"),
        ("id id id.2 id", "id id.2 id.2.2 id.3"),
        ("a b a b", "a b a.2 b.2"),
    ):
        assert layout(*map(part, mnemonics.split())).column_names == names.split()


LETTERS = "x" * (LONG + 1)
ROWS = 10


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a table hold ten long texts."""
    monkeypatch.setattr(values, "MOST", ROWS * len(LETTERS))


def export_rows(export: Export, rows: int, text: str, *more: str) -> Path:
    first_cells = f'<start-time id="1" fmt="1">1</start-time><string id="2" fmt="a">{text}</string>'
    again = ['<row><start-time ref="1"/><string ref="2"/></row>'] * (rows - 1)
    return export("start:start-time text:string", f"<row>{first_cells}</row>", *again, *more)


def bundle_rows(folder: Path, rows: int) -> Stored:
    start = Col("start", "S", "XRStartTimeTypeID", TIME)
    columns = [start, Col("text", "T", "XRPrototypeStringTypeID")]
    table = Table("table", columns, [(1, LETTERS)] * rows)
    return Stored(write_bundle(folder / "x.trace", [table]), 1, 0)


@pytest.mark.usefixtures("bound")
@pytest.mark.parametrize("rows", [ROWS, ROWS + 1])
@pytest.mark.parametrize("only", ["fast", "exact", None], ids=["fast", "exact", "bundle"])
def test_a_long_text_that_cells_repeat_is_refused_beyond_a_bound(
    export: Export, tmp_path: Path, only: ReaderName | None, rows: int
) -> None:
    ref = export_rows(export, rows, LETTERS) if only else bundle_rows(tmp_path, rows)
    output = tmp_path / ("out.parquet" if only else "out.csv")
    if rows == ROWS:
        assert read_flat(ref, reader_name=only).frame["text"].tolist() == [LETTERS] * rows
        assert convert_table(ref, output).rows == rows
        return
    for read in (lambda: read_flat(ref, reader_name=only), lambda: convert_table(ref, output)):
        with pytest.raises(InputError, match="holds too much text"):
            read()
    assert not output.exists()


@pytest.mark.usefixtures("bound")
def test_short_texts_are_not_counted(export: Export) -> None:
    short = pa.array(["x" * LONG] * 3).dictionary_encode()
    long = pa.array([LETTERS, None, "y", LETTERS])
    arrays = (short, long, long.dictionary_encode(), pa.array([1, 2]))
    sizes = [long_bytes(pa.chunked_array([array])) for array in arrays]
    assert sizes == [0, 2 * len(LETTERS), 2 * len(LETTERS), 0]
    last_row = f'<row><start-time ref="1"/><string id="3" fmt="b">{LETTERS}</string></row>'
    path = export_rows(export, 3 * ROWS, "x" * LONG, last_row)
    for reader_name in ("fast", "exact"):
        assert len(read_flat(path, reader_name=reader_name).frame) == 3 * ROWS + 1
