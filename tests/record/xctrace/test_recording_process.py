"""A process under watch, with programs that say what a recorder says, and worse."""

import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from recording_fakes import DEADLINES, QUICK, STEEP
from tracekit.base.recording import Recording
from tracekit.record.recorder import Request
from tracekit.record.supervisor import Supervisor
from tracekit.record.xctrace.attempts import Job, Manner, Vigil
from tracekit.record.xctrace.claim import Claim, Premises
from tracekit.record.xctrace.command_line import Subject
from tracekit.record.xctrace.progress import Account
from tracekit.record.xctrace.recording_process import Deadlines, Ended

pytestmark = pytest.mark.processes

HASTY = replace(DEADLINES, signals=STEEP)
BEGUN = ("Starting recording with the X template. Attaching to: a (1).", "Ctrl-C to stop the")
SAVED = ("Recording completed. Saving output file...", "Output file saved as: a.trace")
PRELUDE = """
import os, signal, subprocess, sys, time
def say(*lines): print(*lines, sep="\\n", flush=True)
"""

Run = Callable[..., Ended]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a program that takes the place of xctrace to its end."""

    def record_it(
        code: str,
        deadlines: Deadlines = HASTY,
        limit: float = 60,
        changed: Callable[[Account], None] = lambda _: None,
    ) -> Ended:
        argv = (sys.executable, "-I", "-S", "-c", PRELUDE + code)
        manner = Manner(deadlines, premises=Premises(tmp_path, 0))
        with Supervisor(tmp_path) as supervisor:
            claim = Claim(supervisor, (tmp_path,))
            job = Job(Request(QUICK, limit), Recording(tmp_path), manner, claim, lambda _: None)
            return Vigil(job, Subject(QUICK, changed), argv).run()

    return record_it


def test_a_child_that_keeps_its_output_open_is_not_waited_for(run: Run) -> None:
    ended = run("say(subprocess.Popen(['sleep', '60']).pid)")
    child = psutil.Process(int(ended.account.output[0]))
    assert child.is_running()
    child.kill()
    assert ended.returncode == 0


def test_a_process_that_heeds_the_second_signal_is_not_killed(run: Run) -> None:
    code = f"seen = []\nsignal.signal(2, lambda *_: seen.append(1))\nsay(*{BEGUN!r})\n"
    code += f"while len(seen) < 2: time.sleep(0.01)\nsay(*{SAVED!r})"
    ended = run(code, replace(HASTY, slack=0.1), limit=0.1)
    assert ended.signals == (signal.SIGINT, signal.SIGINT)
    assert (ended.returncode, ended.killed) == (0, False)


def test_an_error_of_ours_leaves_nothing_running(tmp_path: Path, run: Run) -> None:
    pid = tmp_path / "pid"
    code = f"open({str(pid)!r}, 'w').write(str(os.getpid()))\nsay({BEGUN[0]!r}); time.sleep(60)"

    def fail(account: Account) -> None:
        raise ZeroDivisionError(account.state.name)

    with pytest.raises(ZeroDivisionError):
        run(code, changed=fail)
    assert not psutil.pid_exists(int(pid.read_text()))
