import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.processes

WAITS = """
import time
from tracekit.workload.worker.stopping import Stop
stop = Stop()
stop.on_end_of(0, grace={grace})
while not stop.requested:
    time.sleep(0.01)
print(stop.abandoned, flush=True)
{then}
"""


def ends(grace: float, then: str) -> tuple[int, str]:
    argv = (sys.executable, "-c", WAITS.format(grace=grace, then=then))
    read, write = os.pipe()
    with subprocess.Popen(argv, stdin=read, stdout=subprocess.PIPE, text=True) as process:
        os.close(read)
        os.write(write, b"what is said does not matter")
        os.close(write)
        said, _ = process.communicate(timeout=60)
    return process.returncode, said


def test_the_end_of_the_recorder_asks_to_stop() -> None:
    assert ends(60, "") == (0, "True\n")


def test_who_does_not_stop_is_ended() -> None:
    assert ends(0.1, "time.sleep(600)") == (130, "True\n")
