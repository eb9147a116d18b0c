"""Allocations of resources by the target: their times, their sizes, and how alike these are.

No trace so far has another event of resources than an allocation: releases are unknown.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Times, Window, choose_rows
from tracekit.analysis.scope import own_rows
from tracekit.analysis.trends import balance_pairs

ALLOCATION = "Allocation"
"""The name of the event in the table of resources."""

# Of a stretch in which the target allocates nearly all the time:
_FEWEST_IN_A_STRETCH = 4  # allocations
_THROUGHOUT = 0.5  # share of a stretch between its first and its last allocation
_LONGEST_BREAK = 0.25  # share of a stretch between two allocations

# Of sizes that grow:
_PARTS = 8  # of a window
_RISING = 20  # rising pairs less falling ones; see `balance_pairs`
_LARGER = 1.1  # ratio of the last to the first of growing sizes
_LARGEST = 0.75  # quantile above which sizes are the largest
_FEW = 4  # allocations in a part of a window

# Of sizes that are hardly ever equal:
_SIZES_FEWEST = 16  # allocations that suffice to show recurring sizes
_UNLIKE = 0.5  # least number of distinct sizes for each allocation
_NEAR = 4  # ratio of the 90th to the 10th percentile of sizes that have one purpose


def allocations(resource_allocations: pd.DataFrame, window: Window) -> pd.DataFrame:
    """Return the rows of resources that the target allocated in the window."""
    target_rows = own_rows(resource_allocations)
    is_allocation = (target_rows["event"] == ALLOCATION).to_numpy(np.bool_, na_value=False)
    if not target_rows.empty and not is_allocation.any():
        event_names = target_rows["event"].fillna("no name").astype(str)
        words = ", ".join(sorted(set(event_names)))
        raise Unavailable(f"which events of resources are allocations is not known: {words}.")
    return window.rows(choose_rows(target_rows, is_allocation), "time")


def find_allocating(
    resource_allocations: pd.DataFrame, starts: Times, ends: Times
) -> NDArray[np.bool_]:
    """Return in which stretches the target allocates buffers nearly all the time.

    Allocations at the end of a stretch prepare the work after it, and say nothing of the stretch.
    """
    target_rows = own_rows(resource_allocations)
    is_allocation = (target_rows["event"] == ALLOCATION).to_numpy(np.bool_, na_value=False)
    target_rows = choose_rows(target_rows, is_allocation)
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
    bounds = np.linspace(window.start, window.end, _PARTS + 1)
    next_parts = np.searchsorted(bounds, times, side="right")
    part = np.clip(next_parts - 1, 0, _PARTS - 1)
    means = np.zeros(_PARTS)
    for place in range(_PARTS):
        part_sizes = sizes[part == place]
        if part_sizes.size < _FEW:
            return None
        means[place] = _mean_of_largest(part_sizes)
    if balance_pairs(means) < _RISING or means[-1] < _LARGER * means[0]:
        return None
    return round(means[0]), round(means[-1])


def _mean_of_largest(sizes: NDArray[np.int64]) -> float:
    large_sizes = sizes[sizes >= np.quantile(sizes, _LARGEST)]
    return float(large_sizes.mean())


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
