"""Programs that a recording started and left running."""

import logging
import time
from collections.abc import Iterable

import psutil

log = logging.getLogger(__name__)

_GRACE = 5.0
_POLL = 0.05
_CLOCK_TOLERANCE = 1.0


def end_leftovers(pids: Iterable[int], since: float, grace: float = _GRACE) -> tuple[int, ...]:
    """End the processes of `pids` that still run, and return those that did.

    Whether xctrace ends a launched program when it is told to stop is not established, and a
    killed recorder surely does not. Only processes that began after `since` (seconds since the
    epoch) are touched, so that a pid that was given away anew is safe. They are asked first,
    and killed after `grace` seconds.
    """
    running = [process for pid in set(pids) if (process := _young(pid, since)) is not None]
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
    left = [process for process in processes if _runs(process)]
    while left and time.monotonic() < deadline:
        time.sleep(_POLL)
        left = [process for process in left if _runs(process)]
    return left


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _young(pid: int, since: float) -> psutil.Process | None:
    try:
        process = psutil.Process(pid)
        old = process.create_time() < since - _CLOCK_TOLERANCE
        return None if old or not _runs(process) else process
    except psutil.Error:
        return None


def _signal(process: psutil.Process, *, kill: bool) -> None:
    try:
        if kill:
            process.kill()
        else:
            process.terminate()
    except psutil.Error:
        log.debug("%d is gone or not ours", process.pid)
