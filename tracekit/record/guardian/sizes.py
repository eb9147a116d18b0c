"""How much has been written so far."""

import os
from collections.abc import Iterable
from pathlib import Path


def size(paths: Iterable[Path]) -> int:
    """Return the bytes in files and folders; what vanishes meanwhile counts as nothing."""
    return sum(_size(path) for path in paths)


def _size(path: Path) -> int:
    try:
        if not path.is_dir():
            return path.stat().st_size
        with os.scandir(path) as entries:
            return sum(
                _size(Path(entry))
                if entry.is_dir(follow_symlinks=False)
                else entry.stat(follow_symlinks=False).st_size
                for entry in entries
            )
    except OSError:
        return 0
