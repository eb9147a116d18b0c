"""What a recording of the fake leaves: what is said, what is kept, what is running."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from children import running, started_since
from recording_fakes import (
    COUNTERS,
    DEADLINES,
    FAILING,
    QUICK,
    SLOW,
    STEEP,
    Record,
    Scenario,
    interrupting,
    runs,
)
from tracekit.base.errors import InterruptedRunError, RecordingError, ToolError
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
NOT_FOUND = "Cannot find process for provided pid: 1"
SPANISH = {
    "Starting recording": "La grabación empieza",
    "Ctrl-C to stop the recording": "Ctrl-C para terminar",
    "Target app exited, ending recording...": "El proceso ha terminado",
    "Recording completed. Saving output file...": "Guardando",
    "Output file saved as: recording.trace": "Guardado: recording.trace",
}


def test_a_program_that_ends_by_itself(
    record: Record, scenario: Scenario, recording: Recording, told: list[str]
) -> None:
    scenario(start_date="1970-01-01T00:01:40.500+00:00")
    journal = Journal(recording.journal_file)
    journal.write("anchor", monotonic=7_000_000_000, epoch=100_000_000_000)
    journal.close()
    program = Launch(("/bin/sh", "-c", "sleep 1; true"), journal=recording.journal_file)
    recorded = record(program)
    assert (recorded.failure, recorded.warnings, recorded.interrupted) == ("", (), False)
    assert recorded.end_reason == "Target app exited"
    assert [target.name for target in recorded.targets] == ["sh", "sleep"]
    assert recorded.clock["origin"] == 7_500_000_000
    assert recorded.clock["uncertainty"] == 1_000_000
    states = ["xctrace is starting", "recording", "stopping", SAVING, "saved"]
    assert told == [*states, "checking the bundle"]
    assert read_toc(recording.toc_file).runs[0].template == "Metal System Trace"


@pytest.mark.parametrize(
    "keys",
    [
        {"full_stop": True, "repeat_lines": True, "noise": 5_000_000, "inherit": True},
        {"silent_save": True, "prompts": True, "start_delay": 0.3, "missing_template": 2},
    ],
)
def test_oddities_that_change_nothing(
    record: Record, scenario: Scenario, keys: dict[str, Any]
) -> None:
    scenario(**keys)
    recorded = record(QUICK)
    assert (recorded.failure, recorded.warnings) == ("", ())


@pytest.mark.parametrize(
    ("keys", "failure", "warning"),
    [
        ({"issues": [["Warning", COUNTERS]]}, "", "GPU counters are not available on this chip"),
        ({"translate": SPANISH}, "", "xctrace did not speak English"),
        ({"leaves_staging": True}, "", "xctrace left 1 MB of staging files"),
        (
            {"issues": [["Error", "Hitches is not supported."]]},
            "xctrace recorded with errors: Hitches is not supported. What it saved is kept.", "",
        ),
        ({"hang": "saved"}, "xctrace hung after it had saved and had to be killed", ""),
    ],
)  # fmt: skip
def test_what_is_said_of_a_recording_that_is_kept(
    *, keys: dict[str, Any], failure: str, warning: str,
    record: Record, scenario: Scenario, recording: Recording,
) -> None:  # fmt: skip
    scenario(**keys)
    recorded = record(QUICK, deadlines=replace(DEADLINES, exit=0.3, signals=STEEP))
    assert recorded.failure.startswith(failure)
    assert bool(recorded.failure) is bool(failure)
    assert "".join(recorded.warnings).startswith(warning)
    assert recording.bundle.is_dir()


def test_a_program_that_fails_is_said_with_how_it_ended(record: Record) -> None:
    failure = "The recorded program failed (exit(3)); the trace up to then is kept."
    assert record(FAILING).failure == failure


@pytest.mark.parametrize("left", [False, True])
def test_a_program_that_outlives_the_limit_is_ended(
    left: bool, record: Record, scenario: Scenario
) -> None:
    scenario(leaves_target=left)
    recorded = record(SLOW, limit=0.2)
    assert (recorded.failure, recorded.end_reason) == ("", "Time limit reached")
    assert not runs(recorded.targets[0].pid)


def test_a_limit_that_is_ignored_is_kept_by_us_and_the_process_lives_on(
    record: Record, scenario: Scenario, sleeper: int
) -> None:
    scenario(ignores_limit=True)
    recorded = record(Attach(sleeper), limit=0.1, deadlines=replace(DEADLINES, slack=0.5))
    assert (recorded.failure, recorded.end_reason) == ("", "User stopped recording")
    assert recorded.warnings == ("xctrace did not stop in time and was stopped with SIGINT.",)
    assert recorded.targets[0].pid == sleeper
    assert psutil.pid_exists(sleeper)


def test_a_bundle_that_grows_may_be_saved_for_long(record: Record, scenario: Scenario) -> None:
    scenario(save_delay=2.5)
    recorded = record(QUICK, deadlines=replace(DEADLINES, saving=1.5))
    assert (recorded.failure, recorded.warnings) == ("", ())


@pytest.mark.parametrize(
    "keys",
    [
        {"refuse": {"code": 21, "text": NOT_FOUND, "times": 2}},
        {"die": {"at": "start", "code": 139, "times": 1}},
        {"locked": 1},  # the performance counters
    ],
)
def test_failures_that_pass_are_tried_again_and_what_they_left_is_kept_aside(
    keys: dict[str, Any],
    record: Record,
    scenario: Scenario,
    recording: Recording,
    told: list[str],
) -> None:
    scenario(**keys)
    recording.journal_file.touch()
    recorded = record(Launch(("/bin/true",), journal=recording.journal_file))
    assert recorded.failure == ""
    assert "xctrace could not start; trying again in 0 s" in told
    assert (recording.folder / "workload-try-1.jsonl").exists()
    assert (recording.folder / "recording-try-1.trace").is_dir() is ("locked" in keys)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"refuse": {"code": 21, "text": NOT_FOUND}},
            r"xctrace ended before it said anything\. There is no process(.|\n)*code 21:\nCannot",
        ),
        (
            {"die": {"at": "start", "code": 139}},
            r"xctrace ended before it began to record\.(.|\n)*signal SIGSEGV",
        ),
        (
            {"die": {"at": "saving", "code": 139}},
            r"xctrace ended while it saved\. The bundle has no template document",
        ),
        ({"saves": False}, "There is no bundle at"),
        ({"missing_template": 99}, "The bundle has no template document"),
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
        ("recording", {"slack": 0.3}, "while it recorded"),
        ("saving", {"saving": 0.3}, "while it saved"),
    ],
)
def test_a_recorder_that_hangs_is_ended_and_nothing_is_left_running(
    hang: str, short: dict[str, Any], when: str, record: Record, scenario: Scenario
) -> None:
    scenario(hang=hang)
    deadlines = replace(DEADLINES, signals=STEEP, **short)
    before = running()
    with pytest.raises(ToolError, match=f"xctrace hung {when} and had to be killed") as caught:
        record(Attach(os.getpid()), limit=0.1, deadlines=deadlines)
    assert "--attach" in caught.value.hint
    assert started_since(before) == []


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
    assert recorded.failure.endswith("What it saved is kept.")
    assert (recorded.warnings, recorded.end_reason) == ((), "User stopped recording")


def test_a_disk_that_is_all_but_full_forbids_a_recording_and_ends_even_a_saving_one(
    record: Record, scenario: Scenario, recording: Recording, told: list[str], tmp_path: Path
) -> None:
    with pytest.raises(RecordingError, match=r"Nothing was recorded: 9\.5 GB are free"):
        record(QUICK, premises=Premises(tmp_path / "notes", 10e9, lambda _: int(9.5e9)))
    assert not recording.bundle.exists()
    scenario(hang="saving")

    def filling(_: Path) -> int:
        return int(0.5e9 if SAVING in told else 50e9)

    with pytest.raises(ToolError, match=r"stopped for 0\.5 GB are free .* is lost") as caught:
        record(QUICK, premises=Premises(tmp_path / "notes", 10e9, filling))
    assert "Make room" in caught.value.hint


def test_one_records_at_a_time(record: Record, recording: Recording, tmp_path: Path) -> None:
    notes = Premises(tmp_path / "notes", 0)
    held = locked(Path("/runs/other"), notes.notes)
    with held, pytest.raises(ToolError, match=f"recording runs: process {os.getpid()}, since"):
        record(QUICK, premises=notes)
    assert not recording.bundle.exists()


def test_staging_files_go_when_nobody_needs_them(
    record: Record, scenario: Scenario, recording: Recording, tmp_path: Path
) -> None:
    if opened(tmp_path) is None:
        pytest.skip("no lsof to ask")
    other = tmp_path / "staging" / "instruments-of-someone-else.ktrace"
    other.touch()
    scenario(leaves_staging=True)
    notes = Premises(tmp_path / "notes", 0)
    [warning] = record(QUICK, premises=notes).warnings
    assert "A later recording or export removes them" in warning
    later = Manner(premises=replace(notes, staging_age=0))
    XctraceRecorder(locate(), only(["metal-gpu-intervals"]), later).export(recording, print)
    assert list(other.parent.glob("*.ktrace")) == [other]
