"""The host recorder with real programs: workers, commands, processes that run already."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import msgspec
import psutil
import pytest

from children import until, until_gone
from tracekit.base.errors import ToolError, UsageError
from tracekit.base.recording import Recording
from tracekit.record.host.recorder import HostRecorder, Timeouts
from tracekit.record.host.sampler import Sample, read_samples
from tracekit.record.host.session import load_session
from tracekit.record.recorder import Attach, Launch, Recorded, Request, quiet
from tracekit.tables.tables import Tables
from tracekit.workload.journal import WorkloadReport, fold

pytestmark = pytest.mark.processes

Work = Callable[..., Recorded]
Press = Callable[[Callable[[], bool]], None]
PATIENT = ((signal.SIGINT, 600.0), (signal.SIGTERM, 600.0), (signal.SIGKILL, 30.0))


def account(recording: Recording) -> WorkloadReport:
    return msgspec.json.decode(recording.workload_file.read_bytes(), type=WorkloadReport)


def samples(recording: Recording) -> list[Sample]:
    return read_samples(recording.host_samples)


# An interrupt may come between the opening of a file of /proc and the `with` that closes it.
_MAY_LEAVE_OPEN = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def press_ctrl_c() -> Iterator[Press]:
    """Send SIGINT to this process, as a terminal does, once something is so."""
    threads: list[threading.Thread] = []

    def press(due: Callable[[], bool]) -> None:
        until(due)
        os.kill(os.getpid(), signal.SIGINT)

    def begin(due: Callable[[], bool]) -> None:
        threads.append(threading.Thread(target=press, args=(due,)))
        threads[-1].start()

    yield begin
    for thread in threads:
        thread.join(60)


def test_a_worker_is_recorded_and_exported(
    work: Work, recorder: HostRecorder, recording: Recording
) -> None:
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
    taken = [sample.at for sample in samples(recording)]
    assert taken == sorted(taken)
    assert origin < taken[0]
    assert recorded.overhead is not None
    assert recorded.overhead.reason == "no steps were made unrecorded"
    assert recorder.export(recording, quiet) == ()
    tables = Tables(recording.exports, frozenset({target.pid}))
    assert len(tables["steps"]) == len(tables["gpu_intervals"]) == 51
    assert [*tables["phases"]["name"]] == ["prepare", "warm-up", "steady"]
    assert {*tables["gpu_intervals"]["process"]} == {target.name}
    assert len(tables["process_samples"]) == len(taken)
    assert tables.warnings == ()


def test_what_recording_costs_is_measured_however_short_the_grace_is(
    work: Work, recording: Recording
) -> None:
    """Measuring takes longer than the grace of half a second."""
    step = "time.sleep(0.02)"
    recorded = work(step=step, repeats=None, time_limit=0.1, seconds=0.1, measure_overhead=True)
    assert (recorded.end_reason, recorded.warnings) == ("Target exited", ())
    assert (recorded.failure, recorded.interrupted) == ("", False)
    assert account(recording).state == "done"
    measured = recorded.overhead
    assert measured is not None
    assert measured.ratio is not None
    assert measured.spread is not None
    assert min(measured.recorded, measured.unrecorded) >= 20_000_000
    # sampling pauses in unrecorded blocks of 60 ms; one sample may have been under way
    blocks = [block for block in fold(recording.journal_file).blocks if not block.recorded]
    taken = samples(recording)
    inside = [at for at in taken for block in blocks if block.start <= at.at <= block.end]
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


@_MAY_LEAVE_OPEN
def test_ctrl_c_ends_the_worker_and_keeps_all(
    work: Work, recording: Recording, press_ctrl_c: Press
) -> None:
    press_ctrl_c(lambda: len(fold(recording.journal_file).steps) >= 20)
    recorded = work(repeats=10**6)
    assert (recorded.interrupted, recorded.end_reason) == (True, "Interrupted")
    assert recorded.failure == ""
    report = account(recording)
    assert (report.state, report.complete) == ("interrupted", True)
    assert len(report.steps) >= 20
    assert not psutil.pid_exists(report.pid)


@_MAY_LEAVE_OPEN
@pytest.mark.parametrize("timeouts", [Timeouts(signals=PATIENT)])
def test_a_second_ctrl_c_kills(work: Work, recording: Recording, press_ctrl_c: Press) -> None:
    stuck, told = recording.folder / "stuck", recording.folder / "told"
    press_ctrl_c(stuck.exists)
    press_ctrl_c(told.exists)
    step = (
        f"made < 4 or [open({str(stuck)!r}, 'w'), time.sleep(1),"
        f" open({str(told)!r}, 'w'), time.sleep(3600)]"
    )
    recorded = work(step=step)
    assert recorded.interrupted
    assert recorded.end_reason == "Target did not end when asked and was killed"
    assert len(account(recording).steps) == 3


def test_a_command_is_sampled_and_what_it_left_behind_is_ended(
    record: Callable[..., Recorded], recording: Recording
) -> None:
    left = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)']).pid"
    recorded = record("-c", f"import subprocess, sys, time; print({left}); time.sleep(0.3)")
    assert recorded.failure == ""
    [warning] = recorded.warnings
    assert warning.startswith("Only the process was sampled")
    assert recorded.overhead is not None
    assert recorded.overhead.ratio is None
    session = load_session(recording)
    assert (session.kind, session.exit_status) == ("launched", 0)
    assert session.arguments[0] == "-c"
    taken = samples(recording)
    assert len(taken) >= 2
    assert max(sample.memory for sample in taken) > 0  # none is left to one that ends just then
    assert taken[-1].cpu > 0
    until_gone(int(recording.host_output.read_text()))


def test_a_command_that_is_not_there_is_reported(
    recorder: HostRecorder, recording: Recording
) -> None:
    request = Request(Launch(("no-such-program-anywhere",)), 1.0)
    with pytest.raises(ToolError, match="no-such-program-anywhere cannot be started"):
        recorder.record(request, recording, quiet)


def test_a_running_process_is_sampled_and_left_alone(
    recorder: HostRecorder, recording: Recording
) -> None:
    with subprocess.Popen(("sleep", "600")) as sleeper:
        recorded = recorder.record(Request(Attach(sleeper.pid), 0.2), recording, quiet)
        assert psutil.Process(sleeper.pid).status() != psutil.STATUS_ZOMBIE
        sleeper.kill()
    assert recorded.end_reason == "Time limit reached"
    assert recorded.targets[0].pid == sleeper.pid
    assert recorded.command_lines == ()
    assert load_session(recording).kind == "attached"
    assert len(samples(recording)) >= 2


def test_a_program_is_asked_then_terminated_then_killed() -> None:
    signals = [number for number, _ in Timeouts().signals]
    assert signals == [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]
