"""How a recorder is stopped: by literal times, by requests, and with programs that behave badly."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGTERM

import psutil
import pytest

from children import until
from recording_fakes import DEADLINES as QUICKLY
from recording_fakes import QUICK, STEEP
from tracekit.base.recording import Process, Recording
from tracekit.record.recorder import RecordingRequest
from tracekit.record.supervisor import Supervisor
from tracekit.record.xctrace.attempts import Family, Manner, RecordingJob, Vigil, _may_pass
from tracekit.record.xctrace.claim import MachineClaim, Premises
from tracekit.record.xctrace.command_line import RecordedSubject
from tracekit.record.xctrace.progress import (
    RecordingState,
    RecordingTranscript,
    hear_notice,
    hear_output,
)
from tracekit.record.xctrace.recording_process import Deadlines, Ended, Escalation, stop_requests

ANNOUNCED, STARTED, STOPPING = (
    RecordingState.ANNOUNCED,
    RecordingState.STARTED,
    RecordingState.STOPPING,
)
SAVING, SAVED = RecordingState.SAVING, RecordingState.SAVED
DEADLINES = Deadlines()


def escalation(*states: tuple[float, RecordingState]) -> Escalation:
    """Make one for a recording of 10 s, launched at 0, that heard states at times."""
    new_escalation = Escalation(DEADLINES, 10, 0)
    for moment, state in states:
        account = RecordingTranscript(state, is_understood=True)
        new_escalation.hear(account, moment)
    return new_escalation


def test_deadlines_of_states() -> None:
    saving, saved = ((3, STARTED), (13, SAVING)), ((3, STARTED), (13, SAVING), (20, SAVED))
    stopping = ((3, STARTED), (13, STOPPING))
    cases: list[tuple[float, tuple[tuple[float, RecordingState], ...], float | None]] = [
        (180, (), None),
        (180, ((3, ANNOUNCED),), None),
        (34, ((3, ANNOUNCED), (4, STARTED)), None),
        (73, stopping, None),
        (613, saving, None),
        (80, saved, None),
        # growth is time to save, and no excuse in any other state
        (900, saving, 300),
        (180, ((3, ANNOUNCED),), 40),
        (73, stopping, 70),
        (80, saved, 45),
    ]
    for deadline, states, grown in cases:
        new_escalation = escalation(*states)
        if grown is not None:
            new_escalation.grow(grown)
        assert (
            new_escalation.find_due_signal(deadline - 0.001),
            new_escalation.find_due_signal(deadline),
        ) == (None, SIGINT), deadline
    assert [wait for _, wait in DEADLINES.policy(Path("a")).signals] == [600, 60, 10, 5]


@pytest.mark.parametrize(
    "account",
    [
        reduce(hear_output, ("Aufzeichnung beginnt.", "Ctrl-C beendet."), RecordingTranscript()),
        hear_notice(RecordingTranscript()),  # its lines may be held back until its end
    ],
)
def test_a_recorder_that_is_not_understood_has_time_to_save(account: RecordingTranscript) -> None:
    new_escalation = escalation()
    new_escalation.hear(account, 1)
    assert new_escalation.find_due_signal(690.999) is None
    assert new_escalation.find_due_signal(691) is SIGINT


def test_signals_come_in_order_each_after_the_time_of_the_one_before() -> None:
    new_escalation = escalation((1, STARTED))
    sent = [
        (moment, new_escalation.find_due_signal(moment))
        for moment in (31, 150, 151, 210, 211, 220, 221)
    ]
    in_order = [(31, SIGINT), (151, SIGINT), (211, SIGTERM), (221, SIGKILL)]
    assert [(moment, number) for moment, number in sent if number] == in_order
    assert (new_escalation.is_hopeless(225.9), new_escalation.is_hopeless(226)) == (False, True)
    assert new_escalation.find_due_signal(500) is None
    # a state that is reached after a signal has its full time
    new_escalation = escalation((1, STARTED))
    assert new_escalation.find_due_signal(31) is SIGINT
    new_escalation.hear(replace(RecordingTranscript(), state=SAVING), 100)
    assert (new_escalation.find_due_signal(699), new_escalation.find_due_signal(700)) == (
        None,
        SIGINT,
    )


def test_a_target_that_is_done_ends_the_recording_and_delays_nothing(
    subtests: pytest.Subtests,
) -> None:
    for done, deadline in ((8, 11), (32, 33)):
        with subtests.test(done=done):
            new_escalation = escalation((3, STARTED))
            new_escalation.finish(done)
            new_escalation.finish(done + 0.5)
            assert new_escalation.finished
            assert (
                new_escalation.find_due_signal(deadline - 0.1),
                new_escalation.find_due_signal(deadline),
            ) == (None, SIGINT)
            new_escalation.finish(deadline + 1)
            assert (
                new_escalation.find_due_signal(deadline + 119),
                new_escalation.find_due_signal(deadline + 120),
            ) == (None, SIGINT)


def test_children_and_grandchildren_are_found_under_their_final_names() -> None:
    family, argv = Family(), ("sh", "-c", "sleep 60 & read go; exec sleep 60")
    with subprocess.Popen(argv, stdin=subprocess.PIPE, start_new_session=True) as shell:
        until(psutil.Process(shell.pid).children)
        family.look()
        assert shell.stdin is not None
        shell.stdin.close()
        until(lambda: psutil.Process(shell.pid).name() == "sleep")
        family.look()
        assert Process(shell.pid, "sleep") in family.descendants(os.getpid())
        [child] = family.descendants(shell.pid)
        assert child in family.descendants(os.getpid())
        later = Family()
        later.look()
        shell.kill()
        until(lambda: psutil.Process(child.pid).ppid() != shell.pid, "it is handed to another one")
        later.look()
        assert later.descendants(shell.pid) == (child,)
        os.killpg(shell.pid, SIGKILL)


def test_a_start_that_crashed_alone_is_tried_again() -> None:
    for ending, again in (
        (Ended(RecordingTranscript(), 139), True),
        (Ended(RecordingTranscript(), 139, (SIGINT,)), False),  # as it was asked to stop
        (Ended(RecordingTranscript(), 139, interrupted=True), False),
        (Ended(RecordingTranscript(), 0, (SIGINT,), is_unstarted=True), True),
        (Ended(RecordingTranscript(), 0, (SIGINT,), is_unstarted=True, interrupted=True), False),
        (Ended(RecordingTranscript(state=STARTED), 139), False),
    ):
        assert _may_pass(ending) is again, ending


def ask(number: int = SIGINT) -> None:
    signal.raise_signal(number)  # to this thread: os.kill may reach another, some time later


def test_requests_are_taken_once_and_signals_at_once_are_one() -> None:
    handler_before = signal.getsignal(SIGTERM)
    hangups = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored
    try:
        with stop_requests(merge_seconds=0) as is_stop_requested:
            for number in (SIGINT, SIGTERM, signal.SIGHUP):
                ask(number)
            assert [is_stop_requested() for _ in range(4)] == [True, True, True, False]
        with stop_requests(merge_seconds=60) as is_stop_requested:
            ask()
            ask(SIGTERM)
            assert [is_stop_requested() for _ in range(2)] == [True, False]
    finally:
        signal.signal(signal.SIGHUP, hangups)
    assert signal.getsignal(SIGTERM) is handler_before


def test_ignored_signals_stay_ignored_and_another_thread_changes_no_handlers() -> None:
    handler_before, handlers = signal.signal(SIGINT, signal.SIG_IGN), list[object]()

    def enter() -> None:
        with stop_requests():
            handlers.append(signal.getsignal(SIGTERM))

    try:
        with stop_requests() as is_stop_requested:
            ask()
            assert not is_stop_requested()
            assert signal.getsignal(SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(SIGINT, handler_before)
    handler = signal.getsignal(SIGTERM)
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert handlers == [handler]


HASTY = replace(QUICKLY, slack=0.1, signals=STEEP)
BEGUN = ("Starting recording with the X template.", "Ctrl-C to stop the recording")
LAST = ("Recording completed. Saving output file...", "Output file saved as: a.trace")
PRELUDE = """
import os, signal, subprocess, sys, time
def say(*lines): print(*lines, sep="\\n", flush=True)
"""

Run = Callable[..., Ended]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def record_it(
        code: str,
        limit: float = 60,
        changed: Callable[[RecordingTranscript], None] = lambda _: None,
    ) -> Ended:
        argv = (sys.executable, "-I", "-S", "-c", PRELUDE + code)
        manner = Manner(HASTY, premises=Premises(tmp_path, 0))
        with Supervisor(tmp_path) as supervisor:
            claim = MachineClaim(supervisor, (tmp_path,))
            job = RecordingJob(
                RecordingRequest(QUICK, limit), Recording(tmp_path), manner, claim, lambda _: None
            )
            return Vigil(job, RecordedSubject(QUICK, changed), argv).run()

    return record_it


def test_a_child_that_keeps_its_output_open_is_not_waited_for(run: Run) -> None:
    ending = run("say(subprocess.Popen(['sleep', '60']).pid)")
    child = psutil.Process(int(ending.account.output[0]))
    assert child.is_running()
    child.kill()
    assert ending.returncode == 0


def test_a_process_that_heeds_the_second_signal_is_not_killed(run: Run) -> None:
    code = f"seen = []\nsignal.signal(2, lambda *_: seen.append(1))\nsay(*{BEGUN!r})\n"
    code += f"while len(seen) < 2: time.sleep(0.01)\nsay(*{LAST!r})"
    ending = run(code, limit=0.1)
    assert ending.signals == (signal.SIGINT, signal.SIGINT)
    assert (ending.returncode, ending.is_killed) == (0, False)


def test_an_error_of_ours_leaves_nothing_running(tmp_path: Path, run: Run) -> None:
    pid = tmp_path / "pid"
    code = f"open({str(pid)!r}, 'w').write(str(os.getpid()))\nsay({BEGUN[0]!r}); time.sleep(60)"

    def fail(account: RecordingTranscript) -> None:
        raise ZeroDivisionError(account.state.name)

    with pytest.raises(ZeroDivisionError):
        run(code, changed=fail)
    assert not psutil.pid_exists(int(pid.read_text()))
