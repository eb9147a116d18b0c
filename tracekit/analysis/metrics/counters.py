"""What the GPU's counters say, while the target's work ran in the steady window.

Counters are device-wide; samples in which other processes used the GPU do not count.
"""

import pandas as pd

from tracekit.analysis.counters.meaning import Group, Kind
from tracekit.analysis.counters.pressure import highest, mean_of
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.metric import metric
from tracekit.analysis.result import Better


@metric("ratio", Better.HIGHER)
def compute_occupancy(counter_means: pd.DataFrame) -> float:
    """Threads of compute kernels in flight, as a share of those that the GPU can hold."""
    return _share(mean_of(counter_means, Kind.OCCUPANCY, "compute"))


@metric("ratio")
def alu_utilization(counter_means: pd.DataFrame) -> float:
    """Share of the arithmetic units' capacity that did work, stalls left out."""
    return _share(mean_of(counter_means, Kind.UTILIZATION, "ALU"))


@metric("ratio")
def top_limiter(counter_means: pd.DataFrame) -> float:
    """Highest mean of all limiters: the time in which one unit worked or was stalled."""
    load = highest(counter_means, (Kind.LIMITER,), tuple(Group))
    if load is None:
        raise Unavailable("no limiter was recorded.")
    return load.share


@metric("ratio")
def gpu_read_bandwidth_share(counter_means: pd.DataFrame) -> float:
    """Bandwidth of reads, where the chip counts it as a percentage (M1)."""
    return _share(mean_of(counter_means, Kind.BANDWIDTH, "read"))


@metric("ratio")
def gpu_write_bandwidth_share(counter_means: pd.DataFrame) -> float:
    """Bandwidth of writes, where the chip counts it as a percentage (M1)."""
    return _share(mean_of(counter_means, Kind.BANDWIDTH, "write"))


@metric("GB/s")
def gpu_read_bandwidth(counter_means: pd.DataFrame) -> float:
    """Bandwidth of reads, where the chip counts GB/s (M3 and later); one source says GiB/s."""
    return _absolute(mean_of(counter_means, Kind.BANDWIDTH, "read"))


@metric("GB/s")
def gpu_write_bandwidth(counter_means: pd.DataFrame) -> float:
    """Bandwidth of writes, where the chip counts GB/s (M3 and later); one source says GiB/s."""
    return _absolute(mean_of(counter_means, Kind.BANDWIDTH, "write"))


def _share(row: "pd.Series") -> float:
    if pd.isna(row["share"]):
        raise Unavailable(f"this chip does not count {row['counter']} in percent.")
    return float(row["share"])


def _absolute(row: "pd.Series") -> float:
    if not pd.isna(row["share"]):
        raise Unavailable(f"this chip counts {row['counter']} in percent.")
    return float(row["mean"])


COUNTER_METRICS = (
    compute_occupancy,
    alu_utilization,
    top_limiter,
    gpu_read_bandwidth,
    gpu_write_bandwidth,
    gpu_read_bandwidth_share,
    gpu_write_bandwidth_share,
)
