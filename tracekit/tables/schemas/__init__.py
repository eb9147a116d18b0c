"""All tables, by family, in the order in which pages and lists show them."""

from tracekit.tables.schema import Schema
from tracekit.tables.schemas import (
    devices,
    gpu,
    host,
    memory,
    program,
    shaders,
    submission,
    workload,
)

_FAMILIES = (workload, submission, gpu, shaders, program, memory, host, devices)
SCHEMAS: dict[str, Schema] = {
    schema.name: schema
    for family in _FAMILIES
    for schema in vars(family).values()
    if isinstance(schema, Schema)
}
