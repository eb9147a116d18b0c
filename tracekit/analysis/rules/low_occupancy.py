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
    loads = [
        highest(counter_means, (CounterKind.UTILIZATION,), (Group.ARITHMETIC, Group.MEMORY)),
        memory,
    ]
    useful = max((load for load in loads if load), key=lambda load: load.share, default=None)
    name = str(occupancy["counter"])
    if occupancy["share"] >= limit:
        yield from _find_starved_work(name, counter_samples, gpu, loop, work, limit, busy)
        return
    if useful and useful.share >= busy:
        return
    samples = counter_samples[counter_samples["counter"] == name]
    yield finding(
        wording="low-occupancy",
        facts=(
            Fact("counter", name),
            Fact("share", float(occupancy["share"]), "ratio"),
            Fact("samples", int(occupancy["samples"])),
            Fact("busiest_counter", useful.counter if useful else None),
            Fact("busiest_share", useful.share if useful else None, "ratio"),
            Fact("kernels", _kernels(samples, work)),
        ),
        lever="low-occupancy",
        evidence=extremes(counter_samples, name, lowest=True),
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
    rows = loop.rows(gpu.target_intervals).sort_values("start", kind="stable")
    starts, ends = spans(rows)
    pieces = _sample_pieces(name, counter_samples, starts, ends)
    is_low = (pieces.counts >= _SAMPLED) & (pieces.means < limit)
    cost = int((ends - starts)[is_low].sum())
    device_time = measure_busy(starts, ends)
    other_samples = int(pieces.counts[~is_low].sum())
    if is_low.sum() < _FEWEST_PIECES or cost <= _MUCH * device_time or other_samples < FEWEST:
        return
    low_share = float(pieces.sums[is_low].sum() / pieces.counts[is_low].sum())
    other_share = float(pieces.sums[~is_low].sum() / other_samples)
    is_in_low = (pieces.places >= 0) & is_low[np.maximum(pieces.places, 0)]
    highest_load = _highest_load(counter_samples[is_in_low])
    if low_share > _LOWER * other_share or (highest_load and highest_load[1] >= busy_share):
        return
    kernels = "" if work is None else work.name_longest(np.isin(work.starts, starts[is_low]))
    yield finding(
        wording="low-occupancy-part",
        facts=(
            Fact("counter", name),
            Fact("share", low_share, "ratio"),
            Fact("elsewhere", other_share, "ratio"),
            Fact("pieces", int(is_low.sum())),
            Fact("device_share", cost / device_time, "ratio"),
            Fact("window", loop.name),
            Fact("longest", int((ends - starts)[is_low].max()), "ns"),
            Fact("first_encoder", _are_first(rows, is_low)),
            Fact("busiest_counter", highest_load[0] if highest_load else None),
            Fact("busiest_share", highest_load[1] if highest_load else None, "ratio"),
            Fact("kernels", kernels),
        ),
        lever=Mechanism.FEW_THREADS,
        evidence=longest("gpu_intervals", starts[is_low], ends[is_low]),
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
        return self.sums / np.maximum(self.counts, 1)


def _sample_pieces(name: str, samples: pd.DataFrame, starts: Times, ends: Times) -> _SampledPieces:
    places = _places(samples, starts, ends)
    is_counted = (samples["counter"] == name).to_numpy() & (places >= 0)
    values = samples["value"].to_numpy(dtype=np.float64)[is_counted] / 100
    sums = np.bincount(places[is_counted], values, starts.size).astype(np.float64)
    counts = np.bincount(places[is_counted], minlength=starts.size)
    return _SampledPieces(places, sums, counts)


def _places(samples: pd.DataFrame, starts: Times, ends: Times) -> NDArray[np.intp]:
    """Return the interval with the middle of each sample; -1 for none, or for several."""
    sample_starts, sample_ends = spans(samples)
    middles = (sample_starts + sample_ends) // 2
    places = np.searchsorted(starts, middles, side="right") - 1
    known_places = np.maximum(places, 0)
    earlier_ends = np.concatenate((starts[:1], np.maximum.accumulate(ends)[:-1]))
    inside = (places >= 0) & (middles < ends[known_places])
    return np.where(inside & (middles >= earlier_ends[known_places]), places, -1)


def _highest_load(samples: pd.DataFrame) -> tuple[str, float] | None:
    """Return the limiter or utilization with the highest mean; None without any."""
    loads = [
        (str(name), float(rows["value"].mean()) / 100)
        for name, rows in samples.groupby("counter", observed=True)
        if (counted := meaning(str(name))) and counted.kind in _LOADS
    ]
    return max(loads, key=lambda load: load[1], default=None)


def _are_first(rows: pd.DataFrame, low: NDArray[np.bool_]) -> bool:
    """Return whether nearly all of them are the first of several pieces of a command buffer."""
    if "command_buffer" not in rows or rows["command_buffer"].isna().any():
        return False
    first_pieces = ~rows["command_buffer"].duplicated().to_numpy()
    sizes = rows.groupby("command_buffer")["start"].transform("size").to_numpy()
    return bool((first_pieces & (sizes > 1))[low].mean() >= _ALIKE_PLACE)


def _kernels(samples: pd.DataFrame, work: NamedWork | None) -> str:
    """Return the samples by kernel, lowest first, for samples of a single named kernel."""
    if work is None:
        return ""
    starts, ends = spans(samples)
    middles = (starts + ends) // 2
    place = np.searchsorted(work.starts, middles, side="right") - 1
    earlier_ends = np.concatenate((work.starts[:1], np.maximum.accumulate(work.ends)[:-1]))
    in_one_kernel = (place >= 0) & (middles < work.ends[place]) & (middles >= earlier_ends[place])
    values = samples["value"].to_numpy(dtype=np.float64)[in_one_kernel]
    means = pd.Series(values).groupby(work.codes[place[in_one_kernel]]).agg(["mean", "count"])
    means = means[means["count"] >= FEWEST].sort_values("mean", kind="stable")[:_SHOWN]
    kernel_texts = [
        f"“{work.names[code]}” {units.percent(mean / 100)}"
        for code, mean in zip(means.index.tolist(), means["mean"].tolist(), strict=True)
    ]
    return ", ".join(kernel_texts)
