"""Shaders: their names, where they ran, what was compiled while recording."""

from tracekit.tables.derived import pc_runs, runs
from tracekit.tables.schema import (
    CLOCK,
    COMMAND_BUFFER,
    DEPTH,
    DEVICE,
    DURATION,
    ENCODER,
    MOMENT,
    OWNER,
    PID,
    PROCESS,
    START,
    TARGET,
    Column,
    Kind,
    Schema,
    bits,
    gpu,
    host,
    identifier,
    integer,
    percent,
    size,
    text,
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


_TIMELINE = "Empty unless the recording had the shader timeline on."

shader_profiler_intervals = Schema(
    name="shader_profiler_intervals",
    meaning=f"Stretches in which a shader ran, with its share of the work. {_TIMELINE}",
    sources=(
        gpu("metal-shader-profiler-intervals", unused="color event-priority connection-UUID"),
    ),
    columns=(
        START,
        DURATION,
        text("name", "name", "name of the function"),
        text("label", "label", "label of the function"),
        text("pipeline", "pso-label", "label of the pipeline state"),
        text("kind", "shader-type", "compute, vertex or fragment"),
        text("event", "event-name", "kind of event"),
        percent("share", "percent-of-kick", "its share of the piece of work it ran in"),
        percent("total_share", "total-kick-percent", "its share with what it called"),
        *OWNER,
        text("channel", "channel-name", "channel of the GPU"),
        DEPTH,
        DEVICE,
        CLOCK,
    ),
)
shader_pc_intervals = Schema(
    name="shader_pc_intervals",
    meaning=f"Stretches in which the GPU was seen at one instruction. {_TIMELINE}",
    sources=(gpu("gpu-shader-profiler-interval"),),
    columns=(
        START,
        DURATION,
        bits("pc", "pc", "address of the instruction"),
        identifier("submission", "submission-id", "id of the submission"),
        integer("data_master", "datamaster", "number of the unit that started the work"),
        CLOCK,
    ),
)
shader_pc_samples = Schema(
    name="shader_pc_samples",
    meaning=f"One row for each sample of the instructions that the GPU was at. {_TIMELINE}",
    sources=(gpu("gpu-shader-profiler-sample"),),
    columns=(
        MOMENT,
        text("pcs", "pcs", "addresses of the instructions, as the export writes them"),
        integer("count", "num-pcs", "how many they are"),
        CLOCK,
    ),
)
shader_spills = Schema(
    name="shader_spills",
    meaning="One row for each encoder whose shader spilled registers to memory.",
    sources=(gpu("graphics-compiler-spill-events"),),
    columns=(
        MOMENT,
        size("spilled", "spilled-bytes", "bytes that were spilled"),
        COMMAND_BUFFER,
        ENCODER,
        *OWNER,
        CLOCK,
    ),
    versions="27: new; 26 does not record it.",
)


_SHADER = identifier("shader", "", "id of the shader, as in `shaders`")
_NULL = "Null where no row of `shaders` fits, or several do."

shader_runs = Schema(
    name="shader_runs",
    meaning=(
        "One row for each row of `shader_profiler_intervals`, with the shader that has its name, "
        f"pipeline, kind and process. {_NULL}"
    ),
    sources=(),
    columns=(
        *shader_profiler_intervals.columns[:-1],
        _SHADER,
        bits("pc_start", "", "address of its first instruction"),
        bits("pc_end", "", "address behind its last instruction"),
        shader_profiler_intervals.columns[-1],
    ),
    join=runs,
)
shader_pc_runs = Schema(
    name="shader_pc_runs",
    meaning=(
        "One row for each row of `shader_pc_intervals`, with the shader whose code holds its "
        f"instruction. {_NULL}"
    ),
    sources=(),
    columns=(
        *shader_pc_intervals.columns[:-1],
        _SHADER,
        text("name", "", "name of the function"),
        text("label", "", "label of the function"),
        text("pipeline", "", "name of the pipeline state"),
        text("kind", "", "compute, vertex or fragment"),
        integer("pid", "", "id of the process that the shader belongs to"),
        shader_pc_intervals.columns[-1],
    ),
    join=pc_runs,
)


specializations = Schema(
    name="specializations",
    meaning="One row for each pipeline of the workload, when the workload first used it.",
    sources=(host("host-specializations"),),
    columns=(MOMENT, Column("name", "name", Kind.TEXT, "name of the specialization"), CLOCK),
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
