"""An export into a file: the table that `read_table` gives, in any number of pieces and parts."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bundle_writer import Encoder, Run, write_bundle, write_runs
from small_bundle import PYTHON, SERVER, intervals, ticks
from tracekit.base.files import replacing
from tracekit.tables.convert import (
    ParquetStream,
    convert_bundle,
    convert_table,
    symbol_files,
    write_table,
)
from tracekit.tables.flat import read_flat
from tracekit.tables.layout import Layout, frame_of
from tracekit.tables.losses import collecting
from tracekit.tables.place import Choice
from tracekit.tables.toc import Toc, TocRun, TocTable
from tracekit.tables.xml.node import ColumnCells, ExportColumn, Node

Export = Callable[..., Path]
PROCESS = '<process id="4" fmt="App (7)"><pid id="5">7</pid></process>'
STACK = (
    '<row><backtrace id="{0}"><frame id="{0}1" name="leaf" addr="0x10">'
    '<binary id="{0}2" name="lib" UUID="AB" arch="arm64" load-addr="0x1" path="/lib"/></frame>'
    '<frame id="{0}3" name="main" addr="0x20"><binary ref="{0}2"/></frame></backtrace></row>'
)


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".csv"])
def test_the_file_holds_the_table(export: Export, tmp_path: Path, suffix: str) -> None:
    table = export(
        "start:start-time id:uint64 process:process load:brand-new",
        f"<row><start-time>7</start-time><uint64>{2**64 - 1}</uint64>{PROCESS}"
        "<brand-new>1</brand-new></row>",
        '<row><sentinel/><uint64>5</uint64><process ref="4"/><brand-new>2.5</brand-new></row>',
    )
    output = tmp_path / "new" / f"out{suffix}"
    done = convert_table(table, output)
    if suffix == ".csv":
        assert output.read_text() == (
            f"start,id,process,process.pid,load\n7,{2**64 - 1},App (7),7,1.0\n,5,App (7),7,2.5\n"
        )
    else:
        read = pd.read_feather if suffix == ".feather" else pd.read_parquet
        pd.testing.assert_frame_equal(read(output), read_flat(table).frame)
    assert (done.files, done.rows, done.notes.damage, done.notes.drift) == ((output,), 2, (), ())
    assert [file.name for file in output.parent.iterdir()] == [output.name]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_stacks_are_written_next_to_the_table(export: Export, tmp_path: Path, suffix: str) -> None:
    path = export("stack:backtrace", STACK.format(1), "<row><sentinel/></row>", STACK.format(5))
    output = tmp_path / f"out{suffix}"
    done = convert_table(path, output)
    frames, stacks = symbol_files(output)
    assert done.files == (output, frames, stacks)
    assert (frames.name, stacks.name) == ("out.frames.parquet", "out.stacks.parquet")
    flat = read_flat(path)
    assert list(flat.frame) == ["stack", "stack.stack"]
    assert flat.frame["stack.stack"].tolist() == [0, pd.NA, 1]
    assert pq.read_table(frames).equals(flat.symbols.frames)
    assert pq.read_table(stacks).equals(flat.symbols.stacks)
    assert flat.symbols.frames["name"].to_pylist() == ["leaf", "main"] * 2
    assert flat.symbols.stacks["frames"].to_pylist() == [[0, 1], [2, 3]]
    if suffix == ".parquet":
        pd.testing.assert_frame_equal(pd.read_parquet(output), flat.frame)


def test_the_table_of_contents_that_is_given_says_which_table_is_meant(
    export: Export, tmp_path: Path
) -> None:
    table, choice = TocTable(1, "table", {"set": "3"}), Choice(attributes={"set": "3"})
    path = export("n:uint32", "<row><uint32>5</uint32></row>")
    toc = Toc((TocRun(1, tables=(table,)),))
    assert convert_table(path, tmp_path / "out.csv", choice=choice, toc=toc).rows == 1


def names(folder: Path) -> list[str]:
    return sorted(
        file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()
    )


def test_of_several_runs_each_has_a_folder(tmp_path: Path) -> None:
    tables = {number: [ticks([number]), intervals((0, 10, PYTHON))] for number in (1, 3)}
    runs = {number: Run(run_tables, Encoder()) for number, run_tables in tables.items()}
    bundle = write_runs(tmp_path / "x.trace", runs)
    done = convert_bundle(bundle, tmp_path / "out", ".parquet", lambda _: None)
    assert [file.relative_to(tmp_path / "out").as_posix() for file in done] == [
        f"run{run}/{schema}.parquet" for run in (1, 3) for schema in ("tick", "metal-gpu-intervals")
    ]
    assert pd.read_parquet(tmp_path / "out/run3/tick.parquet")["time"].tolist() == [3]


def test_damage_is_named_and_the_rest_written(tmp_path: Path) -> None:
    tables = [ticks([2, 1]), intervals((0, 10, PYTHON), (40, 10, SERVER)), ticks([]), ticks([7])]
    bundle = write_bundle(tmp_path / "x.trace", tables)
    damaged = ("bulkstore", "spec.plist", "schema.xml")
    for number, name in enumerate(damaged):
        stores = bundle / "corespace/run1/core/stores"
        (stores / f"indexed-store-{number}" / name).write_bytes(b"nonsense")
    messages: list[str] = []
    with collecting() as ledger:
        written_files = convert_bundle(bundle, tmp_path / "out", ".parquet", messages.append)
    assert names(tmp_path / "out") == ["tick-3.parquet"]
    assert written_files == (tmp_path / "out" / "tick-3.parquet",)
    assert messages == ["writing tick"] * 2
    for loss, name in zip(ledger.costs, ("spec.plist", "schema.xml", "bulkstore"), strict=True):
        assert name in loss.text


def test_a_schema_cannot_name_another_folder(tmp_path: Path) -> None:
    tables = [replace(ticks([1]), schema=name) for name in ("x-2", "../../evil", "/x", "x-2")]
    convert_bundle(
        write_bundle(tmp_path / "x.trace", tables), tmp_path / "out", ".csv", lambda _: None
    )
    assert names(tmp_path / "out") == ["______evil.csv", "_x.csv", "x-2-2.csv", "x-2.csv"]


def test_tables_are_written_in_the_order_of_the_toc_and_unchecked_ones_named(
    tmp_path: Path,
) -> None:
    schemas, messages = ("b", "a", "b"), list[str]()
    tables = [replace(ticks([1]), schema=name) for name in schemas]
    bundle = write_bundle(tmp_path / "x.trace", tables)
    (bundle / "corespace/run1/core/table-manager/tables.plist").unlink()
    with collecting() as ledger:
        convert_bundle(bundle, tmp_path / "out", ".csv", messages.append)
    [loss] = ledger.losses
    assert "Whether tables of run 1 are missing could not be checked" in loss.text
    assert messages == [f"writing {schema}" for schema in schemas]


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


def split_node(node: Node, rows: int) -> Iterator[Node]:
    for begin in range(0, max(node.rows, 1), rows):
        columns = [replace(part, cells=part.cells.slice(begin, rows)) for part in node.columns]
        yield replace(node, columns=tuple(columns), rows=len(columns[0].cells))


def stream_tables(path: Path, *tables: Sequence[Node]) -> Layout:
    """Write the pieces of tables into a file, each after a new beginning; return the last."""
    with replacing(path) as file, ParquetStream(file) as stream:
        for pieces in tables:
            stream.begin()
            for node in pieces:
                stream.take(node)
        stream.finish()
        assert stream.layout is not None
        return stream.layout


@pytest.fixture
def out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let a part have two rows."""
    monkeypatch.setattr(sys.modules["tracekit.tables.convert"], "_PART_ROWS", 2)
    return tmp_path / "out.parquet"


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("case", ROWS)
def test_a_streamed_table_is_the_one_from_memory(out: Path, case: str, rows: int) -> None:
    node = piece(dict.fromkeys(TYPES.split(), pa.array(ROWS[case], pa.string())))
    whole_layout = Layout(node)
    frame = frame_of(whole_layout.convert_table(whole_layout.take(node)))
    assert stream_tables(out, [*split_node(node, rows)]).drift == whole_layout.drift
    pd.testing.assert_frame_equal(pd.read_parquet(out), frame)


NUMBERS = {
    "start-time": pa.array([1, None, 3], pa.int64()),
    "uint64": pa.array([2**64 - 1, 0, 1], pa.uint64()),
    "percent": pa.array([0.5, None, 2.0], pa.float64()),
    "boolean": pa.array([0, 3, None], pa.int64()),
    "string": pa.array(["a", None, ""], pa.string()),
}


def test_parts_are_row_groups_with_checksums(out: Path) -> None:
    stream_tables(out, [*split_node(piece(NUMBERS), 1)])
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
def test_rows_before_a_new_beginning_leave_no_trace(
    out: Path, tmp_path: Path, cells: dict[str, pa.Array]
) -> None:
    later_piece = piece({"uint64": pa.array(["7", "8"], pa.string())})
    layout = stream_tables(out, [*split_node(piece(cells), 1)], [later_piece])
    assert (layout.drift, layout.raw.names) == ((), ["uint64"])
    stream_tables(tmp_path / "alone.parquet", [later_piece])
    assert out.read_bytes() == (tmp_path / "alone.parquet").read_bytes()


@pytest.mark.parametrize("suffix", [".parquet", ".PARQUET", ".feather"])
def test_every_value_and_dtype_comes_back(tmp_path: Path, suffix: str) -> None:
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
    path = tmp_path / "new folder" / f"table{suffix}"
    write_table(frame.set_axis([7, 3]), path)
    read = pd.read_feather(path) if suffix == ".feather" else pd.read_parquet(path)
    pd.testing.assert_frame_equal(read, frame)
