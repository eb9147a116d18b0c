"""Files that take the place of another whole, or not at all."""

import fcntl
import glob
import os
import secrets
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from tracekit.errors import RecordingError

_ABANDONED_AFTER = 60  # s; a file so new may be one whose writer has not locked it yet


@contextmanager
def replacing(path: Path) -> Generator[BinaryIO]:
    """Give a file to write into that takes the place of `path` once it is complete.

    What a killed process left of an earlier attempt is removed.

    Raises:
        RecordingError: The disk is full, the folder is read-only, and the like; what was there
            before is left as it was.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not by mkstemp, whose files are their maker's alone: here the umask says whose.
        mine = path.with_name(f"{_mark(path)}{secrets.token_hex(4)}")
        handle = os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        temporary = mine
        with os.fdopen(handle, "wb") as file:
            _lock(handle)
            _forget_abandoned(path)
            yield file
        temporary.replace(path)
    except OSError as error:
        raise RecordingError(
            f"{path} cannot be written: {error.strerror or error}.",
            hint="Make room, or name another place that you may write to.",
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def require_writable(path: Path) -> None:
    """Find out, before there is anything to write, whether a file can be written at `path`.

    Raises:
        RecordingError: It is a folder, or nothing can be written where it should be.
    """
    if path.is_dir():
        raise RecordingError(f"{path} is a folder.", hint="Name a file in it.")
    folder = path.parent
    while not folder.exists():
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise RecordingError(
            f"{path} cannot be written: {error.strerror or error}.",
            hint="Name another place that you may write to.",
        ) from error


def _forget_abandoned(path: Path) -> None:
    """Remove what was to take the place of `path` and has no writer any more."""
    for left in path.parent.glob(glob.escape(_mark(path)) + "????????"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED_AFTER and not _has_writer(left):
                left.unlink()


def _has_writer(left: Path) -> bool:
    with left.open("rb") as file:
        return not _lock(file.fileno())


def _lock(handle: int) -> bool:
    """Lock a file until it is closed; say whether that could be done."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _mark(path: Path) -> str:
    return f".{path.name}.unfinished-"
