import signal
import subprocess
import time

import psutil

from tracekit.base.processes import sweep


def test_what_a_process_left_behind_is_killed() -> None:
    line = "sleep 60 & echo $!"
    with subprocess.Popen(
        ["sh", "-c", line], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        left = psutil.Process(int(process.stdout.readline()))
        process.wait()
        assert left.is_running()
        sweep(process)
    for _ in range(500):
        if not left.is_running() or left.status() == psutil.STATUS_ZOMBIE:
            return
        time.sleep(0.01)
    raise AssertionError(left)


def test_one_that_runs_is_killed_and_one_that_is_gone_is_left_in_peace() -> None:
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    sweep(process)
    assert process.wait(10) == -signal.SIGKILL
    sweep(process)
