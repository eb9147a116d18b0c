"""GPU frame captures as folders: recognized, opened once, and opened again if a file changes."""

from functools import lru_cache
from pathlib import Path

from tracekit.base import InputError
from tracekit.tables.captures.capture import FrameCapture
from tracekit.tables.place import Stamp, stamp

SUFFIX = ".gputrace"


def is_capture(path: Path) -> bool:
    """Return whether a path is a folder with the suffix of a GPU frame capture."""
    return path.suffix.lower() == SUFFIX and path.is_dir()


def stamp_capture(bundle: Path) -> Stamp:
    """Return one stamp for all files of a capture; raise OSError if it is not there."""
    stamps = [stamp(path) for path in sorted(bundle.iterdir()) if path.is_file()]
    return Stamp(
        size=sum(mark.size for mark in stamps),
        modified=max((mark.modified for mark in stamps), default=0),
        changed=max((mark.changed for mark in stamps), default=0),
        inode=hash(tuple(mark.inode for mark in stamps)) & 0x7FFFFFFFFFFFFFFF,
    )


def open_capture(bundle: Path) -> FrameCapture:
    """Open a capture, or return the open one as long as its files are the same.

    Raise BundleError if its index is missing or damaged.
    """
    try:
        mark = stamp_capture(bundle)
    except OSError as error:
        raise InputError(f"{bundle} cannot be read: {error.strerror}.") from error
    return _open_cached(bundle, mark)


@lru_cache(maxsize=2)
def _open_cached(bundle: Path, mark: Stamp) -> FrameCapture:  # noqa: ARG001  a key
    return FrameCapture(bundle)
