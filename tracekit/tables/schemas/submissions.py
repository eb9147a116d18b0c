"""`submissions`: command buffers as the program handed them over."""

from tracekit.tables.schema import (
    CLOCK,
    COMMAND_BUFFER,
    DEVICE,
    DURATION,
    PID,
    PROCESS,
    START,
    TARGET,
    THREAD,
    Column,
    Kind,
    Schema,
    gpu,
    host,
)

submissions = Schema(
    name="submissions",
    meaning=(
        "One row for each event in the life of a command buffer on the CPU's side. From the "
        "host recorder: from the call that builds a step to its return."
    ),
    sources=(
        gpu(
            "metal-application-command-buffer-submissions",
            unused="track-label thread event-icon encoder-time-label frame-number color",
        ),
        host("host-submissions", unused="thread"),
    ),
    columns=(
        START,
        DURATION,
        Column("event", "event-type", Kind.TEXT, "kind of event"),
        Column("label", "event-label", Kind.TEXT, "what the trace calls it"),
        Column("encoders", "num-encoders", Kind.INTEGER, "encoders in the command buffer"),
        Column("encoder_time", "encoder-time", Kind.DURATION, "time spent encoding"),
        PROCESS,
        PID,
        TARGET,
        THREAD,
        COMMAND_BUFFER,
        DEVICE,
        CLOCK,
    ),
)
