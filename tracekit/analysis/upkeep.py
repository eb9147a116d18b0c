"""A program's work apart from its kernels: allocations, late pipelines, memory growth.

Growth: memory that is allocated and freed again leaves the lowest levels unchanged, however high it
rises in between; memory that is kept raises them from part to part. So a saw-tooth does not count
as growth, nor does one allocation that is never freed.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.inject import NotApplicable, Remedy, Unavailable
from tracekit.analysis.intervals import Times, Window, clip, spans, union
from tracekit.analysis.scope import Device, Targets, of_target

# The only events of these tables in any trace so far.
ALLOCATION = "Allocation"
WIRE = "Wire Memory"


def allocations(resource_allocations: pd.DataFrame, window: Window) -> pd.DataFrame:
    """Return the rows of resources that the target allocated in the window."""
    target_rows = resource_allocations[resource_allocations["target"]]
    is_allocation = target_rows["event"].fillna("no name") == ALLOCATION
    if not target_rows.empty and not is_allocation.any():
        event_names = target_rows["event"].fillna("no name").astype(str)
        words = ", ".join(sorted(set(event_names)))
        raise Unavailable(f"which events of resources are allocations is not known: {words}.")
    return window.rows(target_rows[is_allocation], "time")


_FEWEST_IN_A_STRETCH = 4  # allocations
_THROUGHOUT = 0.5  # share of a stretch between its first and its last allocation
_LONGEST_BREAK = 0.25  # share of a stretch between two allocations


def find_allocating(
    resource_allocations: pd.DataFrame, starts: Times, ends: Times
) -> NDArray[np.bool_]:
    """Return in which stretches the target allocates buffers nearly all the time.

    Allocations at the end of a stretch prepare the work after it, and say nothing of the stretch.
    """
    target_rows = resource_allocations[resource_allocations["target"]]
    target_rows = target_rows[target_rows["event"].fillna("") == ALLOCATION]
    times = np.sort(target_rows["time"].to_numpy(dtype=np.int64))
    firsts = np.searchsorted(times, starts, side="left")
    lasts = np.searchsorted(times, ends, side="right")
    throughout = np.zeros(starts.size, np.bool_)
    for place in np.flatnonzero(lasts - firsts >= _FEWEST_IN_A_STRETCH).tolist():
        inside = times[firsts[place] : lasts[place]]
        length = ends[place] - starts[place]
        lasted = inside[-1] - inside[0] >= _THROUGHOUT * length
        throughout[place] = lasted and np.diff(inside).max() <= _LONGEST_BREAK * length
    return throughout


def wirings(driver_events: pd.DataFrame) -> pd.DataFrame:
    """Return the rows in which the driver wired memory for the target."""
    is_wiring = driver_events["event"].fillna("") == WIRE
    return driver_events[driver_events["target"] & is_wiring]


def wiring(driver_events: pd.DataFrame, window: Window) -> tuple[Times, Times]:
    """Return when the driver wired memory for the target in the window, with overlaps joined."""
    wiring_spans = spans(wirings(driver_events))
    wired = clip(*wiring_spans, window.start, window.end)
    return union(*wired)


_SERVICE = "compiler"  # in the name of a process that compiles for others


def of_the_service(activity: pd.DataFrame) -> pd.DataFrame:
    """Return the compiler's work under its own name, whose client is not in the trace."""
    processes = activity["process"].fillna("")
    return activity[processes.str.contains(_SERVICE, case=False)]


def select_pipelines(device: Device, specializations: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return the pipelines that the workload counts; None if it does not name any on a GPU."""
    if specializations is not None and not specializations.empty:
        return specializations
    if device.on_the_host:
        raise NotApplicable("the work ran on the CPU, and the workload names no pipelines.")
    return None


PARTS = 8
# Rising pairs less falling ones, of 28: 285 of the 40,320 orders of eight values have as many.
_RISING = 20
_LATER = 0.25  # least share of the growth in the second half of the window


_LARGER = 1.1  # ratio of the last to the first of growing sizes
_LARGEST = 0.75  # quantile above which sizes are the largest
_FEW = 4  # allocations in a part of a window


def growing_sizes(resources: pd.DataFrame, window: Window) -> tuple[int, int] | None:
    """Return the sizes of typical large allocations in the first and in the last part of a window.

    None unless they grow most of the time. The window has eight equal parts, and each has a mean of
    its largest quarter. Of the 28 pairs of parts, those in which the later mean is larger outnumber
    those in which it is smaller by at least 20, and the last mean is at least a tenth larger than
    the first.
    """
    sized = resources.dropna(subset=["size"])
    times = sized["time"].to_numpy(dtype=np.int64)
    sizes = sized["size"].to_numpy(dtype=np.int64)
    bounds = np.linspace(window.start, window.end, PARTS + 1)
    next_parts = np.searchsorted(bounds, times, side="right")
    part = np.clip(next_parts - 1, 0, PARTS - 1)
    means = np.zeros(PARTS)
    for place in range(PARTS):
        part_sizes = sizes[part == place]
        if part_sizes.size < _FEW:
            return None
        means[place] = _mean_of_largest(part_sizes)
    pairs = combinations(range(PARTS), 2)
    steps = [int(np.sign(means[later] - means[earlier_part])) for earlier_part, later in pairs]
    balance = sum(steps)
    if balance < _RISING or means[-1] < _LARGER * means[0]:
        return None
    return round(means[0]), round(means[-1])


_SIZES_FEWEST = 16  # allocations that suffice to show recurring sizes
_UNLIKE = 0.5  # least number of distinct sizes for each allocation
_NEAR = 4  # ratio of the 90th to the 10th percentile of sizes that have one purpose


@dataclass(frozen=True)
class UnlikeSizes:
    """Allocations of similar but hardly ever equal sizes: bytes, except for the numbers."""

    number: int
    distinct: int
    smallest: int
    largest: int


def unlike_sizes(sizes: NDArray[np.int64]) -> UnlikeSizes | None:
    """Return the spread of sizes of allocations with one purpose; None if they are alike.

    A pool that looks for the exact size cannot reuse such a buffer.
    """
    sizes = sizes[sizes > 0]
    if sizes.size < _SIZES_FEWEST:
        return None
    lower_quantile, upper_quantile = np.quantile(sizes, (0.1, 0.9))
    is_large_enough = sizes >= lower_quantile / _NEAR
    is_small_enough = sizes <= upper_quantile * _NEAR
    similar = sizes[is_large_enough & is_small_enough]
    distinct = np.unique(similar).size
    if upper_quantile > _NEAR * lower_quantile or distinct < _UNLIKE * similar.size:
        return None
    smallest = int(similar.min())
    largest = int(similar.max())
    return UnlikeSizes(sizes.size, distinct, smallest, largest)


def _mean_of_largest(sizes: NDArray[np.int64]) -> float:
    large_sizes = sizes[sizes >= np.quantile(sizes, _LARGEST)]
    return float(large_sizes.mean())


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
        pairs = combinations(range(PARTS), 2)
        slopes = [(self.floors[b] - self.floors[a]) / ((b - a) * length) for a, b in pairs]
        return float(np.median(slopes))

    @property
    def rising(self) -> bool:
        """Whether the lowest levels rise from part to part until the end, by Mann and Kendall."""
        pairs = combinations(range(PARTS), 2)
        steps = [int(np.sign(self.floors[b] - self.floors[a])) for a, b in pairs]
        balance = sum(steps)
        later = int(self.floors[-1] - self.floors[PARTS // 2 - 1])
        return balance >= _RISING and later >= _LATER * self.grown


def levels(
    allocated_sizes: pd.DataFrame | None, process_samples: pd.DataFrame | None, targets: Targets
) -> list[MemoryLevels]:
    """Return the known levels of the memory of each of the target's processes, the GPU's first."""
    reasons: list[str] = []
    level_sources = ((allocated_sizes, _read_allocated_levels), (process_samples, _resident))
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
    exact_bounds = np.linspace(window.start, window.end, PARTS + 1)
    bounds = exact_bounds.astype(np.int64)
    floors = np.zeros(PARTS, np.int64)
    for level in memory_levels:
        for part in range(PARTS):
            starts_before = level.starts < bounds[part + 1]
            ends_behind = level.ends > bounds[part]
            there = starts_before & ends_behind
            if not there.any():
                raise Unavailable(
                    f"{level.description} is not known in all parts of {window.name}, which is "
                    "too short "
                    "for its samples.",
                    Remedy.LONGER,
                )
            floors[part] += level.sizes[there].min()
    first_levels = memory_levels[0]
    return Trend(first_levels.table, first_levels.description, bounds, floors)


def _read_allocated_levels(rows: pd.DataFrame) -> MemoryLevels:
    sized_rows = rows.dropna(subset=["size"])
    starts = sized_rows["start"].to_numpy(dtype=np.int64)
    known_durations = sized_rows["duration"].fillna(0)
    lengths = known_durations.to_numpy(dtype=np.int64)
    sizes = sized_rows["size"].to_numpy(dtype=np.int64)
    return MemoryLevels("allocated_sizes", "memory of the GPU", starts, starts + lengths, sizes)


def _resident(rows: pd.DataFrame) -> MemoryLevels:
    sized_rows = rows.dropna(subset=["memory"])
    times = sized_rows["time"].to_numpy(dtype=np.int64)
    sizes = sized_rows["memory"].to_numpy(dtype=np.int64)
    return MemoryLevels("process_samples", "resident memory", times, times + 1, sizes)
