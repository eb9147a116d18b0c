"""An export into a file: the table that `read_table` gives, in little memory."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from bundle_writer import Encoder, Run, write_bundle, write_runs
from small_bundle import PYTHON, SERVER, intervals, ticks
from tracekit.tables.convert import convert, symbol_files, unbundle
from tracekit.tables.flat import read_flat

Export = Callable[..., Path]
PROCESS = '<process id="{0}" fmt="App ({1})"><pid id="{0}1">{1}</pid></process>'
STACK = (
    '<row><backtrace id="{0}"><frame id="{0}1" name="leaf" addr="0x10">'
    '<binary id="{0}2" name="lib" UUID="AB" arch="arm64" load-addr="0x1" path="/lib"/></frame>'
    '<frame id="{0}3" name="main" addr="0x20"><binary ref="{0}2"/></frame></backtrace></row>'
)


@pytest.fixture
def table(export: Export) -> Path:
    return export(
        "start:start-time id:uint64 process:process load:brand-new",
        f"<row><start-time>7</start-time><uint64>{2**64 - 1}</uint64>{PROCESS.format(4, 7)}"
        "<brand-new>1</brand-new></row>",
        '<row><sentinel/><uint64>5</uint64><process ref="4"/><brand-new>2.5</brand-new></row>',
        name="table.xml",
    )


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".csv"])
def test_the_file_holds_the_table(table: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / "new" / f"out{suffix}"
    done = convert(table, out)
    frame = read_flat(table).frame
    if suffix == ".csv":
        assert out.read_text() == (
            f"start,id,process,process.pid,load\n7,{2**64 - 1},App (7),7,1.0\n,5,App (7),7,2.5\n"
        )
    else:
        read = pd.read_feather if suffix == ".feather" else pd.read_parquet
        pd.testing.assert_frame_equal(read(out), frame)
    assert (done.files, done.rows, done.notes.damage, done.notes.drift) == ((out,), 2, (), ())
    assert [one.name for one in out.parent.iterdir()] == [out.name]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_stacks_stand_beside_the_table(export: Export, tmp_path: Path, suffix: str) -> None:
    path = export("stack:backtrace", STACK.format(1), "<row><sentinel/></row>", STACK.format(5))
    out = tmp_path / f"out{suffix}"
    done = convert(path, out)
    frames, stacks = symbol_files(out)
    assert done.files == (out, frames, stacks)
    assert (frames.name, stacks.name) == ("out.frames.parquet", "out.stacks.parquet")
    flat = read_flat(path)
    assert flat.symbols.frames.equals(pq.read_table(frames))
    assert flat.symbols.stacks.equals(pq.read_table(stacks))
    names = flat.symbols.frames["name"].to_pylist()
    numbers = flat.frame["stack.stack"]
    assert list(flat.frame) == ["stack", "stack.stack"]
    assert numbers.isna().tolist() == [False, True, False]
    chains = flat.symbols.stacks["frames"].to_pylist()
    assert [[names[k] for k in chains[n]] for n in numbers.dropna()] == [["leaf", "main"]] * 2
    if suffix == ".parquet":
        pd.testing.assert_frame_equal(pd.read_parquet(out), flat.frame)


TABLES = [ticks([2, 1]), intervals((0, 10, PYTHON), (40, 10, SERVER)), ticks([], {"frequency": 1})]


def names(folder: Path) -> list[str]:
    return sorted(one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file())


def test_of_several_runs_each_has_a_folder(tmp_path: Path) -> None:
    runs = {number: Run([ticks([number])], Encoder()) for number in (1, 3)}
    bundle = write_runs(tmp_path / "x.trace", runs)
    unbundle(bundle, tmp_path / "out", ".parquet", lambda _: None)
    assert names(tmp_path / "out") == ["run1/tick.parquet", "run3/tick.parquet"]
    assert pd.read_parquet(tmp_path / "out/run3/tick.parquet")["time"].tolist() == [3]


def test_what_is_damaged_is_named_and_the_rest_written(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "x.trace", TABLES)
    stores = sorted(bundle.glob("corespace/run1/core/stores/*"), key=lambda one: int(one.name[14:]))
    (stores[0] / "bulkstore").write_bytes(b"nonsense")
    (stores[2] / "schema.xml").write_bytes(b"nonsense")
    (stores[1] / "spec.plist").write_bytes(b"nonsense")
    told: list[str] = []
    written = unbundle(bundle, tmp_path / "out", ".parquet", told.append)
    assert written.files == ()
    assert names(tmp_path / "out") == []
    assert told == ["writing tick"]
    assert len(written.lost) == 3
    for lost, name in zip(written.lost, ("spec.plist", "schema.xml", "bulkstore"), strict=True):
        assert name in lost


def test_a_schema_cannot_name_another_folder(tmp_path: Path) -> None:
    odd = ticks([1])
    tables = [type(odd)(name, odd.columns, odd.rows, {}) for name in ("../../evil", "/x", "x-2")]
    bundle = write_bundle(tmp_path / "x.trace", [*tables, tables[2]])
    unbundle(bundle, tmp_path / "out", ".csv", lambda _: None)
    assert names(tmp_path / "out") == ["______evil.csv", "_x.csv", "x-2-2.csv", "x-2.csv"]
