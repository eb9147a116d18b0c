"""How much of a disk must stay free: a full one ruins the recording and everything else."""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.base.errors import RecordingError, UsageError

VARIABLE = "TRACEKIT_DISK_FLOOR"
_DEFAULT = 10.0  # GB
_GIGABYTE = 1e9
_LAST_RESERVE = 0.1  # of the floor: below it, even saving is given up

Free = Callable[[Path], int]


def free_bytes(path: Path) -> int:
    """Return the bytes that are free where `path` lies."""
    return shutil.disk_usage(path).free


def floor(environment: Mapping[str, str] = os.environ) -> float:
    """Return the bytes that must stay free: 10 GB, or what TRACEKIT_DISK_FLOOR says, in GB."""
    text = environment.get(VARIABLE, "").strip()
    try:
        gigabytes = float(text) if text else _DEFAULT
    except ValueError:
        gigabytes = -1.0
    if not 0 <= gigabytes < float("inf"):
        raise UsageError(f"{VARIABLE} is {text!r}, not a number of gigabytes.", hint="Such as 5.")
    return gigabytes * _GIGABYTE


@dataclass(frozen=True)
class Disk:
    """A floor in bytes, and how to ask what is free."""

    floor: float = field(default_factory=floor)
    free: Free = free_bytes

    def shortage(self, places: tuple[Path, ...]) -> str:
        """Say which of the places is below the floor; empty if none is."""
        for place in places:
            free = self.free(place)
            if free < self.floor:
                return (
                    f"{free / _GIGABYTE:.1f} GB are free where {place} lies, and "
                    f"{self.floor / _GIGABYTE:g} GB must stay free"
                )
        return ""

    def critical(self, places: tuple[Path, ...]) -> bool:
        """Tell whether so little is left that even saving must be given up."""
        return any(self.free(place) < self.floor * _LAST_RESERVE for place in places)

    def require(self, places: tuple[Path, ...]) -> None:
        """Raise RecordingError where a place is below the floor already."""
        shortage = self.shortage(places)
        if shortage:
            raise RecordingError(
                f"Nothing was recorded: {shortage}.",
                hint="Make room: a recording and its staging files can take many gigabytes. "
                f"{VARIABLE}=2 lowers the floor to 2 GB.",
            )
