"""`gpu_jobs`: work on the GPU, with who asked for it."""

from tracekit.tables.derived import jobs
from tracekit.tables.schema import Schema, instant, span, text
from tracekit.tables.schemas.gpu_intervals import gpu_intervals

gpu_jobs = Schema(
    name="gpu_jobs",
    meaning=(
        "One row for each row of `gpu_intervals`, with its encoder and its command buffer: by "
        "the ids of both among `encoders`, else by one of them among `object_labels`. Null where "
        "the recording has no such table, no such row, or several that differ."
    ),
    sources=(),
    columns=(
        *gpu_intervals.columns[:-1],
        text("encoder_label", "", "label of the encoder"),
        text("encoder_kind", "", "kind of encoder"),
        text("command_buffer_label", "", "label of the command buffer"),
        instant("submitted", "", "start of its row among `submissions`"),
        instant("committed", "", "when the program committed it, from `commits`"),
        instant("completed", "", "when it was complete, from `completions`"),
        span("commit_to_complete", "", "from its commit until it was complete"),
        span(
            "latency",
            "",
            "from the commit to the start on the GPU: `start_latency` where the trace has it, "
            "else from `committed`, else from `submitted`",
        ),
        gpu_intervals.columns[-1],
    ),
    join=jobs,
)
