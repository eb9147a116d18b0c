"""Whether a file is still the one that was looked at, without reading it again."""

import time
from dataclasses import dataclass
from pathlib import Path

_YOUNG = 2_000_000_000  # ns; coarser than the clock of any file system in use


@dataclass(frozen=True)
class Stamp:
    """What changes when a file does: size, times of change, and which file it is."""

    size: int
    modified: int
    changed: int
    inode: int


def stamp(path: Path) -> Stamp:
    """Return the stamp of a file."""
    found = path.stat()
    return Stamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def lasting(one: Stamp) -> Stamp | None:
    """Return the stamp, or None for a file so young that a change could leave no trace in it."""
    return None if time.time_ns() - max(one.modified, one.changed) < _YOUNG else one
