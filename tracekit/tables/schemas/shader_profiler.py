"""Shaders at work, where the recording had the shader timeline on; and shaders that spill."""

from tracekit.tables.schema import (
    CLOCK,
    COMMAND_BUFFER,
    DEPTH,
    DEVICE,
    DURATION,
    ENCODER,
    MOMENT,
    OWNER,
    START,
    Schema,
    bits,
    gpu,
    identifier,
    integer,
    percent,
    size,
    text,
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
