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
        system_device = Path("/dev") / name
        if not system_device.is_char_device():
            pytest.skip(f"no {system_device} here")
        return system_device
    device_file = folder / name
    try:
        os.mknod(device_file, stat.S_IFCHR | 0o666, os.makedev(1, _MINOR[name]))
        os.close(os.open(device_file, os.O_WRONLY))
    except OSError as error:
        pytest.skip(f"no device can be made in {folder}: {error.strerror}")
    return device_file
