"""What a user who may not read or write everything meets, though the tests may run as root."""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

_NOBODY = 65_534


@contextmanager
def folder_of_nobody() -> Generator[Path]:
    """Give a folder whose owner one is, without root's right to do anything."""
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as folder:
        if root:
            os.chown(folder, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, 0)
        try:
            yield Path(folder)
        finally:
            if root:
                os.setresuid(0, 0, 0)
            Path(folder).chmod(0o700)
