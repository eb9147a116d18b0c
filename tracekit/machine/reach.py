"""The folders of a Mac that jobs of launchd may not read without a grant by a person.

Such a job fails with "Operation not permitted", although the same command works in a terminal,
which has the grant.
"""

import os
from pathlib import Path

_VOLUMES = Path("/Volumes")


def find_launchd_obstacle(path: Path, home: Path) -> str:
    """Return why jobs of launchd may not read a path, in words; empty if nothing is known."""
    place = Path(os.path.realpath(path))
    real_home = Path(os.path.realpath(home))
    for name in ("Documents", "Desktop", "Downloads"):
        if place.is_relative_to(real_home / name):
            return f"it lies in {name}, which macOS closes to jobs of launchd"
    if place.is_relative_to(_VOLUMES) and place != _VOLUMES:
        return "it lies on another volume, which macOS closes to jobs of launchd"
    return ""
