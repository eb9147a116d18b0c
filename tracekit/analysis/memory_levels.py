"""The levels of memory over time, and whether the lowest ones rise.

Memory that is allocated and freed again leaves the lowest levels unchanged, however high it rises
in between; memory that is kept raises them from part to part. So a saw-tooth does not count as
growth, nor does one allocation that is never freed.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.inject import Remedy, Unavailable
from tracekit.analysis.intervals import Times, Window, spans
from tracekit.analysis.scope import Targets, of_target
from tracekit.analysis.trends import balance_pairs

_PARTS = 8  # of a window
_RISING = 20  # rising pairs less falling ones; see `balance_pairs`
_LATER = 0.25  # least share of the growth in the second half of the window


@dataclass(frozen=True, eq=False)
class MemoryLevels:
    """The levels of memory over time, their table, and their description in words.

    `starts` and `ends` bound the stretches in which the levels (bytes) held.
    """

    table: str
    description: str
    starts: Times
    ends: Times
    sizes: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Trend:
    """The lowest level (bytes) of each of eight equal parts of a window, with their `bounds`."""

    table: str
    description: str
    bounds: Times
    floors: NDArray[np.int64]

    @property
    def grown(self) -> int:
        """Bytes by which the lowest level rises from the first part to the last."""
        return int(self.floors[-1] - self.floors[0])

    @property
    def rate(self) -> float:
        """Bytes per ns: the median of all pairs' slopes, by Theil and Sen."""
        length = float(self.bounds[1] - self.bounds[0])
        pairs = combinations(range(_PARTS), 2)
        slopes = [(self.floors[b] - self.floors[a]) / ((b - a) * length) for a, b in pairs]
        return float(np.median(slopes))

    @property
    def rising(self) -> bool:
        """Whether the lowest levels rise from part to part until the end, by Mann and Kendall."""
        later = int(self.floors[-1] - self.floors[_PARTS // 2 - 1])
        return balance_pairs(self.floors) >= _RISING and later >= _LATER * self.grown


def levels(
    allocated_sizes: pd.DataFrame | None, process_samples: pd.DataFrame | None, targets: Targets
) -> list[MemoryLevels]:
    """Return the known levels of the memory of each of the target's processes, the GPU's first."""
    reasons: list[str] = []
    level_sources = (
        (allocated_sizes, _read_allocated_levels),
        (process_samples, _read_resident_levels),
    )
    for frame, make in level_sources:
        try:
            if frame is None:
                continue
            target_rows = of_target(frame, targets)
        except Unavailable as reason:
            reasons.append(str(reason))
            continue
        rows_by_process = target_rows.groupby("pid", sort=True)
        memory_levels = [make(rows) for _, rows in rows_by_process]
        if all(level.sizes.size for level in memory_levels):
            return memory_levels
        reasons.append("A process of the target has samples of its memory without a size.")
    reason_text = " ".join(reasons) or (
        "neither allocated sizes (metal-current-allocated-size) nor samples of the process were "
        "recorded."
    )
    raise Unavailable(reason_text, Remedy.TRACE)


def trend(memory_levels: list[MemoryLevels], window: Window) -> Trend:
    """Return the trend of the lowest levels, of all processes together."""
    exact_bounds = np.linspace(window.start, window.end, _PARTS + 1)
    bounds = exact_bounds.astype(np.int64)
    floors = np.zeros(_PARTS, np.int64)
    for level in memory_levels:
        for part in range(_PARTS):
            floor = _find_floor(level, bounds[part], bounds[part + 1])
            if floor is None:
                raise Unavailable(
                    f"{level.description} is not known in all parts of {window.name}, which is "
                    "too short for its samples.",
                    Remedy.LONGER,
                )
            floors[part] += floor
    first_levels = memory_levels[0]
    return Trend(first_levels.table, first_levels.description, bounds, floors)


def rises_throughout(memory_levels: list[MemoryLevels], memory_trend: Trend) -> bool:
    """Return whether the lowest level rises in each part, and within the last one as well."""
    if not (np.diff(memory_trend.floors) > 0).all():
        return False
    start, end = memory_trend.bounds[-2:].tolist()
    middle = (start + end) // 2
    growth = 0
    for level in memory_levels:
        earlier_floor = _find_floor(level, start, middle)
        later_floor = _find_floor(level, middle, end)
        if earlier_floor is None or later_floor is None:
            return False
        growth += later_floor - earlier_floor
    return growth > 0


def _find_floor(level: MemoryLevels, start: int, end: int) -> int | None:
    """Return the lowest level (bytes) of a stretch of time; None if it is not known there."""
    starts_before = level.starts < end
    ends_behind = level.ends > start
    there = starts_before & ends_behind
    return int(level.sizes[there].min()) if there.any() else None


def _read_allocated_levels(rows: pd.DataFrame) -> MemoryLevels:
    has_size = rows["size"].notna().to_numpy()
    starts, ends = spans(rows)
    sizes = rows["size"].to_numpy(dtype=np.int64, na_value=0)
    return MemoryLevels(
        "allocated_sizes",
        "memory of the GPU",
        starts[has_size],
        ends[has_size],
        sizes[has_size],
    )


def _read_resident_levels(rows: pd.DataFrame) -> MemoryLevels:
    sized_rows = rows.dropna(subset=["memory"])
    times = sized_rows["time"].to_numpy(dtype=np.int64)
    sizes = sized_rows["memory"].to_numpy(dtype=np.int64)
    return MemoryLevels("process_samples", "resident memory", times, times + 1, sizes)
