"""Starts a program in a session of its own, and ends it: asked, signalled, then killed."""

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tracekit.base import RecordingError, ToolError
from tracekit.record.guardian.care import Care
from tracekit.record.guardian.guardian import Guardian
from tracekit.record.host.session import Bundle


@dataclass(frozen=True)
class Patience:
    """Seconds to wait.

    Attributes:
        ready: For a worker to come to its steady phase, from its launch.
        grace: For a worker to finish its step and its account, past its time limit and past what
            it said that its measurement of what recording costs may take.
        interrupt: For a program to end after SIGINT.
        terminate: After SIGTERM.
        kill: After SIGKILL.
    """

    ready: float = 600.0
    grace: float = 20.0
    interrupt: float = 10.0
    terminate: float = 5.0
    kill: float = 5.0


_TAIL = 2000


@dataclass(frozen=True)
class Child:
    """A program that we started; its whole process group is ours."""

    process: subprocess.Popen[bytes]
    bundle: Bundle
    guardian: Guardian

    @property
    def exit_status(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        return self.process.poll()

    def stop(self, patience: Patience) -> bool:
        """End it and all it started; return whether it ended before it had to be killed.

        KeyboardInterrupt while it waits means that somebody has had enough: it kills.
        """
        try:
            for number, seconds in (
                (signal.SIGINT, patience.interrupt),
                (signal.SIGTERM, patience.terminate),
            ):
                if self._signal(number, seconds):
                    return True
        except KeyboardInterrupt:
            pass
        self._signal(signal.SIGKILL, patience.kill)
        return False

    def sweep(self) -> None:
        """Kill what a program that has ended left behind in its process group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.guardian.forget(self.process.pid)

    def complaint(self) -> str:
        """Return the end of what it wrote to stderr."""
        return _tail(self.bundle.stderr)

    def _signal(self, number: signal.Signals, seconds: float) -> bool:
        if self.process.poll() is not None:
            return True
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True


def start(
    argv: tuple[str, ...],
    env: Mapping[str, str],
    bundle: Bundle,
    guardian: Guardian,
    patience: Patience,
) -> Child:
    """Start a program with no input, its output in files of the bundle.

    If tracekit is killed, the guardian stops it as patiently as we would have.

    Raises:
        ToolError: There is no such program, or it cannot be started.
        RecordingError: The bundle cannot be written.
    """
    try:
        bundle.folder.mkdir(parents=True, exist_ok=True)
        with bundle.stdout.open("wb") as out, bundle.stderr.open("wb") as err:
            process = _started(guardian, argv, patience, {**os.environ, **env}, (out, err))
            return Child(process, bundle, guardian)
    except OSError as error:
        raise RecordingError(f"{bundle.folder} cannot be written: {error.strerror}.") from error


def _started(
    guardian: Guardian,
    argv: tuple[str, ...],
    patience: Patience,
    env: Mapping[str, str],
    outputs: tuple[IO[bytes], IO[bytes]],
) -> subprocess.Popen[bytes]:
    rungs = (
        (signal.SIGINT, patience.interrupt),
        (signal.SIGTERM, patience.terminate),
        (signal.SIGKILL, patience.kill),
    )
    out, err = outputs
    try:
        return guardian.start(argv, Care(rungs, group=True), env=env, stdout=out, stderr=err)
    except FileNotFoundError:
        raise ToolError(f"There is no program {argv[0]!r} to start.") from None
    except OSError as error:
        raise ToolError(f"{argv[0]!r} cannot be started: {error.strerror}.") from error


def _tail(path: Path) -> str:
    with suppress(OSError), path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - _TAIL))
        return file.read().decode(errors="replace").strip()
    return ""
