"""Tables that were read once: kept while they are read, loaded column by column, never stale."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

from tracekit.base.errors import InputError
from tracekit.tables import cache as caching
from tracekit.tables import place as stamps
from tracekit.tables.cache import READER_VERSION, Kept, kept_or_read
from tracekit.tables.convert import symbol_files
from tracekit.tables.flat import Flat, read_flat
from tracekit.tables.place import Choice

Export = Callable[..., Path]
HOUR = 3600 * 10**9
STACK = (
    '<backtrace id="1"><frame id="2" name="leaf" addr="0x10"/>'
    '<frame id="3" name="main" addr="0x20"/></backtrace>'
)


@pytest.fixture
def table(export: Export) -> Path:
    return export(
        "start:start-time process:process id:uint64 stack:backtrace",
        '<row><start-time>7</start-time><process id="8" fmt="App (7)"><pid id="9">7</pid></process>'
        f"<uint64>{2**64 - 1}</uint64>{STACK}</row>",
        "<row><sentinel/><sentinel/><uint64>5</uint64><sentinel/></row>",
        schema="samples",
        name="samples.xml",
    )


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all files be an hour old, so that their stamps count."""
    now = time.time_ns
    monkeypatch.setattr(stamps.time, "time_ns", lambda: now() + HOUR)


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """List the files that are hashed."""
    files: list[str] = []
    digest = caching.digest

    def listening(file: Path) -> str:
        files.append(file.name)
        return digest(file)

    monkeypatch.setattr(caching, "digest", listening)
    return files


def kept(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir() if one.suffix == ".parquet")


def taken(cache: Path, export: Path, choice: Choice | None = None) -> Kept:
    found = kept_or_read(cache, export, "samples", choice or Choice())
    assert isinstance(found, Kept)
    return found


def test_a_kept_table_is_the_one_that_is_read(table: Path, tmp_path: Path) -> None:
    cache = tmp_path / "kept"
    flat = read_flat(table)
    for _ in range(2):
        found = taken(cache, table)
        pd.testing.assert_frame_equal(found.part(), flat.frame)
        assert found.names == flat.names
        assert found.symbols.stacks.equals(flat.symbols.stacks)
        assert found.symbols.frames.equals(flat.symbols.frames)
    assert len(kept(tmp_path / "kept")) == 3


def test_only_the_columns_that_are_asked_for_are_loaded(table: Path, tmp_path: Path) -> None:
    for found in (taken(tmp_path / "kept", table), read_flat(table)):
        assert list(found.part({"id", "start", "absent"})) == ["start", "id"]
        assert list(found.part(["process"])) == ["process"]  # and not process.pid
        assert list(found.part([])) == []
        assert found.part(["id"])["id"].tolist() == [2**64 - 1, 5]


@pytest.mark.usefixtures("later")
def test_an_unchanged_export_is_hashed_once(table: Path, tmp_path: Path, hashed: list[str]) -> None:
    cache = tmp_path / "kept"
    taken(cache, table)
    assert hashed.count(table.name) == 1
    hashed.clear()
    taken(cache, table)
    assert hashed == []


@pytest.mark.usefixtures("later")
def test_the_content_decides_where_the_stamp_differs(
    table: Path, tmp_path: Path, hashed: list[str]
) -> None:
    folder = tmp_path / "kept"
    taken(folder, table)
    (first,) = [one for one in kept(folder) if one.count(".") == 3]
    table.with_name("copy.xml").write_bytes(table.read_bytes())
    table.with_name("copy.xml").replace(table)  # another inode, the same content
    hashed.clear()
    assert taken(folder, table).path.name == first
    assert hashed == [table.name]
    hashed.clear()
    assert taken(folder, table).path.name == first
    assert hashed == []  # the new stamp was noted


@pytest.mark.usefixtures("later")
def test_a_changed_export_is_read_again_even_with_its_old_times(
    table: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "kept"
    taken(cache, table)
    before = table.stat()
    table.write_text(table.read_text().replace(">7</start-time>", ">8</start-time>"))
    os.utime(table, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert taken(cache, table).part(["start"])["start"].iloc[0] == 8


def test_what_is_stale_is_dropped(table: Path, tmp_path: Path, export: Export) -> None:
    folder = tmp_path / "kept"
    old = taken(folder, table).path
    other = export("n:uint32", schema="sample", name="other.xml")
    kept_or_read(folder, other, "sample")
    older = folder / f"samples.{'0' * 32}.{READER_VERSION - 1}.parquet"
    older.write_bytes(b"of an old reader")
    mine = folder / "samples.mine.parquet"
    mine.write_bytes(b"of a user")
    table.write_text(table.read_text().replace(">7</start-time>", ">8</start-time>"))
    new = taken(folder, table).path
    assert not any(one.exists() for one in (old, *symbol_files(old), older))
    assert all(one.exists() for one in (new, *symbol_files(new), mine))
    assert len([one for one in kept(folder) if one.startswith("sample.")]) == 1
    assert sorted(one.stem for one in folder.glob("*.json")) == sorted(
        Path(one).stem for one in kept(folder) if len(one.split(".")) == 4
    )


def test_a_table_whose_stacks_are_gone_or_others_is_made_again(table: Path, tmp_path: Path) -> None:
    cache = tmp_path / "kept"
    opened = taken(cache, table)
    frames, stacks = symbol_files(opened.path)
    stacks.write_bytes(frames.read_bytes())
    with pytest.raises(InputError, match="is damaged"):
        _ = opened.symbols
    for file in (stacks, frames):
        file.unlink()
        with pytest.raises(InputError, match="is damaged"):
            _ = opened.symbols
        assert taken(cache, table).symbols.stacks["frames"].to_pylist() == [[0, 1]]


def test_a_reader_beside_a_writer_reads_one_table_or_says_that_it_is_gone(
    table: Path, tmp_path: Path
) -> None:
    """Tables of changed exports drop those that another reader still has open."""
    cache = tmp_path / "kept"
    text, opened = table.read_text(), taken(cache, table)
    assert opened.part(["start"])["start"].tolist() == [7, pd.NA]
    table.write_text(text.replace(">7</start-time>", ">8</start-time>"))
    assert taken(cache, table).part(["start"])["start"].tolist() == [8, pd.NA]
    for ask in (lambda: opened.names, opened.part, lambda: opened.symbols):
        with pytest.raises(InputError, match="is damaged") as refused:
            ask()
        assert "remove the file" in refused.value.hint
    table.write_text(text)
    assert opened.path == taken(cache, table).path
    assert opened.part(["start"])["start"].tolist() == [7, pd.NA]


def test_two_at_once_both_read_whole_tables(table: Path, tmp_path: Path) -> None:
    flat = read_flat(table)
    folder = tmp_path / "kept"
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: taken(folder, table).part(), range(16)))
    for frame in found:
        pd.testing.assert_frame_equal(frame, flat.frame)
    assert len(kept(folder)) == 3
    assert not list(folder.glob(".*"))


def test_a_folder_that_cannot_be_written_is_no_error(table: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    found = kept_or_read(tmp_path / "file", table, "samples")
    assert isinstance(found, Flat)
    assert len(found.frame) == 2


def test_what_the_reader_said_is_kept(table: Path, tmp_path: Path) -> None:
    text = table.read_text().replace(">5</uint64>", ">five</uint64>")
    table.write_text(text.rpartition("</node>")[0])
    flat = read_flat(table)
    assert len(flat.notes.said) == 2
    for _ in range(2):
        found = taken(tmp_path / "kept", table)
        assert found.notes.said == flat.notes.said


def test_an_export_that_changes_meanwhile_is_not_kept(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = table.read_text()
    digest = caching.digest

    def overtaken(file: Path) -> str:
        found = digest(file)
        if file == table:
            table.write_text(text.replace(">7</start-time>", ">77</start-time>"))
        return found

    monkeypatch.setattr(caching, "digest", overtaken)
    found = kept_or_read(tmp_path / "kept", table, "samples")
    assert isinstance(found, Flat)
    assert found.frame["start"].iloc[0] == 77
    assert not [one for one in kept(tmp_path / "kept") if one.count(".") == 3]
