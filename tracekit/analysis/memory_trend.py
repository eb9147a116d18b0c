"""Whether a process's memory grows: by the lowest levels of equal parts of a window.

What is allocated and freed again leaves the lowest levels where they are, however high it goes
in between; what is kept lifts them from part to part. So a saw-tooth is no growth, and neither is
one allocation that is never freed.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Times, Window
from tracekit.analysis.target import of_target

PARTS = 8
# Rising pairs less falling ones, of 28: 285 of the 40,320 orders of eight values have as many.
_RISING = 20
_LATER = 0.25  # of the growth, that the second half of the window must have


@dataclass(frozen=True, eq=False)
class Levels:
    """How much memory there was and when, by which table, and what it is in words.

    `starts` and `ends` bound the stretches in which the levels (bytes) held.
    """

    table: str
    what: str
    starts: Times
    ends: Times
    sizes: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Trend:
    """The lowest level (bytes) of each of eight equal parts of a window, which `bounds` bound."""

    table: str
    what: str
    bounds: Times
    floors: NDArray[np.int64]

    @property
    def grown(self) -> int:
        """Bytes from the first lowest level to the last."""
        return int(self.floors[-1] - self.floors[0])

    @property
    def rate(self) -> float:
        """Bytes per ns: the median of all pairs' slopes, by Theil and Sen."""
        length = float(self.bounds[1] - self.bounds[0])
        pairs = combinations(range(PARTS), 2)
        return float(
            np.median([(self.floors[b] - self.floors[a]) / ((b - a) * length) for a, b in pairs])
        )

    @property
    def rising(self) -> bool:
        """Whether the lowest levels rise from part to part, by Mann and Kendall, until the end."""
        pairs = combinations(range(PARTS), 2)
        balance = sum(int(np.sign(self.floors[b] - self.floors[a])) for a, b in pairs)
        later = int(self.floors[-1] - self.floors[PARTS // 2 - 1])
        return balance >= _RISING and later >= _LATER * self.grown


def levels(
    allocated_sizes: pd.DataFrame | None,
    process_samples: pd.DataFrame | None,
    targets: pd.DataFrame,
) -> list[Levels]:
    """Return what is known of the target's memory, of each of its processes: the GPU's first.

    Raises:
        Unavailable: Neither table has rows of the target.
    """
    reasons: list[str] = []
    for frame, make in ((allocated_sizes, _allocated), (process_samples, _resident)):
        try:
            if frame is None:
                continue
            own = of_target(frame, targets)
            return [make(rows) for _, rows in own.groupby("pid", sort=True)]
        except Unavailable as reason:
            reasons.append(str(reason))
    why = " ".join(reasons) or (
        "neither allocated sizes (metal-current-allocated-size) nor samples of the process were "
        "recorded."
    )
    raise Unavailable(why)


def trend(known: list[Levels], window: Window) -> Trend:
    """Return how the lowest levels went, of all processes together.

    Raises:
        Unavailable: A part of the window has no level.
    """
    bounds = np.linspace(window.start, window.end, PARTS + 1).astype(np.int64)
    floors = np.zeros(PARTS, np.int64)
    for one in known:
        for part in range(PARTS):
            there = (one.starts < bounds[part + 1]) & (one.ends > bounds[part])
            if not there.any():
                raise Unavailable(
                    f"{one.what} is not known in all parts of {window.name}, which is too short "
                    "for its samples."
                )
            floors[part] += one.sizes[there].min()
    return Trend(known[0].table, known[0].what, bounds, floors)


def _allocated(rows: pd.DataFrame) -> Levels:
    known = rows.dropna(subset=["size"])
    starts = known["start"].to_numpy(dtype=np.int64)
    lengths = known["duration"].fillna(0).to_numpy(dtype=np.int64)
    sizes = known["size"].to_numpy(dtype=np.int64)
    return Levels("allocated_sizes", "memory of the GPU", starts, starts + lengths, sizes)


def _resident(rows: pd.DataFrame) -> Levels:
    known = rows.dropna(subset=["memory"])
    times = known["time"].to_numpy(dtype=np.int64)
    sizes = known["memory"].to_numpy(dtype=np.int64)
    return Levels("process_samples", "resident memory", times, times + 1, sizes)
