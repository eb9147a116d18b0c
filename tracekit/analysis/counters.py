"""GPU counters: their meaning, their samples in the target's work, and the load that they show.

Two sets are known: the 65 counters of an M3 or later, and the set Performance Limiters of an M1. A
limiter is the time in which a unit works or is stalled, a utilization the time in which it works,
both as a share of the unit's capacity (Apple, "Analyzing Apple GPU performance using a visual
timeline"). Rules ignore counters that are not listed here.

Counters are device-wide, sampled at their own rate and with gaps. A sample therefore counts only if
at least half of it lies in the target's work and no other process used the GPU in it.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd

from tracekit.analysis.inject import Remedy, Unavailable
from tracekit.analysis.intervals import IntervalSet, spans
from tracekit.analysis.iterations import Loop
from tracekit.analysis.machine import Machine, chip_of
from tracekit.analysis.rule import Evidence, Fact
from tracekit.analysis.scope import Device
from tracekit.base import units as base_units


class CounterKind(StrEnum):
    """The quantity that a counter measures; all but bandwidths are shares."""

    OCCUPANCY = "occupancy"
    LIMITER = "limiter"
    UTILIZATION = "utilization"
    RATE = "rate"
    BANDWIDTH = "bandwidth"


class Group(StrEnum):
    """The part of the GPU that a counter measures."""

    THREADS = "threads"
    LAUNCH = "launch"
    ARITHMETIC = "arithmetic"
    CONTROL = "control flow"
    ISSUE = "instruction issue"
    CACHE = "cache"
    MEMORY = "memory"
    TRANSLATION = "address translation"
    BUFFER = "buffer access"
    THREADGROUP = "threadgroup memory"
    TEXTURE = "texture"
    RASTER = "rasterization"


@dataclass(frozen=True)
class Meaning:
    """The meaning of a counter: its kind, its group, and its unit, under tracekit's name."""

    kind: CounterKind
    group: Group
    unit: str


RAY_TRACING = "RT Unit Active"
"""All that a stock template records, on M3 and later: it says nothing of compute."""

# Units that have a limiter, a utilization or both; "=" separates the names of one unit.
_UNITS = {
    Group.LAUNCH: "Compute Shader Launch, Vertex Shader Launch, Fragment Shader Launch",
    Group.ARITHMETIC: "ALU, F32, F16, Integer and Conditional, Integer and Complex",
    Group.CONTROL: "Control Flow",
    Group.ISSUE: "Instruction Throughput",
    Group.CACHE: "L1 Cache",
    Group.MEMORY: "Last Level Cache = GPU Last Level Cache = LLC",
    Group.TRANSLATION: "MMU",
    Group.BUFFER: "Buffer Read = Buffer Load, Buffer Write = Buffer Store",
    Group.THREADGROUP: (
        "Threadgroup/Imageblock Load = TG/IB Load = Threadgroup/Imageblock Read, "
        "Threadgroup/Imageblock Store = TG/IB Store = Threadgroup/Imageblock Write"
    ),
    Group.TEXTURE: (
        "Texture Read, Texture Sample, Texture Filtering, Texture Write, Texture Cache, "
        "Texture Read Cache"
    ),
    Group.RASTER: "Fragment Input Interpolation = Fragment Interp = FS Interpolation",
}
_OCCUPANCIES = {
    "compute": ("Kernel Occupancy", "Compute Occupancy"),
    "vertex": ("VS Occupancy", "Vertex Occupancy"),
    "fragment": ("FS Occupancy", "Fragment Occupancy"),
    "total": ("Total Occupancy",),
    "target": ("Occupancy Manager Target",),
}
_OTHERS = {
    "L1 Eviction Rate": Meaning(CounterKind.RATE, Group.CACHE, "L1 evictions"),
    "Buffer L1 Miss Rate": Meaning(CounterKind.RATE, Group.CACHE, "L1 misses"),
    "MMU TLB Miss Rate": Meaning(CounterKind.RATE, Group.TRANSLATION, "TLB misses"),
    "GPU Bandwidth": Meaning(CounterKind.BANDWIDTH, Group.MEMORY, "both"),
    "GPU Read Bandwidth": Meaning(CounterKind.BANDWIDTH, Group.MEMORY, "read"),
    "GPU Write Bandwidth": Meaning(CounterKind.BANDWIDTH, Group.MEMORY, "write"),
}


def meaning(counter: str) -> Meaning | None:
    """Return the meaning of a counter, by its name in the trace; None if it is unknown."""
    return _MEANINGS.get(_normalize_name(counter))


def _normalize_name(name: str) -> str:
    return " ".join(name.casefold().split())


def _build_meanings() -> dict[str, Meaning]:
    table = dict(_OTHERS)
    for group, units in _UNITS.items():
        for names in (unit.split(" = ") for unit in units.split(", ")):
            for name in names:
                limiter = Meaning(CounterKind.LIMITER, group, names[0])
                table[f"{name} Limiter"] = limiter
                utilization = Meaning(CounterKind.UTILIZATION, group, names[0])
                table[f"{name} Utilization"] = utilization
    for stage, names in _OCCUPANCIES.items():
        table |= {name: Meaning(CounterKind.OCCUPANCY, Group.THREADS, stage) for name in names}
    return {_normalize_name(name): counter_meaning for name, counter_meaning in table.items()}


_MEANINGS = _build_meanings()


HOW_TO_GET = (
    "A stock Metal System Trace records none. `tracekit record --counters on` asks for them; "
    "if this chip and Xcode reject that, choose Recording Options > GPU > Counter Set in "
    "Instruments, save it as a template and pass its path with --template, or let "
    "`tracekit list templates make` make one."
)
LEAST_COVERED = 0.5
"""Share of a sample that must lie in the target's work."""
FEWEST = 10
"""Samples without which a mean says nothing."""
CONTENTION = 0.05
"""Share of a sample in which other processes may have used the GPU."""
LEAST_OWN = 0.5
"""Share of the samples in the target's work that must be its own."""

_MOST_PERCENT = 110.0  # readings slightly above 100 occur
_SHOWN = 8
_COLUMNS = ["start", "duration", "counter", "value", "percentage"]


def counter_samples(gpu_counters: pd.DataFrame | None, gpu: Device, loop: Loop) -> pd.DataFrame:
    """Return the samples in the steady window that lie in the target's work.

    Columns are start, duration, counter (a category), value, percentage, and `weight`: the ns of
    the sample in which the target's work ran; 1 for a sample without length.
    """
    samples = loop.rows(_require_samples(gpu_counters))
    samples = samples[np.isfinite(samples["value"])]
    starts, ends = spans(samples)
    lengths = np.maximum(ends - starts, 1)
    gpu_work = IntervalSet.from_spans(*gpu.spans)
    weights = gpu_work.measure_within(starts, starts + lengths)
    chosen = weights >= LEAST_COVERED * lengths
    if not chosen.any():
        raise Unavailable(
            f"none of the {len(samples):,} counter samples in {loop.name} lies in work of the "
            f"target: counters are sampled too rarely for work this short, or with gaps."
        )
    other_work = IntervalSet.from_spans(*spans(gpu.other_intervals))
    other_times = other_work.measure_within(starts, starts + lengths)
    alone = chosen & (other_times <= CONTENTION * lengths)
    if alone.sum() < LEAST_OWN * chosen.sum():
        shared_share = 1 - alone.sum() / chosen.sum()
        raise Unavailable(
            f"counters are device-wide, and other processes used the GPU in "
            f"{base_units.percent(shared_share)} of the samples in the target's work. "
            f"Close other programs that use the GPU, and record again."
        )
    return samples.assign(weight=weights)[alone]


def counter_means(counter_samples: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each counter with a known meaning and ten samples or more.

    Columns are counter (its name in the trace), kind, group, unit, samples, mean (in the trace's
    unit, each sample weighted by the target's work in it) and share: the mean as a ratio, null if
    it is not a percentage. Impossible percentages are left out, and so are bandwidths without a
    stated unit: some chips count them in percent, others in GB/s.
    """
    by_counter = counter_samples.groupby("counter", observed=True)
    means = [_mean_of(str(name), rows) for name, rows in by_counter]
    columns = ["counter", "kind", "group", "unit", "samples", "mean", "share"]
    known_means = [row for row in means if row]
    table = pd.DataFrame(known_means, columns=columns)
    if table.empty:
        largest_counts = by_counter.size().nlargest(5)
        counted_names = [f"{name} ({count:,})" for name, count in largest_counts.items()]
        counter_names = ", ".join(counted_names)
        raise Unavailable(
            f"no counter that is known here has {FEWEST} samples with values that make sense in "
            f"the target's work. There are samples of counters such as {counter_names}. "
            f"Record steady work for longer, or with another Counter Set."
        )
    return table


def extremes(
    counter_samples: pd.DataFrame, counter: str, *, lowest: bool = False
) -> tuple[Evidence, ...]:
    """Return the samples in which a counter was highest, or lowest, with its value as a note."""
    counter_rows = counter_samples[counter_samples["counter"] == counter]
    most_striking = counter_rows.sort_values(
        ["value", "start"], ascending=[lowest, True], kind="stable"
    )
    ordered = most_striking[:_SHOWN]
    starts, ends = spans(ordered)
    percentages = counter_rows["percentage"].fillna(value=True)
    ratio = bool(percentages.all())  # only bandwidths are in GB/s, not in percent
    spans_and_values = zip(starts, ends, ordered["value"], strict=True)
    evidence: list[Evidence] = []
    for start, end, value in spans_and_values:
        shown_value = base_units.quantity(float(value), "GB/s")
        if ratio:
            shown_value = base_units.percent(value / 100)
        note = f"{counter} {shown_value}"
        evidence.append(Evidence("gpu_counters", int(start), int(end), note))
    return tuple(evidence)


def _require_samples(counters: pd.DataFrame | None) -> pd.DataFrame:
    if counters is None or counters.empty:
        raise Unavailable(f"the recording has no counter samples. {HOW_TO_GET}", Remedy.COUNTERS)
    flags = counters["percentage"] if "percentage" in counters else pd.Series(pd.NA, counters.index)
    counter_names = counters["counter"].astype("category")
    if list(counter_names.cat.categories) == [RAY_TRACING]:
        raise Unavailable(
            f"only {RAY_TRACING} was recorded, which does not measure compute. {HOW_TO_GET}",
            Remedy.COUNTERS,
        )
    values = counters["value"].to_numpy(dtype=np.float64, na_value=np.nan)
    percentage = flags.astype("boolean")
    table = counters.assign(counter=counter_names, value=values, percentage=percentage)
    return table.loc[counter_names.notna(), _COLUMNS]


def _mean_of(name: str, samples: pd.DataFrame) -> tuple[object, ...]:
    means = meaning(name)
    flags = samples["percentage"]
    if means is None or (means.kind is CounterKind.BANDWIDTH and flags.isna().all()):
        return ()
    ratio = bool(flags.fillna(value=True).all())  # if the trace does not state it, by meaning
    values = samples["value"].to_numpy(dtype=np.float64)
    fits = (values >= 0) & (values <= _MOST_PERCENT) if ratio else values >= 0
    if fits.sum() < FEWEST:
        return ()
    weights = samples["weight"].to_numpy(dtype=np.float64)
    weighted_mean = np.average(values[fits], weights=weights[fits])
    mean = float(weighted_mean)
    share = np.nan
    if ratio:
        share = min(mean / 100, 1.0)
    sample_count = int(fits.sum())
    return (name, means.kind, means.group, means.unit, sample_count, mean, share)


_LOADS = (CounterKind.LIMITER, CounterKind.UTILIZATION)
_MEMORY = (Group.MEMORY, Group.CACHE)
_OWN = (Group.ARITHMETIC, *_MEMORY, Group.THREADS)
OTHERS = tuple(group for group in Group if group not in _OWN)
"""Groups whose limiters are neither arithmetic nor memory."""


@dataclass(frozen=True)
class Load:
    """A counter and its mean, as a share of its unit's capacity."""

    counter: str
    share: float
    group: Group

    def facts(self, side: str) -> tuple[Fact, Fact]:
        """Return the counter's name and its mean as facts about a side, such as memory."""
        return (
            Fact(f"{side}_counter", self.counter),
            Fact(f"{side}_share", self.share, "ratio"),
        )


@dataclass(frozen=True)
class Pressure:
    """The highest load of arithmetic, of memory with its caches, and of all other units.

    A load is None if no such counter was recorded. `recorded` names the recorded ones.
    """

    arithmetic: Load | None
    memory: Load | None
    other_units: Load | None
    recorded: tuple[str, ...]

    def require_loads(self) -> tuple[Load, Load]:
        """Return the loads of arithmetic and of memory; raise Unavailable without one of them."""
        if self.arithmetic is None or self.memory is None:
            missing_group = "arithmetic" if self.arithmetic is None else "memory"
            reason = _lacks(f"limiter or utilization of {missing_group}", self.recorded)
            raise Unavailable(reason, Remedy.COUNTERS)
        return self.arithmetic, self.memory

    def has_other_bottleneck(self, margin: float) -> bool:
        """Return whether a unit other than arithmetic and memory exceeds both by the margin."""
        rivals = [load.share for load in (self.arithmetic, self.memory) if load is not None]
        return (
            self.other_units is not None
            and self.other_units.share >= max(rivals, default=0.0) + margin
        )


def pressure(counter_means: pd.DataFrame, machine: Machine) -> Pressure:
    """Return the load of each part of the GPU, from the means of counters."""
    loads = [highest(counter_means, _LOADS, _MEMORY), bandwidth(counter_means, machine)]
    arithmetic_load = highest(counter_means, _LOADS, (Group.ARITHMETIC,))
    other_load = highest(counter_means, (CounterKind.LIMITER,), OTHERS)
    memory_load = max((load for load in loads if load), key=lambda load: load.share, default=None)
    recorded = tuple(counter_means["counter"])
    return Pressure(
        arithmetic=arithmetic_load,
        memory=memory_load,
        other_units=other_load,
        recorded=recorded,
    )


def highest(
    counter_means: pd.DataFrame, kinds: Collection[CounterKind], groups: Collection[Group]
) -> Load | None:
    """Return the counter with the highest share of these kinds and groups; None without any."""
    is_of_kinds = counter_means["kind"].isin(list(kinds))
    is_of_groups = counter_means["group"].isin(list(groups))
    shares = counter_means["share"].to_numpy(np.float64, na_value=np.nan)
    matches = is_of_kinds & is_of_groups & ~np.isnan(shares)
    places = np.flatnonzero(matches)
    if not places.size:
        return None
    highest_place = int(places[shares[places].argmax()])
    group = Group(counter_means["group"].iloc[highest_place])
    name = str(counter_means["counter"].iloc[highest_place])
    return Load(name, float(shares[highest_place]), group)


def bandwidth(counter_means: pd.DataFrame, machine: Machine) -> Load | None:
    """Return the bytes read and written as a share of the bandwidth of the chip's memory.

    M1 counts percent. M3 and later count GB/s (one source says GiB/s, 7 % more), which requires the
    chip's bandwidth. Return None if either is unknown.
    """
    bandwidth_rows = counter_means[counter_means["kind"] == CounterKind.BANDWIDTH]
    combined_rows = bandwidth_rows[bandwidth_rows["unit"] == "both"]
    rows = combined_rows if not combined_rows.empty else bandwidth_rows
    if rows.empty:
        return None
    name = " + ".join(rows["counter"])
    if rows["share"].notna().all():
        total_share = float(rows["share"].sum())
        return Load(name, min(total_share, 1.0), Group.MEMORY)
    try:
        peak_bandwidth = chip_of(machine).bandwidth.value
    except Unavailable:
        return None
    if peak_bandwidth is None:
        return None
    total_bandwidth = float(rows["mean"].sum()) * 1e9
    return Load(name, min(total_bandwidth / peak_bandwidth, 1.0), Group.MEMORY)


def mean_of(counter_means: pd.DataFrame, kind: CounterKind, unit: str) -> "pd.Series":
    """Return the row of one unit's counter; raise Unavailable if it was not recorded."""
    is_of_kind = counter_means["kind"] == kind
    is_of_unit = counter_means["unit"] == unit
    counter_rows = counter_means[is_of_kind & is_of_unit]
    if counter_rows.empty:
        description = f"{kind} of {unit}" + (
            " in a stated unit" if kind is CounterKind.BANDWIDTH else ""
        )
        raise Unavailable(_lacks(description, tuple(counter_means["counter"])), Remedy.COUNTERS)
    return counter_rows.iloc[0]


def _lacks(description: str, recorded: tuple[str, ...]) -> str:
    recorded_names = ", ".join(recorded[:5])
    return f"no {description} was recorded, only: {recorded_names}. {HOW_TO_GET}"
