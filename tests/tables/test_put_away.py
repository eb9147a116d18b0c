"""Exports that were removed: what was kept of them stands for them, and nothing is made up."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tracekit.base.errors import InputError
from tracekit.tables.cache import READER_VERSION, kept_or_read, to_put_away
from tracekit.tables.exports import PRUNED_NOTE, Header, PutAway, index, note_put_away, put_away
from tracekit.tables.place import Choice
from tracekit.tables.tables import Tables

AT = "2026-11-22T02:30:00+00:00"
COLUMNS = "start:start-time name:string"
Export = Callable[..., Path]


def row(start: int, name: str) -> str:
    return f"<row><start-time>{start}</start-time><string>{name}</string></row>"


def away(name: str) -> PutAway:
    headers = (Header("samples", "", 1, rows=True),)
    return PutAway(name, "0" * 32, READER_VERSION, 10, headers, AT)


def remove_all(exports: Path, cache: Path) -> dict[Path, str]:
    """Do what pruning does."""
    found, stays = to_put_away(exports, cache, AT)
    note_put_away(exports, *found)
    for one in found:
        (exports / one.name).unlink()
    return stays


def test_notes_add_up_and_a_file_that_is_there_again_counts_as_there(tmp_path: Path) -> None:
    note_put_away(tmp_path, away("a.xml"))
    note_put_away(tmp_path, away("b.xml"))
    assert sorted(one.name for one in put_away(tmp_path)) == ["a.xml", "b.xml"]
    (tmp_path / "a.xml").write_text("again")
    assert sorted(one.name for one in put_away(tmp_path)) == ["b.xml"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"exports": [1]}', '{"format": 99}'])
def test_a_note_that_cannot_be_read_is_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / PRUNED_NOTE).write_text(text)
    with pytest.raises(InputError, match=PRUNED_NOTE):
        put_away(tmp_path)
    with pytest.raises(InputError, match=PRUNED_NOTE):
        index(tmp_path)


def test_a_table_of_a_removed_export_is_read_as_before(export: Export, tmp_path: Path) -> None:
    file = export(COLUMNS, row(1, "a"), row(2, "b"), schema="samples")
    cache = tmp_path / "kept"
    before = Tables(tmp_path, cache=cache).flat("samples").part()
    assert remove_all(tmp_path, cache) == {}
    assert not file.exists()
    tables = Tables(tmp_path, cache=cache)
    assert tables.schemas == ("samples",)
    pd.testing.assert_frame_equal(tables.flat("samples").part(), before)
    assert tables.remarks == ()


def test_several_tables_of_one_schema_stay_apart(
    document: Export, node: Callable[..., str], tmp_path: Path
) -> None:
    """Each in a file of its own, as tracekit exports them, or both in one."""
    for table, name in ((3, "a.xml"), (7, "b.xml")):
        document(node(COLUMNS, row(table, name), schema="samples", table=table), name=name)
    cache = tmp_path / "kept"
    assert remove_all(tmp_path, cache) == {}
    tables = Tables(tmp_path, cache=cache)
    for place, name in ((3, "a.xml"), (7, "b.xml")):
        found = tables.flat("samples", Choice(table=place)).part()
        assert [*found["name"]] == [name]


def test_tables_that_cannot_be_told_apart_stay_exports(
    document: Export, node: Callable[..., str], tmp_path: Path
) -> None:
    text = node(COLUMNS, row(1, "a"), schema="samples", table=1).replace("xpath=", "path=")
    for name in ("a.xml", "b.xml"):
        document(text.replace("<string>a", f"<string>{name}"), name=name)
    stays = remove_all(tmp_path, tmp_path / "kept")
    assert sorted(one.name for one in stays) == ["a.xml", "b.xml"]
    assert set(stays.values()) == {
        "another file holds a table that cannot be distinguished from one of its own"
    }


def test_damaged_and_strange_files_stay(export: Export, tmp_path: Path) -> None:
    whole = export(COLUMNS, *[row(one, "a" * 50) for one in range(50)], schema="samples")
    cut = tmp_path / "cut.xml"
    cut.write_text(whole.read_text()[:3000].replace("samples", "others"))
    (tmp_path / "page.xml").write_text("<html/>")
    (tmp_path / "toc.xml").write_text("<trace-toc/>")
    stays = remove_all(tmp_path, tmp_path / "kept")
    assert sorted(one.name for one in tmp_path.glob("*.xml")) == ["cut.xml", "page.xml", "toc.xml"]
    assert {path.name: reason for path, reason in stays.items()} == {
        "cut.xml": "it is damaged, and rows are missing",
        "page.xml": "it is no export",
    }


def test_what_is_all_that_is_left_is_never_dropped(export: Export, tmp_path: Path) -> None:
    """Another export of the schema that comes later has its own kept table beside it."""
    cache = tmp_path / "kept"
    export(COLUMNS, row(1, "a"), schema="samples", name="a.xml")
    remove_all(tmp_path, cache)
    [kept] = cache.glob("*.parquet")
    later = export(COLUMNS, row(2, "b"), schema="samples", name="b.xml")
    kept_or_read(cache, later, "samples")
    assert kept.exists()
    assert len([*cache.glob("*.parquet")]) == 2


@pytest.mark.parametrize("harm", ["table", "note"])
def test_what_was_kept_and_is_no_more_is_told(harm: str, export: Export, tmp_path: Path) -> None:
    export(COLUMNS, row(1, "a"), schema="samples")
    cache = tmp_path / "kept"
    remove_all(tmp_path, cache)
    suffix = {"table": "parquet", "note": "json"}[harm]
    [file] = cache.glob(f"samples.*.{suffix}")
    file.unlink()
    with pytest.raises(InputError, match="was pruned on 2026-11-22, and"):
        Tables(tmp_path, cache=cache).flat("samples")
