"""Each scenario of the fake: what a user is told, what is kept, what is left running."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tracekit.errors import InterruptedRunError, RecordingError, ToolError, UsageError
from tracekit.journal import ClockAnchor, Journal
from tracekit.recorder import Attach, Launch, Recorded, Request, Target
from tracekit.recording import Recording
from tracekit.toc import read_toc
from tracekit.xctrace.attempts import Manner
from tracekit.xctrace.claim import Premises
from tracekit.xctrace.disk import Disk
from tracekit.xctrace.exporting import only
from tracekit.xctrace.lock import locked
from tracekit.xctrace.recorder import XctraceRecorder
from tracekit.xctrace.staging import opened
from tracekit.xctrace.stop_ladder import Deadlines
from tracekit.xctrace.tool import Patience, locate

Scenario = Callable[..., None]
Record = Callable[..., Recorded]

# Generous where a busy machine must not fail a test, short where a scenario hangs on purpose.
DEADLINES = Deadlines(
    start=20, slack=20, stopping=20, saving=20, exit=20, rungs=(20, 20, 20, 20), poll=0.02,
    survey=0.1,
)  # fmt: skip
STEEP = (0.2, 0.2, 0.2, 10)

TABLE = ["metal-gpu-intervals"]
QUICK = Launch(("/bin/true",))
SLOW = Launch(("/bin/sleep", "60"))
FAILING = Launch(("/bin/sh", "-c", "exit 3"))
COUNTERS = "GPU Service reported error: Selected counter profile is not supported on target device"


def runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def sleeper() -> Iterator[int]:
    with subprocess.Popen(("sleep", "60")) as process:
        yield process.pid
        process.kill()


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def record(scenario: Scenario, recording: Recording, told: list[str]) -> Record:
    """Record a target with the fake; what progress is told is in `told`."""

    def run(
        target: Target,
        *,
        limit: float = 30,
        deadlines: Deadlines = DEADLINES,
        progress: Callable[[str], None] = told.append,
        premises: Premises | None = None,
        verified: float = 1e9,
        **other: Any,
    ) -> Recorded:
        tool = locate(patience=Patience(pauses=(0, 0)))
        manner = Manner(deadlines, pauses=(0, 0), verified=verified)
        if premises is not None:
            manner = replace(manner, premises=premises)
        recorder = XctraceRecorder(tool, only(), manner)
        request = replace(Request(target, limit, counters="off"), **other)
        return recorder.record(request, recording, progress)

    return run


def test_a_program_that_ends_by_itself(
    record: Record, recording: Recording, told: list[str]
) -> None:
    recorded = record(QUICK)
    assert recorded.failure == ""
    assert recorded.warnings == ()
    assert recorded.end_reason == "Target app exited"
    assert not recorded.interrupted
    assert [one.name for one in recorded.targets] == ["true"]
    assert recorded.started <= recorded.ended
    assert told == [
        "xctrace is starting",
        "recording",
        "stopping",
        "saving; this can take minutes",
        "saved",
        "checking the bundle",
        "looking for GPU work of the target",
    ]
    assert read_toc(recording.toc_file).runs[0].template == "Metal System Trace"


def test_the_line_that_was_run_is_told(record: Record, recording: Recording) -> None:
    [line] = record(QUICK).command_lines
    assert Path(line[0]).name == "xctrace"
    assert line[1:9] == (
        "record", "--template", "Metal System Trace", "--time-limit", "30s",
        "--output", str(recording.bundle), "--no-prompt",
    )  # fmt: skip
    assert line[-3:] == ("--launch", "--", "/bin/true")


def test_a_program_that_outlives_the_limit_is_ended_and_the_trace_is_whole(
    record: Record,
) -> None:
    recorded = record(SLOW, limit=0.2)
    assert recorded.failure == ""
    assert recorded.end_reason == "Time limit reached"
    assert not runs(recorded.targets[0].pid)


def test_a_program_that_is_attached_to_lives_on(record: Record, sleeper: int) -> None:
    recorded = record(Attach(sleeper), limit=0.2)
    assert recorded.failure == ""
    assert recorded.targets[0].pid == sleeper
    assert psutil.pid_exists(sleeper)


def test_a_program_that_fails_is_told_with_how_it_ended(
    record: Record, recording: Recording
) -> None:
    recorded = record(FAILING)
    assert recorded.failure == (
        "The recorded program failed (exit(3)); the trace up to then is kept."
    )
    assert recording.bundle.is_dir()


def test_what_the_program_prints_is_kept(record: Record, recording: Recording) -> None:
    record(Launch(("/bin/sh", "-c", "echo $GREETING"), {"GREETING": "hello"}))
    assert (recording.folder / "target-output.txt").read_text() == "hello\n"


def test_children_of_the_target_count_as_targets(record: Record) -> None:
    recorded = record(Launch(("/bin/sh", "-c", "sleep 1; true")))
    assert [one.name for one in recorded.targets] == ["sh", "sleep"]


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param({"full_stop": True}, id="full-stop"),
        pytest.param({"silent_save": True}, id="no-saved-line"),
        pytest.param({"repeat_lines": True}, id="lines-twice"),
        pytest.param({"noise": 5_000_000}, id="megabytes-of-noise"),
        pytest.param({"start_delay": 0.3}, id="starts-late"),
        pytest.param({"missing_template": 2}, id="not-yet-exportable"),
        pytest.param({"inherit": True}, id="hands-its-environment-on"),
        pytest.param({"prompts": True}, id="would-prompt"),
    ],
)
def test_oddities_that_change_nothing(
    record: Record, scenario: Scenario, keys: dict[str, Any]
) -> None:
    scenario(**keys)
    recorded = record(QUICK)
    assert (recorded.failure, recorded.warnings) == ("", ())


@pytest.mark.parametrize(
    ("keys", "target", "part"),
    [
        pytest.param(
            {"issues": [["Warning", COUNTERS]]}, QUICK,
            "GPU counters are not available on this chip and Xcode: xctrace says", id="warning",
        ),
        pytest.param(
            {
                "translate": {
                    "Starting recording": "La grabación empieza",
                    "Ctrl-C to stop the recording": "Ctrl-C para terminar",
                    "Target app exited, ending recording...": "El proceso ha terminado",
                    "Recording completed. Saving output file...": "Guardando",
                    "Output file saved as: recording.trace": "Guardado: recording.trace",
                }
            },
            QUICK, "xctrace did not speak English", id="another-language",
        ),
        pytest.param(
            {"leaves_staging": True}, QUICK, "xctrace left 1 MB of staging files", id="staging"
        ),
    ],
)  # fmt: skip
def test_whole_with_a_warning(
    record: Record, scenario: Scenario, keys: dict[str, Any], target: Target, part: str
) -> None:
    scenario(**keys)
    recorded = record(target)
    assert recorded.failure == ""
    [warning] = recorded.warnings
    assert warning.startswith(part)


def test_a_limit_that_is_ignored_is_kept_by_us(
    record: Record, scenario: Scenario, sleeper: int
) -> None:
    scenario(ignores_limit=True)
    recorded = record(Attach(sleeper), limit=0.1, deadlines=replace(DEADLINES, slack=0.5))
    assert recorded.failure == ""
    assert recorded.end_reason == "User stopped recording"
    assert recorded.warnings == ("xctrace did not stop in time and was stopped with SIGINT.",)


def test_a_bundle_that_grows_may_be_saved_for_long(record: Record, scenario: Scenario) -> None:
    scenario(save_delay=2.5)
    recorded = record(QUICK, deadlines=replace(DEADLINES, saving=1.5))
    assert (recorded.failure, recorded.warnings) == ("", ())


def test_what_is_written_is_told(record: Record, scenario: Scenario, told: list[str]) -> None:
    scenario(leaves_staging=True)
    record(SLOW, limit=0.5)
    assert any(one.endswith("(1 MB so far)") for one in told)


def test_errors_of_xctrace_make_a_partial_recording(
    record: Record, scenario: Scenario, recording: Recording
) -> None:
    scenario(issues=[["Error", "Hitches is not supported on this platform."]])
    recorded = record(QUICK)
    assert recorded.failure == (
        "xctrace recorded with errors: Hitches is not supported on this platform. "
        "What it saved is kept."
    )
    assert recording.bundle.is_dir()


def test_counters_that_were_asked_for_and_did_not_come(record: Record, scenario: Scenario) -> None:
    scenario(counter_set="(null)")
    recorded = record(QUICK, counters="on")
    [warning] = recorded.warnings
    assert warning.startswith(
        "GPU counters are not available on this chip and Xcode: the recording names no counter "
        "set. In Instruments choose Recording Options > GPU > Counter Set"
    )


def test_counters_that_came(record: Record) -> None:
    assert record(QUICK, counters="on").warnings == ()


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(
            {"refuse": {"code": 21, "text": "Cannot find process for provided pid: 1", "times": 2}},
            id="pid-not-found-yet",
        ),
        pytest.param(
            {"refuse": {"code": 2, "text": "_lockKPerf: could not lock kperf.", "times": 1}},
            id="performance-lock",
        ),
        pytest.param({"die": {"at": "start", "code": 139, "times": 1}}, id="died-at-start"),
    ],
)
def test_failures_that_pass_are_tried_again(
    record: Record, scenario: Scenario, told: list[str], sleeper: int, keys: dict[str, Any]
) -> None:
    scenario(**keys)
    assert record(Attach(sleeper), limit=0.1).failure == ""
    assert "xctrace could not start; trying again in 0 s" in told


def test_what_a_failed_try_left_is_kept_aside(
    record: Record, scenario: Scenario, recording: Recording
) -> None:
    scenario(locked=1)
    recording.journal_file.touch()
    recorded = record(Launch(("/bin/true",), journal=recording.journal_file))
    assert recorded.failure == ""
    assert (recording.folder / "recording-try-1.trace").is_dir()
    assert (recording.folder / "workload-try-1.jsonl").exists()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        pytest.param(
            {"refuse": {"code": 21, "text": "Cannot find process for provided pid: 1"}},
            r"Nothing was recorded: xctrace ended before it said anything\. There is no process "
            r"with that id(.|\n)*failed with exit code 21:\nCannot find process",
            id="pid-not-found",
        ),
        pytest.param(
            {"refuse": {"code": 30, "text": "Provided template parameter 'A' is ambiguous"}},
            "Two templates have this name", id="ambiguous-template",
        ),
        pytest.param(
            {"refuse": {"code": 1, "text": "Failed starting ktrace session."}},
            "The system does not let xctrace start a kernel trace", id="no-ktrace",
        ),
        pytest.param(
            {"die": {"at": "start", "code": 139}},
            r"xctrace ended before it began to record\.(.|\n)*signal SIGSEGV", id="dies-always",
        ),
        pytest.param(
            {"die": {"at": "saving", "code": 139}},
            r"xctrace ended while it saved\. The bundle has no template document", id="dies-saving",
        ),
        pytest.param({"saves": False}, "There is no bundle at", id="no-bundle"),
        pytest.param(
            {"missing_template": 99}, "The bundle has no template document", id="not-exportable"
        ),
    ],
)  # fmt: skip
def test_nothing_came_and_why(
    record: Record, scenario: Scenario, keys: dict[str, Any], message: str
) -> None:
    scenario(**keys)
    with pytest.raises(ToolError, match=message):
        record(QUICK)


@pytest.mark.parametrize(
    ("hang", "short", "when"),
    [
        ("announced", {"start": 3}, "before it began to record"),
        ("recording", {"slack": 0.3}, "while it recorded"),
        ("stopping", {"stopping": 0.3}, "while it stopped"),
        ("saving", {"saving": 0.3}, "while it saved"),
    ],
)
def test_a_recorder_that_hangs_is_ended_and_nothing_is_left_running(
    record: Record, scenario: Scenario, hang: str, short: dict[str, Any], when: str
) -> None:
    scenario(hang=hang)
    deadlines = replace(DEADLINES, rungs=STEEP, **short)
    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(ToolError, match=f"xctrace hung {when} and had to be killed") as caught:
        record(Attach(os.getpid()), limit=0.1, deadlines=deadlines)
    assert "--attach" in caught.value.hint
    assert set(psutil.Process().children(recursive=True)) == before


def test_a_recorder_that_hangs_after_it_saved_loses_nothing(
    record: Record, scenario: Scenario, recording: Recording
) -> None:
    scenario(hang="saved")
    recorded = record(QUICK, deadlines=replace(DEADLINES, exit=0.3, rungs=STEEP))
    assert recorded.failure.startswith("xctrace hung after it had saved and had to be killed")
    assert recording.bundle.is_dir()


def test_a_hung_recorder_that_heeds_terminate_is_not_killed(
    record: Record, scenario: Scenario, recording: Recording
) -> None:
    scenario(hang="stopping", deaf_to_term=False)
    with pytest.raises(ToolError, match="while it stopped and had to be killed"):
        record(QUICK, deadlines=replace(DEADLINES, stopping=0.3, rungs=(0.2, 0.2, 20, 10)))


def test_a_worker_that_is_left_running_is_ended_by_its_own_pid(
    record: Record, scenario: Scenario, recording: Recording
) -> None:
    scenario(leaves_target=True)
    recorded = record(SLOW, limit=0.2)
    assert recorded.failure == ""
    assert not runs(recorded.targets[0].pid)


def interrupting(
    moment: str, told: list[str], number: int = signal.SIGINT
) -> Callable[[str], None]:
    """Make a progress that sends us a signal when it is told `moment`."""

    def progress(text: str) -> None:
        told.append(text)
        if text == moment:
            os.kill(os.getpid(), number)

    return progress


@pytest.mark.parametrize("moment", ["recording", "stopping", "saving; this can take minutes"])
def test_ctrl_c_stops_and_saves(record: Record, told: list[str], moment: str) -> None:
    limit = 30 if moment == "recording" else 0.3
    recorded = record(SLOW, limit=limit, progress=interrupting(moment, told))
    assert recorded.interrupted
    assert recorded.failure == ""
    assert recorded.warnings == ()
    assert "asked xctrace to stop and to save what it has" in told
    assert told[-1] == "checking the bundle"
    assert not runs(recorded.targets[0].pid)


def test_terminate_stops_and_saves_too(record: Record, told: list[str]) -> None:
    recorded = record(SLOW, progress=interrupting("recording", told, signal.SIGTERM))
    assert recorded.interrupted
    assert recorded.failure == ""
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_ctrl_c_while_the_bundle_is_checked_loses_nothing(
    record: Record, recording: Recording, told: list[str], sleeper: int
) -> None:
    recorded = record(
        Attach(sleeper), limit=0.1, progress=interrupting("checking the bundle", told)
    )
    assert recorded.interrupted
    assert recorded.targets[0].pid == sleeper
    assert recorded.warnings[0].startswith("The bundle was saved, but not checked")
    assert recording.bundle.is_dir()


def test_ctrl_c_before_anything_was_recorded(
    record: Record, scenario: Scenario, told: list[str]
) -> None:
    scenario(hang="announced")
    with pytest.raises(InterruptedRunError, match="Stopped before anything was recorded"):
        record(
            QUICK,
            deadlines=replace(DEADLINES, rungs=STEEP),
            progress=interrupting("xctrace is starting", told),
        )


def test_an_existing_bundle_is_never_touched(record: Record, recording: Recording) -> None:
    recording.bundle.mkdir()
    (recording.bundle / "mine").touch()
    with pytest.raises(RecordingError, match="exists already"):
        record(QUICK)
    assert [path.name for path in recording.bundle.iterdir()] == ["mine"]


def test_a_process_that_is_not_there(record: Record) -> None:
    with pytest.raises(UsageError, match="There is no process 999999999 to attach to"):
        record(Attach(999_999_999))


def test_a_template_that_is_not_there(record: Record) -> None:
    with pytest.raises(UsageError, match="This Xcode has no template 'Metal Trace'") as caught:
        record(QUICK, templates=("Metal Trace",))
    assert "Metal System Trace" in caught.value.hint


def test_the_clock_is_laid_on_the_worker_s(
    record: Record, scenario: Scenario, tmp_path: Path
) -> None:
    scenario(start_date="1970-01-01T00:01:40.500+00:00")
    journal = Journal(tmp_path / "workload.jsonl")
    anchor = ClockAnchor(monotonic=7_000_000_000, epoch=100_000_000_000)
    journal.write("anchor", monotonic=anchor.monotonic, epoch=anchor.epoch)
    journal.close()
    recorded = record(Launch(("/bin/true",), journal=tmp_path / "workload.jsonl"))
    assert recorded.clock["origin"] == 7_500_000_000
    assert recorded.clock["uncertainty"] == 1_000_000


def premises(tmp_path: Path, *free: float) -> Premises:
    """Return premises with a floor of 10 GB and so much free, in GB, from one look to the next."""
    looks = iter(free)
    last = free[-1]
    return Premises(tmp_path / "notes", Disk(10e9, lambda _: int(next(looks, last) * 1e9)))


def test_too_little_disk_forbids_a_recording(
    record: Record, recording: Recording, tmp_path: Path
) -> None:
    with pytest.raises(RecordingError, match=r"Nothing was recorded: 9\.5 GB are free") as caught:
        record(QUICK, premises=premises(tmp_path, 9.5))
    assert "Make room" in caught.value.hint
    assert not recording.bundle.exists()


def test_a_disk_that_fills_while_recording_stops_it_and_all_is_saved(
    record: Record, recording: Recording, tmp_path: Path
) -> None:
    recorded = record(SLOW, premises=premises(tmp_path, *[50] * 6, 9))
    assert recorded.failure.startswith(
        f"The recording was stopped before its time: 9.0 GB are free where {recording.folder} lies"
    )
    assert recorded.failure.endswith("What it saved is kept.")
    assert recorded.warnings == ()
    assert recorded.end_reason == "User stopped recording"
    assert recorded.target_rows


def test_a_disk_that_runs_low_while_saving_does_not_lose_what_is_saved(
    record: Record, scenario: Scenario, told: list[str], tmp_path: Path
) -> None:
    scenario(save_delay=1)
    free = Disk(10e9, lambda _: int(9e9 if "saving; this can take minutes" in told else 50e9))
    recorded = record(QUICK, premises=Premises(tmp_path / "notes", free))
    assert recorded.failure.startswith("The recording was stopped before its time")
    assert told.count("asked xctrace to stop and to save what it has") == 1
    assert recorded.target_rows


def test_a_disk_that_is_all_but_full_ends_even_a_saving_recorder(
    record: Record, scenario: Scenario, told: list[str], tmp_path: Path
) -> None:
    scenario(hang="saving")
    free = Disk(10e9, lambda _: int(0.5e9 if "saving; this can take minutes" in told else 50e9))
    with pytest.raises(ToolError, match="xctrace was killed while it saved") as caught:
        record(QUICK, premises=Premises(tmp_path / "notes", free))
    assert "0.5 GB are free where" in caught.value.message


def test_one_records_at_a_time(record: Record, recording: Recording, tmp_path: Path) -> None:
    notes = Premises(tmp_path / "notes", Disk(0))
    with (
        locked(Path("/runs/other"), notes.notes),
        pytest.raises(ToolError, match=f"Another recording runs: process {os.getpid()}, since"),
    ):
        record(QUICK, premises=notes)
    assert not recording.bundle.exists()
    assert record(QUICK, premises=notes).failure == ""


def test_a_recording_that_did_not_give_the_machine_back_is_told(
    record: Record, tmp_path: Path
) -> None:
    notes = Premises(tmp_path / "notes", Disk(0))
    with locked(Path("/runs/other"), notes.notes):
        [lock] = notes.notes.iterdir()
        note = lock.read_bytes()
    lock.write_bytes(note)
    [warning] = record(QUICK, premises=notes).warnings
    assert warning.startswith("The recording into /runs/other, begun at ")


def test_staging_files_of_a_recording_go_when_nobody_needs_them(
    record: Record, scenario: Scenario, recording: Recording, tmp_path: Path
) -> None:
    if opened(tmp_path) is None:
        pytest.skip("no lsof to ask")
    staging = tmp_path / "staging"
    other = staging / "instruments-of-someone-else.ktrace"
    other.touch()
    scenario(leaves_staging=True)
    recorded = record(QUICK, premises=Premises(tmp_path / "notes", Disk(0), staging_age=0))
    assert recorded.warnings == ()
    assert list(staging.glob("*.ktrace")) == [other]


def test_staging_files_that_stayed_go_with_a_later_export(
    record: Record, scenario: Scenario, recording: Recording, tmp_path: Path
) -> None:
    if opened(tmp_path) is None:
        pytest.skip("no lsof to ask")
    scenario(leaves_staging=True)
    notes = Premises(tmp_path / "notes", Disk(0))
    [warning] = record(QUICK, premises=notes).warnings
    assert "A later recording or export removes them" in warning
    later = Manner(premises=replace(notes, staging_age=0))
    XctraceRecorder(locate(), only(["metal-gpu-intervals"]), later).export(recording, print)
    assert list((tmp_path / "staging").glob("*.ktrace")) == []


@pytest.mark.parametrize(
    ("keys", "rows"),
    [({}, True), ({"others_only": True}, False), ({"empty": True}, False), ({"trap": TABLE}, None)],
)
def test_rows_of_the_target_are_looked_for(
    record: Record, scenario: Scenario, keys: dict[str, Any], *, rows: bool | None
) -> None:
    scenario(**keys)
    recorded = record(QUICK)
    assert recorded.target_rows is rows
    assert bool(recorded.warnings) == (rows is False)


def test_rows_of_a_large_bundle_are_left_to_the_export(record: Record) -> None:
    assert record(QUICK, verified=0).target_rows is None


def test_version_and_name(scenario: Scenario) -> None:
    recorder = XctraceRecorder(locate(), only())
    assert (recorder.name, recorder.version()) == ("xctrace", "xctrace version 26.0 (17C529)")


def test_there_is_nothing_to_export_without_a_bundle(
    scenario: Scenario, recording: Recording
) -> None:
    with pytest.raises(RecordingError, match="is not there, so it cannot be exported"):
        XctraceRecorder(locate(), only()).export(recording, print)


def test_the_interpreter_of_a_virtual_environment_is_launched_as_it_is(record: Record) -> None:
    recorded = record(Launch((sys.executable, "-I", "-S", "-c", "pass")))
    assert recorded.command_lines[0][-5:] == (sys.executable, "-I", "-S", "-c", "pass")
