"""`gpu_intervals`: work as the device did it."""

from tracekit.tables.schema import (
    CLOCK,
    COMMAND_BUFFER,
    DEVICE,
    DURATION,
    ENCODER,
    PID,
    PROCESS,
    START,
    TARGET,
    Column,
    Kind,
    Schema,
    gpu,
    host,
)

gpu_intervals = Schema(
    name="gpu_intervals",
    meaning=(
        "One row for each piece of work on a channel of the device, of all processes. Channels "
        "overlap, so busy time is the union of rows, not their sum. From the host recorder: "
        "from hand-over to observed completion, on the host's clock."
    ),
    sources=(
        gpu(
            "metal-gpu-intervals",
            unused="connection-UUID color channel-subtitle iosurface-accesses",
        ),
        host("host-intervals"),
    ),
    columns=(
        START,
        DURATION,
        Column("channel", "channel-name", Kind.TEXT, "Compute, Vertex, Fragment, Blit; CPU"),
        Column("label", "event-label", Kind.TEXT, "what the trace calls it"),
        PROCESS,
        PID,
        TARGET,
        Column("state", "state", Kind.TEXT, "state of the channel, such as Active"),
        Column("start_latency", "start-latency", Kind.DURATION, "from CPU submission to start"),
        Column("depth", "event-depth", Kind.INTEGER, "lane on the channel's track"),
        Column("bytes", "bytes", Kind.INTEGER, "bytes moved, as the trace states them"),
        Column("frame", "frame-number", Kind.INTEGER, "number of the frame"),
        COMMAND_BUFFER,
        ENCODER,
        Column("submission", "gpu-submission-id", Kind.IDENTIFIER, "id of the GPU submission"),
        DEVICE,
        CLOCK,
    ),
)
