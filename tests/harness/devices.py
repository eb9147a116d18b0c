"""Devices that a test may write to, and that no mistake can cost this machine."""

import os
import stat
from pathlib import Path

import pytest

_MINOR = {"null": 3, "full": 7}


def device(folder: Path, name: str) -> Path:
    """Return a device like /dev/null or /dev/full.

    Root could replace the machine's own by a file: for root it is one made in `folder`. Where none
    can be made, the test is skipped by name.
    """
    if os.geteuid() != 0:
        own = Path("/dev") / name
        if not own.is_char_device():
            pytest.skip(f"no {own} here")
        return own
    made = folder / name
    try:
        os.mknod(made, stat.S_IFCHR | 0o666, os.makedev(1, _MINOR[name]))
        os.close(os.open(made, os.O_WRONLY))
    except OSError as error:
        pytest.skip(f"no device can be made in {folder}: {error.strerror}")
    return made
