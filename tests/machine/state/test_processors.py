"""What other processes take of the cores."""

import os
import subprocess
import sys
import time

import pytest

from tracekit.machine.sources import Spent, load, spent

BUSY = "import time\nend = time.monotonic() + {}\nwhile time.monotonic() < end: pass"


def between(earlier: Spent, later: Spent) -> float:
    return load(earlier, later).readings["load"]


def test_what_is_not_ours_is_others() -> None:
    earlier = Spent(0.0, busy=100.0, idle=300.0, ours={7: 10.0})
    later = Spent(1.0, busy=101.5, idle=302.5, ours={7: 10.5})
    assert between(earlier, later) == 0.25


def test_a_new_process_of_ours_counts_whole() -> None:
    earlier = Spent(0.0, busy=100.0, idle=300.0)
    later = Spent(1.0, busy=102.0, idle=302.0, ours={7: 1.0})
    assert between(earlier, later) == 0.25


def test_a_child_that_ended_counts_by_what_it_did_since() -> None:
    earlier = Spent(0.0, busy=100.0, idle=300.0, ours={7: 10.0}, ended=4.0)
    later = Spent(1.0, busy=102.0, idle=302.0, ended=15.0)
    assert between(earlier, later) == 0.25


def test_what_ended_and_was_no_child_takes_nothing_from_others() -> None:
    earlier = Spent(0.0, busy=100.0, idle=300.0, ours={7: 10.0})
    later = Spent(1.0, busy=102.0, idle=302.0)
    assert between(earlier, later) == 0.5


def test_a_count_that_stands_still_is_absent() -> None:
    still = Spent(0.0, busy=100.0, idle=300.0)
    found = load(still, still)
    assert found.readings == {}
    assert found.absences == {"load": "the system's count of CPU time stands still."}


@pytest.mark.processes
def test_what_ours_do_does_not_count_and_what_others_do_does() -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY.format(1.2)]) as child:
        time.sleep(0.2)
        mine, theirs = spent((child.pid,)), spent(())
        time.sleep(0.6)
        as_ours = between(mine, spent((child.pid,)))
        as_others = between(theirs, spent(()))
        child.kill()
    # The child's share is kept apart from what else the machine does; it may get less than a core.
    assert 0.02 < as_others - as_ours < 1.3 / (os.cpu_count() or 1)
