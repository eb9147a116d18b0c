"""How long a night may take, and what becomes of one that hangs."""

import signal
import subprocess
import sys
import time

import pytest

from tracekit.nightly.schedule.running import Budget, enforced

HANGS = """
import sys, time
from tracekit.nightly.schedule.running import Budget, enforced
def stop(*_):
    print("kept", flush=True)
    sys.exit(0)
import signal
signal.signal(signal.SIGTERM, stop)
with enforced(Budget(0.1), grace=0.2):
    time.sleep(60)
"""


def test_what_is_spent_and_left_make_the_whole() -> None:
    budget = Budget(100.0, began=time.monotonic() - 30)
    assert 29.9 < budget.spent() < 35
    assert abs(budget.spent() + budget.left() - 100) < 0.1
    assert budget.deadline == budget.began + 100
    assert not budget.over


def test_a_spent_budget_has_nothing_left_and_no_debt() -> None:
    budget = Budget(10.0, began=time.monotonic() - 30)
    assert budget.left() == 0
    assert budget.over


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
        with enforced(Budget(0.0), grace=0.05):
            pass
        time.sleep(0.15)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == []
