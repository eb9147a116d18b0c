"""One recording at a time: a lock that ends with its holder, however that ends."""

import fcntl
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
import psutil

from tracekit.errors import RecordingError, ToolError
from tracekit.notes import notes_folder
from tracekit.recording import now

log = logging.getLogger(__name__)

_LARGEST = 1 << 16
_CLOCK_TOLERANCE = 1.0


@dataclass(frozen=True)
class Holder:
    """Who records: the process, when it was created, since when it records, into which folder."""

    pid: int
    created: float
    since: str
    folder: str


@dataclass(frozen=True)
class Lock:
    """A lock that is held: its descriptor, and who held it before and did not give it back."""

    handle: int | None
    stale: Holder | None = None


@contextmanager
def locked(folder: Path, where: Path | None = None) -> Generator[Lock]:
    """Hold the lock of this user on this machine while recording into `folder`.

    The system frees it when the last process that has it open ends. A note of a holder that
    did not give it back is returned as `stale`.

    Raises:
        ToolError: Someone else holds it; says who, since when and for what.
        RecordingError: The file cannot be made.
    """
    path = _file(where or notes_folder())
    handle = _open(path)
    try:
        if not _taken(handle, path):
            yield Lock(None)
            return
        stale = _read(handle)
        _write(handle, Holder(os.getpid(), psutil.Process().create_time(), now(), str(folder)))
        try:
            yield Lock(handle, stale)
        finally:
            os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _file(where: Path) -> Path:
    machine = re.sub(r"[^\w.-]+", "-", platform.node()) or "machine"
    return where / f"recording-on-{machine}.lock"


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise RecordingError(
            f"{path} cannot be opened: {error.strerror}.",
            hint="It makes sure that only one recording runs; let it be written.",
        ) from error


def _taken(handle: int, path: Path) -> bool:
    """Take the lock; return False where the file system has no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _held(_read(handle)) from None
    except OSError as error:
        log.warning("%s cannot be locked, so nothing keeps recordings apart: %s", path, error)
        return False
    return True


def _held(holder: Holder | None) -> ToolError:
    if holder is None:
        return ToolError("Another recording runs on this machine.", hint=_WAIT)
    since = _clock_time(holder.since)
    if _lives(holder):
        return ToolError(
            f"Another recording runs: process {holder.pid}, since {since}, into {holder.folder}.",
            hint=f"{_WAIT} `kill -INT {holder.pid}` makes it stop and save.",
        )
    return ToolError(
        f"The recording into {holder.folder}, begun at {since}, is still being stopped and saved; "
        f"its tracekit, process {holder.pid}, was ended.",
        hint=f"{_WAIT} This can take minutes.",
    )


_WAIT = "Only one recorder can run at a time; wait for it."


def _lives(holder: Holder) -> bool:
    with suppress(psutil.Error):
        return abs(psutil.Process(holder.pid).create_time() - holder.created) < _CLOCK_TOLERANCE
    return False


def _read(handle: int) -> Holder | None:
    with suppress(msgspec.MsgspecError):
        return msgspec.json.decode(os.pread(handle, _LARGEST, 0), type=Holder)
    return None


def _write(handle: int, holder: Holder) -> None:
    os.ftruncate(handle, 0)
    os.pwrite(handle, msgspec.json.encode(holder), 0)


def _clock_time(moment: str) -> str:
    try:
        return f"{datetime.fromisoformat(moment).astimezone():%Y-%m-%d %H:%M:%S}"
    except ValueError:
        return moment


def told(stale: Holder) -> str:
    """Say that a holder did not give the lock back."""
    return (
        f"The recording into {stale.folder}, begun at {_clock_time(stale.since)} by process "
        f"{stale.pid}, did not end in good order; `tracekit export` may still read it."
    )
