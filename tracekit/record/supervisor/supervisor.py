"""Starts and watches programs; tracekit's end of the line to its guardian."""

import contextlib
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from io import FileIO
from pathlib import Path
from typing import IO, Self

import msgspec
import psutil

from tracekit.base import Child, StopPolicy, ToolError, start_of
from tracekit.record.supervisor import gate, guardian
from tracekit.record.supervisor.guardian import Order, Watched

log = logging.getLogger(__name__)

_LONGEST_END = 10.0  # seconds for a guardian to leave
Output = int | IO[bytes]


class Supervisor:
    """Starts programs that must not outlive tracekit; a context manager for one stage.

    `folder` is the run's: its `recording.json` says afterwards what the guardian did. `held` are
    descriptors that stay open until the guardian has finished, such as that of a lock.
    """

    def __init__(self, folder: Path, held: Sequence[int] = ()) -> None:
        self._folder = folder
        self._held = tuple(held)
        self._watched: set[int] = set()
        self._line: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start the guardian; raise ToolError where that is impossible."""
        ours, theirs = socket.socketpair()
        argv = (sys.executable, "-P", "-m", guardian.__name__, str(theirs.fileno()))
        with theirs:
            try:
                self._process = subprocess.Popen(
                    (*argv, str(self._folder.absolute())),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(), *self._held),
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise ToolError(f"{argv[0]} cannot be started: {error.strerror}.") from error
        self._line = ours
        return self

    def __exit__(self, *_: object) -> None:
        """Let the guardian go; what is still watched, it stops."""
        assert self._process is not None
        finished = not self._watched
        if finished:
            self._order(Order(done=True))
        if self._line is not None:
            self._line.close()
        try:
            self._process.wait(_LONGEST_END)
        except subprocess.TimeoutExpired:
            if not finished:
                log.warning("process %d still stops what was started", self._process.pid)
                return
            self._process.kill()
            self._process.wait()

    def start(
        self,
        argv: Sequence[str],
        policy: StopPolicy,
        *,
        env: Mapping[str, str],
        stdout: Output,
        stderr: Output,
        cwd: Path | None = None,
    ) -> Child:
        """Start a program in a session of its own, and watch it.

        Its standard input ends with us if the policy has a lifeline; else it is empty. Output
        pipes of it are kept open and read on if tracekit ends, so that it does not die of them.

        Raises:
            OSError: It cannot be started.
        """
        with contextlib.ExitStack() as stack:
            (wait, go), (said, say) = _pipe(stack), _pipe(stack)
            coerced = "0" if "LC_CTYPE" in env else "1"
            process = subprocess.Popen(
                (*_GATE, str(wait.fileno()), str(say.fileno()), coerced, *argv),
                bufsize=0,
                stdin=subprocess.PIPE if policy.lifeline else subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env=env,
                cwd=cwd,
                pass_fds=(wait.fileno(), say.fileno()),
                start_new_session=True,
            )
            try:
                say.close()
                pipes = (process.stdout, process.stderr)
                handles = [pipe.fileno() for pipe in pipes if pipe is not None]
                with contextlib.suppress(psutil.NoSuchProcess):
                    watched = Watched(process.pid, start_of(process.pid), policy)
                    self._watched.add(process.pid)
                    self._order(Order(watch=watched, handles=len(handles)), handles)
                go.write(b"!")
                number = said.read(16)
            except BaseException:
                process.kill()
                raise
        child = Child(process, policy, self.forget)
        if number:
            child.clean_up()
            raise OSError(int(number), os.strerror(int(number)), argv[0])
        return child

    def note(self, doing: str, timeout: float = 0) -> None:
        """Say what goes on, and how long to wait for its end before the first signal."""
        self._order(Order(doing=doing, timeout=timeout))

    def expect_worker(self, journal: Path) -> None:
        """Name the file in which a worker will write its process id."""
        self._order(Order(journal=str(journal.absolute())))

    def forget(self, pid: int) -> None:
        """Say that process `pid` has ended."""
        self._watched.discard(pid)
        self._order(Order(forget=pid))

    def _order(self, order: Order, handles: Sequence[int] = ()) -> None:
        if self._line is None:
            return
        try:
            line = msgspec.json.encode(order) + b"\n"
            if handles:
                socket.send_fds(self._line, [line], list(handles))
            else:
                self._line.sendall(line)
        except OSError as error:
            log.warning("the guardian of this recording is gone: %s", error.strerror)
            self._line.close()
            self._line = None


_GATE = (sys.executable, "-I", "-S", str(Path(gate.__file__)))


def _pipe(stack: contextlib.ExitStack) -> tuple[FileIO, FileIO]:
    read, write = os.pipe()
    return stack.enter_context(FileIO(read, "r")), stack.enter_context(FileIO(write, "w"))
