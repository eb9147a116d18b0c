"""What programs did with Metal, on the CPU."""

from tracekit.tables.schema import (
    CLOCK,
    COMMAND_BUFFER,
    DEPTH,
    DEVICE,
    DURATION,
    ENCODER,
    LABEL,
    MOMENT,
    OWNER,
    START,
    THREAD,
    Schema,
    gpu,
    integer,
    span,
    text,
)

_EVENT = text("event", "event-type", "kind of event")
_UNUSED = "event-priority connection-UUID color thread"

application_intervals = Schema(
    name="application_intervals",
    meaning="Stretches in which a program wrote a command buffer or an encoder.",
    sources=(gpu("metal-application-intervals", unused=_UNUSED),),
    columns=(
        START,
        DURATION,
        _EVENT,
        LABEL,
        DEPTH,
        *OWNER,
        THREAD,
        COMMAND_BUFFER,
        ENCODER,
        DEVICE,
        CLOCK,
    ),
)
application_events = Schema(
    name="application_events",
    meaning="Further calls of Metal that took time, such as creating a pipeline or waiting.",
    sources=(gpu("metal-application-event-interval", unused=_UNUSED),),
    columns=(START, DURATION, _EVENT, LABEL, DEPTH, *OWNER, THREAD, DEVICE, CLOCK),
)
ar_events = Schema(
    name="ar_events",
    meaning="Events of augmented reality.",
    sources=(gpu("metal-ar-events", unused="event-icon thread"),),
    columns=(
        MOMENT,
        _EVENT,
        text("name", "event-name", "name of the event"),
        LABEL,
        integer("frame", "frame-number", "number of the frame"),
        *OWNER,
        THREAD,
        CLOCK,
    ),
)
mps_intervals = Schema(
    name="mps_intervals",
    meaning="One row for each piece of work of Metal Performance Shaders' own hardware.",
    sources=(gpu("mps-hw-intervals", unused="connection-UUID color"),),
    columns=(
        START,
        DURATION,
        text("channel", "channel-name", "name of the channel"),
        text("subtitle", "channel-subtitle", "subtitle of the channel"),
        LABEL,
        text("state", "state", "state of the channel"),
        span("start_latency", "start-latency", "from CPU submission to start"),
        *OWNER,
        integer("frame", "frame-number", "number of the frame"),
        DEPTH,
        DEVICE,
        CLOCK,
    ),
)
