"""Where tracekit keeps what it learned: locks, capabilities, compiled kernels."""

import os
import sys
from pathlib import Path


def notes_folder() -> Path:
    """Return the folder of tracekit's own notes: TRACEKIT_CACHE, or one in the user's cache."""
    given = os.environ.get("TRACEKIT_CACHE")
    if given:
        return Path(given)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tracekit"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tracekit"
