"""`low-occupancy`: too few threads in flight to hide latency."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.counters import (
    FEWEST,
    CounterKind,
    Group,
    bandwidth,
    extremes,
    highest,
    mean_of,
    meaning,
)
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Times, spans
from tracekit.analysis.intervals import busy as measure_busy
from tracekit.analysis.iterations import Loop
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.machine import Machine
from tracekit.analysis.rule import Fact, Findings, finding, longest
from tracekit.analysis.scope import Device
from tracekit.analysis.work_names import NamedWork
from tracekit.base import units

_SHOWN = 3
_SAMPLED = 3  # samples of an interval that suffice for a mean of its own
_FEWEST_PIECES = 3
_MUCH = 0.10  # share of the device's time in work with low occupancy
_LOWER = 0.5  # ratio to the occupancy of all other samples
_ALIKE_PLACE = 0.9  # share of the pieces with the same place in their command buffers
_LOADS = (CounterKind.LIMITER, CounterKind.UTILIZATION)


def low_occupancy(
    counter_samples: pd.DataFrame,
    counter_means: pd.DataFrame,
    machine: Machine,
    work: NamedWork | None,
    shader_runs: pd.DataFrame | None,
    gpu: Device,
    loop: Loop,
    *,
    limit: float = 0.30,
    busy: float = 0.70,
) -> Findings:
    """Too few threads were in flight.

    What it looks for:
        The mean of the compute occupancy counter over its samples in the steady window, weighted by
        the time in which the target's work ran. It fires below `limit` (default 30 %), unless
        arithmetic or memory does useful work for `busy` of its capacity (default 70 %): then few
        threads are enough. If the trace names kernels, the finding names those with low occupancy.
        If the mean is not low, the rule looks at single pieces of work that have three samples or
        more: it fires when those below the limit, and below half of all others, take more than 10 %
        of the device's time, and no limiter or utilization is at `busy` in them.

    Why it matters:
        A GPU hides the latency of memory behind other threads. With few threads in flight, each
        load and each barrier stops the core.

    When it abstains:
        When the recording has no occupancy counter or none of its samples lies in the target's
        work, when other processes used the GPU in most of them, because counters are device-wide,
        and when a CPU did the work.
    """
    occupancy = mean_of(counter_means, CounterKind.OCCUPANCY, "compute")
    if pd.isna(occupancy["share"]):
        raise Unavailable(f"this chip does not count {occupancy['counter']} in percent.")
    memory = bandwidth(counter_means, machine)
    other_load = highest(
        counter_means, (CounterKind.UTILIZATION,), (Group.ARITHMETIC, Group.MEMORY)
    )
    loads = [
        other_load,
        memory,
    ]
    known_loads = [load for load in loads if load]
    useful = max(known_loads, key=lambda load: load.share, default=None)
    name = str(occupancy["counter"])
    if occupancy["share"] >= limit:
        yield from _find_starved_work(name, counter_samples, gpu, loop, work, limit, busy)
        return
    if useful and useful.share >= busy:
        return
    samples = counter_samples[counter_samples["counter"] == name]
    share = float(occupancy["share"])
    sample_count = int(occupancy["samples"])
    busiest_counter = None
    busiest_share = None
    if useful:
        busiest_counter = useful.counter
        busiest_share = useful.share
    kernels = _kernels(samples, work)
    facts = (
        Fact("counter", name),
        Fact("share", share, "ratio"),
        Fact("samples", sample_count),
        Fact("busiest_counter", busiest_counter),
        Fact("busiest_share", busiest_share, "ratio"),
        Fact("kernels", kernels),
    )
    evidence = extremes(counter_samples, name, lowest=True)
    yield finding(
        wording="low-occupancy",
        facts=facts,
        lever="low-occupancy",
        evidence=evidence,
    )


def _find_starved_work(
    name: str,
    counter_samples: pd.DataFrame,
    gpu: Device,
    loop: Loop,
    work: NamedWork | None,
    limit: float,
    busy_share: float,
) -> Findings:
    """Yield the pieces of work with low occupancy, if they take much of the time."""
    target_rows = loop.rows(gpu.target_intervals)
    rows = target_rows.sort_values("start", kind="stable")
    starts, ends = spans(rows)
    pieces = _sample_pieces(name, counter_samples, starts, ends)
    is_sampled = pieces.counts >= _SAMPLED
    is_low = is_sampled & (pieces.means < limit)
    durations = ends - starts
    cost = int(durations[is_low].sum())
    device_time = measure_busy(starts, ends)
    other_counts = pieces.counts[~is_low]
    other_samples = int(other_counts.sum())
    if is_low.sum() < _FEWEST_PIECES or cost <= _MUCH * device_time or other_samples < FEWEST:
        return
    low_sum = pieces.sums[is_low].sum()
    low_number = pieces.counts[is_low].sum()
    low_share = float(low_sum / low_number)
    other_sum = pieces.sums[~is_low].sum()
    other_share = float(other_sum / other_samples)
    low_places = np.maximum(pieces.places, 0)
    is_in_low = (pieces.places >= 0) & is_low[low_places]
    highest_load = _highest_load(counter_samples[is_in_low])
    if low_share > _LOWER * other_share or (highest_load and highest_load[1] >= busy_share):
        return
    kernels = ""
    if work is not None:
        low_starts = starts[is_low]
        is_low_kernel = np.isin(work.starts, low_starts)
        kernels = work.name_longest(is_low_kernel)
    piece_count = int(is_low.sum())
    longest_time = int(durations[is_low].max())
    is_first_encoder = _are_first(rows, is_low)
    busiest_counter = None
    busiest_share = None
    if highest_load:
        busiest_counter = highest_load[0]
        busiest_share = highest_load[1]
    device_share = cost / device_time
    facts = (
        Fact("counter", name),
        Fact("share", low_share, "ratio"),
        Fact("elsewhere", other_share, "ratio"),
        Fact("pieces", piece_count),
        Fact("device_share", device_share, "ratio"),
        Fact("window", loop.name),
        Fact("longest", longest_time, "ns"),
        Fact("first_encoder", is_first_encoder),
        Fact("busiest_counter", busiest_counter),
        Fact("busiest_share", busiest_share, "ratio"),
        Fact("kernels", kernels),
    )
    low_ends = ends[is_low]
    evidence = longest("gpu_intervals", starts[is_low], low_ends)
    yield finding(
        wording="low-occupancy-part",
        facts=facts,
        lever=Mechanism.FEW_THREADS,
        evidence=evidence,
    )


@dataclass(frozen=True, eq=False)
class _SampledPieces:
    """The samples of one counter by piece of work.

    `places` is the piece of each sample of any counter, -1 for none; `sums` (of ratios) and
    `counts` have one entry for each piece.
    """

    places: NDArray[np.intp]
    sums: NDArray[np.float64]
    counts: NDArray[np.intp]

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean of each piece, a ratio; 0 without samples."""
        piece_counts = np.maximum(self.counts, 1)
        return self.sums / piece_counts


def _sample_pieces(name: str, samples: pd.DataFrame, starts: Times, ends: Times) -> _SampledPieces:
    places = _places(samples, starts, ends)
    matches_counter = samples["counter"] == name
    is_of_counter = matches_counter.to_numpy()
    is_counted = is_of_counter & (places >= 0)
    all_values = samples["value"].to_numpy(dtype=np.float64)
    counted_values = all_values[is_counted]
    values = counted_values / 100
    counted_places = places[is_counted]
    code_sums = np.bincount(counted_places, values, starts.size)
    sums = code_sums.astype(np.float64)
    counts = np.bincount(places[is_counted], minlength=starts.size)
    return _SampledPieces(places, sums, counts)


def _places(samples: pd.DataFrame, starts: Times, ends: Times) -> NDArray[np.intp]:
    """Return the interval with the middle of each sample; -1 for none, or for several."""
    sample_starts, sample_ends = spans(samples)
    middles = (sample_starts + sample_ends) // 2
    next_places = np.searchsorted(starts, middles, side="right")
    places = next_places - 1
    known_places = np.maximum(places, 0)
    latest_end = np.maximum.accumulate(ends)
    end_parts = (starts[:1], latest_end[:-1])
    earlier_ends = np.concatenate(end_parts)
    inside = (places >= 0) & (middles < ends[known_places])
    is_after_others = middles >= earlier_ends[known_places]
    return np.where(inside & is_after_others, places, -1)


def _highest_load(samples: pd.DataFrame) -> tuple[str, float] | None:
    """Return the limiter or utilization with the highest mean; None without any."""
    counter_groups = samples.groupby("counter", observed=True)
    loads = [
        (str(name), float(rows["value"].mean()) / 100)
        for name, rows in counter_groups
        if (counted := meaning(str(name))) and counted.kind in _LOADS
    ]
    return max(loads, key=lambda load: load[1], default=None)


def _are_first(rows: pd.DataFrame, low: NDArray[np.bool_]) -> bool:
    """Return whether nearly all of them are the first of several pieces of a command buffer."""
    if "command_buffer" not in rows or rows["command_buffer"].isna().any():
        return False
    first_pieces = ~rows["command_buffer"].duplicated().to_numpy()
    buffer_groups = rows.groupby("command_buffer")["start"]
    sizes = buffer_groups.transform("size").to_numpy()
    is_first_of_many = first_pieces & (sizes > 1)
    return bool(is_first_of_many[low].mean() >= _ALIKE_PLACE)


def _kernels(samples: pd.DataFrame, work: NamedWork | None) -> str:
    """Return the samples by kernel, lowest first, for samples of a single named kernel."""
    if work is None:
        return ""
    starts, ends = spans(samples)
    middles = (starts + ends) // 2
    next_kernels = np.searchsorted(work.starts, middles, side="right")
    place = next_kernels - 1
    latest_ends = np.maximum.accumulate(work.ends)
    end_parts = (work.starts[:1], latest_ends[:-1])
    earlier_ends = np.concatenate(end_parts)
    is_inside = (place >= 0) & (middles < work.ends[place])
    begins_after_others = middles >= earlier_ends[place]
    in_one_kernel = is_inside & begins_after_others
    sample_values = samples["value"].to_numpy(dtype=np.float64)
    values = sample_values[in_one_kernel]
    kernel_places = place[in_one_kernel]
    codes = work.codes[kernel_places]
    code_values = pd.Series(values).groupby(codes)
    means = code_values.agg(["mean", "count"])
    is_known_well = means["count"] >= FEWEST
    well_known_means = means[is_known_well].sort_values("mean", kind="stable")
    means = well_known_means[:_SHOWN]
    kernel_codes = means.index.tolist()
    mean_values = means["mean"].tolist()
    mean_rows = zip(kernel_codes, mean_values, strict=True)
    kernel_texts = [f"“{work.names[code]}” {units.percent(mean / 100)}" for code, mean in mean_rows]
    return ", ".join(kernel_texts)
