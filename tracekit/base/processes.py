"""Processes: which one a number means, what it started, and starting one without losing a signal.

A process is told from a later one of its number by when it began, in ticks of the clock that counts
from boot. A time of day cannot tell: Linux knows the time of boot in whole seconds only, so that a
process may seem to have begun up to a second too early, and all such times move when somebody sets
the clock.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import psutil

_STARTTIME = 19  # field 22 of proc_pid_stat(5), counted from the state, which follows the name


def start_of(pid: int) -> int:
    """Return what tells a process from every other one that had or will have its number.

    Raises:
        psutil.NoSuchProcess: There is none.
    """
    if sys.platform != "linux":
        return hash(psutil.Process(pid))  # of its number and the kernel's own time of its start
    try:
        return start_ticks(Path(f"/proc/{pid}/stat").read_bytes())
    except (FileNotFoundError, ProcessLookupError):
        raise psutil.NoSuchProcess(pid) from None


def start_ticks(stat: bytes) -> int:
    """Return the clock ticks from boot to the start of a process, of its `/proc/PID/stat`."""
    return int(stat.rpartition(b")")[2].split()[_STARTTIME])  # a name may hold blanks and brackets


def found(pid: int, start: int) -> psutil.Process | None:
    """Return the very process, ended but not reaped or running; None once it is gone."""
    try:
        process = psutil.Process(pid)
        return process if start_of(pid) == start else None
    except psutil.Error:
        return None


def no_older(pid: int, than: int) -> psutil.Process | None:
    """Return the process of a number unless it is gone, or began before another one did."""
    try:
        process, other = psutil.Process(pid), psutil.Process(than)
        return process if _begin(process) >= _begin(other) else None
    except psutil.Error:
        return None


def runs(process: psutil.Process) -> bool:
    """Tell whether a process has not ended; one that nobody has reaped yet has."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _begin(process: psutil.Process) -> float:
    """Return a number that is greater for a process that began later."""
    return start_of(process.pid) if sys.platform == "linux" else process.create_time()


def sweep(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    """Kill all that is in the group of a process that began one (`start_new_session`)."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def uninterrupted() -> Generator[None]:
    """Put off what signals ask for, so that no process is started that nobody knows of.

    The first of them is served as the context ends.
    """
    if threading.current_thread() is not threading.main_thread():  # signals do not come there
        yield
        return
    came: list[tuple[int, FrameType | None]] = []

    def keep(number: int, frame: FrameType | None) -> None:
        came.append((number, frame))

    asking = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {one: found for one in asking if callable(found := signal.getsignal(one))}
    for one in before:
        signal.signal(one, keep)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        for number, frame in came[:1]:
            before[signal.Signals(number)](number, frame)
