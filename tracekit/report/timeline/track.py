"""What a timeline is made of: tracks, and on them intervals in lanes."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from tracekit.analysis.intervals import Times, Window


class Kind(StrEnum):
    """What a track shows, and so how it is drawn."""

    EVIDENCE = "evidence"
    PHASES = "phases"
    STEPS = "steps"
    SUBMISSIONS = "submissions"
    DEVICE = "device"
    IDLE = "idle"
    OTHERS = "others"
    DRIVER = "driver"
    COMPILER = "compiler"


@dataclass(frozen=True)
class Detail:
    """A fact of each interval of a track; -1 where it is not known.

    `unit` is "ns", or "text" for indexes into `texts`.
    """

    name: str
    unit: str
    numbers: Times
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Track:
    """Intervals of one sort, ordered by lane and then by start; times in ns of the trace.

    Intervals of one lane do not overlap. `codes` are indexes into `texts`, the names of the
    intervals; `lanes` holds how many intervals each lane has, from the top.
    """

    name: str
    kind: Kind
    starts: Times
    durations: Times
    codes: Times
    texts: tuple[str, ...]
    lanes: tuple[int, ...]
    note: str = ""
    details: tuple[Detail, ...] = ()

    @property
    def ends(self) -> Times:
        """When each interval ended."""
        return self.starts + self.durations


@dataclass(frozen=True)
class Timeline:
    """All tracks on one axis, from `begin` to `end`; `absences` says which are missing, and why."""

    begin: int
    end: int
    tracks: tuple[Track, ...]
    steady: Window | None = None
    absences: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many intervals there are on all tracks."""
        return sum(track.starts.size for track in self.tracks)


def empty() -> Times:
    """Return no times."""
    return np.empty(0, np.int64)
