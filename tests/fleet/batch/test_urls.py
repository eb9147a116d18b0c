"""Paths and URLs as words."""

from pathlib import Path

import pytest

from tracekit.fleet.batch.places import absolute, fixed, is_pattern, joined, scheme, shown


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


@pytest.mark.parametrize(
    ("pattern", "folder"),
    [
        ("runs/*/x.trace", "runs"),
        ("*.trace", "."),
        ("/*/x", "/"),
        ("s3://bucket/*.trace", "s3://bucket"),
        ("s3://bucket/a/**/*.trace", "s3://bucket/a"),
        ("zip://*.trace::/tmp/x.zip", "zip://::/tmp/x.zip"),
    ],
)
def test_the_folder_of_a_pattern_is_what_comes_before_wildcards(pattern: str, folder: str) -> None:
    assert is_pattern(pattern)
    assert fixed(pattern) == folder


def test_a_name_that_is_there_is_no_pattern(tmp_path: Path) -> None:
    (tmp_path / "a[1]").mkdir()
    assert not is_pattern(str(tmp_path / "a[1]"))
    assert is_pattern(str(tmp_path / "a[2]"))


@pytest.mark.parametrize(
    ("folder", "child"),
    [
        ("runs", "runs/a"),
        ("runs/", "runs/a"),
        (".", "a"),
        ("zip://::x.zip", "zip://a::x.zip"),
        ("zip://b::x.zip", "zip://b/a::x.zip"),
    ],
)
def test_what_lies_below_a_folder_is_named_after_it(folder: str, child: str) -> None:
    assert joined(folder, "a") == child


def test_an_archive_of_this_machine_is_the_same_from_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute("zip://a::x.zip") == f"zip://a::{tmp_path.resolve()}/x.zip"
    assert absolute("zip://a::s3://b/x.zip") == "zip://a::s3://b/x.zip"
    assert (scheme("s3://b"), scheme("a/b")) == ("s3://", "")
