"""A table into a file, in any number of pieces and parts: the same frame as from memory."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tracekit.base.files import replacing
from tracekit.tables.convert import Stream, write_table
from tracekit.tables.layout import Layout
from tracekit.tables.xml.node import ColumnCells, ExportColumn, Node

LARGEST = str(2**64 - 1)
ROWS = {
    "plain": ["1", "2", "3", "4", "5"],
    "null first": [None, "2", "3", None, "5"],
    "null last": ["1", "2", "3", "4", None],
    "all null": [None] * 5,
    "near 2^64": ["1", LARGEST, str(2**63), "0", None],
    "minus one": ["1", "-1", "3", "4", "5"],
    "clash": [LARGEST, "-1", "3", "4", "5"],
    "007 last": ["1", "2", "3", "4", "007"],
    "decimal last": ["1", "2", "3", "4", "5.25"],
    "word last": ["007", "2", "3", "4", "word"],
    "label": ["a\u00a0µ", "", "two\nlines", None, '"quoted", and more'],
}
TYPES = "start-time uint64 boolean percent string brand-new any"


def piece(cells: dict[str, pa.Array]) -> Node:
    """Make a piece of columns that are named after their types; `any` holds weights."""
    columns = tuple(
        ColumnCells(
            ExportColumn(name, name, name),
            pa.chunked_array([array]),
            frozenset({"weight"} if name == "any" and array.null_count < len(array) else ()),
        )
        for name, array in cells.items()
    )
    return Node("table", "", columns, len(next(iter(cells.values()))))


def cut(node: Node, rows: int) -> Iterator[Node]:
    """Cut a piece into pieces of a few rows."""
    for begin in range(0, max(node.rows, 1), rows):
        columns = [replace(part, cells=part.cells.slice(begin, rows)) for part in node.columns]
        yield replace(node, columns=tuple(columns), rows=len(columns[0].cells))


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["tracekit.tables.convert"], "_PART_ROWS", 2)


def streamed(path: Path, pieces: Sequence[Node]) -> tuple[str, ...]:
    """Write pieces into a file; return what is said of drift."""
    with replacing(path) as file, Stream(file) as stream:
        stream.begin()
        for one in pieces:
            stream.take(one)
        stream.finish()
        assert stream.layout is not None
        return stream.layout.drift


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("case", ROWS)
def test_a_streamed_table_is_the_one_from_memory(tmp_path: Path, case: str, rows: int) -> None:
    node = piece(dict.fromkeys(TYPES.split(), pa.array(ROWS[case], pa.string())))
    whole, out = Layout(node), tmp_path / "out.parquet"
    frame = whole.frame(whole.take(node))
    drift = streamed(out, list(cut(node, rows)))
    pd.testing.assert_frame_equal(pd.read_parquet(out), frame)
    assert drift == whole.drift


NUMBERS = {
    "start-time": pa.array([1, None, 3], pa.int64()),
    "uint64": pa.array([2**64 - 1, 0, 1], pa.uint64()),
    "percent": pa.array([0.5, None, 2.0], pa.float64()),
    "boolean": pa.array([0, 3, None], pa.int64()),
    "string": pa.array(["a", None, ""], pa.string()),
}


def test_parts_are_row_groups_with_checksums(tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    streamed(out, list(cut(piece(NUMBERS), 1)))
    with pq.ParquetFile(out, page_checksum_verification=True) as file:
        assert [file.metadata.row_group(k).num_rows for k in range(2)] == [2, 1]
        assert file.read().num_rows == 3
        second = file.metadata.row_group(0).column(1)
    content = bytearray(out.read_bytes())
    content[(second.dictionary_page_offset or second.data_page_offset) - 1] ^= 0x55
    out.write_bytes(content)
    with pq.ParquetFile(out, page_checksum_verification=True) as file:
        with pytest.raises(OSError, match="CRC"):
            file.read(["start-time"])
        assert file.read(["uint64"]).num_rows == 3


@pytest.mark.parametrize("cells", [NUMBERS, {"start-time": pa.array(["x", "2", "3"], pa.string())}])
def test_what_was_taken_before_a_new_beginning_leaves_no_trace(
    tmp_path: Path, cells: dict[str, pa.Array]
) -> None:
    out, alone = tmp_path / "out.parquet", tmp_path / "alone.parquet"
    after = piece({"uint64": pa.array(["7", "8"], pa.string())})
    with replacing(out) as file, Stream(file) as stream:
        stream.begin()
        for one in cut(piece(cells), 1):
            stream.take(one)
        stream.begin()
        stream.take(after)
        stream.finish()
        assert stream.layout is not None
        assert (stream.layout.drift, stream.layout.raw.names) == ((), ["uint64"])
    streamed(alone, [after])
    assert out.read_bytes() == alone.read_bytes()


@pytest.fixture
def frame() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "start": pd.Series([1, -2], dtype="int64"),
            "id": pd.array([2**64 - 1, None], dtype="UInt64"),
            "plain": pd.Series([2**64 - 1, 0], dtype="uint64"),
            "latency": pd.array([None, 2**63 - 1], dtype="Int64"),
            "share": [0.142594111, None],
            "on": pd.array([True, None], dtype="boolean"),
            "label": pd.array(['a\u00a0µ "x",\ny', None], dtype="string"),
        }
    )
    return frame.set_axis([7, 3])


@pytest.mark.parametrize("suffix", [".parquet", ".PARQUET", ".feather"])
def test_every_value_and_dtype_comes_back(frame: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "new folder" / f"table{suffix}"
    write_table(frame, path)
    read = pd.read_feather(path) if suffix == ".feather" else pd.read_parquet(path)
    pd.testing.assert_frame_equal(read, frame.reset_index(drop=True))
    assert read["id"].iloc[0] == 2**64 - 1
