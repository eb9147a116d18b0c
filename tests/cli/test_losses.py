"""Whatever damage changes in the output of a command, the command reports it.

For rows and names it ends with 3, and writes everything else.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bundle_writer import Encoder, Thread, ThreadName, write_bundle
from bundle_writer.examples import INFO, MAIN, gpu_intervals, messages, profile
from bundle_writer.values import TIME, Col, Table
from command_line import run
from small_bundle import PYTHON, process_info

COMMANDS = {
    "convert all": "convert b.trace out --to csv",
    "convert one": "convert b.trace out.csv --schema time-profile",
    "convert intervals": "convert b.trace out.csv --schema metal-gpu-intervals",
    "export": "export b.trace out",
    "tables": "tables b.trace",
    "one table": "tables b.trace gpu_intervals",
    "query": "query select+*+from+gpu_intervals b.trace --format csv",
}


QUICK = {"convert all"}  # it reads every part of a bundle


def whole_bundle(path: Path) -> Path:
    """Write a bundle with the names of processes and threads in its document and in tables."""
    threads = [
        Col("time", "Time", "XRRecordedEventTimestampTypeID", TIME),
        Col("tid", "Tid", "XRThreadIDTypeID"),
        Col("name", "Name", "XRThreadNameTypeID"),
        Col("main-thread", "Main", "XRBooleanTypeID"),
    ]
    older_name = ThreadName("an older name", Thread(MAIN.tid, PYTHON))
    tables = [
        gpu_intervals(),
        profile(),
        messages(),
        process_info((4711, "pyth"), (420, "Window")),
        Table("thread-info", threads, [(0, MAIN.tid, older_name, False)]),
    ]
    return write_bundle(path, tables, info=INFO, encoder=Encoder(4096))


def remove(file: Path) -> None:
    file.unlink()


def truncate_file(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 3])


def output_of(folder: Path) -> dict[str, bytes]:
    """Return the files that a command left beside the bundle."""
    files = (path for path in folder.rglob("out*/**/*") if path.is_file())
    alone = (path for path in folder.glob("out*") if path.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in (*files, *alone)}


class Played:
    """What a command of `COMMANDS` made of the bundle in a folder."""

    def __init__(self, folder: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        previous_folder = Path.cwd()
        os.chdir(folder)
        try:
            words = [word.replace("+", " ") for word in command.split()]
            self.code = run(*words)
        finally:
            os.chdir(previous_folder)
        printed = capsys.readouterr()
        # How many losses there are is itself a report.
        lines = [line for line in printed.out.splitlines() if not line.startswith("losses\t")]
        self.output = (lines, output_of(folder))
        self.words = {line for line in printed.err.splitlines() if not line.startswith("hint: ")}


@pytest.fixture
def original(tmp_path: Path) -> Path:
    return whole_bundle(tmp_path / "whole/b.trace")


def copies(
    original: Path, damage: Callable[[Path], None], folder: Path
) -> Iterator[tuple[str, Path]]:
    """Yield the name of each file of a bundle, and a folder with a copy that has it damaged."""
    for number, file in enumerate(sorted(path for path in original.rglob("*") if path.is_file())):
        name = str(file.relative_to(original))
        copy = shutil.copytree(original, folder / str(number) / "b.trace")
        damage(copy / name)
        yield name, copy.parent


@pytest.mark.parametrize("damage", [remove, truncate_file])
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(line, id=name, marks=() if name in QUICK else pytest.mark.campaign)
        for name, line in COMMANDS.items()
    ],
)
def test_changes_by_a_damaged_part_are_reported(
    original: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    damage: Callable[[Path], None],
) -> None:
    intact_outcome = Played(original.parent, command, capsys)
    assert intact_outcome.code == 0, intact_outcome.words
    silent: list[str] = []
    changed = 0
    for name, folder in copies(original, damage, tmp_path):
        played = Played(folder, command, capsys)
        assert played.code in {0, 3}, (name, played.words)
        different = played.output != intact_outcome.output
        changed += different
        if different and not played.words - intact_outcome.words:
            silent.append(name)
        if different and damage is truncate_file and played.code != 3:
            silent.append(f"{name}: exit code {played.code}")
    assert silent == []
    assert changed > 5, "the damage changes nothing"


DOCUMENT = "form.template"
SAMPLES = "corespace/run1/core/stores/indexed-store-1/bulkstore"
SPEC = "corespace/run1/core/stores/indexed-store-0/spec.plist"
SYMBOLS = "symbols/stores/044CD67E-3A0A-3CA4-8BB3-A9687D5328FE.symbolsarchive"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (DOCUMENT, DOCUMENT),
        (SAMPLES, "bulkstore"),
        (SPEC, "spec.plist"),
        (SYMBOLS, ".symbolsarchive is cut"),
    ],
    ids=["document", "samples", "specification", "symbols"],
)
def test_damage_goes_with_a_run_through_all_stages(
    tracekit: Any, original: Path, tmp_path: Path, name: str, words: str
) -> None:
    truncate_file(original / name)
    run_folder = tmp_path / "run"
    assert tracekit("import", original, "--output", run_folder).code in {
        0,
        3,
    }  # it reads no samples
    analyzed = tracekit("analyze", run_folder, "--json")
    result = json.loads(analyzed.out)
    errors = [loss for loss in result["losses"] if loss["severity"] == "error"]
    assert any(words in loss["text"] for loss in errors), result["losses"]
    assert analyzed.code in {3, 4}, analyzed.err  # where the damage hides the target's work too
    reported = tracekit("report", run_folder)
    assert reported.code == 3, reported.err
    assert words in (run_folder / "report.html").read_text()
    listed = tracekit("tables", run_folder, "losses", "--output", tmp_path / "losses.csv")
    assert listed.code == 3
    frame = pd.read_csv(tmp_path / "losses.csv")
    assert list(frame) == ["table", "schema", "column", "rows", "severity", "flaw", "text"]
    assert frame.loc[frame["severity"] == "error", "text"].str.contains(words, regex=False).any()
    query_result = tracekit("query", "select text from losses where severity = 'error'", run_folder)
    assert (query_result.code, words in query_result.out) == (3, True), query_result.err
    converted = tracekit("convert", run_folder, tmp_path / "out", "--to", "csv")
    assert converted.code == 3, converted.err
    assert (tmp_path / "out/losses.csv").exists()


@pytest.mark.processes
def test_a_batch_keeps_losses_and_fails_for_them_each_time(
    tracekit: Any, original: Path, tmp_path: Path
) -> None:
    truncate_file(original / DOCUMENT)
    for _ in range(2):
        result = tracekit(
            "batch",
            original,
            "--output",
            tmp_path / "batch",
            "--workers",
            "1",
            "--tables",
            "losses",
        )
        assert result.code == 3, result.err
        assert DOCUMENT in result.err
    [row] = pd.read_parquet(tmp_path / "batch/results")["losses"]
    assert any(DOCUMENT in loss["text"] and loss["severity"] == "error" for loss in row)
    query_result = tracekit("query", "select text from losses", tmp_path / "batch")
    assert DOCUMENT in query_result.out, query_result.err


def test_a_skipped_document_is_reported_and_not_a_failure(
    tracekit: Any, original: Path, tmp_path: Path
) -> None:
    (original / DOCUMENT).unlink()
    result = tracekit("convert", original, tmp_path / "out", "--to", "parquet", "--verbose")
    assert result.code == 0
    assert f"b.trace has no {DOCUMENT}" in result.err


def test_damage_outside_the_request_is_reported_and_not_a_failure(
    tracekit: Any, original: Path, tmp_path: Path
) -> None:
    truncate_file(original / "corespace/run1/core/stores/indexed-store-2/spec.plist")
    tables = tracekit("tables", original)
    assert tables.code == 3
    assert "os-log (store 2) of run 1 is left out" in tables.err
    result = tracekit("tables", original, "gpu_intervals")
    assert result.code == 0
    assert "os-log (store 2) of run 1 is left out" in result.err


@pytest.mark.corpus
def test_names_that_a_real_bundle_lost_are_reported(
    tracekit: Any, corpus: Path, tmp_path: Path
) -> None:
    [real] = corpus.rglob("cpu_time_profiler.trace")
    bundle = shutil.copytree(real, tmp_path / "b.trace")
    truncate_file(bundle / DOCUMENT)
    for command in (
        ["convert", bundle, tmp_path / "out", "--to", "parquet"],
        ["convert", bundle, tmp_path / "one.csv", "--schema", "thread-info"],
        ["query", "select process from cpu_profile", bundle],
    ):
        result = tracekit(*command)
        assert result.code == 3, (command, result.err)
        assert "Names of processes and threads are those of the tables" in result.err, command
    shutil.rmtree(bundle)
    shutil.copytree(real, bundle)
    result = tracekit("convert", bundle, tmp_path / "whole", "--to", "parquet")
    assert result.code == 0, result.err
