"""Programs that a recording started and left running."""

import logging
from collections.abc import Iterable

import psutil

log = logging.getLogger(__name__)

_GRACE = 5.0
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
    _, stubborn = psutil.wait_procs(running, timeout=grace)
    for process in stubborn:
        _signal(process, kill=True)
    psutil.wait_procs(stubborn, timeout=grace)
    return tuple(sorted(process.pid for process in running))


def _young(pid: int, since: float) -> psutil.Process | None:
    try:
        process = psutil.Process(pid)
        gone = process.status() == psutil.STATUS_ZOMBIE
        return None if gone or process.create_time() < since - _CLOCK_TOLERANCE else process
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
