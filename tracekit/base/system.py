"""Facilities that only some systems have: locks of files, signals, flags of files.

Reading, analysing and reporting work without them. Recording and nights start processes, end them
by their groups and exclude each other by locks, so they refuse to run on a system without these.
"""

import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from errno import ENOLCK
from pathlib import Path
from subprocess import DEVNULL

from tracekit.base.errors import ToolError, UsageError

try:
    import fcntl as _fcntl
    import termios as _termios
except ImportError:  # as on Windows
    _fcntl = None
    _termios = None

SIGKILL = getattr(signal, "SIGKILL", signal.SIGTERM)
HANG_UPS: tuple[signal.Signals, ...] = tuple(
    getattr(signal, name) for name in ("SIGHUP",) if hasattr(signal, name)
)
SHARED = getattr(_fcntl, "LOCK_SH", 1)
EXCLUSIVE = getattr(_fcntl, "LOCK_EX", 2)
_UNREAD = getattr(_termios, "FIONREAD", None)  # asks for the number of bytes left to read
AT_ONCE = getattr(_fcntl, "LOCK_NB", 4)
UNLOCKED = getattr(_fcntl, "LOCK_UN", 8)


def flags(*names: str) -> int:
    """Return those flags of `os.open` that this system has, and that for binary files."""
    bits = 0
    for name in (*names, "O_BINARY"):
        bits |= getattr(os, name, 0)
    return bits


def flock(handle: int, how: int) -> None:
    """Lock an open file, as the system's call does; raise OSError if there are no locks."""
    if _fcntl is None:
        raise OSError(ENOLCK, os.strerror(ENOLCK))
    _fcntl.flock(handle, how)


def choose_input() -> int:
    """Return the descriptor of our standard input, or of an empty one for a terminal or none.

    A program in a session of its own would read a terminal's lines in place of the user's shell.
    """
    return DEVNULL if sys.__stdin__ is None or os.isatty(0) else 0


def refuse_input(reason: str) -> None:
    """Raise UsageError with the `reason` if our standard input has content, which would be lost."""
    if _has_input():
        raise UsageError(
            f"{reason}, so the program might read nothing.",
            hint="Let a shell open the input: -- sh -c 'exec PROGRAM ARGS < FILE'",
        )


def _has_input() -> bool:
    """Return whether our standard input is a file or a pipe with something left to read."""
    if _fcntl is None or _UNREAD is None or sys.__stdin__ is None or os.isatty(0):
        return False
    try:
        unread = _fcntl.ioctl(0, _UNREAD, bytes(4))
    except OSError:  # neither a file nor a pipe
        return False
    return any(unread)


def kill_all(pid: int, number: int) -> None:
    """Signal the group that a process began; on a system without groups, the process alone."""
    getattr(os, "killpg", os.kill)(pid, number)


@contextmanager
def locked_folder(folder: Path) -> Generator[None]:
    """Wait for the lock of a folder, and hold it, if the system and its file system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # also that of a system on which folders cannot be opened
        yield
        return
    try:
        with suppress(OSError):  # some file systems have no locks
            flock(handle, EXCLUSIVE)
        yield
    finally:
        os.close(handle)


def has_processes() -> bool:
    """Tell whether the system has the calls that start, end and exclude our processes."""
    return _fcntl is not None and all(hasattr(os, name) for name in ("fork", "killpg", "setsid"))


def require_processes(action: str) -> None:
    """Raise ToolError on a system without the calls that start, end and exclude our processes."""
    if not has_processes():
        raise ToolError(
            f"{action} needs process groups and file locks, which this system ({sys.platform}) "
            "does not have.",
            hint="Do it on macOS or Linux; every stage that reads a run, an export or a bundle "
            "works here.",
        )
