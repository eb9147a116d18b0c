"""What a timeline is made of: tracks, and on them intervals in lanes."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

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
    STATES = "states"
    LEVELS = "levels"


@dataclass(frozen=True)
class Detail:
    """A fact of each interval of a track; -1 where it is not known.

    `unit` is "ns" for a time; "lead" for a time that ended when the interval started; "text" for
    indexes into `texts`; or "number" for what is counted from 1, nought where it is not known:
    those with the same number on several tracks belong together.
    """

    name: str
    unit: str
    numbers: Times
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Levels:
    """How high something stood during each interval of a track; none is unknown.

    `unit` is "ratio", "bytes", "count", or "" where it is not stated.
    """

    values: NDArray[np.float64]
    unit: str

    @property
    def low(self) -> float:
        """The lowest level."""
        return float(self.values.min()) if self.values.size else 0.0

    @property
    def high(self) -> float:
        """The highest level."""
        return float(self.values.max()) if self.values.size else 0.0


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
    levels: Levels | None = None

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
