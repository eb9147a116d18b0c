"""`process_samples`: the target as the operating system sees it, sampled."""

from tracekit.tables.schema import (
    CLOCK,
    MOMENT,
    PID,
    PROCESS,
    TARGET,
    Column,
    Kind,
    Schema,
    host,
)

process_samples = Schema(
    name="process_samples",
    meaning="One row for each sample of the target's CPU time, memory and context switches.",
    sources=(host("host-process-samples"),),
    columns=(
        MOMENT,
        PROCESS,
        PID,
        TARGET,
        Column("cpu", "cpu", Kind.NUMBER, "cores in use since the sample before"),
        Column("memory", "memory", Kind.INTEGER, "resident bytes"),
        Column("threads", "threads", Kind.INTEGER, "threads"),
        Column("voluntary", "voluntary", Kind.INTEGER, "voluntary context switches so far"),
        Column("involuntary", "involuntary", Kind.INTEGER, "involuntary ones so far"),
        Column("machine", "machine", Kind.NUMBER, "cores that all processes used meanwhile"),
        CLOCK,
    ),
)
