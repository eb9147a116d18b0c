"""`command_buffers`: the life of each command buffer, with the totals of its encoders."""

from tracekit.tables.derived import lives
from tracekit.tables.schema import (
    CLOCK,
    COMMAND_BUFFER,
    PID,
    PROCESS,
    TARGET,
    Column,
    Schema,
    instant,
    integer,
    span,
    text,
)

_OWNER = tuple(
    Column(one.name, "", one.kind, one.meaning) for one in (COMMAND_BUFFER, PROCESS, PID, TARGET)
)

command_buffers = Schema(
    name="command_buffers",
    meaning=(
        "One row for each command buffer that any table names. Null where the recording has no "
        "such table, no such row, or several that differ."
    ),
    sources=(),
    columns=(
        *_OWNER[:1],
        text("label", "", "label, from `encoders`, else from `object_labels`"),
        *_OWNER[1:],
        instant("submitted", "", "start of its row among `submissions`"),
        instant("committed", "", "when the program committed it, from `commits`"),
        instant("gpu_start", "", "when its first work on the GPU began"),
        instant("gpu_end", "", "when its last work on the GPU ended"),
        instant("completed", "", "when it was complete, from `completions`"),
        span("commit_to_start", "", "from its commit to its first work on the GPU"),
        span("commit_to_complete", "", "from its commit until it was complete"),
        integer("gpu_intervals", "", "pieces of work on the GPU"),
        span("gpu_time", "", "sum of their durations, which may overlap"),
        integer("encoders", "", "encoders in it, from `encoders`"),
        span("encoder_time", "", "sum of the CPU time between their first and last calls"),
        integer("error", "", "number of the error it ended with, from `command_buffer_errors`"),
        integer("frame", "", "number of the frame, from `commits`"),
        CLOCK,
    ),
    join=lives,
)
