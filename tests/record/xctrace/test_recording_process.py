"""A process under watch, with programs that say what a recorder says, and worse."""

import signal
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tracekit.record.supervisor import Supervisor
from tracekit.record.xctrace.progress import Account, State
from tracekit.record.xctrace.recording_process import Deadlines, Ended, Survey, Watch, record

pytestmark = pytest.mark.processes

DEADLINES = Deadlines(
    start=20, slack=20, stopping=20, saving=20, exit=20, signals=(0.2, 0.2, 0.2, 10), poll=0.02,
    survey=0.05,
)  # fmt: skip
NORMAL = (
    "Starting recording with the X template. Attaching to: a (1).",
    "Ctrl-C to stop the recording",
    "Reached specified time limit, ending recording...",
    "Recording completed. Saving output file...",
    "Output file saved as: a.trace",
)


class Heard:
    """Notes what a watch is told."""

    def __init__(self) -> None:
        self.states: list[State] = []
        self.sent: list[signal.Signals] = []
        self.surveys = 0
        self.seen = Survey()

    def watch(self) -> Watch:
        """Return the watch to hand over."""
        return Watch(self.change, self.sent.append, self.survey)

    def change(self, account: Account) -> None:
        """Note a state."""
        self.states.append(account.state)

    def survey(self) -> Survey:
        """Note that it was surveyed; nothing grows."""
        self.surveys += 1
        return self.seen


PRELUDE = """
import os, signal, subprocess, sys, time
def say(line): print(line, flush=True)
"""


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", PRELUDE + code)


def run(code: str, heard: Heard, deadlines: Deadlines = DEADLINES, limit: float = 60) -> Ended:
    limits: dict[str, Any] = {"time_limit": limit, "bundle": Path("a.trace")}
    with Supervisor(Path("nowhere")) as supervisor:
        return record(python(code), heard.watch(), deadlines, supervisor, **limits)


def saying(*lines: str) -> str:
    return "\n".join(f"say({line!r})" for line in lines) + "\n"


def test_every_state_is_told_once_and_in_order() -> None:
    heard = Heard()
    ended = run(saying(*NORMAL), heard)
    assert heard.states == list(State)[1:]
    assert (ended.returncode, ended.signals, ended.interrupted) == (0, (), False)
    assert ended.account.state is State.SAVED
    assert ended.account.output == NORMAL
    assert not ended.killed


def test_complaints_are_heard_until_the_end() -> None:
    ended = run("sys.stderr.write('a\\nb'); sys.exit(2)", Heard())
    assert ended.account.complaints == ("a", "b")
    assert ended.returncode == 2


def test_a_pipe_that_was_closed_early_is_no_end() -> None:
    heard = Heard()
    code = "os.close(1); os.close(2); time.sleep(0.3); os._exit(7)"
    assert run(code, heard).returncode == 7


def test_a_child_that_keeps_the_pipes_is_not_waited_for() -> None:
    ended = run("say(subprocess.Popen(['sleep', '60']).pid)", Heard())
    child = psutil.Process(int(ended.account.output[0]))
    assert child.is_running()
    child.kill()
    assert ended.returncode == 0


def test_a_process_that_heeds_the_second_signal_is_not_killed() -> None:
    heard = Heard()
    code = "seen = []\nsignal.signal(2, lambda *_: seen.append(1))\n" + saying(*NORMAL[:2])
    code += "while len(seen) < 2: time.sleep(0.01)\n" + saying(*NORMAL[2:])
    quick = Deadlines(**{**vars(DEADLINES), "slack": 0.1})
    ended = run(code, heard, quick, limit=0.1)
    assert heard.sent == [signal.SIGINT, signal.SIGINT]
    assert (ended.returncode, ended.killed) == (0, False)


def test_an_error_of_ours_leaves_nothing_running(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = f"open({str(pid)!r}, 'w').write(str(os.getpid()))\n"
    code += saying(*NORMAL[:1]) + "time.sleep(60)"

    def fail(account: Account) -> None:
        raise ZeroDivisionError(account.state.name)

    watch, bundle = Watch(fail, lambda _: None, Survey), tmp_path / "a.trace"
    with Supervisor(tmp_path) as supervisor, pytest.raises(ZeroDivisionError):
        record(python(code), watch, DEADLINES, supervisor, time_limit=60, bundle=bundle)
    assert not psutil.pid_exists(int(pid.read_text()))
