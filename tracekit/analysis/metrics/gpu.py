"""What the GPU did for the target, over the whole trace."""

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Times, busy, spans
from tracekit.analysis.metric import metric
from tracekit.analysis.result import Better
from tracekit.analysis.target import of_target, on_gpu


@metric("ns")
def gpu_busy(gpu_intervals: pd.DataFrame, targets: pd.DataFrame) -> int:
    """Time in which at least one interval of the target ran: the union, not the sum."""
    return busy(*_spans(gpu_intervals, targets))


@metric("ns")
def gpu_span(gpu_intervals: pd.DataFrame, targets: pd.DataFrame) -> int:
    """Time from the target's first interval to the end of its last."""
    starts, ends = _spans(gpu_intervals, targets)
    return int(ends.max() - starts.min())


@metric("ratio", Better.LOWER)
def gpu_idle_ratio(gpu_intervals: pd.DataFrame, targets: pd.DataFrame) -> float:
    """Share of `gpu_span` in which no interval of the target ran: 1 - gpu_busy / gpu_span."""
    starts, ends = _spans(gpu_intervals, targets)
    span = int(ends.max() - starts.min())
    if span == 0:
        raise Unavailable("the target's intervals have no length.")
    return 1 - busy(starts, ends) / span


@metric("count")
def gpu_interval_count(gpu_intervals: pd.DataFrame, targets: pd.DataFrame) -> int:
    """Intervals of the target, on all channels."""
    return len(of_target(on_gpu(gpu_intervals), targets))


@metric("count")
def encoder_count(encoders: pd.DataFrame, targets: pd.DataFrame) -> int:
    """Encoders that the target wrote."""
    return len(of_target(encoders, targets))


@metric("ns", Better.LOWER)
def start_latency_p50(gpu_intervals: pd.DataFrame, targets: pd.DataFrame) -> float:
    """Median time from submission on the CPU to start on the GPU, of the target's intervals."""
    return _start_latency(gpu_intervals, targets, 0.50)


@metric("ns", Better.LOWER)
def start_latency_p99(gpu_intervals: pd.DataFrame, targets: pd.DataFrame) -> float:
    """99th percentile of that time, linear between ranks."""
    return _start_latency(gpu_intervals, targets, 0.99)


def _spans(gpu_intervals: pd.DataFrame, targets: pd.DataFrame) -> tuple[Times, Times]:
    return spans(of_target(on_gpu(gpu_intervals), targets))


def _start_latency(gpu_intervals: pd.DataFrame, targets: pd.DataFrame, share: float) -> float:
    own = of_target(on_gpu(gpu_intervals), targets)
    latencies = own["start_latency"].dropna()
    if latencies.empty:
        raise Unavailable("no interval of the target has a start latency.")
    return float(latencies.astype("int64").quantile(share))
