"""Tables that were read once: kept while they are read, loaded column by column, never stale.

Of exports that were removed, what was kept of them stands for them, and nothing is made up.
"""

import json
import os
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest

from bundle_writer import Process, write_bundle
from nobody import folder_of_nobody
from small_bundle import PYTHON, SERVER, intervals, ticks
from tracekit.base import stamps
from tracekit.base.errors import InputError
from tracekit.tables import cache as caching
from tracekit.tables.bundle.errors import BundleError
from tracekit.tables.cache import (
    READER_VERSION,
    CachedTable,
    CacheNote,
    keep_exported_tables,
    load_or_read,
)
from tracekit.tables.convert import convert_table, symbol_files
from tracekit.tables.direct import Stored, TableRef
from tracekit.tables.exports import index
from tracekit.tables.flat import Flat, read_flat
from tracekit.tables.headers import TableHeader
from tracekit.tables.losses import Flaw
from tracekit.tables.place import Choice
from tracekit.tables.pruned import (
    PRUNED_NOTE,
    PrunedExport,
    find_pruned_exports,
    note_pruned_exports,
)
from tracekit.tables.tables import Tables

Export = Callable[..., Path]
HOUR = 3600 * 10**9
STACK = (
    '<backtrace id="1"><frame id="2" name="leaf" addr="0x10"/>'
    '<frame id="3" name="main" addr="0x20"/></backtrace>'
)
GPU = "metal-gpu-intervals"


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
def cache(tmp_path: Path) -> Path:
    return tmp_path / "kept"


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all files be an hour old, so that their stamps count."""
    real_clock = time.time_ns
    monkeypatch.setattr(stamps.time, "time_ns", lambda: real_clock() + HOUR)


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    files: list[str] = []
    digest = caching.digest

    def listening(file: Path) -> str:
        files.append(file.name)
        return digest(file)

    monkeypatch.setattr(caching, "digest", listening)
    return files


def list_kept(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if file.suffix == ".parquet")


def load_kept(cache: Path, ref: TableRef, schema: str = "samples") -> CachedTable:
    loaded_table = load_or_read(cache, ref, schema)
    assert isinstance(loaded_table, CachedTable)
    return loaded_table


def change(table: Path, start: int) -> None:
    table.write_text(table.read_text().replace(">7</start-time>", f">{start}</start-time>"))


def test_a_kept_table_is_the_one_that_is_read(table: Path, cache: Path) -> None:
    flat = read_flat(table)
    for _ in range(2):
        loaded_table = load_kept(cache, table)
        pd.testing.assert_frame_equal(loaded_table.frame, flat.frame)
        assert loaded_table.names == flat.names
        assert loaded_table.symbols.stacks.equals(flat.symbols.stacks)
        assert loaded_table.symbols.frames.equals(flat.symbols.frames)
    assert len(list_kept(cache)) == 3


def test_only_the_columns_that_are_asked_for_are_loaded(table: Path, cache: Path) -> None:
    for loaded_table in (load_kept(cache, table), read_flat(table)):
        assert loaded_table.arrow({"id", "start", "absent"}).column_names == ["start", "id"]
        assert loaded_table.arrow(["process"]).column_names == ["process"]  # and not process.pid
        assert loaded_table.arrow([]).column_names == []
        assert loaded_table.arrow(["id"])["id"].to_pylist() == [2**64 - 1, 5]


@pytest.mark.usefixtures("later")
def test_an_export_is_hashed_only_where_its_stamp_differs(
    table: Path, cache: Path, hashed: list[str]
) -> None:
    first_load = load_kept(cache, table)
    assert hashed.count(table.name) == 1
    hashed.clear()
    assert load_kept(cache, table).path == first_load.path
    assert hashed == []
    table.with_name("copy.xml").write_bytes(table.read_bytes())
    table.with_name("copy.xml").replace(table)  # another inode, the same content
    for expected in ([table.name], []):  # the new stamp is noted
        assert load_kept(cache, table).path == first_load.path, expected
        assert hashed == expected
        hashed.clear()


@pytest.mark.usefixtures("later")
def test_tables_kept_by_an_older_reader_are_read_again(table: Path, cache: Path) -> None:
    first_path = load_kept(cache, table).path
    for file in [*cache.glob(f"{first_path.stem}*")]:
        name = file.name.replace(f".{READER_VERSION}.", f".{READER_VERSION - 1}.")
        file.rename(file.with_name(name))
    assert load_kept(cache, table).path == first_path


@pytest.mark.usefixtures("later")
def test_a_changed_export_is_read_again_even_with_its_old_times(table: Path, cache: Path) -> None:
    load_kept(cache, table)
    stat_before = table.stat()
    change(table, 8)
    os.utime(table, ns=(stat_before.st_atime_ns, stat_before.st_mtime_ns))
    assert load_kept(cache, table).arrow(["start"])["start"][0].as_py() == 8


def test_stale_tables_are_dropped(table: Path, cache: Path, export: Export) -> None:
    old = load_kept(cache, table).path
    load_or_read(cache, export("n:uint32", schema="sample", name="other.xml"), "sample")
    older = cache / f"samples.{'0' * 32}.{READER_VERSION - 1}.parquet"
    older.write_bytes(b"of an old reader")
    mine = cache / "samples.mine.parquet"
    mine.write_bytes(b"of a user")
    change(table, 8)
    new = load_kept(cache, table).path
    assert not any(file.exists() for file in (old, *symbol_files(old), older))
    assert all(file.exists() for file in (new, *symbol_files(new), mine))
    assert len([name for name in list_kept(cache) if name.startswith("sample.")]) == 1
    assert sorted(file.stem for file in cache.glob("*.json")) == sorted(
        Path(name).stem for name in list_kept(cache) if len(name.split(".")) == 4
    )


def test_a_table_whose_stacks_are_gone_or_others_is_made_again(table: Path, cache: Path) -> None:
    opened = load_kept(cache, table)
    frames, stacks = symbol_files(opened.path)
    stacks.write_bytes(frames.read_bytes())
    with pytest.raises(InputError, match="is damaged"):
        _ = opened.symbols
    for file in (stacks, frames):
        file.unlink()
        with pytest.raises(InputError, match="is damaged"):
            _ = opened.symbols
        assert load_kept(cache, table).symbols.stacks["frames"].to_pylist() == [[0, 1]], file


def test_a_table_with_a_changed_byte_gives_no_wrong_value(table: Path, cache: Path) -> None:
    frame, file = read_flat(table).frame, load_kept(cache, table).path
    whole_content = file.read_bytes()
    for place in range(0, len(whole_content), 150):
        changed = bytearray(whole_content)
        changed[place] ^= 0x55
        file.write_bytes(changed)
        pd.testing.assert_frame_equal(load_kept(cache, table).frame, frame)
        assert file.read_bytes() == whole_content, place


def test_a_table_that_is_dropped_while_it_is_open_says_so(table: Path, cache: Path) -> None:
    text, opened = table.read_text(), load_kept(cache, table)
    change(table, 8)
    assert load_kept(cache, table).arrow(["start"])["start"].to_pylist() == [8, None]
    for action, ask in (
        ("names", lambda: opened.names),
        ("frame", lambda: opened.frame),
        ("symbols", lambda: opened.symbols),
    ):
        with pytest.raises(InputError, match="is damaged") as refused:
            ask()
        assert "remove the file" in refused.value.hint, action
    table.write_text(text)
    assert load_kept(cache, table).path == opened.path
    assert opened.arrow(["start"])["start"].to_pylist() == [7, None]


def test_two_at_once_both_read_whole_tables(table: Path, cache: Path) -> None:
    flat = read_flat(table)
    with ThreadPoolExecutor(8) as pool:
        frames = list(pool.map(lambda _: load_kept(cache, table).frame, range(16)))
    for frame in frames:
        pd.testing.assert_frame_equal(frame, flat.frame)
    assert len(list_kept(cache)) == 3
    assert not list(cache.glob(".*"))


def test_an_unwritable_folder_is_not_an_error(table: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    flat_table = load_or_read(tmp_path / "file", table, "samples")
    assert isinstance(flat_table, Flat)
    assert len(flat_table.frame) == 2


@pytest.mark.usefixtures("later")
def test_tables_that_were_kept_are_read_from_a_folder_that_cannot_be_written(table: Path) -> None:
    content = table.read_bytes()
    with folder_of_nobody() as folder:
        export = folder / "samples.xml"
        export.write_bytes(content)
        cache = folder / "kept"
        first_path = load_kept(cache, export).path
        (folder / "copy.xml").write_bytes(content)
        (folder / "copy.xml").replace(export)  # with another stamp, which cannot be noted
        cache.chmod(0o500)
        try:
            assert load_kept(cache, export).path == first_path
        finally:
            cache.chmod(0o700)


def test_warnings_of_the_reader_are_kept(table: Path, cache: Path) -> None:
    text = table.read_text().replace(">5</uint64>", ">five</uint64>")
    table.write_text(text.rpartition("</node>")[0])
    losses = read_flat(table).notes.losses
    assert len(losses) == 2
    for _ in range(2):
        assert load_kept(cache, table).notes.losses == losses


def test_an_export_that_changes_meanwhile_is_not_kept(
    table: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = caching.digest

    def overtaken(file: Path) -> str:
        content_digest = digest(file)
        if file == table:
            change(table, 77)
        return content_digest

    monkeypatch.setattr(caching, "digest", overtaken)
    flat_table = load_or_read(cache, table, "samples")
    assert isinstance(flat_table, Flat)
    assert flat_table.frame["start"].iloc[0] == 77
    assert not [name for name in list_kept(cache) if name.count(".") == 3]


def bundle_of(folder: Path, start: int = 0, process: Process = SERVER) -> Stored:
    bundle = write_bundle(folder, [intervals((10, 5, PYTHON), (start, 10, process)), ticks([1, 2])])
    [listed] = index(bundle).tables[GPU]
    assert isinstance(listed.ref, Stored)
    return listed.ref


@pytest.mark.usefixtures("later")
def test_a_table_of_a_bundle_is_kept_and_loaded_again(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = bundle_of(tmp_path / "x.trace")
    first_load = load_kept(cache, gpu, GPU)
    monkeypatch.setattr(Stored, "digest", None)  # while its stamp lasts it is not hashed again
    again = load_kept(cache, gpu, GPU)
    assert again.path == first_load.path
    pd.testing.assert_frame_equal(again.frame, read_flat(gpu).frame)


@pytest.mark.parametrize("other", [{"start": 1}, {"process": PYTHON}], ids=["own", "shared"])
def test_tables_of_other_files_are_not_taken(
    tmp_path: Path, cache: Path, other: dict[str, Any]
) -> None:
    gpu = bundle_of(tmp_path / "x.trace")
    part_before = load_kept(cache, gpu, GPU).frame
    changed = bundle_of(tmp_path / "y.trace", **other)
    shutil.rmtree(gpu.bundle)
    changed.bundle.rename(gpu.bundle)
    part_after = load_kept(cache, gpu, GPU).frame
    assert not part_after.equals(part_before)
    pd.testing.assert_frame_equal(part_after, read_flat(gpu).frame)
    assert len(list_kept(cache)) == 1


@pytest.mark.parametrize("name", ["bulkstore", "bulkstore_descriptor", "schema.xml", "spec.plist"])
def test_missing_parts_of_a_bundle_are_named(tmp_path: Path, cache: Path, name: str) -> None:
    gpu = bundle_of(tmp_path / "x.trace")
    gpu.file.with_name(name).unlink()
    with pytest.raises(InputError, match=name):
        read_flat(gpu)
    with pytest.raises(InputError, match=name):
        load_or_read(cache, gpu, GPU)


def test_symbols_that_come_or_grow_make_other_content(tmp_path: Path) -> None:
    gpu = bundle_of(tmp_path / "x.trace")
    symbols = gpu.bundle / "symbols/stores/one.symbolsarchive"
    symbols.parent.mkdir(parents=True, exist_ok=True)
    digests = [gpu.digest()]
    for content in (b"", b"more"):
        symbols.write_bytes(content)
        digests.append(gpu.digest())
    assert len({*digests}) == 3


def test_links_in_a_bundle_are_not_followed(tmp_path: Path) -> None:
    gpu = bundle_of(tmp_path / "x.trace")
    gpu.file.rename(tmp_path / "records")
    gpu.file.symlink_to(tmp_path / "records")
    with pytest.raises(BundleError, match="link"):
        gpu.digest()


AT = "2026-11-22T02:30:00+00:00"
COLUMNS = "start:start-time name:string"


def row(start: int, name: str) -> str:
    return f"<row><start-time>{start}</start-time><string>{name}</string></row>"


def remove_all(exports: Path, cache: Path) -> dict[str, str]:
    """Do what pruning does; return why which files stay."""
    removable_exports, stays = keep_exported_tables(exports, cache, AT)
    note_pruned_exports(exports, *removable_exports)
    for export in removable_exports:
        (exports / export.name).unlink()
    return {path.name: reason for path, reason in stays.items()}


def test_notes_add_up_and_a_file_that_is_there_again_counts_as_there(tmp_path: Path) -> None:
    headers = (TableHeader("samples", "", 1, rows=True),)
    for name in ("a.xml", "b.xml"):
        note_pruned_exports(tmp_path, PrunedExport(name, "0" * 32, READER_VERSION, 10, headers, AT))
    assert sorted(path.name for path in find_pruned_exports(tmp_path)) == ["a.xml", "b.xml"]
    (tmp_path / "a.xml").write_text("again")
    assert sorted(path.name for path in find_pruned_exports(tmp_path)) == ["b.xml"]
    (tmp_path / "b.parquet").write_text("written as a flat table since")
    assert find_pruned_exports(tmp_path) == {}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"exports": [1]}', '{"format": 99}'])
def test_a_note_that_cannot_be_read_is_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / PRUNED_NOTE).write_text(text)
    for read in (find_pruned_exports, index):
        with pytest.raises(InputError, match=PRUNED_NOTE):
            read(tmp_path)


def test_a_table_of_a_removed_export_is_read_as_before(
    export: Export, tmp_path: Path, cache: Path
) -> None:
    file = export(COLUMNS, row(1, "a"), row(2, "b"), schema="samples")
    part_before = Tables(tmp_path, cache=cache).flat("samples").frame
    assert remove_all(tmp_path, cache) == {}
    assert not file.exists()
    tables = Tables(tmp_path, cache=cache)
    assert tables.schemas == ("samples",)
    pd.testing.assert_frame_equal(tables.flat("samples").frame, part_before)
    assert [loss.flaw for loss in tables.losses] == [Flaw.NOTED]  # no table is made of it


def test_several_removed_tables_of_one_schema_stay_apart(
    document: Export, node: Callable[..., str], tmp_path: Path, cache: Path
) -> None:
    names = {3: "a.xml", 7: "b.xml"}
    for table, name in names.items():
        document(node(COLUMNS, row(table, name), schema="samples", table=table), name=name)
    assert remove_all(tmp_path, cache) == {}
    tables = Tables(tmp_path, cache=cache)
    for table, name in names.items():
        assert [*tables.flat("samples", Choice(table=table)).frame["name"]] == [name], table


def test_indistinguishable_tables_stay_exports(
    document: Export, node: Callable[..., str], tmp_path: Path, cache: Path
) -> None:
    for name in ("a.xml", "b.xml"):
        document(node(COLUMNS, row(1, name), schema="samples").replace("xpath=", "p="), name=name)
    reason = "another file holds a table that cannot be distinguished from one of its own"
    assert remove_all(tmp_path, cache) == {"a.xml": reason, "b.xml": reason}


def test_damaged_and_strange_files_stay(export: Export, tmp_path: Path, cache: Path) -> None:
    whole_export = export(COLUMNS, *[row(start, "a" * 50) for start in range(50)], schema="samples")
    source = export(COLUMNS, row(1, "a"), schema="flat", name="flat.xml")
    convert_table(source, source.with_suffix(".parquet"))
    source.unlink()
    cut_export = tmp_path / "cut.xml"
    cut_export.write_text(whole_export.read_text()[:3000].replace("samples", "others"))
    (tmp_path / "page.xml").write_text("<html/>")
    (tmp_path / "toc.xml").write_text("<trace-toc/>")
    assert remove_all(tmp_path, cache) == {
        "cut.xml": "it is damaged, and rows are missing",
        "page.xml": "it is not an export",
    }
    remaining_names = {file.name for file in tmp_path.glob("*.*") if file.suffix != ".json"}
    assert remaining_names == {"cut.xml", "flat.parquet", "page.xml", "toc.xml"}


def test_the_only_remaining_tables_are_never_dropped(
    export: Export, tmp_path: Path, cache: Path
) -> None:
    """Another export of the schema that comes later has its own kept table beside it."""
    export(COLUMNS, row(1, "a"), schema="samples", name="a.xml")
    remove_all(tmp_path, cache)
    [remaining_name] = list_kept(cache)
    load_kept(cache, export(COLUMNS, row(2, "b"), schema="samples", name="b.xml"))
    assert len(list_kept(cache)) == 2
    assert remaining_name in list_kept(cache)


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_vanished_tables_are_reported(
    suffix: str, export: Export, tmp_path: Path, cache: Path
) -> None:
    export(COLUMNS, row(1, "a"), schema="samples")
    remove_all(tmp_path, cache)
    [file] = cache.glob(f"samples.*.{suffix}")
    file.unlink()
    with pytest.raises(InputError, match="was pruned on 2026-11-22, and"):
        Tables(tmp_path, cache=cache).flat("samples")


def test_an_older_readers_warning_is_a_loss_too() -> None:
    unsure = {"evidence": "never compared with an export", "schema": "tick", "columns": ["a"]}
    old = {"export": None, "file": None, "digest": "0", "symbols": [], "damage": ["It is cut."]}
    old |= {"drift": ["It drifted."], "remarks": ["It is old.", unsure | {"bundle": "x.trace"}]}
    note = msgspec.json.decode(json.dumps(old), type=CacheNote)
    assert [loss.flaw for loss in note.every_loss] == [
        *(Flaw.DAMAGED, Flaw.CHANGED, Flaw.NOTED, Flaw.UNSURE)
    ]
    inferred = "read by an encoding that was never compared with an export"
    assert [*map(str, note.every_loss)] == [
        *("It is cut.", "It drifted.", "It is old.", f"x.trace: tick: {inferred}: a.")
    ]
