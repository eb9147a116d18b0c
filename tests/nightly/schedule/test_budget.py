"""How long a night may take, and what becomes of one that hangs."""

import signal
import subprocess
import sys
import time

import pytest

from tracekit.nightly.schedule.running import enforced

HANGS = """
import sys, time
from tracekit.nightly.schedule.running import enforced
def stop(*_):
    print("kept", flush=True)
    sys.exit(0)
import signal
signal.signal(signal.SIGTERM, stop)
with enforced(0.1, grace=0.2):
    time.sleep(60)
"""


@pytest.mark.processes
def test_a_night_that_hangs_is_stopped_as_systemd_would() -> None:
    started = time.monotonic()
    ran = subprocess.run(
        [sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=50, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "kept\n")
    assert time.monotonic() - started < 45


def test_a_night_that_ends_in_time_is_left_alone() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        with enforced(0.0, grace=0.05):
            pass
        time.sleep(0.15)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == []
