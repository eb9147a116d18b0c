"""All metrics, in the order in which results and pages show them."""

from tracekit.analysis.metric import listed
from tracekit.analysis.metrics.gpu import (
    encoder_count,
    gpu_busy,
    gpu_idle_ratio,
    gpu_interval_count,
    gpu_span,
    start_latency_p50,
    start_latency_p99,
)
from tracekit.analysis.metrics.host import host_busy, host_cpu, host_idle_ratio, memory_peak
from tracekit.analysis.metrics.steps import (
    memory_bandwidth,
    step_p50,
    step_p99,
    step_rate,
    tokens_per_second,
)

METRICS = listed(
    tokens_per_second,
    step_rate,
    step_p50,
    step_p99,
    gpu_busy,
    gpu_span,
    gpu_idle_ratio,
    gpu_interval_count,
    encoder_count,
    start_latency_p50,
    start_latency_p99,
    memory_bandwidth,
    host_busy,
    host_idle_ratio,
    host_cpu,
    memory_peak,
)
