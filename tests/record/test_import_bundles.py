"""Runs made of bundles: read where they are, on any system."""

import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bundle_writer import Encoder, Issue, Process, RunInfo, write_bundle, write_runs
from bundle_writer import Run as Run_
from small_bundle import PYTHON, SERVER, intervals, process_info, ticks
from tracekit import pipeline
from tracekit.base.errors import InputError, UsageError
from tracekit.base.recording import Process as Target
from tracekit.base.recording import Recording
from tracekit.run import Run
from tracekit.tables.bundle.errors import UnknownBundleError
from tracekit.tables.direct import Direct, direct

TABLES = [
    ticks([1]),
    intervals((0, 10, PYTHON), (5, 10, PYTHON), (40, 10, SERVER), (100, 20, PYTHON)),
]
STARTS = [0, 5, 40, 100]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "mine.trace", TABLES, info=RunInfo())


def imported(path: Path, output: Path, **options: Any) -> Run:
    [recording] = pipeline.import_([path], output, **options)
    return Run(recording)


def starts(run: Run) -> list[int]:
    return run.tables["gpu_intervals"]["start"].tolist()


def test_a_bundle_becomes_a_run_that_reads_it_where_it_is(bundle: Path, tmp_path: Path) -> None:
    run = imported(bundle, tmp_path / "run")
    provenance = run.provenance
    assert (provenance.recorder, provenance.workload) == ("import", "mine")
    assert provenance.recorder_version == "Instruments 26.0 (17A5295f)"
    assert provenance.targets == (Target(4711, "python3"),)
    assert provenance.templates == ("Metal System Trace",)
    assert provenance.duration == 0.891228
    assert provenance.machine["model"] == "MacBook Air"
    assert provenance.stages["import"].state == "done"
    assert run.recording.bundle.resolve() == bundle
    names = sorted(file.name for file in run.recording.exports.iterdir())
    assert names == ["direct.json", "toc.xml"]
    assert direct(run.recording.exports) == Direct("../recording.trace")
    with pytest.raises(UsageError, match=r"mine has no run 2\.") as raised:
        imported(bundle, tmp_path / "other", run=2)
    assert raised.value.hint.startswith("It has run 1 (python3 4711, ")
    assert not (tmp_path / "other").exists()


def test_without_its_document_what_is_missing_is_said(tmp_path: Path) -> None:
    names = [Process(4711, "python3")]
    path = write_bundle(tmp_path / "x.trace", TABLES, with_document=False, names=names)
    said = " ".join(imported(path, tmp_path / "run").provenance.warnings)
    assert "form.template" in said
    assert "not verified for its build of Instruments, which it does not name" in said


def test_a_document_in_an_unknown_form_and_stores_that_are_missing_are_said_on_the_page(
    tmp_path: Path,
) -> None:
    tables = [*TABLES, process_info((4711, "python3"), (420, "WindowServer"))]
    path = write_bundle(tmp_path / "x.trace", tables, info=RunInfo())
    document = (path / "form.template").read_bytes()
    (path / "form.template").write_bytes(document.replace(b"_execname", b"_filename"))
    shutil.rmtree(path / "corespace/run1/core/stores/indexed-store-0")
    run = imported(path, tmp_path / "run")
    lacks, store = "lacks 2 processes of the recording", "indexed-store-0 is missing"
    assert any(lacks in text for text in run.provenance.warnings)
    [said] = [text for text in run.provenance.warnings if "left out" in text]
    assert said.startswith("tick (store 0) of run 1 is left out: ")
    assert set(run.tables["gpu_intervals"].process) == {"python3", "WindowServer"}
    assert starts(run) == STARTS
    assert any(store in text for text in run.tables.warnings)
    result = pipeline.analyze(run.recording)
    [found] = [finding for finding in result.findings if finding.rule == "capture-truncated"]
    assert store in found.message
    page = pipeline.report(run.recording).read_text()
    assert lacks in page
    assert "tick (store 0)" in page


@pytest.mark.parametrize("how", ["file", "folder"])
def test_a_packed_bundle_is_unpacked_into_the_run(bundle: Path, tmp_path: Path, how: str) -> None:
    archive = bundle.with_name("Mine.Trace.ZIP")
    with zipfile.ZipFile(archive, "w") as file:
        for path in bundle.rglob("*"):
            file.write(path, f"{bundle.name}/{path.relative_to(bundle).as_posix()}")
    shutil.rmtree(bundle)
    run = imported(archive if how == "file" else tmp_path, tmp_path / "run")
    assert not run.recording.bundle.is_symlink()
    assert run.provenance.workload == "Mine"
    assert starts(run) == STARTS
    run.recording.folder.rename(tmp_path / "elsewhere")
    assert starts(Run(Recording(tmp_path / "elsewhere"))) == STARTS


@pytest.mark.skipif(shutil.which("xcrun") is not None, reason="xctrace would export it")
def test_what_is_refused_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "x.trace").mkdir()
    (tmp_path / "y.zip").write_bytes(b"PK")
    with pytest.raises(UnknownBundleError, match=r"x\.trace|recording\.trace") as error:
        imported(tmp_path / "x.trace", tmp_path / "run")
    assert "xctrace export" in error.value.hint
    with pytest.raises(InputError, match="no zip file"):
        imported(tmp_path / "y.zip", tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.processes
def test_where_there_is_an_xctrace_it_exports_what_is_not_known(
    scenario: Callable[..., None], tmp_path: Path
) -> None:
    scenario()
    folder = tmp_path / "x.trace"
    record = ["xcrun", "xctrace", "record", "--template", "Metal System Trace", "--output", folder]
    subprocess.run([*record, "--launch", "--", "/usr/bin/true"], check=True, capture_output=True)
    run = imported(folder, tmp_path / "run")
    said = run.provenance.warnings
    assert any("Its tables were exported by xctrace." in text for text in said)
    assert (run.recording.exports / "metal-gpu-intervals.xml").exists()
    assert direct(run.recording.exports) is None


def test_of_several_runs_the_last_is_imported_unless_another_is_named(tmp_path: Path) -> None:
    noted = {1: "Recording was cut", 2: "Buffers were full"}
    runs = {
        number: Run_(
            [intervals((number, 10, PYTHON))], Encoder(), RunInfo(pid=4711 + number),
            issues=[Issue(words)],
        )
        for number, words in noted.items()
    }  # fmt: skip
    write_runs(tmp_path / "x.trace", runs)
    for number, chosen in ((2, None), (1, 1)):
        run = imported(tmp_path / "x.trace", tmp_path / f"run-{number}", run=chosen)
        assert [target.pid for target in run.provenance.targets] == [4711 + number]
        assert run.provenance.run == number
        assert starts(run) == [number]
        said = " ".join(run.provenance.warnings)
        assert [words in said for words in noted.values()] == [number == 1, number == 2]
        assert ("x has 2 runs: run 1 (python3 4712, 2026-03-30" in said) is (chosen is None)
        assert ("Run 2, the last one, is read; --run chooses another." in said) is (chosen is None)
