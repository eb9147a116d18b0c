"""Starts a program in a session of its own, and ends it: asked first, then told, then killed."""

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tracekit.errors import RecordingError, ToolError
from tracekit.host.patience import Patience
from tracekit.host.session import Bundle

_TAIL = 2000


@dataclass(frozen=True)
class Child:
    """A program that we started; its whole process group is ours."""

    process: subprocess.Popen[bytes]
    bundle: Bundle

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


def start(argv: tuple[str, ...], env: Mapping[str, str], bundle: Bundle) -> Child:
    """Start a program with no input, its output in files of the bundle.

    Raises:
        ToolError: There is no such program, or it cannot be started.
        RecordingError: The bundle cannot be written.
    """
    try:
        bundle.folder.mkdir(parents=True, exist_ok=True)
        with bundle.stdout.open("wb") as out, bundle.stderr.open("wb") as err:
            return Child(_popen(argv, env, out.fileno(), err.fileno()), bundle)
    except OSError as error:
        raise RecordingError(f"{bundle.folder} cannot be written: {error.strerror}.") from error


def _popen(
    argv: tuple[str, ...], env: Mapping[str, str], out: int, err: int
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**os.environ, **env},
            start_new_session=True,
        )
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
