"""Starts programs that must not outlive tracekit, even if it is killed.

No signal handler survives SIGKILL, and macOS and Linux share no way to tie one process's life to
another's. So a second process of ours, the guardian, reads orders on its standard input: when that
ends before all is done, tracekit is gone, and the guardian stops in order what was left running,
loses nothing, and says so in the run's folder.

The guardian is `python -m tracekit.record.supervisor FOLDER`.
"""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self

import msgspec
import psutil

from tracekit.base import (
    Child,
    Recording,
    StopPolicy,
    ToolError,
    TracekitError,
    end_leftovers,
    find_process,
    find_reported_process,
    mark,
    runs,
    start_child,
    start_of,
    system,
)
from tracekit.workload import WorkloadReport, fold

log = logging.getLogger(__name__)

_LONGEST_END = 10.0  # seconds for a guardian to leave
_POLL = 0.1
_GONE = "tracekit was ended before it could finish"


@dataclass(frozen=True)
class Watched:
    """A process that must not outlive tracekit; `start` tells it from a later one of its number."""

    pid: int
    start: int
    policy: StopPolicy


@dataclass(frozen=True)
class GuardianOrder:
    """One line from tracekit to its guardian; several parts may be given at once."""

    watch: Watched | None = None  # from now on this process is to be stopped if tracekit ends
    forget: int | None = None  # the process of that number has ended, or is no longer ours
    doing: str | None = None  # what goes on, in words, for `recording.json`
    timeout: float = 0.0  # seconds to wait before the first signal: what goes on ends by itself
    journal: str | None = None  # the file in which a worker writes its process id
    done: bool = False  # all went well; the guardian is not needed any more


class Supervisor:
    """Starts programs that must not outlive tracekit; a context manager for one stage.

    `folder` is the run's: its `recording.json` says afterwards what the guardian did. `held` are
    descriptors that stay open until the guardian has finished, such as that of a lock.
    """

    def __init__(self, folder: Path, descriptors: Sequence[int] = ()) -> None:
        self._folder = folder
        self._held = tuple(descriptors)
        self._watched: set[int] = set()
        self._guardian: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start the guardian; raise ToolError where that is impossible."""
        argv = (sys.executable, "-P", "-m", __name__, str(self._folder.absolute()))
        null = subprocess.DEVNULL
        try:
            self._guardian = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=null,
                stderr=null,
                pass_fds=self._held,
                start_new_session=True,
            )
        except OSError as error:
            raise ToolError(f"{argv[0]} cannot be started: {error.strerror}.") from error
        return self

    def __exit__(self, *_: object) -> None:
        """Let the guardian go; what is still watched, it stops."""
        assert self._guardian is not None
        assert self._guardian.stdin is not None
        finished = not self._watched
        if finished:
            self._order(GuardianOrder(done=True))
        with contextlib.suppress(OSError):
            self._guardian.stdin.close()
        try:
            self._guardian.wait(_LONGEST_END)
        except subprocess.TimeoutExpired:
            if not finished:
                log.warning("process %d still stops what was started", self._guardian.pid)
                return
            self._guardian.kill()
            self._guardian.wait()

    def start(
        self,
        argv: Sequence[str],
        policy: StopPolicy,
        *,
        env: Mapping[str, str],
        stdout: int | IO[bytes],
        stderr: int | IO[bytes],
        cwd: Path | None = None,
    ) -> Child:
        """Start a program as `start_child` does, and watch it from before its beginning."""
        streams = {"stdout": stdout, "stderr": stderr}
        return start_child(argv, policy, env=env, **streams, cwd=cwd, announce=self._watch)

    def note(self, doing: str, timeout: float = 0.0) -> None:
        """Say what goes on, and how long to wait for its end before the first signal."""
        self._order(GuardianOrder(doing=doing, timeout=timeout))

    def expect_worker(self, journal: Path) -> None:
        """Name the file in which a worker will write its process id."""
        self._order(GuardianOrder(journal=str(journal.absolute())))

    def forget(self, pid: int) -> None:
        """Say that process `pid` has ended."""
        self._watched.discard(pid)
        self._order(GuardianOrder(forget=pid))

    def _watch(self, child: Child) -> None:
        child.forget = self.forget
        self._watched.add(child.pid)
        self._order(GuardianOrder(watch=Watched(child.pid, start_of(child.pid), child.policy)))

    def _order(self, order: GuardianOrder) -> None:
        assert self._guardian is not None
        assert self._guardian.stdin is not None
        if self._guardian.stdin.closed:
            return
        try:
            self._guardian.stdin.write(msgspec.json.encode(order) + b"\n")
            self._guardian.stdin.flush()
        except OSError as error:
            log.warning("the guardian of this recording is gone: %s", error.strerror)
            with contextlib.suppress(OSError):
                self._guardian.stdin.close()


def size(paths: Iterable[Path]) -> int:
    """Return the bytes in files and folders; what vanishes meanwhile counts as nothing."""
    total = 0
    for path in paths:
        files = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
        for file in files if path.is_dir() else (path,):
            with contextlib.suppress(OSError):
                total += file.lstat().st_size
    return total


@dataclass
class _Guardian:
    """All that a guardian knows: what it watches, and what went on."""

    folder: Path
    watched: dict[int, Watched] = field(default_factory=dict[int, Watched])
    doing: str = ""
    timeout: float = 0.0
    journal: str = ""

    def take(self, order: GuardianOrder) -> None:
        if order.watch is not None:
            self.watched[order.watch.pid] = order.watch
        if order.forget is not None:
            self.watched.pop(order.forget, None)
        if order.doing is not None:
            self.doing, self.timeout = order.doing, order.timeout
        self.journal = order.journal or self.journal

    def clean_up(self) -> None:
        """Stop all that is watched, then what that started, and say so in the run's folder."""
        head = f"{_GONE} ({self.doing})" if self.doing else _GONE
        _note(self.folder, f"{head}; what it had started is being stopped")
        watched, descendants = self.watched.values(), set[psutil.Process]()
        for process in filter(None, (find_process(entry.pid, entry.start) for entry in watched)):
            with contextlib.suppress(psutil.Error):
                descendants |= set(process.children(recursive=True))
        ends = [_stop(process, self.timeout) for process in watched]
        worker = fold(Path(self.journal)) if self.journal else WorkloadReport()
        end_leftovers((*descendants, *find_reported_process(worker.pid, worker.start)))
        _note(self.folder, f"{head}; {', '.join(ends) or 'nothing of it was left running'}")


def _stop(watched: Watched, timeout: float) -> str:
    """Stop a process by its policy; say how it ended."""
    pid, policy = watched.pid, watched.policy
    process = find_process(pid, watched.start)
    last_signal: int | None = 0
    if process is not None and not _wait_for_end(process, timeout, policy):
        last_signal = policy.escalate(
            lambda number: policy.send(pid, number),
            lambda seconds: _wait_for_end(process, seconds, policy),
        )
    if last_signal is None:
        return f"process {pid} could not be ended"
    if policy.group:
        policy.send(pid, system.SIGKILL)  # what it left behind in its group
    if last_signal == 0:
        return f"process {pid} had ended"
    return f"process {pid} ended after {signal.Signals(last_signal).name}"


def _wait_for_end(process: psutil.Process, seconds: float, policy: StopPolicy) -> bool:
    """Wait for the end of a process; as long as it writes, the wait begins again."""
    paths = [Path(path) for path in policy.grows]
    written_bytes, until = size(paths), time.monotonic() + seconds
    while runs(process):
        if time.monotonic() >= until:
            return False
        time.sleep(_POLL)
        previous_bytes, written_bytes = written_bytes, size(paths)
        if written_bytes > previous_bytes:
            until = max(until, time.monotonic() + seconds)
    return True


def _note(folder: Path, message: str) -> None:
    """Write it down at the stage that was running; a folder that is gone is no matter."""
    recording = Recording(folder)
    with contextlib.suppress(TracekitError):
        for name, stage in recording.provenance().stages.items():
            if stage.state == "running" or _GONE in stage.message:
                mark(recording, name, "interrupted", message)


def main(folder: str) -> None:
    """Listen until tracekit says that all is done, or is gone; then stop what it left."""
    for number in (signal.SIGINT, signal.SIGTERM, *system.HANG_UPS):
        signal.signal(number, signal.SIG_IGN)
    guardian = _Guardian(Path(folder))
    for line in sys.stdin.buffer:
        order = msgspec.json.decode(line, type=GuardianOrder)
        if order.done:
            return
        guardian.take(order)
    guardian.clean_up()


if __name__ == "__main__":
    main(sys.argv[1])
