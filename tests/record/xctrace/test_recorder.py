"""Whether a recording counts as whole, and what a recording of the fake leaves and says."""

import os
import re
import subprocess
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGTERM
from typing import Any

import pytest

from children import until_gone
from recording_fakes import (
    DEADLINES,
    QUICK,
    SLOW,
    STEEP,
    Record,
    Scenario,
    archive,
    interrupting,
)
from tracekit.base.choices import RecordingChoices
from tracekit.base.errors import InterruptedRunError, RecordingError, ToolError
from tracekit.base.recording import Process, Recording
from tracekit.record.recorder import Attach, ProgramLaunch, RecordingRequest
from tracekit.record.xctrace.attempts import Manner
from tracekit.record.xctrace.claim import Premises, hold_user_lock
from tracekit.record.xctrace.exporting import choose_only
from tracekit.record.xctrace.judgement import early_end, judge, nothing_came, warnings
from tracekit.record.xctrace.progress import RecordingState, RecordingTranscript
from tracekit.record.xctrace.recorder import XctraceRecorder
from tracekit.record.xctrace.recording_process import Asker, Ended
from tracekit.record.xctrace.template_archive import read_template
from tracekit.record.xctrace.tool import locate
from tracekit.tables.toc import TocRun, read_toc
from tracekit.workload.journal import ClockAnchor, Journal, StepMark, WorkloadReport

COUNTERS = "GPU Service reported error: Selected counter profile is not supported on target device"
SAVED = RecordingTranscript(state=RecordingState.SAVED, stop_line="Reached specified time limit")
EXITED = replace(SAVED, stop_line="Target app exited")
STOPPED = replace(SAVED, stop_line="Stopping recording")
RUN = TocRun(1, target=Process(7, "python"), duration=5.6, exit_status="0")
DONE = WorkloadReport(state="done", complete=True, pid=7, steps=(StepMark("steady", 0, 1, 2),))
UNSTEADY = replace(DONE, steps=(StepMark("warm-up", 0, 1, 2),))
STEADY = WorkloadReport(state="interrupted", steps=(StepMark("steady", 0, 1, 2),))
KILLED = (SIGINT, SIGINT, SIGTERM, SIGKILL)


def make_failed_run(status: str, reason: str = "", **more: Any) -> TocRun:
    return replace(RUN, exit_status=status, termination_reason=reason, **more)


def broke(error: str) -> WorkloadReport:
    return WorkloadReport(state="failed", error=error)


PROGRAM, WORKLOAD = "The recorded program failed", "The workload failed; the trace up to then is"


def test_whole_and_incomplete_recordings() -> None:
    for ending, run, launched, report, failure in (
        (Ended(SAVED, 0), RUN, False, None, ""),
        (Ended(EXITED, 0), RUN, True, None, ""),
        (Ended(SAVED, 54), make_failed_run("9", "SIGKILL"), True, None, ""),  # ended at its limit
        (Ended(STOPPED, 54, (SIGINT,), True), make_failed_run("2", "SIGINT"), True, None, ""),
        (Ended(SAVED, 130, (SIGINT,), interrupted=True), RUN, False, None, ""),
        (Ended(EXITED, 54), make_failed_run("1"), True, DONE, ""),  # the worker knows better
        (
            Ended(RecordingTranscript(foreign=True), 54),
            make_failed_run("9", "SIGKILL", end_reason="Time limit reached"), True, None, "",
        ),
        (Ended(replace(SAVED, state=RecordingState.STARTED), 0), RUN, False, None, ""),
        (Ended(SAVED, 0), RUN, False, STEADY, ""),
        (Ended(EXITED, 54), make_failed_run("3", "exit(3)"), True, None,
         f"{PROGRAM} (exit(3)); the trace"),
        (Ended(EXITED, 54), make_failed_run(""), True, None,
         f"{PROGRAM}; the trace up to then is kept."),
        (Ended(EXITED, 0), make_failed_run("11"), True, None,
         f"{PROGRAM} (exit status 11); the trace"),
        (
            Ended(EXITED, 54), make_failed_run("1"), True, broke("No memory."),
            f"{PROGRAM} (exit status 1); the trace up to then is kept. No memory.",
        ),
        (Ended(SAVED, 54), make_failed_run("9"), True, broke("Bad shape."),
         f"{WORKLOAD} kept. Bad shape."),
        (Ended(SAVED, 0), RUN, False, broke("Bad shape."), f"{WORKLOAD} kept. Bad shape."),
        (Ended(SAVED, 0), RUN, False, UNSTEADY, "The recording ended before the workload came to"),
        (Ended(EXITED, 0), RUN, True, UNSTEADY, "The recording ended before the workload came to"),
        (Ended(EXITED, 0), RUN, True, WorkloadReport(), "The workload never began: it wrote"),
        (Ended(SAVED, 0, (SIGINT,), is_unstarted=True), RUN, True, None, "xctrace was started tw"),
        (
            Ended(replace(SAVED, failed=True, errors=("No attach.",)), 2), RUN, False, None,
            "xctrace recorded with errors: No attach. The saved part is kept.",
        ),
        (Ended(replace(SAVED, failed=True), 2), RUN, False, None, "xctrace recorded with errors: "),
        (Ended(SAVED, 0), replace(RUN, duration=0.0), False, None, "The bundle holds no data"),
        (Ended(SAVED, 54), RUN, False, None, "xctrace ended with exit code 54; the saved part"),
        (Ended(SAVED, 139), RUN, False, None, "xctrace ended with signal SIGSEGV; the saved part"),
        (Ended(SAVED, None), RUN, False, None, "xctrace ended in an unknown way; the saved part"),
        (Ended(SAVED, 0, halted="no room"), RUN, True, None, "The recording was stopped early"),
        (
            Ended(SAVED, -9, KILLED), RUN, False, None,
            "xctrace hung after it had saved and had to be killed; the recording may lack its end.",
        ),
        (Ended(SAVED, -SIGTERM), RUN, False, None, "xctrace hung after it had saved"),
    ):  # fmt: skip
        worked = report is not None
        message = judge(ending, run, launched=launched, report=report, worked=worked)
        assert message.startswith(failure), (ending, run, report)
        assert bool(message) is bool(failure), (ending, run, report)


LATE = "xctrace did not stop in time and was stopped with SIGINT."


def test_warnings_are_of_xctrace_and_signals_nobody_asked_for() -> None:
    for ending, warning_words in (
        (Ended(replace(SAVED, warnings=("Odd.",)), 0), "xctrace warns: Odd."),
        (Ended(replace(SAVED, warnings=(COUNTERS,)), 0), f"xctrace says: {COUNTERS}"),
        (Ended(replace(SAVED, foreign=True), 0), "xctrace did not speak English"),
        (Ended(SAVED, 0, (SIGINT,), askers=(Asker.DEADLINE,)), LATE),
        (Ended(SAVED, 0, (SIGINT,), askers=(Asker.PERSON,), interrupted=True), ""),
        (Ended(SAVED, 0, (SIGINT,), askers=(Asker.TARGET,), finished=True), ""),
        (
            Ended(SAVED, 0, (SIGINT, SIGINT), askers=(Asker.TARGET, Asker.DEADLINE), finished=True),
            "did not stop in time and was stopped with SIGINT.",
        ),
        (
            Ended(
                SAVED, 0, (SIGINT, SIGINT), askers=(Asker.PERSON, Asker.DEADLINE), interrupted=True
            ),
            "to stop 2 times: SIGINT by you or the system, SIGINT by tracekit, which had waited",
        ),
        (
            Ended(
                SAVED, 0, (SIGINT, SIGINT), askers=(Asker.PERSON, Asker.PERSON), interrupted=True
            ),
            "to stop 2 times: SIGINT by you or the system, SIGINT by you or the system.",
        ),
        (Ended(SAVED, 0, slept=62.4), "slept for 62 s while it was recorded, so its times are"),
        (Ended(SAVED, -9, KILLED), ""),
    ):
        remarks = warnings(ending)
        outcome = (warning_words in "".join(remarks), len(remarks))
        assert outcome == (True, bool(warning_words)), (ending, remarks)


ARGV = ("/X/xctrace", "record", "--attach", "5")
TARGET = Attach(5)


def test_nothing_came_quotes_line_and_words() -> None:
    ending = Ended(RecordingTranscript(complaints=("Cannot find process for provided pid: 5",)), 21)
    error = nothing_came(ending, TARGET, ARGV, "There is no bundle.")
    message = (
        "Nothing was recorded: xctrace ended before it said anything. There is no process with "
        "that id to attach to. /X/xctrace record --attach 5 failed with exit code 21:\n"
        "Cannot find process for provided pid: 5\nThere is no bundle."
    )
    assert (error.message, error.hint) == (message, "Check that the program still runs.")
    finished = replace(ending, finished=True)
    error = nothing_came(finished, TARGET, ARGV, "There is no bundle.")
    assert error.message == f"{message}\nThe process 5 ended before the recording did."
    assert early_end(finished, ProgramLaunch(("true",))) == ()


def test_nothing_came_of_a_recorder_that_hung() -> None:
    for state, halted, message in (
        (RecordingState.ANNOUNCED, "", "xctrace hung before it began to record"),
        (RecordingState.STOPPING, "", "xctrace hung while it stopped"),
        (RecordingState.SAVING, "no room is left", "xctrace was stopped because no room is left"),
    ):
        ending = Ended(RecordingTranscript(state=state), -9, KILLED, halted=halted)
        error = nothing_came(ending, TARGET, ARGV, "")
        assert error.message == f"{message} and had to be killed; it did not save."
        assert ("/X/xctrace record --attach 5" in error.hint) is (halted == ""), message


SAVING = "saving; this can take minutes"


def test_a_program_that_ends_by_itself(
    record: Record, scenario: Scenario, recording: Recording, told: list[str]
) -> None:
    scenario(start_date="1970-01-01T00:01:40.500+00:00", noise=200_000, save_delay=2.5)
    with closing(Journal(recording.journal_file)) as journal:
        journal.write("about", pid=4194304)
        journal.write("anchor", monotonic=7_000_000_000, epoch=100_000_000_000)
        journal.write("step", phase="steady", start=0, submitted=1, completed=2)
    program = ProgramLaunch(("/bin/sh", "-c", "sleep 1; true"), journal=recording.journal_file)
    # a bundle that grows may be saved for long
    recorded = record(program, deadlines=replace(DEADLINES, saving=1.5))
    assert (recorded.failure, recorded.warnings, recorded.interrupted) == ("", (), False)
    assert recorded.end_reason == "Target app exited"
    assert [target.name for target in recorded.targets] == ["sh", "sleep"]
    assert (recorded.clock["origin"], recorded.clock["uncertainty"]) == (7_500_000_000, 1_000_000)
    states = ["xctrace is starting", "recording", "stopping", SAVING, "saved"]
    assert told == [*states, "checking the bundle"]
    assert read_toc(recording.toc_file).runs[0].template == "Metal System Trace"


def test_a_troubled_recording_is_kept_and_its_trouble_reported(
    record: Record, scenario: Scenario, recording: Recording, told: list[str], tmp_path: Path
) -> None:
    issues = [["Warning", COUNTERS], ["Error", "Hitches is not supported."]]
    scenario(issues=issues, leaves_staging=True, prompts=True, missing_template=2)
    other_file = tmp_path / "staging" / "instruments-of-someone-else.ktrace"
    other_file.write_bytes(bytes(5_000_000))
    notes = Premises(tmp_path / "notes", 0, is_open=lambda _: False)
    recorded = record(ProgramLaunch(("/bin/sleep", "0.5")), premises=notes)
    message = "xctrace recorded with errors: Hitches is not supported. The saved part is kept."
    assert recorded.failure == message
    counters, staging = recorded.warnings
    assert counters.startswith("GPU counters are not available on this chip and Xcode: xctrace say")
    assert re.match(r"xctrace left 1 MB of staging files .* in use: /.*\.ktrace\. A later", staging)
    assert any(text.endswith(" (1 MB so far)") for text in told)
    later = Manner(premises=replace(notes, staging_age=0))
    XctraceRecorder(locate(), choose_only(["metal-gpu-intervals"]), later).export(recording, print)
    assert list(other_file.parent.glob("*.ktrace")) == [other_file]


def test_a_slow_start_is_reported_and_a_second_one_follows_a_rest(
    record: Record, scenario: Scenario, told: list[str]
) -> None:
    scenario(start_delay={"seconds": 60, "times": 1})
    recorded = record(QUICK, deadlines=replace(DEADLINES, start=0.7))
    assert recorded.failure == ""
    waiting = r"waiting until xctrace records: \d+ s of 1 s; Metal can take 40 s"
    assert [text for text in told if re.fullmatch(waiting, text)]
    again = "xctrace did not begin to record within 0.7 s; trying again in 0.1 s"
    assert told.count(again) == 1


def test_a_program_that_outlives_the_limit_is_ended(record: Record, scenario: Scenario) -> None:
    scenario(leaves_target=True)
    recorded = record(SLOW, limit=0.2)
    assert (recorded.failure, recorded.end_reason) == ("", "Time limit reached")
    until_gone(recorded.targets[0].pid)


def test_an_own_interrupt_is_never_called_late_and_a_second_signal_has_its_sender(
    record: Record, scenario: Scenario, told: list[str]
) -> None:
    scenario(stop_delay=1.5)
    deadlines = replace(DEADLINES, stopping=0.3)
    progress = interrupting("recording", told)
    recorded = record(Attach(os.getpid()), deadlines=deadlines, progress=progress)
    assert (recorded.interrupted, recorded.failure) == (True, "")
    [warning] = recorded.warnings
    assert warning == (
        "xctrace was asked to stop 2 times: SIGINT by you or the system, SIGINT by tracekit, "
        "which had waited long enough."
    )


def test_a_limit_that_is_ignored_is_kept_by_us(record: Record, scenario: Scenario) -> None:
    scenario(ignores_limit=True)
    deadlines = replace(DEADLINES, slack=0.5)
    recorded = record(Attach(os.getpid()), limit=0.1, deadlines=deadlines)
    assert (recorded.failure, recorded.end_reason) == ("", "User stopped recording")
    assert recorded.warnings == ("xctrace did not stop in time and was stopped with SIGINT.",)
    assert recorded.targets[0].pid == os.getpid()


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_process_that_ends_early_ends_the_recording(
    record: Record, told: list[str], tmp_path: Path, *, interrupted: bool
) -> None:
    waiting_command = ("sh", "-c", 'until grep -qs Ctrl-C "$0"; do sleep 0.05; done')
    stop_message = "asked xctrace to stop and to save its data"
    with subprocess.Popen((*waiting_command, tmp_path / "scenario.said")) as process:
        progress = interrupting(stop_message if interrupted else "", told)
        recorded = record(Attach(process.pid), limit=600, progress=progress)
    end_warning = f"The process {process.pid} ended before the recording did."
    assert recorded.warnings[0] == end_warning
    assert len(recorded.warnings) == 1 + interrupted
    by_us = "The target had ended, so xctrace was asked to stop"
    assert recorded.end_reason == ("User stopped recording" if interrupted else by_us)
    assert recorded.targets[0].pid == process.pid


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
def test_passing_failures_are_retried_and_their_remains_kept_aside(
    keys: dict[str, Any], record: Record, scenario: Scenario, recording: Recording, told: list[str]
) -> None:
    scenario(**keys)
    recording.journal_file.touch()
    program = ("/bin/sh", "-c", "exit 3")
    recorded = record(ProgramLaunch(program, journal=recording.journal_file))
    failure = "The recorded program failed (exit status 3); the trace up to then is kept."
    assert recorded.failure == failure
    assert told.count("xctrace could not start; trying again in 0 s") == len(keys)
    assert (recording.folder / "workload-try-1.jsonl").exists()
    assert (recording.folder / "recording-try-1.trace").is_dir() is ("locked" in keys)


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        ("start", r"before it began to record\..*signal SIGSEGV.*There is no bundle at"),
        ("saving", r"while it saved\. The bundle has no template document"),
    ],
)
def test_nothing_came_and_why(moment: str, said: str, record: Record, scenario: Scenario) -> None:
    scenario(die={"at": moment, "code": 139})
    with pytest.raises(ToolError, match=f"(?s)xctrace ended {said}"):
        record(QUICK)


def test_a_recorder_that_hangs_after_saving_is_ended(record: Record, scenario: Scenario) -> None:
    scenario(hang="saved")
    deadlines = replace(DEADLINES, signals=STEEP, exit=0.3)
    recorded = record(Attach(os.getpid()), limit=0.1, deadlines=deadlines)
    message = (
        "xctrace hung after it had saved and had to be killed; the recording may lack its end."
    )
    assert recorded.failure == message


@pytest.mark.parametrize("moment", ["recording", SAVING, "checking the bundle"])
def test_ctrl_c_saves(
    moment: str, record: Record, scenario: Scenario, recording: Recording, told: list[str]
) -> None:
    scenario(issues=[["Warning", "Odd."]])
    limit = 30 if moment == "recording" else 0.3
    with closing(Journal(recording.journal_file)) as journal:
        journal.write("about", pid=4194304, process="worker")
    target = replace(SLOW, journal=recording.journal_file)
    recorded = record(target, limit=limit, progress=interrupting(moment, told))
    assert (recorded.interrupted, recorded.failure) == (True, "")
    # Later on, the recording may have come to its end by itself.
    assert moment != "recording" or "asked xctrace to stop and to save its data" in told
    assert told[-1] == "checking the bundle"
    checked = moment != "checking the bundle"
    unchecked = "The bundle was saved, but not checked before someone asked to stop."
    assert recorded.warnings == ("xctrace warns: Odd.", *([] if checked else [unchecked]))
    names = [target.name for target in recorded.targets]
    assert names == (["sleep"] if checked else ["worker"])
    assert recorded.command_lines


def test_ctrl_c_before_anything_came(record: Record, scenario: Scenario, told: list[str]) -> None:
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
        f"The recording was stopped early: 9.0 GB are free where {recording.folder} lies"
    )
    assert (recorded.warnings, recorded.end_reason) == ((), "User stopped recording")


def test_a_disk_that_is_all_but_full_forbids_a_recording_and_ends_even_a_saving_one(
    record: Record, scenario: Scenario, recording: Recording, told: list[str], tmp_path: Path
) -> None:
    with pytest.raises(RecordingError, match=r"Nothing was recorded: 9\.5 GB are free"):
        record(QUICK, premises=Premises(tmp_path / "notes", 10e9, lambda _: int(9.5e9)))
    run_lock = hold_user_lock(Path("/runs/other"), tmp_path / "notes")
    with run_lock, pytest.raises(ToolError, match=f"recording runs: process {os.getpid()}, since"):
        record(QUICK, premises=Premises(tmp_path / "notes", 0))
    assert not recording.bundle.exists()
    scenario(hang="saving")

    def filling(_: Path) -> int:
        return int(0.5e9 if SAVING in told else 50e9)

    with pytest.raises(
        ToolError, match=r"stopped because 0\.5 GB are free .* did not save"
    ) as caught:
        record(QUICK, premises=Premises(tmp_path / "notes", 10e9, filling))
    assert "Make room" in caught.value.hint


PROFILE_KEYS = ("counterprofile", "counterprofileinternal", "counterscounterprofile")


def write_metal_template(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return write_template("Metal System Trace", home, monkeypatch)


def write_template(name: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(home))
    folder = home / "Library" / "Application Support" / "Instruments" / "Templates"
    folder.mkdir(parents=True)
    source = folder / f"{name}.tracetemplate"
    source.write_bytes(archive(dict.fromkeys(PROFILE_KEYS, 0)))
    return source


@pytest.mark.parametrize("chip", ["Apple M3", "Apple M4 Max", "Apple M5"])
def test_counters_come_from_a_template_with_the_profile_of_the_chip(
    chip: str, scenario: Scenario, recording: Recording, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    source = write_metal_template(tmp_path, monkeypatch)
    manner = Manner(DEADLINES, (), premises=Premises(tmp_path / "notes", 0), chip=lambda: chip)
    recorder = XctraceRecorder(locate(), choose_only(), manner)
    recorded = recorder.record(
        RecordingRequest(QUICK, 5, RecordingChoices(counters="on")), recording, print
    )
    template = recording.template_file.absolute()
    [line] = recorded.command_lines
    assert line[line.index("--template") + 1] == str(template)
    assert "--instrument" not in line
    assert recorded.used is not None
    assert (recorded.used.counters, recorded.used.counter_profile) == (True, 13)
    assert {
        value for *_, key, value in read_template(template).entries() if key in PROFILE_KEYS
    } == {13}
    assert read_template(source).counter_profile() == 0


@pytest.mark.parametrize("chip", ["M3", "M4 Max", "M5"])
def test_instruments_alone_get_their_counters_by_a_copy_of_blank(
    chip: str, scenario: Scenario, recording: Recording, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    scenario(chip=chip)
    source = write_template("Blank", tmp_path, monkeypatch)
    light = ("GPU", "Metal Application", "Metal Resource Events")
    premises = Premises(tmp_path / "notes", 0)
    manner = Manner(DEADLINES, (), premises=premises, chip=lambda: f"Apple {chip}")
    recorder = XctraceRecorder(locate(), choose_only(), manner)
    request = RecordingRequest(QUICK, 5, RecordingChoices(instruments=light, counters="on"))
    recorded = recorder.record(request, recording, print)
    [line] = recorded.command_lines
    assert line[line.index("--template") + 1] == str(recording.template_file.absolute())
    added = [line[at + 1] for at, word in enumerate(line) if word == "--instrument"]
    assert added == [*light, "Metal GPU Counters"]
    assert recorded.used is not None
    assert (recorded.used.counters, recorded.used.counter_profile) == (True, 13)
    assert recorded.used.counter_set == "Performance Limiters"
    assert recorded.warnings == ()
    assert read_template(source).counter_profile() == 0


@pytest.mark.parametrize("chip", ["Apple M1 Pro", "Apple M2", "Apple M3 (Virtual)", "x86"])
def test_a_chip_that_may_take_the_default_profile_gets_the_instrument(
    chip: str, scenario: Scenario, recording: Recording, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    write_metal_template(tmp_path, monkeypatch)
    manner = Manner(DEADLINES, (), premises=Premises(tmp_path / "notes", 0), chip=lambda: chip)
    recorder = XctraceRecorder(locate(), choose_only(), manner)
    recorded = recorder.record(
        RecordingRequest(QUICK, 5, RecordingChoices(counters="on")), recording, print
    )
    assert recorded.used is not None
    assert recorded.used.instruments == ("Metal GPU Counters",)
    assert recorded.used.counter_profile is None


def test_counters_without_a_template_file_are_those_of_the_instrument(
    scenario: Scenario, recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    premises = Premises(tmp_path / "notes", 0)
    for chip, remark in (("Apple M4", "No template with counter profile 13 was made"), ("x86", "")):
        manner = Manner(DEADLINES, (), premises=premises, chip=lambda chip=chip: chip)
        recorder = XctraceRecorder(locate(), choose_only(), manner)
        recorded = recorder.record(
            RecordingRequest(QUICK, 5, RecordingChoices(counters="on")), recording, print
        )
        recording.bundle.rename(tmp_path / chip)
        assert recorded.used is not None, chip
        assert recorded.used.instruments == ("Metal GPU Counters",), chip
        remarks = [text for text in recorded.warnings if text.startswith("No template with")]
        assert bool(remarks) is bool(remark), chip


def test_a_machine_that_slept_is_named_with_the_command_that_keeps_it_awake(
    scenario: Scenario, recording: Recording, tmp_path: Path
) -> None:
    anchors = iter([ClockAnchor(0, 0), ClockAnchor(3_000_000_000, 63_000_000_000)])
    premises = Premises(tmp_path / "notes", 0)
    manner = Manner(DEADLINES, (), premises=premises, read_clocks=lambda: next(anchors))
    recorder = XctraceRecorder(locate(), choose_only(), manner)
    recorded = recorder.record(
        RecordingRequest(QUICK, 5, RecordingChoices(counters="off")), recording, print
    )
    [warning] = recorded.warnings
    assert warning.startswith("The machine slept for 60 s while it was recorded")
    assert "`caffeinate -i -s tracekit capture …` keeps a Mac awake." in warning
