"""Recordings of archives and stores, brought here."""

import shutil
import zipfile
from collections import namedtuple
from pathlib import Path

import fsspec
import pytest

from odd_filesystems import LyingFileSystem
from tracekit.base.errors import InputError
from tracekit.fleet.batch.analysing import fetched
from tracekit.fleet.batch.places import place_of
from tracekit.fleet.batch.sources import RecordingSource, SourceForm, sources_of

fsspec.register_implementation("lying", LyingFileSystem, clobber=True)


@pytest.fixture
def archive(tmp_path: Path) -> str:
    with zipfile.ZipFile(tmp_path / "all.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a b.trace/open.creq", "1")
        packed.writestr("a b.trace/corespace/run1/core/uniquing/strings", "22")
        packed.writestr("a b.trace/UI_state_metadata.bin", "3" * 1_000)
        packed.writestr("e/toc.xml", "<trace-toc/>")
    return f"{tmp_path}/all.zip"


def contents(folder: Path) -> dict[str, str]:
    files = (one for one in folder.rglob("*") if one.is_file())
    return {str(one.relative_to(folder)): one.read_text() for one in files}


def test_what_an_analysis_needs_is_fetched_and_nothing_else(archive: str, tmp_path: Path) -> None:
    bundle, exports = sources_of([f"zip://::{archive}"])
    (tmp_path / "here").mkdir()
    copy = fetched(bundle, tmp_path / "here")
    assert copy == tmp_path / "here" / "a-b.trace"
    assert contents(copy) == {"open.creq": "1", "corespace/run1/core/uniquing/strings": "22"}
    assert contents(fetched(exports, tmp_path / "here")) == {"toc.xml": "<trace-toc/>"}


def test_a_single_file_becomes_a_file(archive: str, tmp_path: Path) -> None:
    [export] = sources_of([f"zip://e/toc.xml::{archive}"])
    assert fetched(export, tmp_path).read_text() == "<trace-toc/>"


def test_a_store_of_objects_is_fetched_from(tmp_path: Path) -> None:
    store = fsspec.filesystem("memory")
    store.pipe_file("/fetching/x.trace/open.creq", b"1")
    try:
        [bundle] = sources_of(["memory://fetching/*.trace"])
        assert contents(fetched(bundle, tmp_path)) == {"open.creq": "1"}
    finally:
        store.rm("/fetching", recursive=True)


def test_what_does_not_fit_is_not_begun(
    archive: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")  # noqa: PYI024
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10, 5, 5))
    bundle, _ = sources_of([f"zip://::{archive}"])
    with pytest.raises(InputError, match="has 2 files of 3 B to fetch, and 5 B are free"):
        fetched(bundle, tmp_path)
    assert not (tmp_path / "a-b.trace").exists()


def test_a_listing_that_leads_elsewhere_fetches_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LyingFileSystem, "names", ("HERE/../../escaped",))
    source = RecordingSource(place_of("lying://box/run.trace"), SourceForm.BUNDLE)
    with pytest.raises(InputError, match="no path below it"):
        fetched(source, tmp_path)
    assert contents(tmp_path) == {}


def test_a_file_that_is_not_there_after_all_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LyingFileSystem, "names", ("HERE/open.creq",))
    source = RecordingSource(place_of("lying://box/run.trace"), SourceForm.BUNDLE)
    with pytest.raises(InputError, match=r"cannot be fetched|is not what the listing says"):
        fetched(source, tmp_path)
