"""Processes told from others of their number, by when they began on a clock that nobody sets."""

import os
import subprocess
import sys

import psutil
import pytest

from tracekit.base.processes import found, no_older, reported, runs, start_of

pytestmark = pytest.mark.processes


def test_another_process_reads_the_same_start() -> None:
    code = (
        "import sys; from tracekit.base.processes import start_of; "
        "print(start_of(int(sys.argv[1])))"
    )
    asked = (sys.executable, "-c", code, str(os.getpid()))
    said = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert int(said.stdout) == start_of(os.getpid())


def test_a_process_is_known_by_its_number_and_start() -> None:
    with subprocess.Popen(("sleep", "60")) as sleeper:
        process, start = psutil.Process(sleeper.pid), start_of(sleeper.pid)
        assert found(sleeper.pid, start) == process
        assert found(sleeper.pid, start - 1) is found(sleeper.pid, start + 1) is None
        # a child is no older than its parent
        assert no_older(sleeper.pid, os.getpid()) == process
        assert no_older(os.getpid(), os.getpid()) is not None
        assert no_older(os.getppid(), sleeper.pid) is None
        # one that was named with its start is that one or none
        assert reported(sleeper.pid, start) == reported(sleeper.pid) == (process,)
        assert reported(sleeper.pid, start + 1) == ()
        assert reported(os.getppid()) == reported(0) == reported(-1) == ()
        assert runs(process)
        sleeper.kill()
        while process.status() != psutil.STATUS_ZOMBIE:
            pass
        assert not runs(process)
    assert not runs(process)
    assert found(sleeper.pid, start) is None
    with pytest.raises(psutil.NoSuchProcess):
        start_of(sleeper.pid)
