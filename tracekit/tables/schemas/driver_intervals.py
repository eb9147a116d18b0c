"""`driver_intervals`: what the driver did between program and device."""

from tracekit.tables.schema import (
    CLOCK,
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
)

driver_intervals = Schema(
    name="driver_intervals",
    meaning="Work of the GPU driver, such as processing a command buffer or wiring memory.",
    sources=(
        gpu(
            "metal-driver-intervals",
            unused="event-priority connection-UUID color thread object-id lane",
        ),
    ),
    columns=(
        START,
        DURATION,
        Column("driver", "gpu-driver-name", Kind.TEXT, "name of the driver"),
        Column("event", "event-type", Kind.TEXT, "kind of work"),
        Column("label", "event-label", Kind.TEXT, "what the trace calls it"),
        Column("depth", "event-depth", Kind.INTEGER, "lane on the track"),
        PROCESS,
        PID,
        TARGET,
        THREAD,
        DEVICE,
        CLOCK,
    ),
)
