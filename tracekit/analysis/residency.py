"""Memory that is wired for the GPU in the loop, compared with the loop's allocations.

Memory that is wired once is the load of a model. Memory that is wired in most parts of the loop was
either allocated there, or had lost its earlier wiring: displaced by a wired limit or by other
memory, or released while unused.
"""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.allocations import allocations
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Times, Window, clip, spans, union
from tracekit.analysis.iterations import Loop
from tracekit.analysis.upkeep import wirings

PARTS = 8
_MOST = 5  # parts of the eight of a loop that make an event a habit
_ALIKE = 0.5  # ratio of allocated to wired bytes above which allocations explain the wiring
LEAST = 1 << 20
"""Bytes a part of the loop, from which wiring is spoken of."""
_SIZE = r"^\s*Wire\s+(\d+(?:\.\d+)?)\s*(Bytes|KiB|MiB|GiB|TiB)\b"
_UNITS = {"Bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


@dataclass(frozen=True, eq=False)
class Wired:
    """The memory wired for the target in the loop, by eight equal parts of it.

    `starts` and `ends` bound the wiring, with overlaps joined; `sizes` and `allocated` are the
    bytes wired and allocated in each part, None if unknown; `parts` tells which parts have any
    wiring; `iteration_counts` are the numbers of iterations with wiring and of all, None without
    iterations.
    """

    starts: Times
    ends: Times
    sizes: NDArray[np.int64] | None
    allocated: NDArray[np.int64] | None
    parts: NDArray[np.bool_]
    iteration_counts: tuple[int, int] | None

    @property
    def habit(self) -> bool:
        """Whether memory is wired in most parts of the loop."""
        return int(self.parts.sum()) >= _MOST

    @property
    def has_lost_residency(self) -> bool | None:
        """Whether the memory had been wired before; None if that is unknown."""
        if not self.habit:
            return False
        if self.sizes is None or self.allocated is None:
            return None
        is_covered = self.allocated < _ALIKE * self.sizes
        again = (self.sizes >= LEAST) & is_covered
        return int(again.sum()) >= _MOST


def measure_residency(
    loop: Loop,
    driver_events: pd.DataFrame,
    wired_memory: pd.DataFrame | None,
    resource_allocations: pd.DataFrame | None,
    allocated_sizes: pd.DataFrame | None,
    iterations: pd.DataFrame | None,
) -> Wired:
    """Return the memory that the driver wired for the target in the loop."""
    target_wirings = loop.rows(wirings(driver_events))
    starts, _ = spans(target_wirings)
    sizes = None
    if "label" in target_wirings and len(target_wirings):
        labels = target_wirings["label"].astype("string")
        matches = labels.str.extract(_SIZE, flags=re.IGNORECASE)
        if matches[0].notna().any():
            factors = matches[1].map(_UNITS)
            units = factors.to_numpy(dtype=np.float64, na_value=0)
            numbers = matches[0].astype("Float64")
            bytes_ = numbers.to_numpy(dtype=np.float64, na_value=0) * units
            exact_bytes = bytes_.astype(np.int64)
            sizes = _by_part(starts, exact_bytes, loop)
    if sizes is None and wired_memory is not None and len(wired_memory):
        sizes = _rises(wired_memory, loop)
    iteration_counts = None
    if iterations is not None and not iterations.empty:
        begins = np.sort(spans(iterations)[0])
        places = np.searchsorted(begins, starts, side="right") - 1
        known_places = np.unique(places[places >= 0])
        iteration_counts = known_places.size, begins.size
    clipped = clip(*spans(target_wirings), loop.start, loop.end)
    wired = union(*clipped)
    allocated = _measure_allocations(resource_allocations, allocated_sizes, loop)
    part_counts = np.bincount(_part(starts, loop), minlength=PARTS)
    return Wired(
        *wired,
        sizes,
        allocated,
        part_counts > 0,
        iteration_counts,
    )


def habit(times: Times, window: Window) -> bool:
    """Return whether an event occurs in most of eight equal parts of a window."""
    parts_of_times = np.unique(_part(times, window))
    return parts_of_times.size >= _MOST


def _part(times: Times, window: Window) -> Times:
    since_start = times - window.start
    places = since_start * PARTS // max(1, window.length)
    return np.clip(places, 0, PARTS - 1)


def _by_part(times: Times, values: NDArray[np.int64], window: Window) -> NDArray[np.int64]:
    sums = np.zeros(PARTS, np.int64)
    parts_of_times = _part(times, window)
    np.add.at(sums, parts_of_times, values)
    return sums


def _rises(levels: pd.DataFrame, window: Window) -> NDArray[np.int64]:
    """Return the rise of the level in each part, of all processes together."""
    ordered = levels.dropna(subset=["size"]).sort_values("start", kind="stable")
    starts = ordered["start"].to_numpy(dtype=np.int64)
    ordered_sizes = ordered["size"].to_numpy(dtype=np.int64)
    rises = np.maximum(np.diff(ordered_sizes, prepend=0), 0)
    rises[:1] = 0
    in_window = (starts >= window.start) & (starts < window.end)
    return _by_part(starts[in_window], rises[in_window], window)


def _measure_allocations(
    resources: pd.DataFrame | None, levels: pd.DataFrame | None, window: Window
) -> NDArray[np.int64] | None:
    """Return the target's allocated bytes in each part, by rows or by the rises of its level."""
    if resources is not None:
        try:
            target_rows = allocations(resources, window)
        except Unavailable:
            return None
        sizes = target_rows["size"].to_numpy(dtype=np.int64, na_value=0)
        times = target_rows["time"].to_numpy(dtype=np.int64)
        return _by_part(times, sizes, window)
    if levels is None:
        return None
    return _rises(levels[levels["target"]], window)
