"""`low-occupancy`: too few threads in flight to hide latency."""

import numpy as np
import pandas as pd

from tracekit.analysis.counters import (
    FEWEST,
    CounterKind,
    Group,
    bandwidth,
    extremes,
    highest,
    mean_of,
)
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import spans
from tracekit.analysis.machine import Machine
from tracekit.analysis.rule import Fact, Findings, finding
from tracekit.analysis.work_names import NamedWork
from tracekit.base import percent

_SHOWN = 3


def low_occupancy(
    counter_samples: pd.DataFrame,
    counter_means: pd.DataFrame,
    machine: Machine,
    work: NamedWork | None,
    shader_runs: pd.DataFrame | None,
    *,
    limit: float = 0.30,
    busy: float = 0.70,
) -> Findings:
    """Too few threads were in flight.

    What it looks for:
        The mean of the compute occupancy counter over its samples in the steady window, weighted
        by the time in which the target's work ran. It fires below `limit` (default 30 %), unless
        arithmetic or memory does useful work for `busy` of its capacity (default 70 %): then few
        threads are enough. Where the trace names kernels, it says which of them are low.

    Why it matters:
        A GPU hides the latency of memory with other threads. With few of them in flight, each
        load and each barrier stops the core.

    When it abstains:
        When the recording has no occupancy counter or none of its samples lies in the target's
        work, when other processes used the GPU in most of them, as counters are device-wide, and
        where a CPU did the work.
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
    if occupancy["share"] >= limit or (useful and useful.share >= busy):
        return
    name = str(occupancy["counter"])
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


def _kernels(samples: pd.DataFrame, work: NamedWork | None) -> str:
    """Say what the samples are by kernel, lowest first, where one kernel ran and has a name."""
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
        f"“{work.names[code]}” {percent(mean / 100)}"
        for code, mean in zip(means.index.tolist(), means["mean"].tolist(), strict=True)
    ]
    return ", ".join(kernel_texts)
