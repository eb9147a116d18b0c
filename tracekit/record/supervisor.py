"""Starts programs that must not outlive tracekit, even if it is killed.

No signal handler survives SIGKILL, and macOS and Linux share no way to tie one process's life to
another's. So a second process of ours, the guardian, reads orders on its standard input. When that
ends before all is done, tracekit is gone: the guardian stops the processes left running, in order
and without loss, and notes it in the run's folder.

The guardian is `python -m tracekit.record.supervisor FOLDER`.
"""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self

import msgspec
import psutil

from tracekit.base import Recording, ToolError, TracekitError, processes, stages, system
from tracekit.workload import journal as workload_journal

log = logging.getLogger(__name__)

_LONGEST_END = 10.0  # seconds for a guardian to leave
_POLL = 0.1
_GONE = "tracekit was ended before it could finish"


@dataclass(frozen=True)
class Watched:
    """A process that must not outlive tracekit; pid and `start` together identify it."""

    pid: int
    start: int
    policy: processes.StopPolicy


@dataclass(frozen=True)
class GuardianOrder:
    """One line from tracekit to its guardian; several parts may be given at once."""

    watch: Watched | None = None  # from now on this process is to be stopped if tracekit ends
    forget: int | None = None  # the process of that number has ended, or is no longer ours
    doing: str | None = None  # the current work, in words, for `recording.json`
    timeout: float = 0.0  # seconds to wait before the first signal, for the work to end by itself
    journal: str | None = None  # the file in which a worker writes its process id
    done: bool = False  # all went well; the guardian is not needed any more


class Supervisor:
    """Starts programs that must not outlive tracekit; a context manager for one stage.

    `folder` is the run's: the guardian notes its actions in `recording.json` there. `descriptors`
    stay open until the guardian has finished, such as that of a lock.
    """

    def __init__(self, folder: Path, descriptors: Sequence[int] = ()) -> None:
        self._folder = folder
        self._held = tuple(descriptors)
        self._watched: set[int] = set()
        self._guardian: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start the guardian; raise ToolError if that is impossible."""
        folder = str(self._folder.absolute())
        argv = (sys.executable, "-P", "-m", __name__, folder)
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
        """Let the guardian go; it stops the processes that are still watched."""
        assert self._guardian is not None
        assert self._guardian.stdin is not None
        is_finished = not self._watched
        if is_finished:
            self._order(GuardianOrder(done=True))
        with contextlib.suppress(OSError):
            self._guardian.stdin.close()
        try:
            self._guardian.wait(_LONGEST_END)
        except subprocess.TimeoutExpired:
            if not is_finished:
                log.warning("process %d is still stopping processes", self._guardian.pid)
                return
            self._guardian.kill()
            self._guardian.wait()

    def start(
        self,
        argv: Sequence[str],
        policy: processes.StopPolicy,
        *,
        env: Mapping[str, str],
        stdout: int | IO[bytes],
        stderr: int | IO[bytes],
        stdin: int = subprocess.DEVNULL,
        cwd: Path | None = None,
    ) -> processes.Child:
        """Start a program as `start_child` does, and watch it from before its beginning."""
        streams = {"stdout": stdout, "stderr": stderr}
        return processes.start_child(
            argv, policy, env=env, **streams, stdin=stdin, cwd=cwd, announce=self._watch
        )

    def note(self, doing: str, timeout: float = 0.0) -> None:
        """Report the current work, and the seconds to wait for its end before the first signal."""
        self._order(GuardianOrder(doing=doing, timeout=timeout))

    def expect_worker(self, journal: Path) -> None:
        """Name the file in which a worker will write its process id."""
        self._order(GuardianOrder(journal=str(journal.absolute())))

    def forget(self, pid: int) -> None:
        """Report that process `pid` has ended."""
        self._watched.discard(pid)
        self._order(GuardianOrder(forget=pid))

    def _watch(self, child: processes.Child) -> None:
        child.forget = self.forget
        self._watched.add(child.pid)
        watched = Watched(child.pid, processes.start_of(child.pid), child.policy)
        self._order(GuardianOrder(watch=watched))

    def _order(self, order: GuardianOrder) -> None:
        assert self._guardian is not None
        assert self._guardian.stdin is not None
        if self._guardian.stdin.closed:
            return
        try:
            line = msgspec.json.encode(order) + b"\n"
            self._guardian.stdin.write(line)
            self._guardian.stdin.flush()
        except OSError as error:
            log.warning("the guardian of this recording is gone: %s", error.strerror)
            with contextlib.suppress(OSError):
                self._guardian.stdin.close()


def size(paths: Iterable[Path]) -> int:
    """Return the bytes in files and folders; files that vanish meanwhile count as nothing."""
    total = 0
    for path in paths:
        for file in _list_files(path):
            with contextlib.suppress(OSError):
                total += file.lstat().st_size
    return total


def _list_files(path: Path) -> Iterator[Path]:
    """Yield the files of a folder at all depths; of a file itself."""
    if not path.is_dir():
        yield path
        return
    for folder, _, names in os.walk(path):
        for name in names:
            yield Path(folder, name)


@dataclass
class _Guardian:
    """The state of a guardian: the processes that it watches, and the current work."""

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
            self.doing = order.doing
            self.timeout = order.timeout
        self.journal = order.journal or self.journal

    def clean_up(self) -> None:
        """Stop all watched processes, then their descendants, and note it in the run's folder."""
        head = _GONE
        if self.doing:
            head = f"{_GONE} ({self.doing})"
        _note(self.folder, f"{head}; its processes are being stopped")
        descendants = self._find_descendants()
        endings = [_stop(watched, self.timeout) for watched in self.watched.values()]
        worker = workload_journal.WorkloadReport()
        if self.journal:
            worker = workload_journal.fold(Path(self.journal))
        processes.end_leftovers(
            (*descendants, *processes.find_reported_process(worker.pid, worker.start))
        )
        summary = ", ".join(endings) or "nothing of it was left running"
        _note(self.folder, f"{head}; {summary}")

    def _find_descendants(self) -> set[psutil.Process]:
        """Return the processes that the watched ones started, which are found only now."""
        descendants: set[psutil.Process] = set()
        for watched in self.watched.values():
            process = processes.find_process(watched.pid, watched.start)
            if process is None:
                continue
            with contextlib.suppress(psutil.Error):
                descendants.update(process.children(recursive=True))
        return descendants


def _stop(watched: Watched, timeout: float) -> str:
    """Stop a process by its policy; return how it ended."""
    pid = watched.pid
    policy = watched.policy
    process = processes.find_process(pid, watched.start)
    last_signal: int | None = 0
    if process is not None and not _wait_for_end(process, timeout, policy):
        last_signal = policy.escalate(
            lambda number: policy.send(pid, number),
            lambda seconds: _wait_for_end(process, seconds, policy),
        )
    if last_signal is None:
        return f"process {pid} could not be ended"
    if policy.group:
        policy.send(pid, system.SIGKILL)  # for the rest of its group
    if last_signal == 0:
        return f"process {pid} had ended"
    return f"process {pid} ended after {signal.Signals(last_signal).name}"


def _wait_for_end(process: psutil.Process, seconds: float, policy: processes.StopPolicy) -> bool:
    """Wait for the end of a process; as long as it writes, the wait starts again."""
    paths = [Path(path) for path in policy.grows]
    written_bytes = size(paths)
    until = time.monotonic() + seconds
    while processes.runs(process):
        if time.monotonic() >= until:
            return False
        time.sleep(_POLL)
        previous_bytes = written_bytes
        written_bytes = size(paths)
        if written_bytes > previous_bytes:
            until = max(until, time.monotonic() + seconds)
    return True


def _note(folder: Path, message: str) -> None:
    """Note a message at the stage that was running; a folder that is gone is ignored."""
    recording = Recording(folder)
    with contextlib.suppress(TracekitError):
        for name, stage in recording.provenance().stages.items():
            if stage.state == "running" or _GONE in stage.message:
                stages.mark(recording, name, "interrupted", message)


def main(folder: str) -> None:
    """Take orders until tracekit is done; if it ends before, stop the processes it left."""
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
