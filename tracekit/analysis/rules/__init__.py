"""All rules, in the order in which checks are listed."""

from tracekit.analysis.rule import Rule
from tracekit.analysis.rules.below_ceiling import below_ceiling
from tracekit.analysis.rules.bubbles import bubbles
from tracekit.analysis.rules.cache_resident import cache_resident
from tracekit.analysis.rules.capture_empty import capture_empty
from tracekit.analysis.rules.capture_truncated import capture_truncated
from tracekit.analysis.rules.compute_bound import compute_bound
from tracekit.analysis.rules.frequent_command_buffers import frequent_command_buffers
from tracekit.analysis.rules.frequent_readback import frequent_readback
from tracekit.analysis.rules.gather_share import gather_share
from tracekit.analysis.rules.gpu_contended import gpu_contended
from tracekit.analysis.rules.gpu_downclocked import gpu_downclocked
from tracekit.analysis.rules.hot_allocations import hot_allocations
from tracekit.analysis.rules.irregular_cadence import irregular_cadence
from tracekit.analysis.rules.late_start import late_start
from tracekit.analysis.rules.low_occupancy import low_occupancy
from tracekit.analysis.rules.memory_bound import memory_bound
from tracekit.analysis.rules.memory_growth import memory_growth
from tracekit.analysis.rules.metadata_per_layer import metadata_per_layer
from tracekit.analysis.rules.other_limiter import other_limiter
from tracekit.analysis.rules.pipeline_churn import pipeline_churn
from tracekit.analysis.rules.roofline_distance import roofline_distance
from tracekit.analysis.rules.scatter_encoder import scatter_encoder
from tracekit.analysis.rules.schema_drift import schema_drift
from tracekit.analysis.rules.serial_prefill import serial_prefill
from tracekit.analysis.rules.shader_spills import shader_spills
from tracekit.analysis.rules.shallow_queue import shallow_queue
from tracekit.analysis.rules.step_spikes import step_spikes
from tracekit.analysis.rules.thermal_pressure import thermal_pressure
from tracekit.analysis.rules.tiny_encoders import tiny_encoders
from tracekit.analysis.rules.trace_overhead import trace_overhead

RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        capture_empty,
        gpu_contended,
        pipeline_churn,
        shader_spills,
        bubbles,
        late_start,
        shallow_queue,
        frequent_readback,
        frequent_command_buffers,
        tiny_encoders,
        irregular_cadence,
        step_spikes,
        low_occupancy,
        memory_bound,
        compute_bound,
        other_limiter,
        roofline_distance,
        cache_resident,
        below_ceiling,
        metadata_per_layer,
        scatter_encoder,
        gather_share,
        serial_prefill,
        capture_truncated,
        schema_drift,
        trace_overhead,
        gpu_downclocked,
        thermal_pressure,
        memory_growth,
        hot_allocations,
    )
}
