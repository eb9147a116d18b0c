"""`compiler_activity`: shaders and pipelines compiled while recording."""

from tracekit.tables.schema import (
    CLOCK,
    DURATION,
    PID,
    PROCESS,
    START,
    TARGET,
    Column,
    Kind,
    Schema,
    gpu,
)

compiler_activity = Schema(
    name="compiler_activity",
    meaning="One row for each stretch in which a shader compiler worked for a process.",
    sources=(
        gpu("graphics-compiler-activity-intervals", unused="event-plane event-priority color"),
    ),
    columns=(
        START,
        DURATION,
        Column("compiler", "compiler", Kind.TEXT, "name of the compiler"),
        Column("program", "program-type", Kind.TEXT, "what was compiled"),
        PROCESS,
        PID,
        TARGET,
        CLOCK,
    ),
)
