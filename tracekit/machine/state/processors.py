"""What other processes take of the cores: all the time of the CPUs, less what we had of it."""

import os
import resource
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

import psutil

from tracekit.machine.state.known import Known, absent

_IDLE = ("idle", "iowait")
_COUNTED_TWICE = ("guest", "guest_nice")  # they are in user and nice as well


@dataclass(frozen=True)
class Spent:
    """CPU time up to a moment, in seconds.

    Attributes:
        at: The moment, of the monotonic clock.
        busy: What all CPUs worked, and what a hypervisor took away from them.
        idle: What they waited.
        ours: What each of our processes worked, by pid; gone ones are not in it.
        ended: What those of our children worked that have ended.
    """

    at: float
    busy: float
    idle: float
    ours: dict[int, float] = field(default_factory=dict[int, float])
    ended: float = 0.0


def spent(pids: Iterable[int]) -> Spent:
    """Read what was worked so far; `pids` and this process are ours."""
    times = psutil.cpu_times()._asdict()
    idle = sum(times.get(name, 0.0) for name in _IDLE)
    twice = sum(times.get(name, 0.0) for name in _COUNTED_TWICE)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Spent(
        time.monotonic(),
        sum(times.values()) - idle - twice,
        idle,
        {pid: worked for pid in {*pids, os.getpid()} if (worked := _worked(pid)) is not None},
        children.ru_utime + children.ru_stime,
    )


def load(earlier: Spent, later: Spent) -> Known:
    """Return `load`: the share of all cores' time that went to processes that are not ours.

    Both counts tick in hundredths of a second, so over 0.15 s on two cores it is exact to about
    0.03. A process of ours that has ended since counts by what it had worked when it ended, if
    it was a child of this one.
    """
    busy, idle = later.busy - earlier.busy, later.idle - earlier.idle
    if busy + idle <= 0:
        return absent("the system's count of CPU time stands still.", "load")
    return Known({"load": min(1.0, max(0.0, busy - _own(earlier, later)) / (busy + idle))})


def _own(earlier: Spent, later: Spent) -> float:
    living = sum(worked - earlier.ours.get(pid, 0.0) for pid, worked in later.ours.items())
    gone = sum(worked for pid, worked in earlier.ours.items() if pid not in later.ours)
    return max(0.0, living) + max(0.0, later.ended - earlier.ended - gone)


def _worked(pid: int) -> float | None:
    with suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return times.user + times.system
    return None
