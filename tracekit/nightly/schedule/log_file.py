"""The file that takes what scheduled nights print, and how it stays small."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from tracekit.base.errors import TracekitError
from tracekit.base.files import replacing

LOG = "nightly.log"
OLD = "nightly.log.1"
LARGEST = 1 << 20  # bytes; some years of nights that have nothing to tell


def bound_log(output: Path, largest: int = LARGEST, descriptors: tuple[int, ...] = (1, 2)) -> None:
    """Begin the log of a plan's output anew where it is too large; its end is kept as OLD.

    Called when a night begins. Where the log is this process's own output, writing goes on at
    its end: whether launchd opens it so is not documented.
    """
    log = output / LOG
    with suppress(OSError, TracekitError):
        if log.is_symlink():
            return
        for one in descriptors:
            _append(one, log)
        if log.stat().st_size <= largest:
            return
        with log.open("rb") as file, replacing(output / OLD) as old:
            file.seek(-largest, os.SEEK_END)
            old.write(file.read(largest))
        os.truncate(log, 0)


def _append(descriptor: int, log: Path) -> None:
    """Let a descriptor of the log write at its end, wherever it was."""
    if os.path.samestat(os.fstat(descriptor), log.stat()):
        flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_APPEND)
