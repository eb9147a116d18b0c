"""Recordings below folders, patterns and URLs."""

import zipfile
from pathlib import Path

import pytest

from tracekit.base.errors import InputError, UsageError
from tracekit.fleet.batch.sources import sources_of

TOC = "<?xml version='1.0'?><trace-toc></trace-toc>"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs, bundles, exports, and what is none of these."""
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


def found(*words: str) -> list[tuple[str, str]]:
    return [(one.place.name, one.form.value) for one in sources_of(words)]


def test_a_folder_is_looked_through(tree: Path) -> None:
    assert found("t") == [
        ("t/a.trace", "bundle"),
        ("t/deep/c.trace.zip", "zipped bundle"),
        ("t/deep/er/b.trace", "bundle"),
        ("t/exports", "exports"),
        ("t/run", "run"),
    ]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("t/*.trace", ["t/a.trace"]),
        ("t/**/*.trace", ["t/a.trace", "t/deep/er/b.trace", "t/run/recording.trace"]),
        ("t/deep/**", ["t/deep/c.trace.zip", "t/deep/er/b.trace"]),
        ("t/*/*.xml", ["t/exports/toc.xml"]),
        ("*/r?n", ["t/run"]),
        ("t/[ab].trace", ["t/a.trace"]),
    ],
)
def test_patterns_are_understood(tree: Path, words: str, names: list[str]) -> None:
    assert [name for name, _ in found(words)] == names


def test_nothing_within_a_bundle_is_looked_for(tree: Path) -> None:
    (tree / "t" / "a.trace" / "toc.xml").write_text(TOC)
    assert [name for name, _ in found("t/**/toc.xml")] == [
        "t/exports/toc.xml",
        "t/run/exports/toc.xml",
    ]


def test_each_recording_is_there_once(tree: Path) -> None:
    assert len(found("t", "t/run", str(tree / "t" / "a.trace"), "t/*.trace")) == 5


def test_a_name_with_wildcards_in_it_is_a_name(tree: Path) -> None:
    (tree / "x[1].trace").mkdir()
    (tree / "x[1].trace" / "open.creq").write_text("1")
    assert found("x[1].trace") == [("x[1].trace", "bundle")]


def test_an_archive_is_looked_through(tree: Path) -> None:
    with zipfile.ZipFile("all.zip", "w") as archive:
        for file in sorted(Path("t").rglob("*")):
            if file.is_file() and "loop" not in file.parts:
                archive.write(file, file)
    assert found("zip://t/exports::all.zip") == [("zip://t/exports::all.zip", "exports")]
    assert found("zip://**/*.trace::all.zip") == [
        ("zip://t/a.trace::all.zip", "bundle"),
        ("zip://t/deep/er/b.trace::all.zip", "bundle"),
        ("zip://t/run/recording.trace::all.zip", "bundle"),
    ]


def test_nothing_is_said(tree: Path) -> None:
    with pytest.raises(InputError, match="There is no recording in t/other, t/no\\*"):
        found("t/other", "t/no*")


def test_what_is_no_recording_is_refused_by_name(tree: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing\.txt is no recording"):
        found("t/exports/more/nothing.txt")
    with pytest.raises(UsageError, match="t/gone does not exist"):
        found("t/gone")
    with pytest.raises(UsageError, match=r"t/\*\*\.trace is no pattern"):
        found("t/**.trace")


def test_a_runs_folder_may_be_called_like_a_bundle(tree: Path) -> None:
    (tree / "t/run").rename(tree / "t/out.trace")
    assert found("t/out.trace") == [("t/out.trace", "run")]
    assert ("t/out.trace", "run") in found("t")


def test_bundles_may_end_in_capitals(tree: Path) -> None:
    (tree / "loud" / "E.TRACE").mkdir(parents=True)
    (tree / "loud" / "F.TRACE.ZIP").write_text("PK")
    assert found("loud") == [
        ("loud/F.TRACE.ZIP", "zipped bundle"),
        ("loud/E.TRACE", "bundle"),
    ]
