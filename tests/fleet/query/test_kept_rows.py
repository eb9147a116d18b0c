"""Rows that are kept between questions: a second question reads no run, and no change is missed."""

import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tracekit.base import files
from tracekit.base.recording import Recording

ALL = "select run, start from gpu_intervals order by run, start"
OF_BOTH = [("a", 0), ("a", 20), ("a", 50), ("b", 5), ("b", 200)]


pytestmark = pytest.mark.usefixtures("an_hour_later")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs that questions open."""
    names: list[str] = []
    original = Recording.provenance

    def provenance(recording: Recording) -> Any:
        names.append(recording.folder.name)
        return original(recording)

    monkeypatch.setattr(Recording, "provenance", provenance)
    return names


def rows(answer: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in answer]


def kept_files() -> list[Path]:
    return sorted((files.notes_folder() / "rows").rglob("*.parquet"))


def test_a_second_question_opens_no_run(two_runs: Path, ask: Any, opened: list[str]) -> None:
    assert rows(ask(ALL, two_runs)) == OF_BOTH
    assert set(opened) == {"a", "b"}
    opened.clear()
    assert rows(ask(ALL, two_runs)) == OF_BOTH
    states = ask("select run, state from runs order by run", two_runs)
    assert rows(states) == [("a", "not analyzed"), ("b", "not analyzed")]
    assert set(opened) == {"a", "b"}  # for `runs`
    opened.clear()
    assert ask("select run, state from runs order by run", two_runs) == states
    assert opened == []


def test_only_a_changed_run_is_read_again(
    two_runs: Path, run: Any, ask: Any, opened: list[str]
) -> None:
    ask(ALL, two_runs)
    opened.clear()
    shutil.rmtree(two_runs / "b")
    run("b", [(7, 1, 7, "python3")])
    run("c", [(9, 1, 7, "python3")])
    shutil.rmtree(two_runs / "a")
    assert rows(ask(ALL, two_runs)) == [("b", 7), ("c", 9)]
    assert set(opened) == {"b", "c"}
    assert len(kept_files()) == 1, "the rows of runs that are gone went with them"


def test_a_cell_that_changes_in_place_is_seen(two_runs: Path, ask: Any) -> None:
    ask(ALL, two_runs)
    export = two_runs / "b" / "exports" / "gpu.xml"
    before = export.stat()
    content = export.read_bytes()
    export.write_bytes(content.replace(b">200<", b">201<"))
    os.utime(export, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert export.stat().st_size == before.st_size
    assert rows(ask(ALL, two_runs))[-1] == ("b", 201)


def test_a_moved_folder_of_runs_has_its_own_paths(two_runs: Path, ask: Any, tmp_path: Path) -> None:
    ask(ALL, two_runs)
    moved = tmp_path / "moved"
    two_runs.rename(moved)
    [row] = ask("select any_value(run_path) p from gpu_intervals where run = 'a'", moved)
    assert row == {"p": str(moved / "a")}


def test_omissions_are_repeated(two_runs: Path, ask: Any, opened: list[str]) -> None:
    export = two_runs / "b" / "exports" / "gpu.xml"
    export.write_bytes(export.read_bytes()[:-80])
    (two_runs / "a" / "exports" / "gpu.xml").unlink()
    first_rows = ask(ALL, two_runs)
    first_words = ask.said
    assert any(words.startswith("gpu_intervals of b: ") for words in first_words)
    assert "gpu_intervals of a is left out: there is none." in first_words
    opened.clear()
    assert ask(ALL, two_runs) == first_rows
    assert ask.said == first_words
    assert opened == []


def test_an_unreadable_run_is_tried_each_time(two_runs: Path, ask: Any) -> None:
    provenance = two_runs / "b" / "recording.json"
    content = provenance.read_bytes()
    provenance.write_text("{")
    ask(ALL, two_runs)
    provenance.write_bytes(content)
    assert rows(ask(ALL, two_runs)) == OF_BOTH


@pytest.mark.parametrize("damage", ["cut", "changed", "other file"])
def test_a_damaged_file_is_made_again(two_runs: Path, ask: Any, damage: str) -> None:
    ask(ALL, two_runs)
    [file] = kept_files()
    content = bytearray(file.read_bytes())
    content[40] ^= 0xFF  # a cell
    file.write_bytes({"cut": content[:100], "changed": content, "other file": b"PAR1"}[damage])
    assert rows(ask(ALL, two_runs)) == OF_BOTH
    [file] = kept_files()
    assert len(file.read_bytes()) == len(content)


def test_a_place_that_cannot_be_written_keeps_nothing(
    two_runs: Path, ask: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    no_folder = tmp_path / "file"
    no_folder.touch()
    monkeypatch.setenv("TRACEKIT_CACHE", str(no_folder))
    for _ in range(2):
        assert rows(ask(ALL, two_runs)) == OF_BOTH


def test_a_question_reads_no_kept_rows_of_other_folders(
    two_runs: Path, ask: Any, tmp_path: Path
) -> None:
    ask(ALL, two_runs)
    [file] = kept_files()
    private = tmp_path / "other"
    shutil.copytree(two_runs / "a", private / "a")
    with pytest.raises(Exception, match="refused"):
        ask(f"from read_parquet('{file}')", private)


def test_tables_of_different_columns_share_no_file_and_one_answer(
    two_runs: Path, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracekit.fleet.query.kept_rows.ROW_GROUP", 1)
    ask(ALL, two_runs)
    assert len(kept_files()) == 2
    assert rows(ask(ALL, two_runs)) == OF_BOTH


def test_folders_that_nobody_asked_for_longest_go_first(
    two_runs: Path, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(ALL, two_runs / "a")
    [file] = kept_files()
    os.utime(file.parent.parent, (0, 0))
    monkeypatch.setattr("tracekit.fleet.query.kept_rows._MOST_BYTES", 1)
    ask(ALL, two_runs / "b")
    [kept] = kept_files()
    assert kept.parent.parent != file.parent.parent


def test_rows_of_a_run_that_is_gone_are_removed_though_none_are_added(
    two_runs: Path, ask: Any
) -> None:
    ask(ALL, two_runs)
    shutil.rmtree(two_runs / "b")
    counts = """select (select count(*) from gpu_intervals) asked, (select count(*) from
    read_parquet(current_setting('temp_directory') || '/../*.kept.*.parquet')) readable"""
    assert ask(counts, two_runs) == [{"asked": 3, "readable": 3}]
    [file] = kept_files()
    assert pq.read_metadata(file).num_rows == 3


def test_kept_rows_are_private(two_runs: Path, ask: Any) -> None:
    ask(ALL, two_runs)
    assert stat.S_IMODE((files.notes_folder() / "rows").stat().st_mode) == 0o700


@pytest.mark.parametrize("note", ["{", '{"bundle": "x", "format": 99}'])
def test_a_damaged_note_of_a_bundle_costs_one_run_only(two_runs: Path, ask: Any, note: str) -> None:
    (two_runs / "b" / "exports" / "direct.json").write_text(note)
    states = ask("select run, state from runs", two_runs)
    assert [row["run"] for row in states] == ["a", "b"]
    assert ask("select distinct run from gpu_intervals", two_runs) == [{"run": "a"}]


def test_a_file_that_another_process_removed_costs_nothing(
    two_runs: Path, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(ALL, two_runs)
    link = os.link

    def link_too_late(source: Path, target: Path) -> None:
        source.unlink()
        link(source, target)

    monkeypatch.setattr("tracekit.fleet.query.kept_rows.os.link", link_too_late)
    assert rows(ask(ALL, two_runs)) == OF_BOTH


def test_runs_have_the_order_of_their_names_whichever_changed(two_runs: Path, ask: Any) -> None:
    first_rows = ask("select run, state from runs", two_runs)
    (two_runs / "a" / "exports" / "toc.xml").write_text("<trace-toc/>")
    assert ask("select run, state from runs", two_runs) == first_rows
