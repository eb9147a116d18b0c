"""The memory that each request retains, and the target's memory against the machine's capacity.

A request is a stretch of work between two pauses. The memory that it retains shows in the pause
after it: the lowest level there, less the lowest level in the pause before it.
"""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Times, Window, spans
from tracekit.analysis.machine import Machine
from tracekit.analysis.memory_levels import MemoryLevels, levels
from tracekit.analysis.scope import Targets

FEWEST = 3
"""Fewer requests than this do not show whether memory levels off."""
_MOSTLY = 0.8  # share of the requests that retain memory
_STILL = 0.5  # late requests retain at least this share of the early ones' bytes
_NOTHING = 0.1  # share of the mean retained memory up to which a request retains next to nothing
_EARLY = 0.25  # share of a request's time that counts as its start
_AT_ONCE = 0.75  # share of a request's retained memory that exists by the end of that start

Sizes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RequestRises:
    """The memory that each request of the target retained.

    `starts` and `ends` bound the requests; `floors` are the lowest levels (bytes) before the first
    and after each; `early` is the part of a typical request's retained memory that exists after a
    quarter of its time. `table` and `level_name` identify the level.
    """

    table: str
    level_name: str
    starts: Times
    ends: Times
    floors: Sizes
    early: float

    @property
    def rises(self) -> Sizes:
        """Bytes that each request retained, in order."""
        return np.diff(self.floors)

    @property
    def typical(self) -> int:
        """Bytes that a typical request retained, without the first, which makes shared data."""
        return int(np.median(self.rises[1:]))

    @property
    def grown(self) -> int:
        """Bytes by which the level rose from the end of the first request to that of the last."""
        return int(self.floors[-1] - self.floors[1])

    @property
    def at_once(self) -> bool:
        """Whether a request allocates its retained memory at its start, as a prefill does."""
        return self.early >= _AT_ONCE

    @property
    def rising(self) -> bool:
        """Whether nearly every request retains memory, and late ones as much as early ones."""
        later = self.rises[1:]
        half = (later.size + 1) // 2
        goes_on = np.median(later[-half:]) >= _STILL * np.median(later[:half])
        return bool((later > 0).mean() >= _MOSTLY and later[-1] > 0 and goes_on)

    @property
    def levels_off(self) -> bool:
        """Whether the last quarter of the requests, two or more, retain next to nothing."""
        quarter = self.rises[-max(2, self.rises.size // 4) :]
        return bool(quarter.max() <= _NOTHING * max(self.rises.mean(), 0.0))


def request_rises(
    loop: Window,
    loaded: pd.DataFrame,
    allocated_sizes: pd.DataFrame | None,
    process_samples: pd.DataFrame | None,
    targets: Targets,
) -> RequestRises:
    """Return the memory that each request retained; raise Unavailable with too few requests."""
    starts, ends = spans(loaded.sort_values("start", kind="stable"))
    if starts.size < FEWEST:
        raise Unavailable(f"{loop.name} has {starts.size} stretches of work between pauses.")
    processes = levels(allocated_sizes, process_samples, targets)
    # The pause after a request lasts to the start of the next one; the last request has none.
    pause_ends = np.append(starts[1:], ends[-1] + 1)
    early_times = starts + (_EARLY * (ends - starts)).astype(np.int64)
    floors = np.zeros(starts.size + 1, np.int64)
    early_levels = np.zeros(starts.size, np.int64)
    for level in processes:
        pauses = zip(ends.tolist(), pause_ends.tolist(), strict=True)
        lowest_levels = [lowest(level, end, pause_end) for end, pause_end in pauses]
        floors += [level_at(level, int(starts[0])), *lowest_levels]
        early_levels += [level_at(level, time) for time in early_times.tolist()]
    rises = np.diff(floors)
    retains = rises > 0
    early_shares = (early_levels - floors[:-1])[retains] / rises[retains]
    early = 0.0
    if early_shares.size:
        early = float(np.median(early_shares))
    table = processes[0].table
    return RequestRises(table, processes[0].description, starts, ends, floors, early)


def level_at(level: MemoryLevels, time: int) -> int:
    """Return the level at a moment: the last known one, or the first before any is known."""
    order = np.argsort(level.starts, kind="stable")
    place = int(np.searchsorted(level.starts[order], time, side="right")) - 1
    return int(level.sizes[order[max(place, 0)]])


def lowest(level: MemoryLevels, start: int, end: int) -> int:
    """Return the lowest level in a window, or the level at its start if none is known in it."""
    overlaps = (level.starts < end) & (level.ends > start)
    if not overlaps.any():
        return level_at(level, start)
    return int(level.sizes[overlaps].min())


def highest(level: MemoryLevels, start: int, end: int) -> int:
    """Return the highest level in a window, or the level at its start if none is known in it."""
    overlaps = (level.starts < end) & (level.ends > start)
    if not overlaps.any():
        return level_at(level, start)
    return int(level.sizes[overlaps].max())


_FULL = 0.9  # share of the capacity above which memory is short
_MUCH_OF_MACHINE = 0.5  # share of the machine's memory; without a limit, less is not short
_GROWN = 0.25  # of the highest level
_WRITTEN_OUT = 0.05  # of the highest level
_MUCH = 1 << 30  # bytes


@dataclass(frozen=True)
class Room:
    """The target's memory of the GPU against the machine's capacity; bytes, None if unknown.

    `initial_level` and `highest_level` are the level at the beginning of the loop and the highest
    in it; `wired` is the highest level of memory that was wired for the GPU, of all processes
    together; `limit` is the working set that the device recommends, or the wired limit if that is
    lower; `machine` is the machine's memory; `swapped` is the memory that the system wrote out
    meanwhile.
    """

    initial_level: int | None = None
    highest_level: int | None = None
    limit: int | None = None
    machine: int | None = None
    swapped: int = 0
    wired: int | None = None

    @property
    def grown(self) -> int:
        """Bytes by which the highest level exceeds the level at the loop's beginning."""
        if self.initial_level is None or self.highest_level is None:
            return 0
        return self.highest_level - self.initial_level

    @property
    def outgrown(self) -> bool | None:
        """Whether caches and the remains of earlier work displace the data of an iteration.

        True if the target grew until memory was short, if it has nearly all of the machine's
        memory, or if the system wrote memory out meanwhile. False if the level stays below the
        limit: then a model lost its residency. None between the two, and if levels are unknown.
        """
        if self._is_short:
            return True
        if self.highest_level is None:
            return None
        if self.highest_level == 0 or not self._may_be_short(self.highest_level):
            return False
        if self.grown >= _GROWN * self.highest_level:
            return True
        return None

    @property
    def _is_short(self) -> bool:
        """Whether the target has nearly all of the memory, or the system wrote much of it out."""
        if self.highest_level is None:
            return self.swapped >= _MUCH
        if self.machine is not None and self.highest_level >= _FULL * self.machine:
            return True
        return self.swapped > 0 and self.swapped >= _WRITTEN_OUT * self.highest_level

    def _may_be_short(self, level: int) -> bool:
        """Return whether memory may be short at a level: near the limit, or large without one."""
        if self.limit is not None:
            return level >= _FULL * self.limit
        return self.machine is None or level >= _MUCH_OF_MACHINE * self.machine


def room_of(
    loop: Window,
    allocated_sizes: pd.DataFrame | None,
    wired_memory: pd.DataFrame | None,
    gpu_devices: pd.DataFrame | None,
    machine: Machine,
    targets: Targets,
) -> Room:
    """Return the target's memory in the loop against the machine's capacity."""
    processes: list[MemoryLevels] = []
    with suppress(Unavailable):
        processes = levels(allocated_sizes, None, targets)
    initial_level: int | None = None
    highest_level: int | None = None
    if processes:
        initial_level = sum(level_at(level, loop.start) for level in processes)
        highest_level = sum(highest(level, loop.start, loop.end) for level in processes)
    memory = machine.get("memory")
    return Room(
        initial_level=initial_level,
        highest_level=highest_level,
        limit=_find_limit(gpu_devices, machine),
        machine=int(memory) if memory else None,
        swapped=int(machine.get("paged_out") or 0),
        wired=_find_wired_level(loop, wired_memory),
    )


def _find_limit(gpu_devices: pd.DataFrame | None, machine: Machine) -> int | None:
    """Return the least of the wired limit and the working sets that devices recommend, in bytes."""
    limits: list[int] = []
    wired_limit = machine.get("wired_limit")
    if wired_limit:
        limits.append(int(wired_limit))
    if gpu_devices is not None:
        limits += [int(size) for size in gpu_devices["working_set"].dropna() if size > 0]
    return min(limits, default=None)


def _find_wired_level(loop: Window, wired_memory: pd.DataFrame | None) -> int | None:
    """Return the highest level of memory in the loop that was wired for the GPU, in bytes."""
    if wired_memory is None:
        return None
    rows = wired_memory.dropna(subset=["size"])
    if rows.empty:
        return None
    sizes = rows["size"].to_numpy(dtype=np.int64)
    level = MemoryLevels("wired_memory", "wired memory", *spans(rows), sizes)
    return highest(level, loop.start, loop.end)
