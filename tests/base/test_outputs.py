"""Nothing that a user has is lost by what is written."""

import os
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import RecordingError, UsageError
from tracekit.base.outputs import require_apart, writing

MINE = "mine\n1\n"


def write(path: Path, text: str, **options: Any) -> None:
    with writing([path], **options):
        path.write_text(text)


def test_an_output_is_replaced_until_someone_changes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / os.fsdecode(b"an out-\xff.csv")
    for text in ("a,b\n", "c,d\n", "e,f\n"):
        write(path, text, force=False)
    path.write_text(MINE)
    with pytest.raises(UsageError, match="is not as tracekit wrote it") as refused:
        write(path, "e,f\n", force=False)
    assert "--force replaces it." in refused.value.hint
    assert path.read_text() == MINE
    write(path, "e,f\n", force=True)
    assert path.read_text() == "e,f\n"
    monkeypatch.setenv("TRACEKIT_CACHE", str(path / "notes"))  # which cannot be kept
    write(tmp_path / "other.csv", "a,b\n")
    with pytest.raises(UsageError):
        write(tmp_path / "other.csv", "a,b\n")


def test_a_page_or_report_of_ours_is_known_wherever_it_comes_from(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for text in (
        '<!doctype html>\n<html><head>\n<meta name="generator" content="tracekit">',
        "<!doctype html>\n<html><head>\n<title>Runs · tracekit</title>",
        "# HELP tracekit_gate_outcome …\n",
        '{"runs": [{"tool": {"driver": {\n  "name": "tracekit"}}}]}',
        "x" * 10_000 + "\n\n<!-- made by tracekit -->\n",
        "",
    ):
        with subtests.test(text):
            (tmp_path / "out").write_text(text)
            write(tmp_path / "out", "new")


def test_outputs_that_are_inputs_are_refused_under_any_name(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text(MINE)
    (tmp_path / "link.csv").symlink_to("in.csv")
    os.link(source, tmp_path / "twin.csv")
    for name in ("in.csv", "link.csv", "twin.csv", "./in.csv"):
        with pytest.raises(UsageError, match="is read, so it is not written"):
            write(tmp_path / name, "", inputs=[source], force=True)
    assert source.read_text() == MINE
    os.mkfifo(tmp_path / "pipe")
    os.link(tmp_path / "pipe", tmp_path / "other")
    require_apart([tmp_path / "pipe"], [tmp_path / "other"])  # what is read of it is gone


def test_a_whole_file_gets_no_addition(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for folder, file_name, kind in (
        ("run", "run/recording.json", "a run"),
        ("mine.trace", "mine.trace/form.template", "a bundle"),
        ("MINE.GPUTRACE", "MINE.GPUTRACE/metadata", "a bundle"),
        ("batch/results", "batch/.lock", "the data set of a batch"),
    ):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / file_name).write_text("{}")
        (link := tmp_path / f"to-{Path(file_name).name}").symlink_to(folder)
        for place in (folder, f"{folder}/new/out.csv", f"{link.name}/out.csv", link.name):
            with subtests.test(place), pytest.raises(UsageError, match=f"is {kind}: nothing else"):
                require_apart([tmp_path / place])
        require_apart([tmp_path / f"{folder}.csv"])


def test_foreign_folders_are_refused_and_stay_foreign(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Two outputs"), writing([tmp_path / "a", tmp_path / "a"]):
        pass
    with pytest.raises(RecordingError, match="is a folder"), writing([tmp_path]):
        pass
    path = tmp_path / "out.csv"
    path.write_text(MINE)
    half = tmp_path / "half.csv"
    with pytest.raises(ValueError, match="damaged"), writing([path, half], force=True):  # noqa: PT012
        half.write_text("a,b\n")
        raise ValueError("damaged")
    with pytest.raises(UsageError):
        write(path, "a,b\n")
    assert path.read_text() == MINE
    write(half, "c,d\n")  # which is ours, although it was not the last
