"""The GPU's work for the target, its counters, its disturbances, and the cost of a token.

Counters are device-wide; samples in which other processes used the GPU do not count.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from tracekit.analysis.channels import is_labelled_blit, is_on_blit_channel
from tracekit.analysis.counters import CounterKind, Group, highest, mean_of
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import busy, clip, spans
from tracekit.analysis.iterations import Loop
from tracekit.analysis.machine import Machine, chip_of
from tracekit.analysis.replay import average_by_cost, encoders
from tracekit.analysis.scope import (
    Device,
    Targets,
    of_target,
    own_rows,
    require_seen,
    steady_steps,
    steady_tokens,
)
from tracekit.analysis.upkeep import of_the_service, select_pipelines


def gpu_busy(gpu: Device) -> int:
    """Time in which at least one interval of the target ran: the union, not the sum."""
    return busy(*gpu.spans)


def gpu_span(gpu: Device) -> int:
    """Time from the target's first interval to the end of its last."""
    starts, ends = gpu.spans
    return int(ends.max() - starts.min())


def gpu_idle_ratio(gpu: Device) -> float:
    """Share of `gpu_span` in which no interval of the target ran: 1 - gpu_busy / gpu_span."""
    starts, ends = gpu.spans
    span = int(ends.max() - starts.min())
    if span == 0:
        raise Unavailable("the target's intervals have no length.")
    return 1 - busy(starts, ends) / span


def copy_time(gpu: Device) -> int:
    """Time in which copies and fills of memory ran for the target: its blit work.

    They are on a blit channel, or their label says "Blit Command".
    """
    work = gpu.target_intervals
    is_copy = is_on_blit_channel(work) | is_labelled_blit(work)
    if not is_copy.any() and not is_on_blit_channel(gpu.intervals).any():
        raise Unavailable(
            "the trace has no blit channel, and no label of the target says `Blit Command`."
        )
    return busy(*spans(work[is_copy]))


def gpu_interval_count(gpu: Device) -> int:
    """Intervals of the target, on all channels."""
    return len(gpu.target_intervals)


def encoder_count(encoders: pd.DataFrame, targets: Targets) -> int:
    """Encoders that the target wrote."""
    return len(of_target(encoders, targets))


def start_latency_p50(gpu: Device) -> float:
    """Median time from submission on the CPU to start on the GPU, of the target's intervals."""
    return _start_latency(gpu, 0.50)


def start_latency_p99(gpu: Device) -> float:
    """99th percentile of that time, linear between ranks."""
    return _start_latency(gpu, 0.99)


def _start_latency(gpu: Device, share: float) -> float:
    latencies = gpu.target_intervals["start_latency"].dropna()
    if latencies.empty:
        raise Unavailable("no interval of the target has a start latency.")
    return float(latencies.astype("int64").quantile(share))


def top_limiter(counter_means: pd.DataFrame) -> float:
    """Highest mean of all limiters: the time in which one unit worked or was stalled."""
    load = highest(counter_means, (CounterKind.LIMITER,), tuple(Group))
    if load is None:
        raise Unavailable("no limiter was recorded.")
    return load.share


def _make_share_measure(kind: CounterKind, unit: str, meaning: str) -> Callable[..., float]:
    """Make the function of the mean share of one counter, which is Unavailable in GB/s."""

    def measure(counter_means: pd.DataFrame) -> float:
        row = mean_of(counter_means, kind, unit)
        if pd.isna(row["share"]):
            raise Unavailable(f"this chip does not count {row['counter']} in percent.")
        return float(row["share"])

    measure.__doc__ = meaning
    return measure


def _make_bandwidth_measure(unit: str, meaning: str) -> Callable[..., float]:
    """Make the function of the mean bandwidth of one counter, which is Unavailable in percent."""

    def measure(counter_means: pd.DataFrame) -> float:
        row = mean_of(counter_means, CounterKind.BANDWIDTH, unit)
        if not pd.isna(row["share"]):
            raise Unavailable(f"this chip counts {row['counter']} in percent.")
        return float(row["mean"])

    measure.__doc__ = meaning
    return measure


def _make_bandwidth_share_measure(unit: str, meaning: str) -> Callable[..., float]:
    """Make the function of the mean bandwidth of one counter, as a share of the chip's."""

    def measure(counter_means: pd.DataFrame, machine: Machine) -> float:
        row = mean_of(counter_means, CounterKind.BANDWIDTH, unit)
        if not pd.isna(row["share"]):
            return float(row["share"])
        peak = chip_of(machine).bandwidth
        if peak.value is None:
            raise Unavailable(f"it is counted in GB/s, and {peak.reason}")
        return float(row["mean"]) * _GIGA / peak.value

    measure.__doc__ = meaning
    return measure


_GIGA = 1e9
_IN_GB = "on chips that count GB/s (M3 and later); one source says GiB/s."
_OF_CHIP = ", counted in percent (M1), or in GB/s as a share of the chip's published bandwidth."
compute_occupancy = _make_share_measure(
    CounterKind.OCCUPANCY,
    "compute",
    "Threads of compute kernels in flight, as a share of those that the GPU can hold.",
)
alu_utilization = _make_share_measure(
    CounterKind.UTILIZATION,
    "ALU",
    "Share of the arithmetic units' capacity that did work, stalls left out.",
)
gpu_read_bandwidth = _make_bandwidth_measure("read", f"Bandwidth of reads, {_IN_GB}")
gpu_write_bandwidth = _make_bandwidth_measure("write", f"Bandwidth of writes, {_IN_GB}")
gpu_read_bandwidth_share = _make_bandwidth_share_measure("read", f"Bandwidth of reads{_OF_CHIP}")
gpu_write_bandwidth_share = _make_bandwidth_share_measure("write", f"Bandwidth of writes{_OF_CHIP}")


def replay_occupancy(replay_counters: pd.DataFrame) -> float:
    """Kernel occupancy in Xcode's serialized replay at a fixed clock, weighted by cost."""
    mean = average_by_cost(encoders(replay_counters), "occupancy")
    if mean is None:
        raise Unavailable(
            "encoders cannot be weighted: neither an execution cost, which only a tab of Xcode's "
            "counters has, nor a `GPU Time` was imported."
        )
    return mean


def steady_compiles(
    device: Device,
    loop: Loop,
    compiler_activity: pd.DataFrame | None,
    specializations: pd.DataFrame | None,
) -> int:
    """Pipelines made in the steady window; a warm workload makes none there.

    The greater of two counts of the same pipelines: the times that the shader compiler began to
    work for the target there, and the pipelines that the workload first used there.
    """
    first_uses = select_pipelines(device, specializations)
    if compiler_activity is None and first_uses is None:
        raise Unavailable(
            "neither compiler activity (graphics-compiler-activity-intervals) was exported nor "
            "did the workload count its pipelines."
        )
    first_use_count = 0
    if first_uses is not None:
        first_use_count = len(loop.rows(first_uses, "time"))
    if compiler_activity is None:
        return first_use_count
    window_activity = loop.rows(compiler_activity)
    service = of_the_service(window_activity)
    if first_uses is None and len(service) and own_rows(compiler_activity).empty:
        raise Unavailable(
            f"the shader compiler worked {len(service):,} times under its own name; whether it "
            "did so for the target, the trace does not say."
        )
    return max(first_use_count, len(own_rows(window_activity)))


def other_process_share(gpu: Device, loop: Loop) -> float:
    """Share of the GPU's busy time in the steady window in which other processes' work ran.

    Time in which their work and the target's ran side by side counts as theirs.
    """
    target_starts, target_ends = gpu.clip_to_window(loop)
    clipped = clip(*spans(gpu.other_intervals), loop.start, loop.end)
    other_starts, other_ends = clipped
    starts = np.concatenate((target_starts, other_starts))
    ends = np.concatenate((target_ends, other_ends))
    busy_time = busy(starts, ends)
    if busy_time == 0:
        raise Unavailable(f"the GPU did nothing in {loop.name}.")
    return busy(other_starts, other_ends) / busy_time


def gpu_time_per_token(gpu: Device, loop: Loop, steps: pd.DataFrame) -> float:
    """Time in which work of the target ran on the GPU in the steady window, over its tokens.

    The union of its intervals, not their sum: work side by side counts once.
    """
    tokens = steady_tokens(steps)
    require_seen(steady_steps(steps), gpu.target_intervals)
    return gpu.measure_work(loop) / tokens


def encoders_per_token(
    encoders: pd.DataFrame, gpu: Device, targets: Targets, loop: Loop, steps: pd.DataFrame
) -> float:
    """Encoders that the target began to write in the steady window, over its tokens.

    An encoder may hold many dispatches; `intervals_per_token` counts the device's pieces of work.
    """
    target_encoders = of_target(encoders, targets)
    require_seen(steady_steps(steps), target_encoders)
    encoders_in_loop = len(loop.rows(target_encoders[["start"]]))
    if encoders_in_loop == 0:
        raise Unavailable(f"no encoder of the target begins in {loop.name}.")
    return encoders_in_loop / steady_tokens(steps)
