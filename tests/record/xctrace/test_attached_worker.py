"""A worker that xctrace attaches to: what is in the trace, what is told, what is left running."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from recording_fakes import DEADLINES, STEEP, Record, Scenario, interrupting
from tracekit.base.errors import ToolError, UsageError
from tracekit.base.recording import Recording
from tracekit.record.recorder import FinishedRecording, ProgramLaunch, Warmed
from tracekit.record.xctrace.attached_worker import AttachedWorker, WorkerTimeouts
from tracekit.record.xctrace.progress import RecordingState, RecordingTranscript
from tracekit.workload.journal import WorkloadReport, fold
from tracekit.workload.plan import Plan
from tracekit.workload.workload import load
from worker_naps import naps_that

Worker = Callable[..., FinishedRecording]
WARM = "warming up, outside of the trace"


@pytest.fixture
def attach(record: Record, tmp_path: Path) -> Worker:
    """Record a workload of the given step and preparation with the fake, by attaching."""

    def run(
        step: str = "time.sleep(0.002)", prepare: str = "pass", repeats: int | None = 20, **how: Any
    ) -> FinishedRecording:
        file = tmp_path / "naps.py"
        file.write_text(naps_that(step, prepare))
        plan = Plan(load(file), method="attach", counters="off", warmup=2, repeats=repeats)
        return record(replace(plan, time_limit=how.pop("time_limit", 20)), **how)

    return run


def steady(report: WorkloadReport) -> int:
    return sum(step.phase == "steady" for step in report.steps)


def test_the_warm_up_is_outside_of_the_trace_and_the_worker_stays_until_it_is_saved(
    attach: Worker, scenario: Scenario, recording: Recording, told: list[str]
) -> None:
    scenario(save_delay=0.5)
    alive: list[bool] = []

    def progress(text: str) -> None:
        told.append(text)
        if text == "saved":
            alive.append(psutil.Process(fold(recording.journal_file).pid).is_running())

    recorded = attach(prepare="time.sleep(0.3)", progress=progress)
    assert alive == [True]
    assert (recorded.failure, recorded.warnings, recorded.interrupted) == ("", (), False)
    report = fold(recording.journal_file)
    assert (report.state, report.complete, steady(report)) == ("done", True, 20)
    origin = recorded.clock["origin"] - recorded.clock["uncertainty"]
    phases = {phase.name: phase for phase in report.phases}
    assert list(phases) == ["prepare", "warm-up", "waiting", "wake-up", "steady"]
    assert (phases["warm-up"].end or 0) <= origin + 2 * recorded.clock["uncertainty"]
    assert phases["steady"].start >= origin
    assert [text for text in told if text != WARM][:7] == [
        "preparing the workload", "xctrace is starting", "recording",
        "asked xctrace to stop and to save its data", "stopping",
        "saving; this can take minutes", "saved",
    ]  # fmt: skip
    assert recorded.end_reason == "The target had ended, so xctrace was asked to stop"
    launched, line = recorded.command_lines
    assert launched[-1] == str(recording.spec_file.resolve())
    assert line[-2:] == ("--attach", str(report.pid))


def test_a_worker_that_is_never_ready(
    attach: Worker, recording: Recording, told: list[str]
) -> None:
    for error, hint in ((UsageError, "Take 3."), (ToolError, "Make room.")):
        with pytest.raises(error, match="odd") as caught:
            attach(prepare=f"import tracekit.base as b; raise b.{error.__name__}('odd', '{hint}')")
        assert caught.value.hint == hint
    message = "(?s)Nothing was recorded: The workload ended with exit code 7 .* words: .*out of pat"
    with pytest.raises(ToolError, match=message):
        attach(prepare="os.write(2, b'out of patience'); os._exit(7)")
    assert not recording.bundle.exists()
    assert "xctrace is starting" not in told


def test_a_worker_that_still_waits_is_tried_again_and_one_that_was_let_go_has_a_successor(
    attach: Worker, scenario: Scenario, recording: Recording, told: list[str]
) -> None:
    refuse = {"code": 21, "text": "Cannot find process for provided pid: 1", "times": 1}
    scenario(refuse=refuse, locked=1)
    recorded = attach()
    assert recorded.failure == ""
    assert told.count("xctrace could not start; trying again in 0 s") == 2
    assert told.count("preparing the workload") == 2
    report, first_report = (
        fold(recording.journal_file),
        fold(recording.folder / "workload-try-1.jsonl"),
    )
    assert steady(report) == 20
    assert first_report.pid not in {0, report.pid}
    assert recorded.targets[0].pid == report.pid


def test_a_worker_that_was_let_go_is_not_taken_though_it_still_says_that_it_waits(
    recording: Recording, tmp_path: Path
) -> None:
    says = 'echo try; echo "$SAYS" > "$0.new"; mv "$0.new" "$0"; exec sleep 60'
    argv = ("/bin/sh", "-c", says, str(recording.workload_file))
    launch = ProgramLaunch(argv, {"SAYS": '{"state": "waiting"}'}, recording.journal_file)
    target, timeouts = Warmed(launch, tmp_path / "go"), WorkerTimeouts(ready=30)
    with closing(AttachedWorker(target, recording, print, timeouts)) as worker:
        first_worker = worker.ready()
        assert worker.ready().target == first_worker.target
        first_worker.changed(RecordingTranscript(state=RecordingState.STARTED))
        assert worker.ready().target != first_worker.target
    assert not target.go_file.exists()
    assert recording.target_output_file.read_text() == "try\n" * 2
    assert (recording.folder / "workload-try-1.json").exists()


def test_no_start_lets_no_worker_go(
    attach: Worker, scenario: Scenario, recording: Recording
) -> None:
    scenario(hang="announced")
    with pytest.raises(ToolError, match="xctrace was started twice, did not begin"):
        attach(deadlines=replace(DEADLINES, start=1, signals=STEEP))
    report = fold(recording.journal_file)
    assert (report.state, steady(report)) == ("interrupted", 0)


def test_ctrl_c_while_it_prepares(attach: Worker, recording: Recording, told: list[str]) -> None:
    impatient = interrupting("preparing the workload", told)
    with pytest.raises(KeyboardInterrupt):
        attach(prepare="time.sleep(600)", worker=WorkerTimeouts(leave=0.2), progress=impatient)
    assert not recording.bundle.exists()


def test_ctrl_c_saves_the_recording(attach: Worker, recording: Recording, told: list[str]) -> None:
    recorded = attach(progress=interrupting("recording", told), repeats=None)
    assert (recorded.interrupted, recorded.failure) == (True, "")
    assert recording.bundle.is_dir()
    assert fold(recording.journal_file).complete


def test_an_endless_step_is_killed_after_the_saving(attach: Worker, recording: Recording) -> None:
    step, timeouts = "time.sleep(600 if made > 8 else 0.002)", WorkerTimeouts(leave=0.3)
    recorded = attach(step=step, repeats=None, time_limit=0.2, worker=timeouts)
    assert recorded.failure == (
        "The workload failed; the trace up to then is kept. "
        "The workload did not end when it was asked to, and was killed."
    )
    assert recording.bundle.is_dir()
