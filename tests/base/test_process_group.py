import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tracekit.base.processes import Child, StopPolicy, exit_words, kill_group, start_child

pytestmark = pytest.mark.processes

DEAF = "trap '' INT TERM; echo ready; while :; do sleep 0.1; done"
LIFELINE = "echo ready; cat; exit 7"


def child(line: str, policy: StopPolicy) -> Child:
    null, pipe = subprocess.DEVNULL, subprocess.PIPE
    made = start_child(["sh", "-c", line], policy, env=os.environ, stdout=pipe, stderr=null)
    assert made.process.stdout is not None
    made.process.stdout.readline()
    return made


def test_one_that_hears_nothing_is_killed_after_all_signals() -> None:
    policy = StopPolicy(((signal.SIGINT, 0.05), (signal.SIGTERM, 0.05), (signal.SIGKILL, 5.0)))
    deaf = child(DEAF, policy)
    assert not deaf.stop()
    assert deaf.exit_status == -signal.SIGKILL
    deaf.clean_up()


def test_a_lifeline_comes_before_all_signals() -> None:
    policy = StopPolicy(((0, 20.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)), lifeline=True)
    listening = child(LIFELINE, policy)
    assert listening.stop()
    assert listening.exit_status == 7
    listening.clean_up()


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (0, "exit code 0"),
        (54, "exit code 54"),
        (-9, "signal SIGKILL"),
        (-250, "signal 250"),
        (139, "signal SIGSEGV"),
        (None, "no exit code"),
    ],
)
def test_how_a_process_ended(status: int | None, words: str) -> None:
    assert exit_words(status) == words


def test_what_a_process_left_behind_is_killed() -> None:
    line = "sleep 60 & echo $!"
    with subprocess.Popen(
        ["sh", "-c", line], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        left = psutil.Process(int(process.stdout.readline()))
        process.wait()
        assert left.is_running()
        kill_group(process)
    for _ in range(500):
        if not left.is_running() or left.status() == psutil.STATUS_ZOMBIE:
            return
        time.sleep(0.01)
    raise AssertionError(left)


def test_variables_of_the_linker_reach_a_program_through_its_gate(tmp_path: Path) -> None:
    output, odd = tmp_path / "out", "it's $HOME; a"
    env = {"PATH": os.environ["PATH"], "DYLD_LIBRARY_PATH": odd}
    argv = (sys.executable, "-c", "import os; print(os.environ['DYLD_LIBRARY_PATH'], end='')")
    seen: list[int] = []
    with output.open("wb") as file:
        child = start_child(
            argv,
            StopPolicy(),
            env=env,
            stdout=file,
            stderr=file,
            announce=lambda child: seen.append(child.pid),
        )
        assert child.process.wait(30) == 0
    assert seen == [child.pid]
    assert output.read_text() == odd
