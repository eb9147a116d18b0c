"""How much memory this process holds, and has held at most."""

import resource
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")
_UNIT = 1 if sys.platform == "darwin" else 1024


def resident() -> int:
    """Return the bytes resident now; where the system does not say, those held at most."""
    return _status("VmRSS") or _most(resource.RUSAGE_SELF)


def peak() -> int:
    """Return the most bytes that were resident at a time."""
    return _status("VmHWM") or _most(resource.RUSAGE_SELF)


def peak_of_programs() -> int:
    """Return the most bytes that a program started from here had resident."""
    return _most(resource.RUSAGE_CHILDREN)


def _most(whose: int) -> int:
    return resource.getrusage(whose).ru_maxrss * _UNIT


def _status(key: str) -> int:
    if not _STATUS.exists():
        return 0
    lines = (line.split() for line in _STATUS.read_text().splitlines())
    return next(int(words[1]) * 1024 for words in lines if words[0] == f"{key}:")
