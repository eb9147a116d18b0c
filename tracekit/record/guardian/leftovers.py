"""Programs that a recording started and left running."""

import logging
import os
import time
from collections.abc import Iterable

import psutil

from tracekit.base.processes import found, no_older, runs

log = logging.getLogger(__name__)

_GRACE = 5.0
_POLL = 0.05


def meant(pid: int, start: int = 0) -> tuple[psutil.Process, ...]:
    """Return the process that something said it is; none where that one is gone.

    Args:
        pid: Its number.
        start: What tells it from others of its number, as `tracekit.base.processes.start_of` says; 0
            where nobody said so. Then it must be no older than this process, which began before
            all that it recorded, so that a process that was there before is safe.
    """
    if pid <= 0:
        return ()
    process = found(pid, start) if start else no_older(pid, os.getpid())
    return () if process is None else (process,)


def end_leftovers(processes: Iterable[psutil.Process], grace: float = _GRACE) -> tuple[int, ...]:
    """End those of the processes that still run, and return their numbers.

    Whether xctrace ends a launched program when it is told to stop is not established, and a
    killed recorder surely does not. They are asked first, and killed after `grace` seconds. A
    process that was given the number of one of them meanwhile is not touched.
    """
    running = [process for process in set(processes) if runs(process)]
    for process in running:
        log.info("ending %d, which the recording left running", process.pid)
        _signal(process, kill=False)
    for process in _still_there(running, grace):
        _signal(process, kill=True)
    _still_there(running, grace)
    return tuple(sorted(process.pid for process in running))


def _still_there(processes: list[psutil.Process], grace: float) -> list[psutil.Process]:
    """Return those that have not ended after `grace` seconds; a zombie has ended."""
    deadline = time.monotonic() + grace
    left = [process for process in processes if runs(process)]
    while left and time.monotonic() < deadline:
        time.sleep(_POLL)
        left = [process for process in left if runs(process)]
    return left


def _signal(process: psutil.Process, *, kill: bool) -> None:
    try:
        if kill:
            process.kill()
        else:
            process.terminate()
    except psutil.Error:
        log.debug("%d is gone or not ours", process.pid)
