"""What a guardian does when tracekit is gone: stop everything, lose nothing, say so."""

import contextlib
import logging
import os
import select
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tracekit.base import Recording, TracekitError, found, mark, no_older, runs
from tracekit.record.guardian.care import Order, Ward, size
from tracekit.workload import WorkloadReport, fold

log = logging.getLogger(__name__)

_GRACE = 5.0
_POLL = 0.05


def meant(pid: int, start: int = 0) -> tuple[psutil.Process, ...]:
    """Return the process that something said it is; none where that one is gone.

    Args:
        pid: Its number.
        start: What tells it from others of its number, as `base.processes.start_of` says; 0
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


_CHUNK = 1 << 16
_POLL_RESCUE = 0.1
_GONE = "tracekit was ended before it could finish"


@dataclass
class Charge:
    """All that a guardian knows: its wards, what they write to, what went on."""

    wards: dict[int, Ward] = field(default_factory=dict[int, Ward])
    handles: list[int] = field(default_factory=list[int])
    doing: str = ""
    patience: float = 0.0
    journal: str = ""
    _owned: dict[int, list[int]] = field(default_factory=dict[int, list[int]])

    def take(self, order: Order) -> None:
        """Heed an order."""
        if order.watch is not None:
            own, self.handles = self.handles[: order.handles], self.handles[order.handles :]
            self.wards[order.watch.pid] = order.watch
            self._owned[order.watch.pid] = own
        if order.forget is not None:
            self.wards.pop(order.forget, None)
            for one in self._owned.pop(order.forget, []):
                os.close(one)
        self.doing = self.doing if order.doing is None else order.doing
        self.patience = self.patience if order.patience is None else order.patience
        self.journal = self.journal if order.journal is None else order.journal

    @property
    def owned(self) -> list[int]:
        """Descriptors of what the wards write to."""
        return [one for own in self._owned.values() for one in own]


def rescue(charge: Charge, folder: Path) -> None:
    """Stop every ward, then what they started, and say so in the run's folder."""
    while_doing = f" ({charge.doing})" if charge.doing else ""
    head = f"{_GONE}{while_doing}"
    _tell(folder, f"{head}; what it had started is being stopped")
    drain = _Drain(charge.owned)
    children = {child for one in charge.wards.values() for child in _descendants(one)}
    ends = [_stop(one, charge.patience, drain) for one in charge.wards.values()]
    worker = fold(Path(charge.journal)) if charge.journal else WorkloadReport()
    end_leftovers((*children, *meant(worker.pid, worker.start)))
    _tell(folder, f"{head}; {', '.join(ends) or 'nothing of it was left running'}")


class _Drain:
    """Reads on what nobody reads any more, so that a writer neither waits nor dies."""

    def __init__(self, handles: Iterable[int]) -> None:
        self._handles = list(handles)

    def wait(self, seconds: float) -> None:
        """Read for so many seconds."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if not self._handles:
                time.sleep(left)
                return
            for one in select.select(self._handles, (), (), left)[0]:
                if not os.read(one, _CHUNK):
                    self._handles.remove(one)


def _stop(one: Ward, patience: float, drain: _Drain) -> str:
    process = _found(one)
    if process is None or _ended(process, patience, one, drain):
        return _told(one, "")
    for number, seconds in one.care.rungs:
        _send(one, number)
        if _ended(process, seconds, one, drain):
            return _told(one, signal.Signals(number).name)
    return f"process {one.pid} could not be ended"


def _told(one: Ward, name: str) -> str:
    if one.care.group:
        _send(one, signal.SIGKILL)  # what it left behind in its group
    return f"process {one.pid} ended after {name}" if name else f"process {one.pid} had ended"


def _ended(process: psutil.Process, seconds: float, one: Ward, drain: _Drain) -> bool:
    """Wait for the end of a process; as long as it writes, the wait begins again."""
    paths = [Path(path) for path in one.care.grows]
    written, until = size(paths), time.monotonic() + seconds
    while runs(process):
        if time.monotonic() >= until:
            return False
        drain.wait(_POLL_RESCUE)
        before, written = written, size(paths)
        if written > before:
            until = max(until, time.monotonic() + seconds)
    return True


def _found(one: Ward) -> psutil.Process | None:
    process = found(one.pid, one.start)
    return process if process is not None and runs(process) else None


def _descendants(one: Ward) -> set[psutil.Process]:
    process = _found(one)
    if process is None:
        return set()
    with contextlib.suppress(psutil.Error):
        return set(process.children(recursive=True))
    return set()


def _send(one: Ward, number: int) -> None:
    send = os.killpg if one.care.group or number == signal.SIGKILL else os.kill
    with contextlib.suppress(ProcessLookupError, PermissionError):
        send(one.pid, number)


def _tell(folder: Path, message: str) -> None:
    """Leave word at the stage that was running; a folder that is gone is no matter."""
    recording = Recording(folder)
    with contextlib.suppress(TracekitError):
        for name, stage in recording.provenance().stages.items():
            if stage.state == "running" or _GONE in stage.message:
                mark(recording, name, "interrupted", message)
