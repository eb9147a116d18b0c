"""One table of a bundle as nodes: columns, what stands beside them, notes, damage."""

import zlib
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bundle_writer import (
    TIME,
    Col,
    Label,
    Location,
    Part,
    Table,
    Thread,
    ThreadName,
    Value,
    write_bundle,
)
from small_bundle import PYTHON, TICK
from tracekit.tables.bundle import reader as readers
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.cells.encodings import Encoding, engineering_type
from tracekit.tables.bundle.container.requirements import Field, Requirements
from tracekit.tables.bundle.container.store import StoreColumn
from tracekit.tables.bundle.errors import ArchiveError, BundleError
from tracekit.tables.bundle.reader import TEXTS, BundleReader, decimals, distinct, numbers, type_of
from tracekit.tables.losses import EncodingEvidence, Flaw
from tracekit.tables.xml.node import ColumnCells

U32, U64 = (1 << 32) - 1, (1 << 64) - 1
BIAS = (1 << 63) - 1


@pytest.mark.parametrize("values", [(5,), (0, 5), (U32 - 1, U32)])
def test_a_number_beyond_the_last_is_refused(values: tuple[int, ...]) -> None:
    with pytest.raises(ArchiveError, match="does not hold"):
        distinct(np.array(values, np.uint32), 5)


def test_a_numbers_meaning_may_be_null() -> None:
    distinct_values = distinct(np.array([0, 1, U32], np.uint32), 2)
    assert distinct_values.make_cells(pa.array([None, "known"])).to_pylist() == [
        None,
        "known",
        None,
    ]
    assert distinct_values.spread(pa.array([None, 2])).to_pylist() == [None, 2, None]
    no_values = distinct(np.array([U32], np.uint32), 0)
    assert no_values.make_cells(pa.array([], pa.string())).to_pylist() == [None]


@settings(deadline=None, max_examples=200)
@example([3708801759493319391, -3708801759493319391])  # would be rounded twice
@given(st.lists(st.integers(-BIAS, BIAS), min_size=1, max_size=20))
def test_a_decimal_is_the_float_of_its_text(values: list[int]) -> None:
    stored = np.array([value + BIAS for value in values], np.uint64)
    texts = [f"{Decimal(value).scaleb(-9):.9f}" for value in values]
    assert decimals(stored).tolist() == [float(text) for text in texts]


def test_columns_of_numbers() -> None:
    for type_id, width, values, kind, expected in (
        ("XRStartTime", np.uint64, (1, U64), pa.int64(), [1, None]),
        ("XRStartTime", np.uint64, (1, 1 << 63), pa.uint64(), [1, 1 << 63]),
        ("XRPrototypeValue", np.uint64, (1, U64), pa.uint64(), [1, U64]),
        ("XRMachAbsoluteTime", np.uint64, (1, 2), pa.int64(), [1, 2]),
        ("XRMachAbsoluteTime", np.uint64, (U64, 1 << 63), pa.uint64(), [None, 1 << 63]),
        ("XRMachAbsoluteTime", np.uint64, (U64,), TEXTS, [None]),
        ("XRMachAbsoluteTime", np.uint64, (), TEXTS, []),
        ("XRStartTime", np.uint64, (), pa.int64(), []),
        ("XRTimeSinceEpoch", np.uint64, (BIAS - 7 * 10**9, U64), pa.float64(), [-7.0, None]),
        ("XRFramesPerSecond", np.uint64, (BIAS + 595 * 10**8,), pa.float64(), [59.5]),
        ("XRProcessID", np.uint32, (4711, U32), pa.int64(), [4711, None]),
        ("XRGenericUInt32", np.uint32, (4711, U32), pa.int64(), [4711, U32]),
        ("XRBoolean", np.uint32, (0, 1, 3, U32), pa.bool_(), [False, True, True, None]),
        ("XRTomorrow", np.uint32, (5, U32), pa.int64(), [5, None]),
    ):
        column_values = numbers(engineering_type(type_id, Requirements()), np.array(values, width))
        assert (column_values.type, column_values.to_pylist()) == (kind, expected)


WIDTHS = {
    ("XRGPUState", 4): Encoding.STRING,
    ("XRGPUState", 8): Encoding.UNKNOWN,
    ("XRProcess", 8): Encoding.UNKNOWN,
    ("XRFormattedLabel", 8): Encoding.UNKNOWN,
    ("XRThreadName", 8): Encoding.THREAD_NAME,
    ("XRThreadName", 4): Encoding.UNKNOWN,
    ("XRPercentage", 4): Encoding.UNKNOWN,
    ("XRPercentage", 8): Encoding.DECIMAL,
    ("XRStartTime", 4): Encoding.INTEGER,
    ("XRStartTime", 8): Encoding.INTEGER,
    ("XRBacktrace", 8): Encoding.UNKNOWN,
}


def test_a_field_of_another_width_is_not_read(tmp_path: Path) -> None:
    run = Bundle(write_bundle(tmp_path / "x.trace", [TICK])).runs[0]
    kinds = {
        (type_id, width): type_of(StoreColumn("c", "C", type_id, Field(16, width)), run)
        for type_id, width in WIDTHS
    }
    assert {column: kind.encoding for column, kind in kinds.items()} == WIDTHS
    for kind in kinds.values():
        assert (kind.evidence is EncodingEvidence.NONE) == (kind.encoding is Encoding.UNKNOWN)


MAIN = Thread(0x1D2FE4, PYTHON, "Main Thread")
TEXT = Part("XRPrototypeStringTypeID", "a")
BULKSTORE = "x.trace/corespace/run1/core/stores/indexed-store-0/bulkstore"
HEAD = 0x1000  # of a table's records


def reader_of(path: Path, type_ids: Sequence[str], *rows: Sequence[Value]) -> BundleReader:
    value_columns = [Col(f"c{place}", "", f"XR{name}TypeID") for place, name in enumerate(type_ids)]
    timed = [(place, *row) for place, row in enumerate(rows)]
    table = Table("made", [Col("time", "Time", "XRStartTimeTypeID", TIME), *value_columns], timed)
    return reader(write_bundle(path / "x.trace", [table]))


def reader(bundle: Path) -> BundleReader:
    run = Bundle(bundle).runs[0]
    return BundleReader(run, run.stores[0], "/xpath")


def one_column(path: Path, type_id: str, *values: Value) -> ColumnCells:
    (piece,) = reader_of(path, [type_id], *((value,) for value in values)).pieces()
    return piece.columns[1]


@pytest.mark.parametrize(
    ("type_id", "value", "text"),
    [
        ("FormattedLabel", Label((TEXT,)), "a"),
        ("ThreadName", ThreadName("worker", MAIN), "worker  0x1d2fe4"),
        ("ThreadName", ThreadName(None, MAIN), "  0x1d2fe4"),
        ("ThreadName", ThreadName("worker", None), "worker  "),
        ("UUID", UUID(int=1), str(UUID(int=1))),
        ("ReturnLocation", Location(UUID(int=1), 0x20), f"{UUID(int=1)} + 0x20"),
        ("CoreProfilePMCEventsArray", (40, 4770), "40 4770"),
    ],
)
def test_values_that_are_worded(tmp_path: Path, type_id: str, value: Value, text: str) -> None:
    assert one_column(tmp_path, type_id, value, None).cells.to_pylist() == [text, None]


def test_cells_of_any_type_tell_their_types(tmp_path: Path) -> None:
    column = one_column(tmp_path, "Any", Part("XRDurationTypeID", 5), TEXT, None)
    assert column.cells.to_pylist() == ["5", "a", None]
    assert column.foreign == {"duration", "string"}


def test_columns_of_which_nothing_is_known_are_empty_and_said_so(tmp_path: Path) -> None:
    types = ["GPUState", "ThermalState", "FramesPerSecond", "TextBacktrace"]
    (piece,) = reader_of(tmp_path, types, ("Idle", "Fair", Decimal(3), None)).pieces()
    assert [(loss.flaw, loss.evidence, loss.schema, loss.columns) for loss in piece.losses] == [
        (Flaw.UNSURE, EncodingEvidence.INFERRED, "made", ("c1", "c2")),
        (Flaw.UNSURE, EncodingEvidence.NONE, "made", ("c3",)),
    ]
    cells = [column.cells.to_pylist() for column in piece.columns]
    assert cells == [[0], ["Idle"], ["Fair"], [3.0], [None]]


def test_a_table_without_rows_is_one_piece_without_notes(tmp_path: Path) -> None:
    reader = reader_of(tmp_path, ["Process", "FramesPerSecond", "Backtrace", "TextBacktrace"])
    (piece,) = reader.pieces()
    assert (piece.rows, piece.losses) == (0, ())
    assert all(len(column.cells) == 0 for column in piece.columns)
    assert piece.columns[1].pids is not None
    assert piece.columns[3].stacks is not None
    assert reader.symbols().stacks.num_rows == 0


def test_a_large_table_comes_in_pieces_of_one_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "_PIECE", 2)
    rows = [("Idle", 1, PYTHON), (None, 2, None), ("Active", 1 << 63, PYTHON)]
    pieces = list(reader_of(tmp_path, ["GPUState", "SizeInBytes", "Process"], *rows).pieces())
    assert [piece.rows for piece in pieces] == [2, 1]
    assert [[column.cells.to_pylist() for column in piece.columns] for piece in pieces] == [
        [[0, 1], ["Idle", None], [1, 2], ["python3 (4711)", None]],
        [[2], ["Active"], [1 << 63], ["python3 (4711)"]],
    ]
    assert {piece.columns[2].cells.type for piece in pieces} == {pa.uint64()}


@pytest.mark.parametrize(
    ("type_id", "value"),
    [
        ("GPUState", "Idle"),
        ("Process", PYTHON),
        ("FormattedLabel", Label((TEXT,))),
        ("UUID", UUID(int=1)),
    ],
)
def test_a_cell_with_a_dangling_reference_is_damage(
    tmp_path: Path, type_id: str, value: Value
) -> None:
    reader = reader_of(tmp_path, [type_id], (value,))
    store = tmp_path / BULKSTORE
    content = bytearray(zlib.decompress(store.read_bytes()))
    content[HEAD + 16 : HEAD + 20] = (70_000).to_bytes(4, "little")
    store.write_bytes(zlib.compress(content, 1))
    with pytest.raises(
        BundleError, match="its column c0 names a value that the bundle does not hold"
    ):
        list(reader.pieces())


def test_unwritten_rows_are_reported(tmp_path: Path) -> None:
    (whole_piece,) = reader_of(
        tmp_path, ["Duration", "GPUState"], (7, "Idle"), (8, "Idle")
    ).pieces()
    assert whole_piece.losses == ()
    store, record = tmp_path / BULKSTORE, 28
    content = bytearray(zlib.decompress(store.read_bytes()))
    content[HEAD + record : HEAD + 2 * record] = bytes(record)
    store.write_bytes(zlib.compress(content))
    (piece,) = reader(tmp_path / "x.trace").pieces()
    [loss] = piece.losses
    assert loss.rows == 1
    assert "made: 1 of its rows hold zeroes alone" in loss.text
    (narrow,) = reader_of(tmp_path / "narrow", ["Duration"], (0,), (0,)).pieces()
    assert narrow.losses == ()  # of two columns, both may well be 0
