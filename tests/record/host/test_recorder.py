"""The host recorder with real programs: workers, commands, processes that run already."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import psutil
import pytest

from tracekit.base.errors import ToolError, UsageError
from tracekit.base.recording import Recording
from tracekit.record.host.recorder import HostRecorder, Timeouts
from tracekit.record.host.sampler import Sample, read_samples
from tracekit.record.host.session import load_session
from tracekit.record.recorder import Attach, Launch, Recorded, Request, quiet
from tracekit.workload.journal import WorkloadReport, fold

pytestmark = pytest.mark.processes

Work = Callable[..., Recorded]
Record = Callable[..., Recorded]


def account(recording: Recording) -> WorkloadReport:
    return msgspec.json.decode(recording.workload_file.read_bytes(), type=WorkloadReport)


def samples(recording: Recording) -> list[Sample]:
    return read_samples(recording.host_samples)


@pytest.fixture
def press_ctrl_c() -> Iterator[Callable[[Callable[[], bool]], None]]:
    """Send SIGINT to this process, as a terminal does, once something is so."""
    threads: list[threading.Thread] = []

    def press(due: Callable[[], bool]) -> None:
        for _ in range(3000):
            if due():
                break
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    def begin(due: Callable[[], bool]) -> None:
        threads.append(threading.Thread(target=press, args=(due,)))
        threads[-1].start()

    yield begin
    for thread in threads:
        thread.join(60)


def test_a_worker_is_recorded(work: Work, recording: Recording) -> None:
    recorded = work(repeats=50)
    report = account(recording)
    assert report == fold(recording.journal_file)
    assert report.state == "done"
    (target,) = recorded.targets
    assert (target.pid, target.name) == (report.pid, report.process)
    assert recorded.end_reason == "Target exited"
    assert (recorded.failure, recorded.interrupted, recorded.warnings) == ("", False, ())
    assert recorded.command_lines[0][0] == sys.executable
    origin = recorded.clock["origin"]
    assert origin < report.phases[0].start
    taken = samples(recording)
    assert taken
    assert all(origin < one.at for one in taken)
    assert [one.at for one in taken] == sorted(one.at for one in taken)
    assert recorded.overhead is not None
    assert recorded.overhead.reason == "no steps were made unrecorded"


def test_what_recording_costs_is_measured(work: Work, recording: Recording) -> None:
    recorded = work(repeats=5, measure_overhead=True, step="time.sleep(0.02)")
    measured = recorded.overhead
    assert measured is not None
    assert measured.ratio is not None
    assert measured.spread is not None
    assert measured.recorded >= 20_000_000
    assert measured.unrecorded >= 20_000_000
    # sampling pauses in unrecorded blocks of 60 ms; one sample may have been under way
    blocks = [block for block in fold(recording.journal_file).blocks if not block.recorded]
    inside = [
        one for one in samples(recording) for block in blocks if block.start <= one.at <= block.end
    ]
    assert len(blocks) >= 6
    assert len(inside) <= len(blocks)


def test_refused_parameters_are_usage(work: Work) -> None:
    with pytest.raises(UsageError) as caught:
        work(prepare='raise UsageError("Too small.", "Take 2.")')
    assert (caught.value.message, caught.value.hint) == ("Too small.", "Take 2.")


def test_a_worker_that_is_killed_loses_no_step(work: Work, recording: Recording) -> None:
    recorded = work(step="os.kill(os.getpid(), signal.SIGKILL) if made == 6 else None")
    report = account(recording)
    assert len(report.steps) == 5
    assert (report.state, report.complete) == ("failed", False)
    assert recorded.failure == report.error
    assert recorded.failure.endswith("ended with signal SIGKILL.")


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"measure_overhead": True, "step": "time.sleep(0.02)"}, id="measuring"),
        pytest.param({"step": "time.sleep(0.5)"}, id="fewest-steps"),
    ],
)
def test_a_worker_is_given_the_time_that_its_last_work_takes(
    values: dict[str, Any], work: Work, recording: Recording
) -> None:
    """Both take longer than the grace of half a second."""
    recorded = work(repeats=None, time_limit=0.1, seconds=0.1, **values)
    assert (recorded.end_reason, recorded.warnings) == ("Target exited", ())
    assert (recorded.failure, recorded.interrupted) == ("", False)
    assert account(recording).state == "done"


def test_ctrl_c_ends_the_worker_and_keeps_all(
    work: Work, recording: Recording, press_ctrl_c: Callable[[Callable[[], bool]], None]
) -> None:
    press_ctrl_c(lambda: len(fold(recording.journal_file).steps) >= 20)
    recorded = work(repeats=10**6)
    assert (recorded.interrupted, recorded.end_reason) == (True, "Interrupted")
    assert recorded.failure == ""
    report = account(recording)
    assert (report.state, report.complete) == ("interrupted", True)
    assert len(report.steps) >= 20
    assert not psutil.pid_exists(report.pid)


@pytest.mark.parametrize("timeouts", [Timeouts(ready=30, interrupt=600, terminate=600)])
def test_a_second_ctrl_c_kills(
    work: Work, recording: Recording, press_ctrl_c: Callable[[Callable[[], bool]], None]
) -> None:
    stuck = recording.folder / "stuck"
    press_ctrl_c(stuck.exists)
    press_ctrl_c((recording.folder / "told").exists)
    step = (
        f"made < 4 or [open({str(stuck)!r}, 'w'), time.sleep(1),"
        f" open({str(recording.folder / 'told')!r}, 'w'), time.sleep(3600)]"
    )
    recorded = work(step=step)
    assert recorded.interrupted
    assert recorded.end_reason == "Target did not end when asked and was killed"
    assert len(account(recording).steps) == 3


def test_a_command_is_sampled(record: Record, recording: Recording) -> None:
    recorded = record("-c", "import time; print('hello'); time.sleep(0.3)")
    assert recorded.failure == ""
    assert len(recorded.warnings) == 1
    assert recorded.warnings[0].startswith("Only the process was sampled")
    assert recorded.overhead is not None
    assert recorded.overhead.ratio is None
    assert recording.host_output.read_text() == "hello\n"
    session = load_session(recording)
    assert (session.kind, session.exit_status) == ("launched", 0)
    assert session.arguments[0] == "-c"
    taken = samples(recording)
    assert len(taken) >= 2
    assert max(one.memory for one in taken) > 0  # none is left to one that ends just then
    assert taken[-1].cpu > 0


def test_what_a_command_left_behind_is_ended_too(record: Record, recording: Recording) -> None:
    code = (
        "import subprocess, sys;"
        "print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)']).pid)"
    )
    record("-c", code)
    left = int(recording.host_output.read_text())
    for _ in range(1000):
        if not psutil.pid_exists(left) or psutil.Process(left).status() == psutil.STATUS_ZOMBIE:
            break
        time.sleep(0.01)
    else:
        pytest.fail("it still runs")


def test_a_command_that_is_not_there_is_reported(
    recorder: HostRecorder, recording: Recording
) -> None:
    request = Request(Launch(("no-such-program-anywhere",)), 1.0)
    with pytest.raises(ToolError, match="no-such-program-anywhere cannot be started"):
        recorder.record(request, recording, quiet)


@pytest.fixture
def sleeper() -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process.pid
    process.kill()
    process.wait(30)


def test_a_running_process_is_sampled_and_left_alone(
    recorder: HostRecorder, recording: Recording, sleeper: int
) -> None:
    recorded = recorder.record(Request(Attach(sleeper), 0.2), recording, quiet)
    assert recorded.end_reason == "Time limit reached"
    assert recorded.targets[0].pid == sleeper
    assert recorded.command_lines == ()
    assert psutil.Process(sleeper).is_running()
    assert load_session(recording).kind == "attached"
    assert len(samples(recording)) >= 2


def test_a_program_is_asked_then_terminated_then_killed() -> None:
    signals = [number for number, _ in Timeouts().policy.signals]
    assert signals == [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]
