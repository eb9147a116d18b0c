"""Growth over the iterations of a loop: device time, idle time, memory, allocations.

A loop that processes all of its earlier results takes longer with each iteration. If its memory
rises as well, the work is on kept data, such as a cache that is copied as it grows. If not, only
the work grows, such as attention over a longer context in memory that was allocated at the start.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.allocations import ALLOCATION
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import IntervalSet, Times, Window
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.iterations import steady_iterations
from tracekit.analysis.machine import MORE_DISTURBED, disturbed_share, share_below_best
from tracekit.analysis.memory_levels import MemoryLevels, levels
from tracekit.analysis.modes import SIGMA, find_border
from tracekit.analysis.scope import Device, Targets, of_a_server, require_alike
from tracekit.analysis.trends import Numbers, TrendLine, balance_pairs, fit_trend

LIMIT = 0.25
"""The share by which an iteration has to take longer at the end than at first, to be spoken of."""
FEWEST = 16
"""Fewer iterations than this do not show whether something grows."""
_PARTS = 8
_RISING = 14  # rising pairs of parts less falling ones, of 28
_CLEAR = 6.0  # robust deviations between neighbours, at least, of an uneven rise
_MEMORY_SHARE, _MEMORY = 0.05, 32 << 20  # share of the first level, and bytes: the least rise
_SAME = 0.02  # share by which equal numbers of pieces may differ


@dataclass(frozen=True)
class Rise:
    """The rise of a time (ns) over the iterations, by its line and by the medians of eight parts.

    `noise` is a robust standard deviation from one iteration to the next; `jumps` tells whether the
    whole rise occurs at one iteration.
    """

    line: TrendLine
    parts: tuple[float, ...]
    noise: float
    jumps: bool

    @property
    def is_even(self) -> bool:
        """Whether the rise lasts from the first iteration to the last, at about the same rate."""
        return self.line.is_steady

    @property
    def first_value(self) -> float:
        """The value at the beginning: that of the line if the rise is even."""
        if self.is_even:
            return self.line.first_value
        return self.parts[0]

    @property
    def last_value(self) -> float:
        """The value at the end: that of the line if the rise is even."""
        if self.is_even:
            return self.line.last_value
        return self.parts[-1]

    def is_over(self, minimum_rise: float) -> bool:
        """Return whether the time rises by more than the minimum (ns), with certainty.

        The rise is certain if the lower end of the slope's 95 % interval also exceeds the minimum;
        an uneven rise must also show in the order of its parts.
        """
        line = self.line
        if self.jumps:
            return False
        if self.is_even:
            least_rise = line.rise * line.lower / line.slope
            return min(line.rise, least_rise) > minimum_rise
        balance = balance_pairs(self.parts)
        grown = self.parts[-1] - self.parts[0]
        least_growth = max(minimum_rise, _CLEAR * self.noise)
        return grown > least_growth and balance >= _RISING


@dataclass(frozen=True, eq=False)
class Growth:
    """The growth over the `number` of iterations; None for unknown values.

    `device` is the device's time for an iteration, `idle` the rest of it; `memory` is the line of
    the level at the end of each (bytes), from the table `memory_table`. `allocations` is the number
    of resources that an iteration allocates, `larger` whether they become larger. `pieces` are the
    numbers of pieces of device work in the first and the last eighth of the iterations. `disturbed`
    tells whether the clock was lower, or other processes used the GPU more, towards the end, and
    `clock_known` whether the clock is known. `worked` is the device time of each (ns).
    """

    number: int
    worked: Numbers
    device: Rise | None
    idle: Rise | None
    memory: TrendLine | None
    memory_table: str
    allocations: float
    larger: bool
    pieces: tuple[float, float]
    disturbed: bool
    clock_known: bool
    window: Window

    @property
    def memory_rises(self) -> bool:
        """Whether memory rises with the iterations, by a relevant amount and with certainty."""
        line = self.memory
        if line is None or line.slope <= 0 or line.lower <= 0:
            return False
        least_rise = max(_MEMORY, _MEMORY_SHARE * line.first_value)
        return line.rise > least_rise

    @property
    def has_same_pieces(self) -> bool:
        """Whether the last iterations have about as many device pieces as the first ones."""
        first_pieces, last_pieces = self.pieces
        most_pieces = max(first_pieces, last_pieces)
        return abs(last_pieces - first_pieces) <= _SAME * most_pieces

    def device_rises(self, limit: float) -> bool:
        """Return whether device time rises by more than this share in an undisturbed loop.

        If the clock falls or other processes use the GPU more, the same work takes longer.
        """
        rise = self.device
        return rise is not None and rise.is_over(limit * rise.first_value) and not self.disturbed

    def idle_rises(self, limit: float) -> bool:
        """Return whether idle time rises by more than this share of a whole iteration at first."""
        if self.idle is None or self.device is None:
            return False
        first_period = self.device.first_value + self.idle.first_value
        return self.idle.is_over(limit * first_period)

    def is_joint(self, limit: float) -> bool:
        """Return whether device time and memory rise together."""
        return self.device_rises(limit) and self.memory_rises


def growth_of(
    gpu: Device,
    iterations: pd.DataFrame,
    targets: Targets,
    requests: pd.DataFrame | None,
    spans: pd.DataFrame | None,
    allocated_sizes: pd.DataFrame | None,
    process_samples: pd.DataFrame | None,
    resource_allocations: pd.DataFrame | None,
    gpu_performance_states: pd.DataFrame | None,
) -> Growth:
    """Return the growth; raise Unavailable without a loop, or if it is too short."""
    rows = steady_iterations(iterations).sort_values("start", kind="stable")
    if of_a_server(rows, requests, spans):
        raise Unavailable("the steps are a server's, which differ with the requests.")
    require_alike(rows)
    if len(rows) < FEWEST:
        raise Unavailable(f"the loop has {len(rows):,} iterations; a trend takes {FEWEST}.")
    starts, ends = bounds(rows)
    has_work = "work" in rows and bool(rows["work"].notna().any())
    worked = _numbers(rows["work"]) if has_work else _measure_work(gpu, starts, ends)
    pieces = _parts(_numbers(rows["pieces"])) if has_work else (0.0,) * _PARTS
    first_start = int(starts[0])
    last_end = int(ends[-1])
    window = Window(first_start, last_end, "the loop")
    level = _level(allocated_sizes, process_samples, targets, ends - 1)
    number, larger = _count_allocations(resource_allocations, starts, ends)
    clock_share = share_below_best(gpu_performance_states, window)
    idle_times = np.maximum(ends - starts - worked, 0)
    memory = None
    if level is not None:
        memory = fit_trend(level[1])
    memory_table = ""
    if level is not None:
        memory_table = level[0]
    disturbed = _is_disturbed(gpu, gpu_performance_states, window)
    return Growth(
        number=len(rows),
        worked=worked,
        device=_rise(worked),
        idle=_rise(idle_times),
        memory=memory,
        memory_table=memory_table,
        allocations=number,
        larger=larger,
        pieces=(pieces[0], pieces[-1]),
        disturbed=disturbed,
        clock_known=clock_share is not None,
        window=window,
    )


def _numbers(column: pd.Series) -> Numbers:
    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(numbers, np.float64)


def _measure_work(gpu: Device, starts: Times, ends: Times) -> Numbers:
    gpu_work = IntervalSet.from_spans(*gpu.spans)
    return gpu_work.measure_within(starts, ends).astype(np.float64)


def _rise(values: Numbers) -> Rise | None:
    line = fit_trend(values)
    if line is None:
        return None
    finite_values = values[np.isfinite(values)]
    differences = np.abs(np.diff(finite_values))
    noise = SIGMA * float(np.median(differences)) / np.sqrt(2)
    has_border = find_border(finite_values) is not None
    return Rise(line, _parts(values), noise, has_border)


def _parts(values: Numbers) -> tuple[float, ...]:
    """Return the median of each eighth of the values."""
    parts = (part[np.isfinite(part)] for part in np.array_split(values, _PARTS))
    return tuple(float(np.median(part)) if part.size else np.nan for part in parts)


def _level(
    allocated_sizes: pd.DataFrame | None,
    process_samples: pd.DataFrame | None,
    targets: Targets,
    moments: Times,
) -> tuple[str, Numbers] | None:
    """Return the table and the memory level of all the target's processes at each moment."""
    try:
        all_levels = levels(allocated_sizes, process_samples, targets)
    except Unavailable:
        return None
    levels_of_processes = [_level_at(process_levels, moments) for process_levels in all_levels]
    return all_levels[0].table, np.sum(levels_of_processes, axis=0)


def _level_at(level: MemoryLevels, moments: Times) -> Numbers:
    order = np.argsort(level.starts, kind="stable")
    starts = level.starts[order]
    sizes = level.sizes[order]
    place = np.searchsorted(starts, moments, side="right") - 1
    known_sizes = sizes[np.maximum(place, 0)]
    return np.where(place >= 0, known_sizes, np.nan).astype(np.float64)


def _count_allocations(
    resource_allocations: pd.DataFrame | None, starts: Times, ends: Times
) -> tuple[float, bool]:
    """Return the number of resources per iteration, and whether they become larger."""
    if resource_allocations is None:
        return 0.0, False
    allocations = resource_allocations[resource_allocations["target"]]
    is_allocation = allocations["event"].fillna("") == ALLOCATION
    allocations = allocations[is_allocation].dropna(subset=["size"])
    times = allocations["time"].to_numpy(dtype=np.int64)
    place = np.searchsorted(starts, times, side="right") - 1
    iteration_ends = ends[np.maximum(place, 0)]
    in_iteration = (place >= 0) & (times < iteration_ends)
    all_sizes = allocations["size"].to_numpy(dtype=np.float64)
    sizes = all_sizes[in_iteration]
    numbers = np.bincount(place[in_iteration], minlength=starts.size)
    sums = np.bincount(place[in_iteration], weights=sizes, minlength=starts.size)
    with np.errstate(invalid="ignore"):
        mean_sizes = sums / np.maximum(numbers, 1)
        known_means = np.where(numbers > 0, mean_sizes, np.nan)
        line = fit_trend(known_means)
    grows_steadily = line is not None and line.lower > 0 and line.is_steady
    return float(np.median(numbers)), grows_steadily


def _is_disturbed(gpu: Device, states: pd.DataFrame | None, window: Window) -> bool:
    """Return whether the last quarter had a lower clock, or more work of others, than the first."""
    quarter = window.length // 4
    first_quarter = Window(window.start, window.start + quarter)
    last_quarter = Window(window.end - quarter, window.end)
    early = disturbed_share(gpu.other_intervals, states, first_quarter)
    late = disturbed_share(gpu.other_intervals, states, last_quarter)
    return late > early + MORE_DISTURBED
