"""Recordings by name: only those in the folders, and none that leads outside."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit import pipeline
from tracekit.base.errors import InputError, RecordingError, UsageError
from tracekit.mcp.folders import Folders
from tracekit.mcp.session import Session


def test_recordings_are_listed_by_their_place_in_the_folder(recordings: Path) -> None:
    entries = Folders.of_paths([recordings]).list_recordings()
    assert [(entry.name, entry.kind) for entry in entries] == [
        ("mine/run", "run"),
        ("mine/small.trace", "bundle"),
    ]
    [itself] = Folders.of_paths([recordings / "run"]).list_recordings()
    assert (itself.name, itself.kind) == ("run", "run")


def test_two_folders_of_one_name_get_names_of_their_own(recordings: Path, tmp_path: Path) -> None:
    other = tmp_path / "mine"
    shutil.copytree(recordings / "run", other / "run")
    folders = Folders.of_paths([recordings, other, recordings])
    assert [name for name, _ in folders.roots] == ["mine", "mine (2)"]
    assert folders.find("mine (2)/run").path == other / "run"


def test_no_name_leads_out_of_the_folders(recordings: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    shutil.copytree(recordings / "run", outside)
    inside = tmp_path / "inside"
    shutil.copytree(recordings / "run", inside / "run")
    (inside / "link").symlink_to(outside)
    folders = Folders.of_paths([inside])
    assert [entry.name for entry in folders.list_recordings()] == ["inside/run"]
    for name in (
        "",
        "..",
        "inside/../outside",
        "inside/link",
        "../outside",
        str(outside),
        f"inside/{outside}",
        "/etc",
        "inside/run/..",
        "inside/run\x00",
        "inside//run",
        "~",
        "file:///etc/passwd",
    ):
        with pytest.raises(UsageError, match="There is no recording"):
            folders.find(name)


def test_a_recording_with_a_link_to_the_outside_is_not_opened(
    recordings: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text("{}")
    for place in ("result.json", "exports/more.xml", "workload.json"):
        folder = tmp_path / place.replace("/", "-")
        shutil.copytree(recordings / "run", folder / "run")
        (folder / "run" / place).unlink(missing_ok=True)
        (folder / "run" / place).symlink_to(secret)
        with pytest.raises(InputError, match=f"its file {Path(place).name} leads out"):
            Folders.of_paths([folder]).find(f"{folder.name}/run")


def test_a_note_on_a_bundle_outside_is_not_followed(recordings: Path, tmp_path: Path) -> None:
    shutil.copytree(recordings / "run", tmp_path / "in" / "run")
    note = tmp_path / "in" / "run" / "exports" / "direct.json"
    for bundle in ("../../../elsewhere.trace", "/somewhere/else.trace"):
        note.write_text(f'{{"bundle": "{bundle}", "format": 1}}')
        with pytest.raises(InputError, match=r"its file direct.json leads out"):
            Folders.of_paths([tmp_path / "in"]).find("in/run")


def test_names_that_hide_something_are_listed_without_it(recordings: Path, tmp_path: Path) -> None:
    for name in ("a\x1b[2Jb", "a[2Jb", "ignore\nprevious", "x\u202egpj"):
        shutil.copytree(recordings / "run", tmp_path / "in" / name)
    folders = Folders.of_paths([tmp_path / "in"])
    names = [entry.name for entry in folders.list_recordings()]
    assert names == ["in/a[2Jb", "in/a[2Jb (2)", "in/ignore previous", "in/xgpj"]
    for name in names:
        assert folders.find(name).kind == "run", name


def test_nothing_is_written_into_the_folders(session: Any, recordings: Path) -> None:
    before = sorted(recordings.rglob("*"))
    _, result = session.open_analyzed("mine/small.trace")
    assert result.metric("gpu_busy").value == 30
    first = session.open_run("mine/small.trace")
    assert session.open_run("mine/small.trace") is first
    assert sorted(recordings.rglob("*")) == before


def test_a_run_without_a_result_is_not_written_into(recordings: Path, tmp_path: Path) -> None:
    shutil.copytree(recordings / "run", tmp_path / "in" / "run")
    (tmp_path / "in" / "run" / "result.json").unlink()
    with (
        Session(Folders.of_paths([tmp_path / "in"])) as opened,
        pytest.raises(RecordingError, match="in/run is not analyzed yet"),
    ):
        opened.open_analyzed("in/run")
    assert not (tmp_path / "in" / "run" / "result.json").exists()


def test_loose_exports_do_not_hide_the_recordings_next_to_them(
    recordings: Path, tmp_path: Path, intervals_xml: Callable[..., str]
) -> None:
    mixed = tmp_path / "mixed"
    shutil.copytree(recordings, mixed)
    (mixed / "metal-gpu-intervals.xml").write_text(intervals_xml([(0, 10, 7, "python3")]))
    (mixed / "batch" / "results").mkdir(parents=True)
    (mixed / "batch" / "results" / "1.parquet").write_bytes(b"PAR1")
    folders = Folders.of_paths([mixed])
    assert [(entry.name, entry.kind) for entry in folders.list_recordings()] == [
        ("mixed", "exports"),
        ("mixed/run", "run"),
        ("mixed/small.trace", "bundle"),
    ]
    with Session(folders) as session:
        assert session.open_run("mixed/run").folder == mixed / "run"
        tables = pipeline.tables_of(session.open_run("mixed"))
        assert list(tables["gpu_intervals"]["duration"]) == [10]
