"""What the driver did besides submitting work."""

from tracekit.tables.schema import (
    CLOCK,
    DEPTH,
    DEVICE,
    DURATION,
    LABEL,
    OWNER,
    START,
    THREAD,
    Schema,
    flag,
    gpu,
    identifier,
    text,
)

_UNUSED = "event-priority connection-UUID color thread"
_COLUMNS = (
    START,
    DURATION,
    text("driver", "gpu-driver-name", "name of the driver"),
    text("event", "event-type", "kind of event, such as wiring memory"),
    LABEL,
    DEPTH,
    *OWNER,
    THREAD,
    identifier("resource", "resource-id", "id of the resource"),
    flag("per_thread", "show-per-thread", "whether it is shown for each thread"),
    DEVICE,
    CLOCK,
)

driver_events = Schema(
    name="driver_events",
    meaning="Events of the GPU driver that took time, such as wiring memory.",
    sources=(gpu("metal-driver-event-intervals", unused=_UNUSED),),
    columns=_COLUMNS,
)
driver_thread_events = Schema(
    name="driver_thread_events",
    meaning="Events of the GPU driver that belong to one thread.",
    sources=(gpu("metal-driver-event-per-thread-intervals", unused=_UNUSED),),
    columns=_COLUMNS,
)
