"""Sources: which files of them matter, and whether they are still the same."""

import os
from pathlib import Path

import pytest

from tracekit.fleet.batch.sources import RecordingSource, sources_of


def made(folder: Path, *names: str) -> RecordingSource:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"<trace-toc> {name}")
    [source] = sources_of([str(folder)])
    return source


def test_of_a_bundle_windows_and_indexes_are_not_needed(tmp_path: Path) -> None:
    bundle = made(
        tmp_path / "a.trace",
        "open.creq",
        "form.template",
        "UI_state_metadata.bin",
        "instrument_data/1/run_data/1.run.zip",
        "shared_data/x",
        "corespace/run1/core/stores/indexed-store-1/bulkstore",
        "corespace/run1/core/stores/indexed-store-1/spindex.0",
    )
    assert sorted(bundle.files()) == [
        "corespace/run1/core/stores/indexed-store-1/bulkstore",
        "form.template",
        "open.creq",
    ]


def test_of_a_run_its_exports_and_what_it_says_of_itself_are_needed(tmp_path: Path) -> None:
    names = ("recording.json", "workload.json", "report.html", "tables/x.parquet")
    exported = ("exports/toc.xml", "exports/metal-gpu-intervals.xml", "recording.trace/open.creq")
    run = made(tmp_path / "run", *names, *exported)
    assert sorted(run.files()) == [
        "exports/metal-gpu-intervals.xml",
        "exports/toc.xml",
        "recording.json",
        "workload.json",
    ]
    (tmp_path / "run" / "exports" / "direct.json").write_text("{}")
    assert "recording.trace/open.creq" in run.files()


def test_of_exports_only_xml_is_needed(tmp_path: Path) -> None:
    assert sorted(made(tmp_path / "e", "toc.xml", "T.XML", "notes.md").files()) == [
        "T.XML",
        "toc.xml",
    ]


def test_a_single_file_is_its_own_source(tmp_path: Path) -> None:
    (tmp_path / "toc.xml").write_text("<trace-toc>")
    [source] = sources_of([str(tmp_path / "toc.xml")])
    assert list(source.files()) == ["toc.xml"]


@pytest.mark.parametrize("change", ["content", "time", "size", "more", "less"])
def test_the_stamp_changes_with_the_files(tmp_path: Path, change: str) -> None:
    source = made(tmp_path / "e", "toc.xml", "a.xml")
    before = source.stamp("")
    assert source.stamp("") == before
    file = tmp_path / "e" / "a.xml"
    match change:
        case "content":
            file.write_text("<trace-toc>another")
        case "time":
            os.utime(file, (1, 1))
        case "size":
            before_ns = file.stat().st_mtime_ns
            file.write_text("<trace-toc> and more")
            os.utime(file, ns=(before_ns, before_ns))
        case "more":
            (tmp_path / "e" / "b.xml").write_text("")
        case _:
            file.unlink()
    assert source.stamp("") != before


def test_the_stamp_changes_with_what_is_asked_but_not_with_what_does_not_matter(
    tmp_path: Path,
) -> None:
    source = made(tmp_path / "e", "toc.xml")
    before = source.stamp("a")
    assert source.stamp("b") != before
    (tmp_path / "e" / "notes.md").write_text("x")
    assert source.stamp("a") == before


def test_the_key_is_that_of_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = made(tmp_path / "e", "toc.xml").key
    monkeypatch.chdir(tmp_path)
    [source] = sources_of(["./e/../e"])
    assert source.key == key
    assert made(tmp_path / "f", "toc.xml").key != key
