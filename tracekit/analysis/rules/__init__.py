"""All rules, in the order in which checks are listed."""

from tracekit.analysis.rule import Rule
from tracekit.analysis.rules.bubbles import bubbles
from tracekit.analysis.rules.capture_empty import capture_empty
from tracekit.analysis.rules.gather_share import gather_share
from tracekit.analysis.rules.gpu_contended import gpu_contended
from tracekit.analysis.rules.low_occupancy import low_occupancy
from tracekit.analysis.rules.metadata_per_layer import metadata_per_layer
from tracekit.analysis.rules.pipeline_churn import pipeline_churn
from tracekit.analysis.rules.scatter_encoder import scatter_encoder
from tracekit.analysis.rules.serial_prefill import serial_prefill

RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        capture_empty,
        gpu_contended,
        pipeline_churn,
        bubbles,
        low_occupancy,
        metadata_per_layer,
        scatter_encoder,
        gather_share,
        serial_prefill,
    )
}
