"""`encoders`: encoders as the program wrote them."""

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
    THREAD,
    Column,
    Kind,
    Schema,
    gpu,
)

encoders = Schema(
    name="encoders",
    meaning="One row for each encoder, with the CPU time between its first and its last call.",
    sources=(
        gpu(
            "metal-application-encoders-list",
            unused="thread cmdbuffer-label-indexed encoder-label-indexed",
        ),
    ),
    columns=(
        START,
        DURATION,
        Column("label", "encoder-label", Kind.TEXT, "label of the encoder"),
        Column("command_buffer_label", "cmdbuffer-label", Kind.TEXT, "label of its buffer"),
        Column("event", "event-type", Kind.TEXT, "kind of encoder"),
        PROCESS,
        PID,
        TARGET,
        THREAD,
        COMMAND_BUFFER,
        ENCODER,
        Column("frame", "frame-number", Kind.INTEGER, "number of the frame"),
        DEVICE,
        CLOCK,
    ),
)
