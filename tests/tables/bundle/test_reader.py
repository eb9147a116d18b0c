"""One table of a bundle as nodes: columns, what stands beside them, notes, damage."""

import zlib
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pytest

from bundle_writer import (
    TIME,
    Col,
    Label,
    Location,
    Part,
    Process,
    Table,
    Thread,
    ThreadName,
    Value,
    write_bundle,
)
from tracekit.tables.bundle import reader as readers
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.cells.encodings import Evidence, Unsure
from tracekit.tables.bundle.errors import BundleError
from tracekit.tables.bundle.reader import BundleReader
from tracekit.tables.xml.node import ColumnCells, Node

PYTHON = Process(4711, "python3")
MAIN = Thread(0x1D2FE4, PYTHON, "Main Thread")
CORE = "corespace/run1/core"


def columns_of(*type_ids: str) -> list[Col]:
    own = [Col(f"c{place}", "", f"XR{name}TypeID") for place, name in enumerate(type_ids)]
    return [Col("time", "Time", "XRStartTimeTypeID", TIME), *own]


def reader_of(path: Path, type_ids: Sequence[str], *rows: Sequence[Value]) -> BundleReader:
    """Return a reader of a table of those types, of rows without their times."""
    timed = [(place, *row) for place, row in enumerate(rows)]
    bundle = write_bundle(path / "x.trace", [Table("made", columns_of(*type_ids), timed)])
    run = Bundle(bundle).runs[0]
    return BundleReader(run, run.stores[0], "/xpath")


def one_column(path: Path, type_id: str, *values: Value) -> ColumnCells:
    (piece,) = reader_of(path, [type_id], *((value,) for value in values)).pieces()
    return piece.columns[1]


@pytest.mark.parametrize(
    ("type_id", "value", "text"),
    [
        ("FormattedLabel", Label((Part("XRPrototypeStringTypeID", "a"),)), "a"),
        ("ThreadName", ThreadName("worker", MAIN), "worker  0x1d2fe4"),
        ("ThreadName", ThreadName(None, MAIN), "  0x1d2fe4"),
        ("ThreadName", ThreadName("worker", None), "worker  "),
        ("UUID", UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ("ReturnLocation", Location(UUID(int=1), 0x20),
         "00000000-0000-0000-0000-000000000001 + 0x20"),
        ("CoreProfilePMCEventsArray", (40, 4770), "40 4770"),
    ],
)  # fmt: skip
def test_values_that_are_worded(tmp_path: Path, type_id: str, value: Value, text: str) -> None:
    assert one_column(tmp_path, type_id, value, value).cells.to_pylist() == [text, text]


def test_cells_of_any_type_tell_their_types(tmp_path: Path) -> None:
    parts = (Part("XRDurationTypeID", 5), Part("XRPrototypeStringTypeID", "x"), None)
    found = one_column(tmp_path, "Any", *parts)
    assert found.cells.to_pylist() == ["5", "x", None]
    assert found.foreign == {"duration", "string"}


def test_columns_of_which_nothing_is_known_are_empty_and_said_so(tmp_path: Path) -> None:
    types = ["GPUState", "ThermalState", "FramesPerSecond", "TextBacktrace"]
    (piece,) = reader_of(tmp_path, types, ("Idle", "Fair", Decimal(3), None)).pieces()
    assert piece.notes == (
        Unsure(Evidence.INFERRED, "made", ("c1", "c2")),
        Unsure(Evidence.NONE, "made", ("c3",)),
    )
    assert [one.cells.to_pylist() for one in piece.columns[2:]] == [["Fair"], [3.0], [None]]


def test_a_table_without_rows_is_one_piece_without_notes(tmp_path: Path) -> None:
    reader = reader_of(tmp_path, ["Process", "FramesPerSecond", "Backtrace", "TextBacktrace"])
    (piece,) = reader.pieces()
    assert (piece.rows, piece.notes) == (0, ())
    assert all(len(one.cells) == 0 for one in piece.columns)
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
    assert [[one.to_pylist() for one in cells_of(piece)] for piece in pieces] == [
        [["Idle", None], [1, 2], ["python3 (4711)", None]],
        [["Active"], [1 << 63], ["python3 (4711)"]],
    ]
    assert {piece.columns[2].cells.type for piece in pieces} == {pa.uint64()}


def cells_of(piece: Node) -> list[pa.ChunkedArray]:
    return [column.cells for column in piece.columns[1:]]


@pytest.mark.parametrize("type_id", ["GPUState", "Process", "FormattedLabel", "UUID"])
def test_a_cell_of_what_is_not_there_is_damage(tmp_path: Path, type_id: str) -> None:
    values: dict[str, Value] = {
        "GPUState": "Idle", "Process": PYTHON, "UUID": UUID(int=1),
        "FormattedLabel": Label((Part("XRPrototypeStringTypeID", "a"),)),
    }  # fmt: skip
    reader = reader_of(tmp_path, [type_id], (values[type_id],))
    store = tmp_path / "x.trace" / CORE / "stores/indexed-store-0/bulkstore"
    content = bytearray(zlib.decompress(store.read_bytes()))
    content[0x1000 + 16 : 0x1000 + 20] = (70_000).to_bytes(4, "little")
    store.write_bytes(zlib.compress(content, 1))
    with pytest.raises(BundleError, match="its column c0 names what the bundle does not hold"):
        list(reader.pieces())


def test_rows_that_were_never_written_are_told(tmp_path: Path) -> None:
    reader = reader_of(tmp_path, ["Duration", "GPUState"], (7, "Idle"), (8, "Idle"))
    (whole,) = reader.pieces()
    assert whole.notes == ()
    place = tmp_path / "x.trace" / CORE / "stores/indexed-store-0/bulkstore"
    content = bytearray(zlib.decompress(place.read_bytes()))
    record = 28
    content[4096 + record : 4096 + 2 * record] = bytes(record)
    place.write_bytes(zlib.compress(content))
    run = Bundle(tmp_path / "x.trace").runs[0]
    (piece,) = BundleReader(run, run.stores[0], "/xpath").pieces()
    [note] = piece.notes
    assert note.startswith("made: 1 of its rows hold zeroes alone")
