"""Places in file systems, and the paths and URLs that name them."""

from pathlib import Path

import fsspec
import pytest

from odd_filesystems import LyingFileSystem
from tracekit.base.errors import InputError, UsageError
from tracekit.fleet.batch.sources import absolute, place_of, scheme, shown

fsspec.register_implementation("lying", LyingFileSystem, clobber=True)


def test_an_unknown_file_system_is_a_mistake_of_the_call() -> None:
    with pytest.raises(UsageError, match="nope://x is no source: Protocol not known: nope"):
        place_of("nope://x")


def test_a_store_that_cannot_be_opened_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        place_of(f"zip://x::{tmp_path}/nothing.zip")


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "HERE/../x", "HERE/a/../../x", "HERE/./a", "HEREx/a", "HERE//a", "HERE/a\\b"],
)
def test_a_listing_that_leads_elsewhere_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LyingFileSystem, "names", (name,))
    place = place_of("lying://box/run.trace")
    with pytest.raises(InputError, match="which is no path below it"):
        place.below()
    with pytest.raises(InputError, match="which is no path below it"):
        place.listed()


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        ("s3://key:secret@bucket/x", "s3://bucket/x"),
        ("https://host/a.trace.zip?X-Signature=abc", "https://host/a.trace.zip"),
        (
            "zip://a/*.trace::https://u:p@host/all.zip?sig=1",
            "zip://a/*.trace::https://host/all.zip",
        ),
        ("s3://bucket/run?.trace", "s3://bucket/run?.trace"),
        ("zip://::all.zip", "zip://::all.zip"),
        ("gs://bucket/folder/", "gs://bucket/folder"),
        ("runs/a b", "runs/a b"),
    ],
)
def test_a_url_is_shown_without_its_secrets(words: str, reported: str) -> None:
    assert shown(words) == reported


def test_an_archive_of_this_machine_is_the_same_from_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute("zip://a::x.zip") == f"zip://a::{tmp_path.resolve()}/x.zip"
    assert absolute("zip://a::s3://b/x.zip") == "zip://a::s3://b/x.zip"
    assert (scheme("s3://b"), scheme("a/b")) == ("s3://", "")
