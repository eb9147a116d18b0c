"""All tables, in the order in which pages and lists show them."""

from tracekit.tables.schema import Schema
from tracekit.tables.schemas.compiler_activity import compiler_activity
from tracekit.tables.schemas.completions import completions
from tracekit.tables.schemas.driver_intervals import driver_intervals
from tracekit.tables.schemas.encoders import encoders
from tracekit.tables.schemas.gpu_counters import gpu_counters
from tracekit.tables.schemas.gpu_intervals import gpu_intervals
from tracekit.tables.schemas.gpu_states import gpu_states
from tracekit.tables.schemas.phases import phases
from tracekit.tables.schemas.process_samples import process_samples
from tracekit.tables.schemas.shaders import shaders
from tracekit.tables.schemas.specializations import specializations
from tracekit.tables.schemas.step_models import step_models
from tracekit.tables.schemas.steps import steps
from tracekit.tables.schemas.submissions import submissions

SCHEMAS: dict[str, Schema] = {
    schema.name: schema
    for schema in (
        phases,
        steps,
        submissions,
        gpu_intervals,
        gpu_states,
        encoders,
        completions,
        driver_intervals,
        compiler_activity,
        shaders,
        specializations,
        gpu_counters,
        step_models,
        process_samples,
    )
}
