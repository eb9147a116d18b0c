"""What a recording of the fake leaves: what is said, what is kept, what is running."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from children import running, started_since, until_gone
from recording_fakes import DEADLINES, QUICK, SLOW, STEEP, Record, Scenario, interrupting
from tracekit.base.errors import InterruptedRunError, RecordingError, ToolError
from tracekit.base.processes import runs
from tracekit.base.recording import Recording
from tracekit.record.recorder import Attach, Launch
from tracekit.record.xctrace.attempts import Manner
from tracekit.record.xctrace.claim import Premises, locked, opened
from tracekit.record.xctrace.exporting import only
from tracekit.record.xctrace.recorder import XctraceRecorder
from tracekit.record.xctrace.tool import locate
from tracekit.tables.toc import read_toc
from tracekit.workload.journal import Journal

pytestmark = pytest.mark.processes

SAVING = "saving; this can take minutes"
COUNTERS = "GPU Service reported error: Selected counter profile is not supported on target device"
SPANISH = {
    "Starting recording": "La grabación empieza",
    "Ctrl-C to stop the recording": "Ctrl-C para terminar",
    "Target app exited, ending recording...": "El proceso ha terminado",
    "Recording failed": "Ha fallado",
    "Output file saved as: recording.trace": "Guardado: recording.trace",
}


@pytest.fixture(autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    before = running()
    yield
    assert started_since(before) == []


def test_a_program_that_ends_by_itself(
    record: Record, scenario: Scenario, recording: Recording, told: list[str]
) -> None:
    scenario(
        start_date="1970-01-01T00:01:40.500+00:00", full_stop=True, repeat_lines=True,
        noise=200_000, inherit=True,
    )  # fmt: skip
    journal = Journal(recording.journal_file)
    journal.write("anchor", monotonic=7_000_000_000, epoch=100_000_000_000)
    journal.close()
    program = Launch(("/bin/sh", "-c", "sleep 1; true"), journal=recording.journal_file)
    recorded = record(program)
    assert (recorded.failure, recorded.warnings, recorded.interrupted) == ("", (), False)
    assert recorded.end_reason == "Target app exited"
    assert [target.name for target in recorded.targets] == ["sh", "sleep"]
    assert (recorded.clock["origin"], recorded.clock["uncertainty"]) == (7_500_000_000, 1_000_000)
    states = ["xctrace is starting", "recording", "stopping", SAVING, "saved"]
    assert told == [*states, "checking the bundle"]
    assert read_toc(recording.toc_file).runs[0].template == "Metal System Trace"


def test_what_was_recorded_with_trouble_is_kept_and_the_trouble_said(
    record: Record, scenario: Scenario, recording: Recording, tmp_path: Path
) -> None:
    issues = [["Warning", COUNTERS], ["Error", "Hitches is not supported."]]
    scenario(
        issues=issues, translate=SPANISH, leaves_staging=True, silent_save=True, prompts=True,
        missing_template=2,
    )  # fmt: skip
    other = tmp_path / "staging" / "instruments-of-someone-else.ktrace"
    other.touch()
    notes = Premises(tmp_path / "notes", 0)
    recorded = record(QUICK, premises=notes)
    said = "xctrace recorded with errors: Hitches is not supported. What it saved is kept."
    assert recorded.failure == said
    for warning, begins in zip(
        recorded.warnings,
        (
            "GPU counters are not available on this chip and Xcode: xctrace says: ",
            "xctrace did not speak English",
            "xctrace left 1 MB of staging files behind, which may still be in use",
        ),
        strict=True,
    ):
        assert warning.startswith(begins)
    if opened(tmp_path) is None:
        pytest.skip("no lsof to ask")
    later = Manner(premises=replace(notes, staging_age=0))
    XctraceRecorder(locate(), only(["metal-gpu-intervals"]), later).export(recording, print)
    assert list(other.parent.glob("*.ktrace")) == [other]


def test_a_program_that_fails_is_said_with_how_it_ended(record: Record) -> None:
    failure = "The recorded program failed (exit(3)); the trace up to then is kept."
    assert record(Launch(("/bin/sh", "-c", "exit 3"))).failure == failure


def test_a_program_that_outlives_the_limit_and_its_recorder_is_ended(
    record: Record, scenario: Scenario
) -> None:
    scenario(leaves_target=True)
    recorded = record(SLOW, limit=0.2)
    assert (recorded.failure, recorded.end_reason) == ("", "Time limit reached")
    until_gone(recorded.targets[0].pid)


def test_a_limit_that_is_ignored_is_kept_by_us_and_the_process_lives_on(
    record: Record, scenario: Scenario, sleeper: int
) -> None:
    scenario(ignores_limit=True)
    recorded = record(Attach(sleeper), limit=0.1, deadlines=replace(DEADLINES, slack=0.5))
    assert (recorded.failure, recorded.end_reason) == ("", "User stopped recording")
    assert recorded.warnings == ("xctrace did not stop in time and was stopped with SIGINT.",)
    assert recorded.targets[0].pid == sleeper
    assert runs(psutil.Process(sleeper))


def test_a_process_that_ends_early_ends_the_recording(record: Record, tmp_path: Path) -> None:
    seen = ("sh", "-c", 'until grep -qs Ctrl-C "$0"; do sleep 0.05; done')
    with subprocess.Popen((*seen, tmp_path / "scenario.said")) as process:
        recorded = record(Attach(process.pid), limit=600)
    assert recorded.warnings == (f"The process {process.pid} ended before the recording did.",)
    assert recorded.end_reason == "The target had ended, so xctrace was asked to stop"
    assert recorded.targets[0].pid == process.pid


def test_a_bundle_that_grows_may_be_saved_for_long(record: Record, scenario: Scenario) -> None:
    scenario(save_delay=2.5)
    recorded = record(QUICK, deadlines=replace(DEADLINES, saving=1.5))
    assert (recorded.failure, recorded.warnings) == ("", ())


@pytest.mark.parametrize(
    "keys",
    [
        {
            "refuse": {"code": 21, "text": "Cannot find process for provided pid: 1", "times": 1},
            "die": {"at": "start", "code": 139, "times": 1},
        },
        {"locked": 1},  # the performance counters
    ],
)
def test_failures_that_pass_are_tried_again_and_what_they_left_is_kept_aside(
    keys: dict[str, Any], record: Record, scenario: Scenario, recording: Recording, told: list[str]
) -> None:
    scenario(**keys)
    recording.journal_file.touch()
    recorded = record(Launch(("/bin/true",), journal=recording.journal_file))
    assert recorded.failure == ""
    assert told.count("xctrace could not start; trying again in 0 s") == len(keys)
    assert (recording.folder / "workload-try-1.jsonl").exists()
    assert (recording.folder / "recording-try-1.trace").is_dir() is ("locked" in keys)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"die": {"at": "start", "code": 139}},
            r"xctrace ended before it began to record\.(.|\n)*signal SIGSEGV",
        ),
        (
            {"die": {"at": "saving", "code": 139}},
            r"xctrace ended while it saved\. The bundle has no template document",
        ),
        ({"saves": False}, "There is no bundle at"),
    ],
)
def test_nothing_came_and_why(
    keys: dict[str, Any], message: str, record: Record, scenario: Scenario
) -> None:
    scenario(**keys)
    with pytest.raises(ToolError, match=message):
        record(QUICK)


@pytest.mark.parametrize(
    ("hang", "short", "when"),
    [
        ("announced", {"start": 3}, "before it began to record"),
        ("saving", {"saving": 0.3}, "while it saved"),
        ("saved", {"exit": 0.3}, "after it had saved"),
    ],
)
def test_a_recorder_that_hangs_is_ended(
    hang: str, short: dict[str, Any], when: str, record: Record, scenario: Scenario
) -> None:
    scenario(hang=hang)
    deadlines = replace(DEADLINES, signals=STEEP, **short)
    said = f"xctrace hung {when} and had to be killed; the recording"
    if hang == "saved":  # its bundle is there
        recorded = record(Attach(os.getpid()), limit=0.1, deadlines=deadlines)
        assert recorded.failure == f"{said} may lack its end."
        return
    with pytest.raises(ToolError, match=f"{said} is lost") as caught:
        record(Attach(os.getpid()), limit=0.1, deadlines=deadlines)
    assert "--attach" in caught.value.hint


@pytest.mark.parametrize("moment", ["recording", SAVING, "checking the bundle"])
def test_ctrl_c_stops_and_saves(
    moment: str, record: Record, recording: Recording, told: list[str]
) -> None:
    limit = 30 if moment == "recording" else 0.3
    recorded = record(SLOW, limit=limit, progress=interrupting(moment, told))
    assert (recorded.interrupted, recorded.failure) == (True, "")
    # Later on, the recording may have come to its end by itself.
    assert moment != "recording" or "asked xctrace to stop and to save what it has" in told
    assert told[-1] == "checking the bundle"
    checked = moment != "checking the bundle"
    assert ("The bundle was saved, but not checked" in "".join(recorded.warnings)) is not checked
    assert bool(recorded.targets) is checked
    assert recorded.command_lines
    assert recording.bundle.is_dir()


def test_ctrl_c_before_anything_was_recorded(
    record: Record, scenario: Scenario, told: list[str]
) -> None:
    scenario(hang="announced")
    deadlines = replace(DEADLINES, signals=STEEP)
    with pytest.raises(InterruptedRunError, match="Stopped before anything was recorded"):
        record(QUICK, deadlines=deadlines, progress=interrupting("xctrace is starting", told))


def test_a_disk_that_fills_stops_a_recording_and_all_is_saved(
    record: Record, recording: Recording, told: list[str], tmp_path: Path
) -> None:
    def filling(_: Path) -> int:
        return int(9e9 if "recording" in told else 50e9)

    recorded = record(SLOW, premises=Premises(tmp_path / "notes", 10e9, filling))
    assert recorded.failure.startswith(
        f"The recording was stopped before its time: 9.0 GB are free where {recording.folder} lies"
    )
    assert (recorded.warnings, recorded.end_reason) == ((), "User stopped recording")


def test_a_disk_that_is_all_but_full_forbids_a_recording_and_ends_even_a_saving_one(
    record: Record, scenario: Scenario, recording: Recording, told: list[str], tmp_path: Path
) -> None:
    with pytest.raises(RecordingError, match=r"Nothing was recorded: 9\.5 GB are free"):
        record(QUICK, premises=Premises(tmp_path / "notes", 10e9, lambda _: int(9.5e9)))
    held = locked(Path("/runs/other"), tmp_path / "notes")
    with held, pytest.raises(ToolError, match=f"recording runs: process {os.getpid()}, since"):
        record(QUICK, premises=Premises(tmp_path / "notes", 0))
    assert not recording.bundle.exists()
    scenario(hang="saving")

    def filling(_: Path) -> int:
        return int(0.5e9 if SAVING in told else 50e9)

    with pytest.raises(ToolError, match=r"stopped for 0\.5 GB are free .* is lost") as caught:
        record(QUICK, premises=Premises(tmp_path / "notes", 10e9, filling))
    assert "Make room" in caught.value.hint
