"""Buffers that a loop allocates and frees in each iteration, and the idle time that this costs.

A program that empties its pool of buffers in each iteration allocates its working set again in the
next. The trace shows this in three ways: allocations in each iteration, a level of memory that
rises and falls with them, and a host that allocates between two commits while the device is idle.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.allocations import allocations
from tracekit.analysis.idle.cause import Cause
from tracekit.analysis.idle.sums import gaps_of
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Times
from tracekit.analysis.iterations import Loop
from tracekit.analysis.memory_levels import MemoryLevels, levels
from tracekit.analysis.scope import Targets

_FEWEST = 4  # allocations in a gap; the first and the last bound their time
_MOST = 0.5  # of the host's idle time
_RARE = 0.5  # gaps with allocations for each iteration
_SWING = 1.2  # ratio of the highest level to the lowest, at least
_OFTEN = 8  # falls of the level, at least


@dataclass(frozen=True, eq=False)
class Allocating:
    """The gaps in which the host allocates before it commits; ns.

    `starts` and `ends` bound the allocations of each gap; `host_time` is the host's share of all
    gaps, with and without allocations. Idle time of unknown cause counts as the host's.
    """

    starts: Times
    ends: Times
    host_time: int

    @property
    def time(self) -> int:
        """The idle time of the device between the first and the last allocation of each gap; ns."""
        return int((self.ends - self.starts).sum())

    @property
    def is_most(self) -> bool:
        """Whether most of the host's idle time lies between allocations."""
        return self.time > _MOST * self.host_time > 0

    def is_rare(self, iterations: pd.DataFrame | None) -> bool:
        """Return whether most iterations lack such a gap: each request makes its buffers anew."""
        return iterations is not None and self.starts.size < _RARE * len(iterations)


def allocating_of(loop: Loop, gaps: pd.DataFrame, resource_allocations: pd.DataFrame) -> Allocating:
    """Return the host's allocations in gaps of the loop."""
    allocated = allocations(resource_allocations, loop)
    times = np.sort(allocated["time"].to_numpy(dtype=np.int64))
    host_gaps = gaps_of(gaps, Cause.HOST, Cause.ENCODING)
    host_time = host_gaps.time + gaps_of(gaps, Cause.UNATTRIBUTED).time
    firsts = np.searchsorted(times, host_gaps.starts, side="left")
    next_numbers = np.searchsorted(times, host_gaps.ends, side="right")
    counts = next_numbers - firsts
    has_several = counts >= _FEWEST
    if not has_several.any():
        no_times = np.empty(0, np.int64)
        return Allocating(no_times, no_times, host_time)
    firsts = firsts[has_several]
    lasts = firsts + counts[has_several] - 1
    return Allocating(times[firsts], times[lasts], host_time)


@dataclass(frozen=True)
class Swing:
    """The levels (bytes) between which the target's memory swings, and the number of falls."""

    lowest: int
    highest: int
    falls: int


def find_swing(
    allocated_sizes: pd.DataFrame | None, targets: Targets, loop: Loop, fewest: int = _OFTEN
) -> Swing | None:
    """Return the swing of the GPU's memory in the loop; None if it is steady or unknown.

    It falls `fewest` times or more.
    """
    if allocated_sizes is None:
        return None
    try:
        processes = levels(allocated_sizes, None, targets)
    except Unavailable:
        return None
    swings = [_swing(_in_loop(process, loop), fewest) for process in processes]
    known_swings = [swing for swing in swings if swing]
    return max(known_swings, key=lambda swing: swing.falls, default=None)


def _in_loop(process: MemoryLevels, loop: Loop) -> NDArray[np.int64]:
    overlaps = (process.starts < loop.end) & (process.ends > loop.start)
    return process.sizes[overlaps]


def _swing(sizes: NDArray[np.int64], fewest: int) -> Swing | None:
    """Return the swing of levels in the order of time.

    A fall is a drop of at least half the distance between the usual highest and lowest level.
    """
    if sizes.size < fewest:
        return None
    lowest, highest = np.quantile(sizes, (0.05, 0.95))
    half = -(highest - lowest) / 2
    is_fall = np.diff(sizes) < half
    falls = int(is_fall.sum())
    if highest < _SWING * lowest or falls < fewest:
        return None
    return Swing(int(lowest), int(highest), falls)
