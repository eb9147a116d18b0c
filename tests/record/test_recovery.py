"""A recorder is killed in every state, and a run is made of its raw data."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from children import until
from command_line import run
from tracekit import open as open_run
from tracekit.base.errors import InputError, RecordingError, ToolError
from tracekit.base.recording import Provenance, Recording, Stage
from tracekit.record.progress import quiet
from tracekit.record.recovery import recover
from tracekit.record.xctrace.claim import Premises
from tracekit.record.xctrace.recovering import find_raw_data, import_seconds
from tracekit.tables import Bundle

Scenario = Callable[..., None]

pytestmark = pytest.mark.processes

TARGET = ("--launch", "--", sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)")
# The line that shows a state, and how the fake makes it last.
STATES = {
    "started": ("Ctrl-C", {"ignores_limit": True}),
    "stopping": ("Reached specified", {"stop_delay": 600}),
    "saving": ("Recording completed", {"hang": "saving"}),
}


@pytest.fixture
def kill(scenario: Scenario, tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Record into a bundle, kill the recorder at a line, and return the bundle."""
    targets: list[psutil.Process] = []

    def record(line: str, **keys: object) -> Path:
        scenario(busy=True, **keys)
        bundle, said = tmp_path / "old.trace", tmp_path / "scenario.said"
        argv = ("xctrace", "record", "--template", "Metal System Trace", "--time-limit", "200ms")
        null = subprocess.DEVNULL
        process = subprocess.Popen(
            (*argv, "--output", str(bundle), *TARGET), stdout=null, stderr=null
        )
        until(lambda: said.exists() and line in said.read_text(), line)
        targets.extend(psutil.Process(process.pid).children(recursive=True))
        process.kill()
        process.wait()
        scenario()
        return bundle

    yield record
    for target in targets:
        with suppress(psutil.NoSuchProcess):
            target.kill()


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("state", STATES)
def test_a_recording_is_recovered_whatever_its_recorder_did(
    state: str, kill: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line, keys = STATES[state]
    bundle = kill(line, **keys)
    before = contents(bundle)
    assert run("export", bundle, tmp_path / "xml") != 0
    capsys.readouterr()
    folder = tmp_path / "new"
    assert run("runs", "recover", bundle, "--output", folder) == 0
    assert contents(bundle) == before
    stage = Recording(folder).provenance().stages["recover"]
    assert stage.state == "incomplete"
    assert stage.message.startswith("Recovered, incomplete: the recorder of old did not save")
    assert run("analyze", folder) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "Recovered, incomplete: the recorder of old did not save" in printed
    opened = open_run(folder)
    assert opened.tables["gpu_intervals"]["target"].any()
    status = {check.rule: check.status for check in opened.result.checks}
    assert status["capture-truncated"] == "found"
    if state != "saving":
        return  # a page and a comparison are made of all recovered runs alike
    assert run("report", folder) == 0
    assert "Recovered, incomplete" in (folder / "report.html").read_text()
    assert run("compare", folder, folder) in {0, 1, 4}
    assert "capture-truncated" in capsys.readouterr().out


def test_a_run_keeps_its_provenance_and_its_files(
    kill: Callable[..., Path], tmp_path: Path
) -> None:
    bundle = kill("Ctrl-C", ignores_limit=True)
    old = Recording(tmp_path / "run")
    old.folder.mkdir()
    bundle.rename(old.bundle)
    stages = {"record": Stage("failed", "", "xctrace hung while it saved.")}
    old.save_provenance(
        Provenance(
            recorder="xctrace", workload="paged", parameters={"batch": 3}, stages=stages,
            templates=("Metal System Trace",), git_commit="abc",
        )
    )  # fmt: skip
    old.output_file.write_text("42 tokens/s\n")
    before = contents(old.folder)
    assert run("runs", "recover", old.folder, "--output", tmp_path / "new") == 0
    assert contents(old.folder) == before
    new = Recording(tmp_path / "new")
    provenance = new.provenance()
    assert (provenance.workload, provenance.parameters) == ("paged", {"batch": 3})
    assert (provenance.recorder, provenance.git_commit) == ("xctrace", "abc")
    assert set(provenance.stages) == {"recover", "export"}
    assert "(xctrace hung while it saved)" in provenance.stages["recover"].message
    assert new.output_file.read_text() == "42 tokens/s\n"
    assert run("analyze", new.folder) == 4  # its workload left no marks


FAILURES = [
    ({"raw_data": "none"}, {}, InputError, "holds no run with raw data"),
    ({"raw_data": "cut"}, {}, ToolError, "the file is not whole"),
    ({}, {"import": "fail"}, ToolError, "the file cannot be imported"),
    ({}, {"import": "empty", "layout": "unknown"}, ToolError, "the new bundle holds none of it"),
    ({}, {"import": "hang"}, ToolError, "did not end within 0.5 s and was stopped"),
]


@pytest.mark.parametrize(("recorded", "imported", "kind", "words"), FAILURES)
def test_a_failed_recovery_leaves_all_files_as_they_were(
    recorded: dict[str, str],
    imported: dict[str, str],
    kind: type[Exception],
    words: str,
    kill: Callable[..., Path],
    scenario: Scenario,
    tmp_path: Path,
) -> None:
    bundle = kill("Ctrl-C", ignores_limit=True, **recorded)
    before = contents(bundle)
    scenario(**imported)
    with pytest.raises(kind, match=words):
        recover(bundle, tmp_path / "new", quiet, seconds=0.5 if imported else None)
    assert contents(bundle) == before
    assert not (tmp_path / "new").exists()


def test_a_bundle_that_was_saved_is_not_recovered(scenario: Scenario, tmp_path: Path) -> None:
    bundle = tmp_path / "a.trace"
    bundle.mkdir()
    (bundle / "form.template").write_text("{}")
    with pytest.raises(InputError, match="was saved, so there is nothing to recover") as caught:
        recover(bundle, tmp_path / "new", quiet)
    assert "tracekit import" in caught.value.hint


def test_a_real_bundle_without_document_and_raw_data_is_sent_to_import(corpus: Path) -> None:
    bundle = next(corpus.rglob("gpu_baseline.trace"))
    with pytest.raises(InputError, match="holds no raw data") as caught:
        find_raw_data(bundle)
    assert "`tracekit import` reads the tables" in caught.value.hint
    assert len(Bundle(bundle).runs[-1].tables) == 114


def test_a_disk_without_room_for_a_second_bundle_is_refused(
    kill: Callable[..., Path], tmp_path: Path
) -> None:
    bundle = kill("Ctrl-C", ignores_limit=True)
    premises = Premises(floor=1000, read_free_bytes=lambda _: 20_999)
    with pytest.raises(RecordingError, match=r"Nothing was imported: 0\.0 GB are free") as caught:
        recover(bundle, tmp_path / "new", quiet, premises=premises)
    assert "the new bundle as much" in caught.value.hint
    assert not (tmp_path / "new").exists()


def test_the_last_run_is_recovered_and_its_size_sets_the_limit(tmp_path: Path) -> None:
    for number in (1, 2, 10):
        folder = tmp_path / "a.trace" / f"Trace{number}.run" / "Attachments"
        folder.mkdir(parents=True)
        (folder / "trace-data.atrc").write_text("x")
    assert find_raw_data(tmp_path / "a.trace").parts[-3] == "Trace10.run"
    assert import_seconds(2_400_000_000) == 1800


def test_a_recorder_that_hangs_and_is_killed_offers_to_recover(
    scenario: Scenario, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    scenario(ignores_limit=True)
    argv = (sys.executable, "-m", "tracekit", "record", "--output", str(folder), "--time-limit")
    target = ("30s", "--", sys.executable, "-I", "-S", "-c", "import time; time.sleep(30)")
    with subprocess.Popen((*argv, *target), stderr=subprocess.PIPE, text=True) as process:
        said = tmp_path / "scenario.said"
        until(lambda: said.exists() and "Ctrl-C" in said.read_text(), "it records")
        for child in psutil.Process(process.pid).children():
            with suppress(psutil.NoSuchProcess):  # the child may have ended meanwhile
                words = child.cmdline()
                if "record" in words and str(folder / "recording.trace") in words:
                    child.kill()
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 3
    assert f"tracekit runs recover {folder / 'recording.trace'}" in " ".join(errors.split())
    assert json.loads((folder / "recording.json").read_text())["stages"]["record"]["state"] == (
        "failed"
    )


def test_an_import_that_somebody_stops_leaves_nothing(
    kill: Callable[..., Path], scenario: Scenario, tmp_path: Path
) -> None:
    bundle = kill("Ctrl-C", ignores_limit=True)
    before = contents(bundle)
    said = tmp_path / "scenario.said"
    scenario(**{"import": "hang"})
    argv = (sys.executable, "-m", "tracekit", "runs", "recover", str(bundle), "--output", "new")
    with subprocess.Popen(argv, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        until(lambda: "Importing" in said.read_text(), "it imports")
        importing = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Interrupted while recovering; the old bundle is as it was." in errors
    assert contents(bundle) == before
    assert not (tmp_path / "new").exists()
    until(lambda: not any(child.is_running() for child in importing), "nothing is left running")
