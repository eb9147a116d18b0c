"""The folder of a GPU frame capture: its suffix, and the stamp of its files.

Each reading command asks whether a path is a capture, so nothing here imports their readers.
"""

from pathlib import Path

from tracekit.base.stamps import Stamp, stamp

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
