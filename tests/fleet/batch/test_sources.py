"""Recordings below folders, patterns and URLs: which files matter, whether they changed."""

import os
import zipfile
from pathlib import Path

import fsspec
import pytest

from odd_filesystems import KeepingFileSystem, LyingFileSystem
from tracekit.base.errors import InputError, UsageError
from tracekit.fleet.batch.sources import (
    RecordingSource,
    absolute,
    hide_secrets,
    place_of,
    scheme,
    sources_of,
)

fsspec.register_implementation("lying", LyingFileSystem, clobber=True)
fsspec.register_implementation("keeping", KeepingFileSystem, clobber=True)
TOC = "<?xml version='1.0'?><trace-toc></trace-toc>"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    files = {
        "t/run/recording.json": "{}",
        "t/run/recording.trace/open.creq": "1",
        "t/run/exports/toc.xml": TOC,
        "t/a.trace/open.creq": "1",
        "t/deep/er/b.trace/open.creq": "1",
        "t/deep/c.trace.zip": "PK",
        "t/exports/toc.xml": TOC,
        "t/exports/more/nothing.txt": "",
        "t/other/pom.xml": "<project/>",
        "t/.hidden/d.trace/open.creq": "1",
        "t/frame.gputrace/x.trace/open.creq": "1",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "t" / "loop").symlink_to("..")
    return tmp_path


def find_sources(*words: str) -> list[tuple[str, str]]:
    return [(source.place.name, source.form.value) for source in sources_of(words)]


def test_a_folder_is_looked_through(tree: Path) -> None:
    assert find_sources("t") == [
        ("t/a.trace", "bundle"),
        ("t/deep/c.trace.zip", "zipped bundle"),
        ("t/deep/er/b.trace", "bundle"),
        ("t/exports", "exports"),
        ("t/frame.gputrace", "capture"),
        ("t/run", "run"),
    ]


def test_patterns_are_understood(tree: Path) -> None:
    for words, names in (
        ("t/*.trace", ["t/a.trace"]),
        ("t/**/*.trace", ["t/a.trace", "t/deep/er/b.trace", "t/run/recording.trace"]),
        ("t/deep/**", ["t/deep/c.trace.zip", "t/deep/er/b.trace"]),
        ("t/*/*.xml", ["t/exports/toc.xml"]),
        ("*/r?n", ["t/run"]),
        ("t/[ab].trace", ["t/a.trace"]),
    ):
        assert [name for name, _ in find_sources(words)] == names, words


def test_nothing_within_a_bundle_is_looked_for(tree: Path) -> None:
    (tree / "t" / "a.trace" / "toc.xml").write_text(TOC)
    names = [name for name, _ in find_sources("t/**/toc.xml")]
    assert names == ["t/exports/toc.xml", "t/run/exports/toc.xml"]


def test_each_recording_is_there_once_by_its_name_or_a_pattern(tree: Path) -> None:
    assert len(find_sources("t", "t/run", str(tree / "t" / "a.trace"), "t/*.trace")) == 6
    (tree / "t" / "a.trace").rename(tree / "x[1].trace")
    assert find_sources("x[1].trace") == [("x[1].trace", "bundle")], "it is a name"


def test_an_archive_is_looked_through(tree: Path) -> None:
    with zipfile.ZipFile("all.zip", "w") as archive:
        for file in sorted(Path("t").rglob("*")):
            if file.is_file() and "loop" not in file.parts:
                archive.write(file, file)
    assert find_sources("zip://t/exports::all.zip") == [("zip://t/exports::all.zip", "exports")]
    assert find_sources("zip://**/*.trace::all.zip") == [
        ("zip://t/a.trace::all.zip", "bundle"),
        ("zip://t/deep/er/b.trace::all.zip", "bundle"),
        ("zip://t/run/recording.trace::all.zip", "bundle"),
    ]


def test_other_files_are_refused_by_name(tree: Path) -> None:
    for words, reason in (
        ("t/exports/more/nothing.txt", r"nothing\.txt is not a recording"),
        ("t/gone", "t/gone does not exist"),
        ("t/**.trace", r"t/\*\*\.trace is not a pattern"),
        ("nope://x", "nope://x is not a source: Protocol not known: nope"),
    ):
        with pytest.raises(UsageError, match=reason):
            find_sources(words)


def test_a_runs_folder_may_be_called_like_a_bundle(tree: Path) -> None:
    (tree / "t/run").rename(tree / "t/out.trace")
    assert find_sources("t/out.trace") == [("t/out.trace", "run")]
    assert ("t/out.trace", "run") in find_sources("t")


def make_source(folder: Path, *names: str) -> RecordingSource:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"<trace-toc> {name}")
    [source] = sources_of([str(folder)])
    return source


def test_of_a_bundle_windows_and_indexes_are_not_needed(tmp_path: Path) -> None:
    bundle = make_source(
        tmp_path / "a.trace",
        "open.creq",
        "form.template",
        "UI_state_metadata.bin",
        "instrument_data/1/run_data/1.run.zip",
        "shared_data/x",
        "corespace/run1/core/stores/indexed-store-1/bulkstore",
        "corespace/run1/core/stores/indexed-store-1/spindex.0",
    )
    store = "corespace/run1/core/stores/indexed-store-1/bulkstore"
    assert set(bundle.files()) == {store, "form.template", "open.creq"}


def test_a_runs_exports_and_description_are_needed(tmp_path: Path) -> None:
    names = ("recording.json", "workload.json", "report.html", "tables/x.parquet")
    exported = ("exports/toc.xml", "exports/metal-gpu-intervals.xml", "recording.trace/open.creq")
    run = make_source(tmp_path / "run", *names, *exported)
    assert set(run.files()) == {*names[:2], *exported[:2]}
    (tmp_path / "run" / "exports" / "direct.json").write_text("{}")
    assert "recording.trace/open.creq" in run.files()


def resize_file(file: Path) -> None:
    mtime = file.stat().st_mtime_ns
    file.write_text("<trace-toc> and more")
    os.utime(file, ns=(mtime, mtime))


def test_the_stamp_changes_with_the_files(tmp_path: Path) -> None:
    source = make_source(tmp_path / "e", "toc.xml", "a.xml")
    stamps = [source.stamp("")]
    assert source.stamp("") == stamps[0]
    for change in (
        lambda file: file.write_text("<trace-toc>another"),
        lambda file: os.utime(file, (1, 1)),
        resize_file,
        lambda file: file.with_name("b.xml").write_text(""),
        Path.unlink,
    ):
        change(tmp_path / "e" / "a.xml")
        stamps.append(source.stamp(""))
    assert len(set(stamps)) == len(stamps)


def test_the_stamp_covers_the_request_and_the_key_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make_source(tmp_path / "e", "toc.xml")
    first_stamp = source.stamp("a")
    assert source.stamp("b") != first_stamp
    (tmp_path / "e" / "notes.md").write_text("x")
    assert source.stamp("a") == first_stamp, "a file that does not matter"
    monkeypatch.chdir(tmp_path)
    [same_source] = sources_of(["./e/../e"])
    assert same_source.key == source.key != make_source(tmp_path / "f", "toc.xml").key


def test_a_store_that_cannot_be_opened_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        place_of(f"zip://x::{tmp_path}/nothing.zip")


def test_a_listing_that_leads_away_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("/etc/passwd", "HERE/../x", "HERE/a/../../x", "HERE/./a", "HEREx/a", "HERE//a")
    for name in (*names, "HERE/a\\b"):
        monkeypatch.setattr(LyingFileSystem, "names", (name,))
        place = place_of("lying://box/run.trace")
        for listing in (place.find_files, place.list_entries):
            with pytest.raises(InputError, match="which is not a path below it"):
                listing()


def test_a_url_is_shown_without_its_secrets() -> None:
    for words, reported in (
        ("s3://key:secret@bucket/x", "s3://bucket/x"),
        ("https://host/a.trace.zip?X-Signature=abc", "https://host/a.trace.zip"),
        ("zip://a/*.x::https://u:p@host/all.zip?sig=1", "zip://a/*.x::https://host/all.zip"),
        ("s3://bucket/run?.trace", "s3://bucket/run?.trace"),
        ("zip://::all.zip", "zip://::all.zip"),
        ("gs://bucket/folder/", "gs://bucket/folder"),
        ("runs/a b", "runs/a b"),
    ):
        assert hide_secrets(words) == reported


def test_an_archive_of_this_machine_is_the_same_from_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute("zip://a::x.zip") == f"zip://a::{tmp_path.resolve()}/x.zip"
    assert absolute("zip://a::s3://b/x.zip") == "zip://a::s3://b/x.zip"
    assert (scheme("s3://b"), scheme("a/b")) == ("s3://", "")


def test_a_listing_that_a_file_system_kept_is_not_that_of_now(tmp_path: Path) -> None:
    for name in ("a.trace", "b.trace"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "open.creq").write_text("1")
        listed = [source.place.base for source in sources_of([f"keeping://{tmp_path}"])]
    assert sorted(listed) == ["a.trace", "b.trace"]
