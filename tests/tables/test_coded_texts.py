"""Texts that are kept once each make the same tables as texts that are not, in memory and files."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tracekit.base.files import replacing
from tracekit.tables.convert import streaming
from tracekit.tables.layout import Layout
from tracekit.tables.xml.node import ColumnCells, ExportColumn, Node

ROWS = {
    "words": ["Active", "Idle", None, "Active", ""],
    "no nulls": ["b", "a", "b", "b", "c"],
    "all null": [None] * 5,
    "integers": ["1", "2", None, "1", str(2**63)],
    "not quite integers": ["1", "2", "007", "1", None],
    "decimals": ["1.5", "2", None, "1.5", "0.25"],
}
TYPES = ("string", "formatted-label", "brand-new", "any")


def pieces(rows: Sequence[str | None], size: int, *, coded: bool) -> list[Node]:
    """Cut a table into pieces; each has one column of each type, all of the same cells."""
    found: list[Node] = []
    for first in range(0, len(rows), size):
        cells = pa.array(rows[first : first + size], pa.string())
        stored = pa.chunked_array([cells.dictionary_encode() if coded else cells])
        columns = tuple(
            ColumnCells(
                ExportColumn(one, one, one), stored, frozenset({"string"} if one == "any" else ())
            )
            for one in TYPES
        )
        found.append(Node("table", "", columns, len(cells)))
    return found


def in_memory(parts: Sequence[Node]) -> pd.DataFrame:
    layout = Layout(parts[0])
    return layout.frame(pa.concat_tables([layout.take(one) for one in parts]))


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["tracekit.tables.convert"], "_PART_ROWS", 2)


def in_file(parts: Sequence[Node], path: Path) -> Path:
    with replacing(path) as file, streaming(file, path.suffix) as stream:
        stream.begin()
        for one in parts:
            stream.take(one)
        stream.finish()
    return path


@pytest.mark.parametrize("size", [2, 5])
@pytest.mark.parametrize("case", ROWS)
def test_frames_are_equal(case: str, size: int) -> None:
    coded = in_memory(pieces(ROWS[case], size, coded=True))
    pd.testing.assert_frame_equal(coded, in_memory(pieces(ROWS[case], size, coded=False)))


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".csv"])
@pytest.mark.parametrize("size", [2, 5])
@pytest.mark.parametrize("case", ROWS)
def test_files_hold_the_same(tmp_path: Path, case: str, size: int, suffix: str) -> None:
    one, two = (
        in_file(pieces(ROWS[case], size, coded=coded), tmp_path / f"{coded}{suffix}")
        for coded in (True, False)
    )
    if suffix == ".csv":
        assert one.read_bytes() == two.read_bytes()
        return
    read = pd.read_parquet if suffix == ".parquet" else pd.read_feather
    pd.testing.assert_frame_equal(read(one), read(two))


def test_a_parquet_file_of_coded_texts_has_plain_ones(tmp_path: Path) -> None:
    path = in_file(pieces(ROWS["words"], 5, coded=True), tmp_path / "x.parquet")
    table = pq.read_table(path)
    assert {one.type for one in table.schema} == {pa.string()}
    assert table["string"].to_pylist() == ROWS["words"]
