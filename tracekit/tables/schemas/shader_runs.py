"""Shaders as they ran: joined with the list of shaders."""

from tracekit.tables.derived import pc_runs, runs
from tracekit.tables.schema import Schema, bits, identifier, integer, text
from tracekit.tables.schemas.shader_profiler import shader_pc_intervals, shader_profiler_intervals

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
