"""How a server ran: its ramp, its steady part and its tail, its spikes, its blocks."""

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.metric import metric
from tracekit.analysis.result import Better
from tracekit.analysis.serving import (
    Part,
    limit,
    offered,
    parts,
    readings,
    steady_phase,
    ticks_of,
    time_weighted,
)


@metric("tokens/s", Better.HIGHER)
def steady_token_rate(requests: pd.DataFrame, steps: pd.DataFrame, gauges: pd.DataFrame) -> float:
    """Median of tokens over duration, of the ticks in a server's steady part.

    That part runs from the first to the last tick with at least 80 % of the slots taken.
    """
    rate = _part(requests, steps, gauges, "steady").rate
    if rate is None:
        raise Unavailable("the ticks of the steady part have no length.")
    return rate


@metric("ns")
def ramp_time(requests: pd.DataFrame, steps: pd.DataFrame, gauges: pd.DataFrame) -> int:
    """From the start of the run to a server's steady part."""
    return _part(requests, steps, gauges, "ramp").window.length


@metric("ns")
def steady_time(requests: pd.DataFrame, steps: pd.DataFrame, gauges: pd.DataFrame) -> int:
    """How long a server's steady part lasted."""
    return _part(requests, steps, gauges, "steady").window.length


@metric("ns")
def tail_time(requests: pd.DataFrame, steps: pd.DataFrame, gauges: pd.DataFrame) -> int:
    """From the end of a server's steady part to the end of the run."""
    return _part(requests, steps, gauges, "tail").window.length


@metric("count", Better.LOWER)
def tick_spikes(requests: pd.DataFrame, steps: pd.DataFrame, gauges: pd.DataFrame) -> int:
    """Ticks of a server that took longer than `--slow-tick` (200 ms unless given)."""
    offered(requests)
    longest = limit(gauges, "tick")
    if longest is None:
        raise Unavailable("the workload does not tell which ticks are too long.")
    return int((ticks_of(steps)["duration"] > longest).sum())


@metric("ratio")
def block_occupancy_mean(
    requests: pd.DataFrame, gauges: pd.DataFrame, steps: pd.DataFrame
) -> float:
    """Share of the block pool in use, the mean over the time of the run."""
    offered(requests)
    return time_weighted(gauges, "used_blocks", steady_phase(steps)) / _pool(gauges)


@metric("ratio")
def block_occupancy_peak(requests: pd.DataFrame, gauges: pd.DataFrame) -> float:
    """Share of the block pool in use at most."""
    offered(requests)
    return float(readings(gauges, "used_blocks")[1].max()) / _pool(gauges)


@metric("count", Better.LOWER)
def queue_peak(requests: pd.DataFrame, gauges: pd.DataFrame) -> int:
    """Requests that waited to be admitted, at most."""
    offered(requests)
    return int(readings(gauges, "queued_requests")[1].max())


SERVING_METRICS = (
    steady_token_rate,
    ramp_time,
    steady_time,
    tail_time,
    tick_spikes,
    block_occupancy_mean,
    block_occupancy_peak,
    queue_peak,
)


def _part(requests: pd.DataFrame, steps: pd.DataFrame, gauges: pd.DataFrame, name: str) -> Part:
    offered(requests)
    return parts(steps, gauges)[name]


def _pool(gauges: pd.DataFrame) -> float:
    blocks = limit(gauges, "blocks")
    if not blocks:
        raise Unavailable("the workload does not tell how many blocks it has.")
    return blocks
