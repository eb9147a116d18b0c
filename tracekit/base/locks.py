"""Locks with a note of their holder in the locked file, which end with the holder.

The system frees the lock when the last process that has the file open ends, however it ends; so
there is nothing to clean up, and a note without a lock is out of date.
"""

import logging
import os
import platform
import re
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from tracekit.base.errors import RecordingError
from tracekit.base.processes import find_process, start_of
from tracekit.base.recording import make_timestamp
from tracekit.base.system import AT_ONCE, EXCLUSIVE, SHARED, flags, flock

log = logging.getLogger(__name__)

_LARGEST = 1 << 16
_FLAGS = flags("O_CLOEXEC", "O_NOFOLLOW")


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock, as `base.processes` identifies it, its start and purpose."""

    pid: int
    start: int
    since: str
    what: str

    @property
    def lives(self) -> bool:
        """Whether this very process still exists; another one may have its number now."""
        return find_process(self.pid, self.start) is not None

    @property
    def local_start_time(self) -> str:
        """The time at which it took the lock, on this machine's clock."""
        try:
            return f"{datetime.fromisoformat(self.since).astimezone():%Y-%m-%d %H:%M:%S}"
        except ValueError:
            return self.since


class HeldError(Exception):
    """Another process has the lock; `holder` is None if the note cannot be read."""

    def __init__(self, holder: Holder | None) -> None:
        super().__init__("held by another process")
        self.holder = holder


@contextmanager
def open_lock_file(path: Path, hint: str) -> Generator[int]:
    """Open the file of a lock, or make it; no link is followed.

    Raise RecordingError with `hint` if it cannot be opened.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        open_flags = os.O_RDWR | os.O_CREAT | _FLAGS
        handle = os.open(path, open_flags, 0o600)
    except OSError as error:
        raise RecordingError(f"{path} cannot be opened: {error.strerror}.", hint=hint) from error
    try:
        yield handle
    finally:
        os.close(handle)


def take_lock(handle: int, path: Path) -> bool:
    """Take the lock; return False if there are no locks, raise HeldError if another has it."""
    try:
        flock(handle, EXCLUSIVE | AT_ONCE)
    except BlockingIOError:
        raise HeldError(read_holder(handle)) from None
    except OSError as error:
        log.warning("%s cannot be locked, so nothing keeps two apart: %s", path, error)
        return False
    return True


def is_held(path: Path) -> bool:
    """Tell whether a process has the lock now, without making or keeping anything."""
    try:
        handle = os.open(path, os.O_RDONLY | _FLAGS)
    except OSError:
        return False
    try:
        flock(handle, SHARED | AT_ONCE)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


def place_of(kind: str, folder: Path) -> Path:
    """Return the file of this machine's lock of one kind, in a folder of notes."""
    machine = re.sub(r"[^\w.-]+", "-", platform.node()) or "machine"
    return folder / f"{kind}-on-{machine}.lock"


@contextmanager
def holding(path: Path, hint: str, purpose: str) -> Generator[tuple[int | None, Holder | None]]:
    """Hold a lock with its purpose noted; yield its descriptor, and a holder that left its note.

    On a file system without locks both are None.

    Raises:
        HeldError: Another process has it.
        RecordingError: The file cannot be opened, with `hint`.
    """
    with open_lock_file(path, hint) as handle:
        if not take_lock(handle, path):
            yield None, None
            return
        stale = read_holder(handle)
        note(handle, purpose)
        try:
            yield handle, stale
        finally:
            forget(handle)


def note(handle: int, purpose: str) -> None:
    """Write this process and its purpose into a lock's file, if it can be written at all."""
    process_start = start_of(os.getpid())
    ours = Holder(os.getpid(), process_start, make_timestamp(), purpose)
    with suppress(OSError):  # a full disk; a file that another user made
        os.ftruncate(handle, 0)
        os.pwrite(handle, msgspec.json.encode(ours), 0)


def forget(handle: int) -> None:
    """Remove the note from a lock's file."""
    with suppress(OSError):
        os.ftruncate(handle, 0)


def read_holder(handle: int) -> Holder | None:
    """Return the note in the file; None if there is none that can be read."""
    with suppress(msgspec.MsgspecError):
        content = os.pread(handle, _LARGEST, 0)
        return msgspec.json.decode(content, type=Holder)
    return None
