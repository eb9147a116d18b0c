"""All metrics, in the order in which results and pages show them."""

from tracekit.analysis.metric import listed
from tracekit.analysis.metrics.ceiling import kernel_ceiling
from tracekit.analysis.metrics.counters import COUNTER_METRICS
from tracekit.analysis.metrics.disturbances import other_process_share, steady_compiles
from tracekit.analysis.metrics.gpu import (
    encoder_count,
    gpu_busy,
    gpu_idle_ratio,
    gpu_interval_count,
    gpu_span,
    start_latency_p50,
    start_latency_p99,
)
from tracekit.analysis.metrics.host import (
    host_busy,
    host_cpu,
    host_idle_ratio,
    memory_peak,
    reference_share,
)
from tracekit.analysis.metrics.idle import IDLE_METRICS
from tracekit.analysis.metrics.memory import memory_growth, mlx_memory_peak
from tracekit.analysis.metrics.per_token import encoders_per_token, gpu_time_per_token
from tracekit.analysis.metrics.requests import REQUEST_METRICS
from tracekit.analysis.metrics.rhythm import RHYTHM_METRICS
from tracekit.analysis.metrics.roofline import (
    bandwidth_share,
    bandwidth_share_busy,
    step_bound,
    step_intensity,
)
from tracekit.analysis.metrics.serving import SERVING_METRICS
from tracekit.analysis.metrics.steps import (
    memory_bandwidth,
    step_p50,
    step_p99,
    step_rate,
    tokens_per_second,
)
from tracekit.analysis.metrics.telemetry import (
    gpu_clock_min,
    gpu_clock_p50,
    gpu_power_p50,
    thermal_pressure_worst,
)
from tracekit.analysis.metrics.upkeep import (
    allocations_per_step,
    gpu_downclocked_ratio,
    gpu_memory_slope,
    memory_slope,
    wire_time,
)

METRICS = listed(
    tokens_per_second,
    kernel_ceiling,
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
    gpu_time_per_token,
    encoders_per_token,
    steady_compiles,
    other_process_share,
    *IDLE_METRICS,
    *RHYTHM_METRICS,
    memory_bandwidth,
    step_intensity,
    step_bound,
    bandwidth_share,
    bandwidth_share_busy,
    *COUNTER_METRICS,
    gpu_clock_p50,
    gpu_clock_min,
    gpu_power_p50,
    thermal_pressure_worst,
    gpu_downclocked_ratio,
    host_busy,
    host_idle_ratio,
    reference_share,
    host_cpu,
    memory_peak,
    mlx_memory_peak,
    memory_growth,
    gpu_memory_slope,
    memory_slope,
    allocations_per_step,
    wire_time,
    *REQUEST_METRICS,
    *SERVING_METRICS,
)
