"""`tracekit runs verify`: whole, not whole, or not to be said, of runs, bundles and histories."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bundle_writer import write_bundle
from command_line import join_stderr, run
from small_bundle import PYTHON, TICK, intervals
from stored_nights import night_of
from tracekit.base.documents import save
from tracekit.nightly.history.night import Night
from tracekit.nightly.history.store.store import Store

WHOLE, NOT_WHOLE, NOT_KNOWN = 0, 3, 4
TABLES = [intervals((0, 10, PYTHON), (20, 5, PYTHON)), TICK]


def run_verify(capsys: Any, place: Path | str) -> tuple[int, str]:
    """Return the exit code of `verify`, and its words."""
    capsys.readouterr()
    code = run("runs", "verify", place)
    output = capsys.readouterr()
    return code, " ".join(output.out.split()) + join_stderr(output)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "made" / "x.trace", TABLES)


@pytest.fixture(scope="module")
def reported_run(
    tmp_path_factory: pytest.TempPathFactory, intervals_xml: Any, toc_xml: Any
) -> Path:
    """Return a run of exports, analysed and reported, of which each test gets a copy."""
    place = tmp_path_factory.mktemp("reported")
    exports = place / "exports"
    exports.mkdir()
    (exports / "toc.xml").write_text(toc_xml())
    (exports / "gpu.xml").write_text(intervals_xml([(0, 10, 4711, "python3")]))
    folder = place / "run"
    for arguments in (("import", exports, "--output", folder), ("analyze", folder)):
        assert run(*arguments) == 0
    assert run("report", folder) == 0
    return folder


@pytest.fixture
def folder(reported_run: Path, tmp_path: Path) -> Path:
    return shutil.copytree(reported_run, tmp_path / "run")


def flip_byte(file: Path) -> None:
    """Change a byte of a file, which keeps its length."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def test_a_run_is_whole_after_each_stage_and_wherever_it_is_copied(
    folder: Path, tmp_path: Path, capsys: Any
) -> None:
    assert run_verify(capsys, folder)[0] == WHOLE
    assert run("tables", folder) == 0, "a cache is no part of it"
    (folder / "notes.txt").write_text("mine")
    shutil.copytree(folder, tmp_path / "copy", copy_function=shutil.copyfile)
    assert run_verify(capsys, tmp_path / "copy")[0] == WHOLE
    assert run("analyze", tmp_path / "copy") == 0
    assert run("report", tmp_path / "copy") == 0
    assert run_verify(capsys, tmp_path / "copy")[0] == WHOLE


@pytest.mark.parametrize(
    ("harm", "code", "words"),
    [
        (
            lambda run_folder: flip_byte(run_folder / "result.json"),
            NOT_WHOLE,
            "result.json is not as the stage anal",
        ),
        (
            lambda run_folder: flip_byte(run_folder / "report.html"),
            NOT_WHOLE,
            "report.html is not as the stage repo",
        ),
        (
            lambda run_folder: (run_folder / "exports/toc.xml").unlink(),
            NOT_WHOLE,
            "exports/toc.xml is missing.",
        ),
        (
            lambda run_folder: (run_folder / "result.json").write_text(""),
            NOT_WHOLE,
            "result.json has 0 bytes; ",
        ),
        (
            lambda run_folder: (run_folder / "exports/new.xml").write_text(""),
            NOT_KNOWN,
            "1 files have no checksum",
        ),
        (
            lambda run_folder: (run_folder / "checksums.json").unlink(),
            NOT_KNOWN,
            "No checksums were kept",
        ),
        (
            lambda run_folder: (run_folder / "checksums.json").write_text("{"),
            NOT_WHOLE,
            "checksums.json cannot be",
        ),
    ],
    ids=["result", "page", "missing", "emptied", "added", "older", "its own"],
)
def test_a_run_that_was_changed_is_not_whole(
    folder: Path, capsys: Any, harm: Callable[[Path], object], code: int, words: str
) -> None:
    harm(folder)
    exit_code, text = run_verify(capsys, folder)
    assert exit_code == code, text
    assert words in text


def test_a_later_stage_does_not_repair_a_changed_file(folder: Path, capsys: Any) -> None:
    file = folder / "exports" / "metal-gpu-intervals.xml"
    file.write_text(file.read_text().replace("python3", "python4"))
    assert run("analyze", folder) in {0, 4}
    code, text = run_verify(capsys, folder)
    assert code == NOT_WHOLE, text
    assert "metal-gpu-intervals.xml is not as the stage import left it." in text


def test_a_stage_that_did_not_end_is_a_fault(folder: Path, capsys: Any) -> None:
    (folder / "report.html").unlink()
    (folder / "report.html").mkdir()
    assert run("report", folder) == 3
    code, text = run_verify(capsys, folder)
    assert code == NOT_WHOLE
    assert "The stage report is failed: it did not come to its end." in text


def test_a_run_is_not_whole_without_the_bundle_that_it_is_read_from(
    bundle: Path, tmp_path: Path, capsys: Any
) -> None:
    folder = tmp_path / "run"
    assert run("import", bundle, "--output", folder) == 0
    code, text = run_verify(capsys, folder)
    assert code == WHOLE, text
    assert "rows 4" in text
    flip_byte(next(bundle.rglob("indexed-store-0/bulkstore")))
    code, text = run_verify(capsys, folder)
    assert code == NOT_WHOLE, text
    assert "indexed-store-0/bulkstore is not as the stage import left it." in text
    shutil.rmtree(bundle)
    assert run_verify(capsys, folder)[0] == NOT_WHOLE


def test_a_pruned_run_is_whole(folder: Path, capsys: Any) -> None:
    assert run("runs", "prune", folder.parent, "--max-size", "1MB", "--newest", "0") == 0
    document = json.loads((folder / "recording.json").read_text())
    assert "prune" not in document["stages"], "there was room enough"
    run("runs", "prune", folder.parent, "--max-size", "1KB", "--newest", "0")
    assert not (folder / "exports" / "metal-gpu-intervals.xml").exists()
    code, text = run_verify(capsys, folder)
    assert code == WHOLE, text
    flip_byte(next((folder / "tables").glob("*.parquet")))
    assert run_verify(capsys, folder)[0] == NOT_WHOLE


def test_a_bundle_is_whole_if_all_its_tables_can_be_read(bundle: Path, capsys: Any) -> None:
    code, text = run_verify(capsys, bundle)
    assert code == WHOLE, text
    assert "tables 2 rows 4" in text


@pytest.mark.parametrize("how", ["gone", "cut", "empty"])
def test_a_bundle_without_a_part_that_tables_need_is_not_whole(
    bundle: Path, tmp_path: Path, capsys: Any, subtests: pytest.Subtests, how: str
) -> None:
    core = "corespace/run1/core"
    store = f"{core}/stores/indexed-store-0"
    parts = [f"{store}/{name}" for name in ("bulkstore", "schema.xml", "spec.plist")]
    parts += [f"{store}/bulkstore_descriptor", f"{core}/uniquing/strings", "form.template"]
    for part in [*parts, f"{core}/table-manager/tables.plist"]:
        with subtests.test(part):
            copy = tmp_path / "copy.trace"
            shutil.copytree(bundle, copy)
            file = copy / part
            content = file.read_bytes()
            file.write_bytes(b"" if how == "empty" else content[: len(content) // 2])
            if how == "gone":
                file.unlink()
            expected = NOT_KNOWN if part.endswith("tables.plist") else NOT_WHOLE
            code, text = run_verify(capsys, copy)
            shutil.rmtree(copy)
            assert code == expected, text


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Return a history of two nights, each with its document beside it."""
    path = tmp_path / "nights" / "history.db"
    with Store.connect(str(path)) as store:
        for day in (1, 2):
            save_document(path.parent, night_of(day))
            store.append(night_of(day))
    return path


def save_document(nights: Path, night: Night) -> Path:
    document = nights / night.id / "night.json"
    document.parent.mkdir(parents=True)
    save(document, night)
    return document


def test_a_history_is_whole_with_its_documents(history: Path, capsys: Any) -> None:
    code, text = run_verify(capsys, history)
    assert code == WHOLE, text
    assert "nights 2 documents 2" in text


def test_a_history_and_its_documents_must_be_of_the_same_nights(
    history: Path, capsys: Any, subtests: pytest.Subtests
) -> None:
    nights, first_night = history.parent, night_of(1)
    document = nights / first_night.id / "night.json"
    content = document.read_bytes()
    for name, night, words in (
        (
            "changed",
            replace(first_night, reason="It is fine."),
            "is not the night 2026-03-01T02-30-00",
        ),
        (
            "not kept",
            replace(first_night, kept=False),
            "is not the night 2026-03-01T02-30-00-abcd of",
        ),
    ):
        with subtests.test(name):
            save(document, night)
            code, text = run_verify(capsys, history)
            assert code == NOT_WHOLE, text
            assert words in text
    document.write_text("{")
    assert "cannot be read" in run_verify(capsys, history)[1]
    document.unlink()
    code, text = run_verify(capsys, history)
    assert code == NOT_WHOLE
    assert f"The document of the night {first_night.id}, {document}, is missing." in text
    document.write_bytes(content)
    save_document(nights, night_of(3))
    code, text = run_verify(capsys, history)
    assert code == NOT_WHOLE
    assert "2026-03-03T02-30-00-abcd is not in the history." in text


def test_a_night_that_may_still_run_and_folders_elsewhere_leave_it_open(
    history: Path, tmp_path: Path, capsys: Any
) -> None:
    running = save_document(history.parent, night_of(3, ended="", outcome=None))
    code, text = run_verify(capsys, history)
    assert code == NOT_KNOWN, text
    assert "still runs, or was killed." in text
    shutil.rmtree(running.parent)
    with Store.connect(str(history)) as store:
        store.append(night_of(4, folder=str(tmp_path / "another" / "machine")))
    code, text = run_verify(capsys, history)
    assert code == NOT_KNOWN, text
    assert "The folder of the night 2026-03-04T02-30-00-abcd is not on this machine." in text


def test_a_damaged_database_is_not_whole(history: Path, capsys: Any) -> None:
    with sqlite3.connect(history) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    content = bytearray(history.read_bytes())
    for position in range(size, len(content), size):
        content[position : position + 8] = b"\xff" * 8
    history.write_bytes(content)
    assert run_verify(capsys, history)[0] == NOT_WHOLE
    history.write_bytes(b"SQLite is what this is not" * 100)
    assert run_verify(capsys, history)[0] == NOT_WHOLE


def test_the_outcome_as_a_document(bundle: Path, capsys: Any) -> None:
    capsys.readouterr()
    assert run("runs", "verify", bundle, "--json") == WHOLE
    assert json.loads(capsys.readouterr().out) == {
        "kind": "bundle",
        "place": str(bundle),
        "state": "whole",
        "checked": {"runs": 1, "tables": 2, "rows": 4},
        "faults": [],
        "unknown": [],
        "format": 1,
    }
    (bundle / "form.template").unlink()
    assert run("runs", "verify", bundle, "--json") == NOT_WHOLE
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["state"] == "not whole"
    assert "form.template" in outcome["faults"][0]


def test_other_kinds_of_files_are_refused(tmp_path: Path, capsys: Any) -> None:
    assert run("runs", "verify", tmp_path / "nowhere") == 2
    assert "does not exist" in join_stderr(capsys.readouterr())
    assert run("runs", "verify", tmp_path) == 3
    assert "is not a run's folder" in join_stderr(capsys.readouterr())
