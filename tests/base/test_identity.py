"""Processes told from others of their number, by when they began on a clock that nobody sets."""

import os
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from tracekit.base.processes import found, no_older, reported, runs, start_of

pytestmark = pytest.mark.processes


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(("sleep", "60")) as process:
        yield process
        process.kill()


def test_a_process_is_known_by_its_number_and_start(sleeper: subprocess.Popen[bytes]) -> None:
    start = start_of(sleeper.pid)
    assert found(sleeper.pid, start) == psutil.Process(sleeper.pid)
    assert found(sleeper.pid, start + 1) is None
    sleeper.kill()
    sleeper.wait()
    assert found(sleeper.pid, start) is None
    with pytest.raises(psutil.NoSuchProcess):
        start_of(sleeper.pid)


def test_another_process_reads_the_same_start() -> None:
    code = (
        "import sys; from tracekit.base.processes import start_of; "
        "print(start_of(int(sys.argv[1])))"
    )
    asked = (sys.executable, "-c", code, str(os.getpid()))
    said = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert int(said.stdout) == start_of(os.getpid())


def test_a_child_is_no_older_than_its_parent(sleeper: subprocess.Popen[bytes]) -> None:
    assert no_older(sleeper.pid, os.getpid()) == psutil.Process(sleeper.pid)
    assert no_older(os.getpid(), os.getpid()) is not None
    assert no_older(os.getppid(), sleeper.pid) is None


def test_a_process_that_was_named_with_its_start_is_that_one_or_none(
    sleeper: subprocess.Popen[bytes],
) -> None:
    process, start = psutil.Process(sleeper.pid), start_of(sleeper.pid)
    assert reported(sleeper.pid, start) == reported(sleeper.pid) == (process,)
    assert reported(sleeper.pid, start + 1) == ()
    assert reported(os.getppid()) == reported(0) == reported(-1) == ()


def test_one_that_ended_does_not_run(sleeper: subprocess.Popen[bytes]) -> None:
    process = psutil.Process(sleeper.pid)
    assert runs(process)
    sleeper.kill()
    while process.status() != psutil.STATUS_ZOMBIE:
        pass
    assert not runs(process)
    sleeper.wait()
    assert not runs(process)
