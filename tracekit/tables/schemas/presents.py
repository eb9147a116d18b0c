"""What programs asked displays to show."""

from tracekit.tables.schema import (
    CLOCK,
    COMMAND_BUFFER,
    DURATION,
    MOMENT,
    OWNER,
    START,
    THREAD,
    Schema,
    bits,
    gpu,
    identifier,
    instant,
    span,
)

present_requests = Schema(
    name="present_requests",
    meaning="One row for each request to show a drawable.",
    sources=(gpu("ca-client-present-request", unused="thread"),),
    columns=(
        MOMENT,
        COMMAND_BUFFER,
        identifier("surface", "surface-id", "id of the surface"),
        instant("at", "at-time", "when it should be shown, if that was asked for"),
        instant("at_least", "minimal-duration", "how long it should be shown, as the trace has it"),
        *OWNER,
        THREAD,
        CLOCK,
    ),
)
presented_drawables = Schema(
    name="presented_drawables",
    meaning="One row for each drawable that was shown, when the program was told.",
    sources=(gpu("ca-client-presented-handler", unused="thread"),),
    columns=(
        MOMENT,
        identifier("drawable", "drawable-id", "id of the drawable"),
        bits("status", "status", "how it ended, as a number"),
        instant("at", "at-time", "when it was shown"),
        span("delta", "delta", "from then until the program was told"),
        *OWNER,
        THREAD,
        CLOCK,
    ),
)
drawable_waits = Schema(
    name="drawable_waits",
    meaning="Stretches in which a thread waited for a drawable.",
    sources=(gpu("ca-client-buffer-wait-interval", unused="thread"),),
    columns=(START, DURATION, THREAD, CLOCK),
)
