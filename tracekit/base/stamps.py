"""Stamps of files: the properties that change with a file, without a look at its content."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

_YOUNG = 2_000_000_000  # ns; coarser than the clock of any file system in use


@dataclass(frozen=True)
class Stamp:
    """The properties that change with a file: size, times of change in ns, and inode."""

    size: int
    modified: int
    changed: int
    inode: int


def stamp(path: Path | str) -> Stamp:
    """Return the stamp of a file."""
    status = os.stat(path)  # noqa: PTH116  path objects take longer, and there are thousands
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def lasting(mark: Stamp) -> Stamp | None:
    """Return the stamp, or None if the file is so young that a change might not alter it."""
    if is_young(max(mark.modified, mark.changed)):
        return None
    return mark


def is_young(latest_change: int) -> bool:
    """Tell whether a file that last changed at a time in ns may change without a new time."""
    return time.time_ns() - latest_change < _YOUNG
