"""`shaders`: the shaders that the trace knows by name."""

from tracekit.tables.schema import (
    CLOCK,
    DEVICE,
    MOMENT,
    PID,
    PROCESS,
    TARGET,
    Column,
    Kind,
    Schema,
    bits,
    gpu,
)

shaders = Schema(
    name="shaders",
    meaning="One row for each shader, at the moment when the trace first saw it.",
    sources=(gpu("metal-shader-profiler-shader-list"),),
    columns=(
        MOMENT,
        Column("name", "name", Kind.TEXT, "name of the function"),
        Column("label", "label", Kind.TEXT, "label of the function"),
        Column("pipeline", "pso-name", Kind.TEXT, "name of the pipeline state"),
        Column("kind", "shader-type", Kind.TEXT, "compute, vertex or fragment"),
        Column("shader", "id", Kind.IDENTIFIER, "id of the shader"),
        bits("pc_start", "pc-start", "address of its first instruction"),
        bits("pc_end", "pc-end", "address behind its last instruction"),
        PROCESS,
        PID,
        TARGET,
        DEVICE,
        CLOCK,
    ),
)
