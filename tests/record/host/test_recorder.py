"""How a recording of the host counts and what it costs, when watching ends, and real programs."""

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import psutil
import pytest

from children import until, until_gone
from tracekit.base import system
from tracekit.base.errors import RecordingError, ToolError, UsageError
from tracekit.base.recording import Overhead, Recording
from tracekit.record.host import exports
from tracekit.record.host import recorder as host
from tracekit.record.host import sampler as host_sampler
from tracekit.record.host.recorder import End, HostRecorder
from tracekit.record.host.sampler import ProcessSample, Sampler, process_name, read_samples
from tracekit.record.host.session import HostSession, load_session
from tracekit.record.progress import quiet
from tracekit.record.recorder import (
    Attach,
    FinishedRecording,
    ProgramLaunch,
    RecordingRequest,
    running,
)
from tracekit.tables.tables import Tables
from tracekit.workload.journal import ClockAnchor, Journal, Phase, StepBlock, WorkloadReport, fold
from tracekit.workload.worker.spec import Spec, command
from worker_naps import naps_that

SESSION = HostSession(7, "python", "launched", origin=1000, end_reason="Target exited")
STEADY = (Phase("steady", 1, 2),)
DONE = WorkloadReport(state="done", complete=True, phases=STEADY)
ASKED = WorkloadReport(state="interrupted", complete=True, phases=STEADY)
CUT = WorkloadReport(state="steady", phases=STEADY)
UNREADY = WorkloadReport(state="preparing", phases=(Phase("prepare", 1, 2),))
FAILED = WorkloadReport(state="failed", complete=True, error="It rained.", exit_code=3)
LATE = "python did not end by itself in time and was asked to stop."
DEAF = "python did not end when it was asked to, and was killed."


def ending(end: End, status: int | None, complaint: str = "") -> host.Ending:
    return host.Ending(replace(SESSION, exit_status=status), end, complaint)


def test_a_failure_is_one_sentence() -> None:
    for end, status, report, failure, interrupted in (
        (End.EXITED, 0, None, "", False),
        (End.EXITED, 3, None, "python ended with exit code 3.", False),
        (End.EXITED, -11, None, "python ended with signal SIGSEGV.", False),
        (End.LIMIT, -2, None, "", False),
        (End.INTERRUPTED, -2, None, "", True),
        (End.KILLED, -9, None, DEAF, False),
        (End.EXITED, 0, DONE, "", False),
        (End.KILLED, -9, DONE, "", False),
        (End.EXITED, 3, FAILED, "It rained.", False),
        (End.EXITED, 130, ASKED, "", True),  # by others
        (End.LIMIT, 130, ASKED, LATE, False),
        (End.INTERRUPTED, 130, ASKED, "", True),
        (End.LIMIT, 0, DONE, "", False),
        (End.EXITED, -9, CUT, "python ended with signal SIGKILL.", False),
        (End.EXITED, 0, CUT, "python ended without closing its account.", False),
        (End.LIMIT, 130, UNREADY, "python did not come to its steady phase in time.", False),
        (End.INTERRUPTED, -2, UNREADY, "", True),
    ):
        outcome = host.summarize_recording(ending(end, status), report)
        ending_facts = (outcome.failure, outcome.interrupted)
        assert ending_facts == (failure, interrupted), (end, status, report)


@pytest.mark.parametrize(
    ("end", "status", "has_crashed"),
    [
        (End.EXITED, -11, True),
        (End.EXITED, 139, True),
        (End.EXITED, 3, False),
        (End.EXITED, 0, False),
        (End.KILLED, -9, False),
    ],
)
def test_a_program_that_a_signal_ended_has_crashed(
    end: End, status: int, has_crashed: bool
) -> None:
    assert host.summarize_recording(ending(end, status), None).has_crashed is has_crashed


def test_last_words_advice_and_warnings_are_handed_on() -> None:
    outcome = host.summarize_recording(ending(End.EXITED, 3, "no room"), None)
    assert outcome.failure == "python ended with exit code 3. Its last words: no room"
    outcome = host.summarize_recording(
        ending(End.EXITED, 3), replace(FAILED, hint="Take an umbrella.")
    )
    assert outcome.hint == "Take an umbrella."
    warned_report = replace(ASKED, warnings=("It rains.",), unreadable=2)
    outcome = host.summarize_recording(ending(End.LIMIT, 1), warned_report)
    assert outcome.warnings == (
        "It rains.",
        "The worker did not end by itself in time and was asked to stop.",
        "2 of the worker's marks cannot be read and are left out.",
    )
    assert host.summarize_recording(
        host.Ending(SESSION, End.KILLED, stopped=True), None
    ).interrupted


def test_an_account_that_nobody_closed_is_closed(tmp_path: Path) -> None:
    def close(status: int, **mark: Any) -> WorkloadReport | None:
        recording = Recording(tmp_path / str(status))
        recording.folder.mkdir()
        with closing(Journal(recording.journal_file)) as journal:
            journal.write("about", **mark)
        report = host.complete_report(ending(End.EXITED, status), recording.journal_file, recording)
        assert recording.workload_file.exists() is bool(status)
        return report

    assert close(0, state="done", complete=True) == fold(tmp_path / "0" / "workload.jsonl")
    closed = close(-9, state="steady")
    assert closed is not None
    assert closed.error == "python ended with signal SIGKILL."
    refused = {"state": "failed", "complete": True, "error": "Too small.", "hint": "Take 2."}
    with pytest.raises(UsageError, match=r"Too small\.") as caught:
        close(2, **refused, exit_code=2)
    assert caught.value.hint == "Take 2."


def costs(recorded: Sequence[int], unrecorded: Sequence[int]) -> Overhead:
    """Lay blocks of two steps in the order ABBA; times are ns a step."""
    blocks: list[StepBlock] = []
    for number, (mine, unrecorded_time) in enumerate(zip(recorded, unrecorded, strict=True)):
        pair = [StepBlock(True, 0, 2 * mine, 2), StepBlock(False, 0, 2 * unrecorded_time, 2)]
        blocks += pair if number % 2 == 0 else pair[::-1]
    return host.overhead(WorkloadReport(blocks=tuple(blocks)))


def test_the_cost_of_recording_is_the_ratio_of_medians_of_enough_blocks() -> None:
    measured_costs = costs([110, 112, 108, 110, 110, 900], [100, 101, 99, 100, 100, 100])
    assert (measured_costs.recorded, measured_costs.unrecorded, measured_costs.reason) == (
        110,
        100,
        "",
    )
    assert measured_costs.ratio == pytest.approx(0.10)
    calm = costs([100, 101, 99, 100, 101, 99], [100] * 6).spread
    wild = costs([60, 140, 70, 130, 90, 110], [100] * 6).spread
    assert ((calm or 1) < 0.02, (wild or 0) > 0.1) == (True, True)
    few_pairs = "only 3 pairs of recorded and unrecorded steps were made"
    assert costs([100] * 3, [100] * 3) == Overhead(reason=few_pairs)
    assert costs([100] * 4, [100] * 4).ratio == 0.0
    report = WorkloadReport(overhead_reason="Steps are too long.")
    assert host.overhead(report) == Overhead(reason="Steps are too long.")
    assert host.overhead(WorkloadReport()) == Overhead(reason="no steps were made unrecorded")


PATIENT = host.SamplingPace(0.001, 600.0, host.HostTimeouts(ready=600.0, grace=600.0))
SECOND = 1_000_000_000


@pytest.fixture
def sampler(tmp_path: Path) -> Iterator[Sampler]:
    open_sampler = Sampler(os.getpid(), tmp_path / "samples.jsonl")
    yield open_sampler
    open_sampler.close()


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    open_journal = Journal(tmp_path / "workload.jsonl")
    yield open_journal
    open_journal.close()


class Times(NamedTuple):
    user: float = 2.0
    system: float = 0.5
    idle: float = 90.0
    iowait: float = 7.0
    guest: float = 1.0  # is in that of users already


def test_samples_are_kept(
    sampler: Sampler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    samples, slept, done = tmp_path / "samples.jsonl", threading.Event(), threading.Event()
    naps = [0.0001] * 200  # each lets another run
    waiting = threading.Thread(target=lambda: [*map(time.sleep, naps), slept.set(), done.wait()])
    waiting.start()
    slept.wait()
    sampler.take()
    assert sum(number * number for number in range(200_000)) > 0
    done.set()
    waiting.join()  # switches of a thread that ended still count
    sampler.take()
    monkeypatch.setattr(psutil, "cpu_times", Times)
    sampler.take()
    first_sample, second, third = read_samples(samples)
    assert (first_sample.at < second.at, first_sample.cpu < second.cpu) == (True, True)
    assert first_sample.machine <= second.machine
    assert first_sample.voluntary <= second.voluntary
    assert second.memory > 1 << 20
    assert third.machine == 2_500_000_000  # cores that wait are not in use
    samples.write_bytes(samples.read_bytes()[:-3] + b"\n" + samples.read_bytes())
    assert len(read_samples(samples)) == 2


WORK = """import sys, time
kept = bytearray(64_000_000)
total = sum(range(1_000_000))
print(time.process_time_ns(), flush=True)
open(sys.argv[1]).read()
"""
LARGE = 64_000_000
CROWD = """import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that no parent counts an ended child
read_end, write_end = os.pipe()
for _ in range(20):
    if not os.fork():
        os.close(write_end)
        os.read(read_end, 1)
        os._exit(0)
for _ in range(2):
    print(os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, *sys.argv[1:]]), flush=True)
    os.read(0, 1)
"""


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    path = tmp_path / "gate"
    os.mkfifo(path)
    return path


def test_processes_that_a_program_starts_count(tmp_path: Path, gate: Path) -> None:
    script = '"$@"; echo reaped; read _'
    argv = ("sh", "-c", script, "sh", sys.executable, "-c", WORK, str(gate))
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) as program:
        assert program.stdout is not None
        worked = int(program.stdout.readline())
        with closing(Sampler(program.pid, tmp_path / "samples.jsonl")) as sampler:
            sampler.take()
            gate.write_text("")
            assert program.stdout.readline() == "reaped\n"
            sampler.take()
        program.kill()
    with_child, without_child = read_samples(tmp_path / "samples.jsonl")
    assert worked <= with_child.cpu <= without_child.cpu
    assert without_child.memory < LARGE < with_child.memory
    assert (without_child.threads, with_child.threads) == (1, 2)


def test_an_ended_process_that_nobody_waits_for_counts_beside_many(
    tmp_path: Path, gate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_sampler, "_LISTING", math.inf)  # list the processes at each sample
    argv = (sys.executable, "-c", CROWD, "-c", WORK, str(gate))
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True, bufsize=1) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        with closing(Sampler(program.pid, tmp_path / "samples.jsonl")) as sampler:
            first_pid = int(program.stdout.readline())
            program.stdout.readline()
            sampler.take()
            gate.write_text("")
            until_gone(first_pid)
            sampler.take()
            program.stdin.write("\n")
            program.stdout.readline()
            worked = int(program.stdout.readline())
            sampler.take()
            gate.write_text("")
        program.kill()
    first_sample, ended, second_sample = read_samples(tmp_path / "samples.jsonl")
    assert ended.memory < first_sample.memory - LARGE // 2
    assert first_sample.cpu + worked <= second_sample.cpu


def test_a_process_whose_parent_ended_counts_on(
    tmp_path: Path, gate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_sampler, "_LISTING", math.inf)  # list the processes at each sample
    script = 'sh -c \'"$@" & echo $!; read _\' sh "$@"; echo gone; read _'
    argv = ("sh", "-c", script, "sh", sys.executable, "-c", WORK, str(gate))
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True, bufsize=1) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        pid, worked = int(program.stdout.readline()), int(program.stdout.readline())
        with closing(Sampler(program.pid, tmp_path / "samples.jsonl")) as sampler:
            sampler.take()
            program.stdin.write("\n")
            assert program.stdout.readline() == "gone\n"
            sampler.take()
            gate.write_text("")
            until_gone(pid)
            sampler.take()
        program.kill()
    first_sample, orphaned, ended = read_samples(tmp_path / "samples.jsonl")
    assert worked <= first_sample.cpu <= orphaned.cpu <= ended.cpu
    assert ended.memory < LARGE < orphaned.memory


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_reported() -> None:
    sampler = Sampler(os.getpid(), Path("/dev/full"))
    with pytest.raises(RecordingError, match="/dev/full cannot be written: No space left"):
        sampler.take()
    sampler.close()


def test_absent_and_unawaited_steps_do_not_run() -> None:
    ended_pid = os.fork()
    if not ended_pid:
        os._exit(0)
    os.waitid(os.P_PID, ended_pid, os.WEXITED | os.WNOWAIT)
    for pid in (4194304, ended_pid):
        with pytest.raises(UsageError, match=f"There is no process {pid} to attach to"):
            running(pid)
    os.waitpid(ended_pid, 0)
    assert process_name(4194304) == ""
    assert running(os.getpid())()


def test_phases_and_pauses_are_heard(journal: Journal) -> None:
    listener = host.Listener(journal.path)
    assert not listener.listen()
    journal.write("phase", name="steady", start=50)
    journal.write("step", phase="steady", start=50, submitted=51, completed=52)
    assert listener.listen()
    assert (listener.phase, listener.steady, listener.paused) == ("steady", 50, False)
    for on in (False, True):
        journal.write("sampling", on=on, at=60)
        assert not listener.listen(), on
        assert listener.paused is not on
    listener.paused = True
    journal.write("end")
    assert not listener.listen()
    assert not listener.paused


def test_nonsense_is_not_heard_and_half_a_line_once_whole(tmp_path: Path) -> None:
    path = tmp_path / "workload.jsonl"
    nonsense = (b"{", b"[]", b'{"mark":"phase"}', b'{"mark":"phase","name":1,"start":2}', b"\xff")
    for line in nonsense:
        listener = host.Listener(path)
        whole_lines = line + b'\n{"mark":"phase","name":"steady","start":1}\n'
        for length in range(len(whole_lines)):
            path.write_bytes(whole_lines[:length])
            assert not listener.listen(), (line, length)
        path.write_bytes(whole_lines)
        assert (listener.listen(), listener.phase) == (True, "steady"), line


def raise_interrupt() -> bool:
    raise KeyboardInterrupt


@pytest.mark.parametrize("end", [End.EXITED, End.INTERRUPTED])
def test_it_samples_until_the_target_ends_or_somebody_stops_it(
    end: End, sampler: Sampler, tmp_path: Path
) -> None:
    looks, messages = iter(range(5)), list[str]()
    runs = raise_interrupt if end is End.INTERRUPTED else lambda: next(looks, None) is not None
    assert host.watch(sampler, host.Listener(None), PATIENT, messages.append, running=runs) is end
    assert messages == []
    assert len(read_samples(tmp_path / "samples.jsonl")) == (6 if end is End.EXITED else 1)


def test_a_workers_time_counts_from_its_steady_phase(sampler: Sampler, journal: Journal) -> None:
    journal.write("phase", name="prepare", start=1)
    messages: list[str] = []
    start = ClockAnchor.read_clocks().monotonic

    def runs() -> bool:
        journal.write("phase", name="steady", start=start)
        return True

    pace = host.SamplingPace(0.001, 0.02, host.HostTimeouts(ready=600.0, grace=0.02))
    listener = host.Listener(journal.path)
    assert host.watch(sampler, listener, pace, messages.append, running=runs) is End.LIMIT
    assert messages == ["prepare", "steady"]
    assert ClockAnchor.read_clocks().monotonic - start >= 40_000_000


def test_a_worker_has_its_time(journal: Journal) -> None:
    pace = host.SamplingPace(0.025, 300.0, host.HostTimeouts(grace=20.0))
    assert host.last_moment(SECOND, host.Listener(None), pace) == 301 * SECOND
    listener = host.Listener(journal.path)
    assert host.last_moment(0, listener, pace) == 600 * SECOND
    journal.write("phase", name="steady", start=7 * SECOND)
    for busy, moment in ((0, 327), (328, 348)):  # it measures what recording cost
        journal.write("busy", until=busy * SECOND)
        listener.listen()
        assert host.last_moment(0, listener, pace) == moment * SECOND


def test_who_watches_hears_how_long_steps_go_on() -> None:
    cases = {
        ("steady", 0): "steady",
        ("steady", 22): "steady",
        ("steady", 23): "steady, 16 s for steps that are long",
        ("warm-up", 23): "warm-up",
    }
    for (phase, busy), words in cases.items():
        listener = host.Listener(None, phase, 7 * SECOND, busy=busy * SECOND)
        assert host.phase_in_words(listener, 10.0) == words, phase


# An interrupt may come between the opening of a file of /proc and the `with` that closes it.
MAY_LEAVE_OPEN = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
DEAF_FOR_LONG = ((signal.SIGINT, 600.0), (signal.SIGTERM, 600.0), (signal.SIGKILL, 30.0))
SIGNALS = ((signal.SIGINT, 1.0), (signal.SIGTERM, 0.3), (signal.SIGKILL, 30.0))
Work = Callable[..., FinishedRecording]


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return Recording(tmp_path / "run")


@pytest.fixture
def recorder() -> HostRecorder:
    return HostRecorder(0.01, host.HostTimeouts(30.0, 0.5, SIGNALS))


@pytest.fixture
def work(recorder: HostRecorder, recording: Recording) -> Work:
    def run(
        step: str = "time.sleep(0.002)",
        time_limit: float = 30.0,
        timeouts: host.HostTimeouts = recorder.timeouts,
        **values: Any,
    ) -> FinishedRecording:
        recording.host_bundle.mkdir(parents=True)
        recording.host_samples.write_text("{")  # of an earlier try
        file, journal = recording.folder / "naps.py", recording.journal_file
        file.write_text(naps_that(step))
        values = {"report": recording.workload_file, "warmup": 1, "repeats": 10, **values}
        Spec(file=file, name="naps", journal=journal, **values).save(recording.spec_file)
        request = RecordingRequest(
            ProgramLaunch(command(recording.spec_file), journal=journal), time_limit
        )
        return replace(recorder, timeouts=timeouts).record(request, recording, quiet)

    return run


def account(recording: Recording) -> WorkloadReport:
    return msgspec.json.decode(recording.workload_file.read_bytes(), type=WorkloadReport)


def samples(recording: Recording) -> list[ProcessSample]:
    return read_samples(recording.host_samples)


def press_ctrl_c(is_due: Callable[[], bool]) -> None:
    """Send SIGINT to this process, as a terminal does, once something is so."""

    def press() -> None:
        until(is_due)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()


@pytest.mark.processes
def test_a_worker_is_recorded(work: Work, recorder: HostRecorder, recording: Recording) -> None:
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
    sample_times = [sample.at for sample in samples(recording)]
    assert sample_times == sorted(sample_times)
    assert origin < sample_times[0]
    assert recorded.overhead == Overhead(reason="no steps were made unrecorded")
    assert recorder.export(recording, quiet) == ()
    tables = Tables(recording.exports, frozenset({target.pid}))
    assert len(tables["steps"]) == len(tables["gpu_intervals"]) == 51
    assert [*tables["phases"]["name"]] == ["prepare", "warm-up", "steady"]
    assert {*tables["gpu_intervals"]["process"]} == {target.name}
    assert len(tables["process_samples"]) == len(sample_times)
    assert tables.warnings == ()


@pytest.mark.processes
def test_the_cost_of_recording_is_measured(work: Work, recording: Recording) -> None:
    """Measuring takes longer than the grace of half a second."""
    step = "time.sleep(0.02)"
    recorded = work(step=step, repeats=None, time_limit=0.1, seconds=0.1, measure_overhead=True)
    assert (recorded.end_reason, recorded.warnings) == ("Time limit reached", ())
    assert (recorded.failure, recorded.interrupted) == ("", False)
    assert account(recording).state == "done"
    measured = recorded.overhead or Overhead()
    assert None not in {measured.ratio, measured.spread}
    assert min(measured.recorded, measured.unrecorded) >= 20_000_000
    # sampling pauses in unrecorded blocks of 60 ms; one sample may have been under way
    blocks = [block for block in fold(recording.journal_file).blocks if not block.recorded]
    all_samples = samples(recording)
    block_samples = [
        sample
        for sample in all_samples
        for block in blocks
        if block.start <= sample.at <= block.end
    ]
    assert len(blocks) >= 6
    assert len(block_samples) <= len(blocks)


@pytest.mark.processes
def test_a_worker_that_is_killed_loses_no_step(work: Work, recording: Recording) -> None:
    recorded = work(step="os.kill(os.getpid(), signal.SIGKILL) if made == 6 else None")
    report = account(recording)
    assert len(report.steps) == 5
    assert (report.state, report.complete) == ("failed", False)
    assert recorded.failure == report.error
    assert recorded.failure.endswith("ended with signal SIGKILL.")


@pytest.mark.processes
@MAY_LEAVE_OPEN
def test_ctrl_c_ends_the_worker(work: Work, recording: Recording) -> None:
    press_ctrl_c(lambda: len(fold(recording.journal_file).steps) >= 20)
    recorded = work(repeats=10**6)
    assert (recorded.interrupted, recorded.end_reason) == (True, "Interrupted")
    assert recorded.failure == ""
    report = account(recording)
    assert (report.state, report.complete) == ("interrupted", True)
    assert len(report.steps) >= 20
    assert not psutil.pid_exists(report.pid)


@pytest.mark.processes
@MAY_LEAVE_OPEN
def test_a_second_ctrl_c_kills(work: Work, recording: Recording) -> None:
    stuck, marker_file = recording.folder / "stuck", recording.folder / "told"
    press_ctrl_c(stuck.exists)
    press_ctrl_c(marker_file.exists)
    step = (
        f"made < 4 or [open({str(stuck)!r}, 'w'), time.sleep(1),"
        f" open({str(marker_file)!r}, 'w'), time.sleep(3600)]"
    )
    recorded = work(step=step, timeouts=host.HostTimeouts(signals=DEAF_FOR_LONG))
    assert recorded.interrupted
    assert recorded.end_reason == "Target did not end when asked and was killed"
    assert len(account(recording).steps) == 3


def test_a_command_is_sampled_and_its_leftovers_ended(
    recorder: HostRecorder, recording: Recording
) -> None:
    code = "import subprocess as s, time; print(s.Popen(['sleep', '3600']).pid); time.sleep(0.3)"
    target, ours = ProgramLaunch((sys.executable, "-c", code)), time.process_time_ns()
    recorded = recorder.record(RecordingRequest(target, 30.0), recording, quiet)
    assert (recorded.failure, recorded.overhead and recorded.overhead.ratio) == ("", None)
    [warning] = recorded.warnings
    assert warning.startswith("Only the process was sampled")
    session = load_session(recording)
    session_facts = (session.kind, session.exit_status, session.arguments[0])
    assert session_facts == ("launched", 0, "-c")
    all_samples = samples(recording)
    assert len(all_samples) >= 2
    assert (
        max(sample.memory for sample in all_samples) > 0
    )  # none is left to one that ends just then
    assert 0 < all_samples[-1].cpu < ours
    until_gone(int(recording.host_output.read_text()))


def test_a_program_never_takes_the_lines_of_a_terminal() -> None:
    descriptor = os.dup(0)
    ends = os.openpty()
    try:
        os.dup2(ends[1], 0)
        assert ProgramLaunch(("cat",), reads_input=True).stdin == subprocess.DEVNULL
    finally:
        os.dup2(descriptor, 0)
        for end in (descriptor, *ends):
            os.close(end)


def test_a_program_reads_our_input_if_it_is_to(
    recorder: HostRecorder, recording: Recording, tmp_path: Path
) -> None:
    given_input = tmp_path / "input"
    given_input.write_text("lost\nkept\n")
    descriptor = os.dup(0)
    try:
        with given_input.open("rb") as file:
            os.dup2(file.fileno(), 0)
        os.lseek(0, 5, os.SEEK_SET)  # as of a shell's loop that has read a line
        with pytest.raises(UsageError, match=r"^It runs twice, so the program might read nothing"):
            system.refuse_input("It runs twice")
        target = ProgramLaunch(("cat",), reads_input=True)
        recorder.record(RecordingRequest(target, 30.0), recording, quiet)
        assert recording.host_output.read_text() == "kept\n"
        system.refuse_input("It runs twice")  # nothing is left
    finally:
        os.dup2(descriptor, 0)
        os.close(descriptor)


def test_the_wall_time_of_a_program_begins_and_ends_with_it(
    recorder: HostRecorder, recording: Recording
) -> None:
    code = "import time; print(time.monotonic_ns(), flush=True)"
    target = ProgramLaunch((sys.executable, "-c", code))
    replace(recorder, period=600.0).record(RecordingRequest(target, 600.0), recording, quiet)
    session = load_session(recording)
    printed = int(recording.host_output.read_text())
    assert session.origin < session.program_start < printed < session.end
    results = exports.account(recording).results
    assert results["wall_time"].value == session.end - session.program_start


def test_a_running_process_is_only_sampled(recorder: HostRecorder, recording: Recording) -> None:
    with subprocess.Popen(("sleep", "600")) as sleeper:
        recorded = recorder.record(RecordingRequest(Attach(sleeper.pid), 0.2), recording, quiet)
        assert psutil.Process(sleeper.pid).status() != psutil.STATUS_ZOMBIE
        sleeper.kill()
    assert (recorded.end_reason, recorded.command_lines) == ("Time limit reached", ())
    assert recorded.targets[0].pid == sleeper.pid
    session = load_session(recording)
    assert session.kind == "attached"
    assert recorded.duration == (session.end - session.origin) / 1e9
    first_sample, *_, last_sample = samples(recording)
    assert first_sample.cpu <= last_sample.cpu < 100_000_000  # its own, not ours
    request = RecordingRequest(ProgramLaunch(("no-such-program-anywhere",)), 1.0)
    with pytest.raises(ToolError, match="no-such-program-anywhere cannot be started"):
        recorder.record(request, recording, quiet)
