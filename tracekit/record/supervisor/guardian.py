"""The guardian: `python -m tracekit.record.supervisor.guardian SOCKET FOLDER`.

A supervisor starts it. It listens until tracekit says that all is done; if tracekit is gone
instead, it stops everything that is still watched, loses nothing, and says so in the run's folder.
"""

import contextlib
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import psutil

from tracekit.base import (
    Recording,
    StopPolicy,
    TracekitError,
    end_leftovers,
    found,
    mark,
    reported,
    runs,
)
from tracekit.workload import WorkloadReport, fold

_CHUNK = 1 << 16
_MOST_HANDLES = 16
_POLL = 0.1
_GONE = "tracekit was ended before it could finish"


@dataclass(frozen=True)
class Watched:
    """A process that must not outlive tracekit; `start` tells it from a later one of its number."""

    pid: int
    start: int
    policy: StopPolicy


@dataclass(frozen=True)
class Order:
    """One line from tracekit to its guardian; several parts may be given at once."""

    watch: Watched | None = None  # from now on this process is to be stopped if tracekit ends
    # so many file descriptors come along: what the process writes to, to be read on
    handles: int = 0
    forget: int | None = None  # the process of that number has ended, or is no longer ours
    doing: str | None = None  # what goes on, in words, for `recording.json`
    # seconds to wait before the first signal, because it ends by itself
    timeout: float | None = None
    journal: str | None = None  # the file in which a worker writes its process id
    done: bool = False  # all went well; the guardian is not needed any more


def size(paths: Iterable[Path]) -> int:
    """Return the bytes in files and folders; what vanishes meanwhile counts as nothing."""
    return sum(_size(path) for path in paths)


def _size(path: Path) -> int:
    try:
        if not path.is_dir():
            return path.stat().st_size
        with os.scandir(path) as entries:
            return sum(
                _size(Path(entry))
                if entry.is_dir(follow_symlinks=False)
                else entry.stat(follow_symlinks=False).st_size
                for entry in entries
            )
    except OSError:
        return 0


@dataclass
class State:
    """All that a guardian knows: what it watches, what that writes to, what went on."""

    watched: dict[int, Watched] = field(default_factory=dict[int, Watched])
    handles: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    doing: str = ""
    timeout: float = 0.0
    journal: str = ""

    def take(self, order: Order, received: list[int]) -> None:
        """Follow an order; its descriptors are the first of those that were received."""
        if order.watch is not None:
            self.watched[order.watch.pid] = order.watch
            self.handles[order.watch.pid] = received[: order.handles]
            del received[: order.handles]
        if order.forget is not None:
            self.watched.pop(order.forget, None)
            for handle in self.handles.pop(order.forget, []):
                os.close(handle)
        self.doing = self.doing if order.doing is None else order.doing
        self.timeout = self.timeout if order.timeout is None else order.timeout
        self.journal = self.journal if order.journal is None else order.journal


def main(arguments: list[str]) -> int:
    """Listen until tracekit says that all is done, or is gone; then stop what it left."""
    handle, folder = arguments
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    state = State()
    with socket.socket(fileno=int(handle)) as line:
        if not _listen(line, state):
            clean_up(state, Path(folder))
    return 0


def _listen(line: socket.socket, state: State) -> bool:
    """Take orders; return whether the last one said that all is done."""
    rest = b""
    received: list[int] = []
    while True:
        try:
            chunk, handles, _, _ = socket.recv_fds(line, _CHUNK, _MOST_HANDLES)
        except ConnectionResetError:
            return False
        if not chunk:
            return False
        for handle in handles:
            os.set_inheritable(handle, False)
        received += handles
        *lines, rest = (rest + chunk).split(b"\n")
        for text in lines:
            order = msgspec.json.decode(text, type=Order)
            if order.done:
                return True
            state.take(order, received)


def clean_up(state: State, folder: Path) -> None:
    """Stop all that is watched, then what that started, and say so in the run's folder."""
    while_doing = f" ({state.doing})" if state.doing else ""
    head = f"{_GONE}{while_doing}"
    _note(folder, f"{head}; what it had started is being stopped")
    drain = _Drain(handle for handles in state.handles.values() for handle in handles)
    descendants = {
        descendant for watched in state.watched.values() for descendant in _descendants(watched)
    }
    ends = [_stop(watched, state.timeout, drain) for watched in state.watched.values()]
    worker = fold(Path(state.journal)) if state.journal else WorkloadReport()
    end_leftovers((*descendants, *reported(worker.pid, worker.start)))
    _note(folder, f"{head}; {', '.join(ends) or 'nothing of it was left running'}")


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
            for handle in select.select(self._handles, (), (), left)[0]:
                if not os.read(handle, _CHUNK):
                    self._handles.remove(handle)


def _stop(watched: Watched, timeout: float, drain: _Drain) -> str:
    """Stop a process by its policy; say how it ended."""
    pid, policy = watched.pid, watched.policy
    process = found(pid, watched.start)
    last: int | None = 0
    if process is not None and not _ended(process, timeout, policy, drain):
        last = policy.escalate(
            lambda number: policy.send(pid, number),
            lambda seconds: _ended(process, seconds, policy, drain),
        )
    if last is None:
        return f"process {pid} could not be ended"
    if policy.group:
        policy.send(pid, signal.SIGKILL)  # what it left behind in its group
    if last == 0:
        return f"process {pid} had ended"
    return f"process {pid} ended after {signal.Signals(last).name}"


def _ended(process: psutil.Process, seconds: float, policy: StopPolicy, drain: _Drain) -> bool:
    """Wait for the end of a process; as long as it writes, the wait begins again."""
    paths = [Path(path) for path in policy.grows]
    written, until = size(paths), time.monotonic() + seconds
    while runs(process):
        if time.monotonic() >= until:
            return False
        drain.wait(_POLL)
        before, written = written, size(paths)
        if written > before:
            until = max(until, time.monotonic() + seconds)
    return True


def _descendants(watched: Watched) -> set[psutil.Process]:
    process = found(watched.pid, watched.start)
    if process is None:
        return set()
    with contextlib.suppress(psutil.Error):
        return set(process.children(recursive=True))
    return set()


def _note(folder: Path, message: str) -> None:
    """Write it down at the stage that was running; a folder that is gone is no matter."""
    recording = Recording(folder)
    with contextlib.suppress(TracekitError):
        for name, stage in recording.provenance().stages.items():
            if stage.state == "running" or _GONE in stage.message:
                mark(recording, name, "interrupted", message)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
