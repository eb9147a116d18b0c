"""What programs did with Metal and said of themselves: calls, signposts, logs, objects."""

from tracekit.tables.derived import paired_signposts
from tracekit.tables.schema import (
    ACCELERATOR,
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
    SUBMISSION,
    THREAD,
    Column,
    Kind,
    Schema,
    gpu,
    identifier,
    instant,
    integer,
    span,
    stack,
    text,
    time,
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


_EVENT_SIGNPOSTS = text("event", "event-type", "Begin, End or Event")
_NAME = text("name", "name", "name of the signpost")
_IDENTIFIER = identifier("identifier", "identifier", "id that keeps equal names apart")
_SUBSYSTEM = text("subsystem", "subsystem", "subsystem of the program")
_CATEGORY = text("category", "category", "category in the subsystem")
_FORMAT = text("format", "format-string", "format of the message")
_MESSAGE = text("message", "message", "the message in words")
_PLACE = text("place", "emit-location", "where in the program it stands")
_ARGUMENT = text("argument", "name", "name of the argument")
_VALUE = text("value", "value", "value of the argument")
_UNUSED_SIGNPOSTS = (
    "layout-qualifier end-process start-thread end-thread start-backtrace end-backtrace "
    "start-emit-location end-emit-location signature"
)

signposts = Schema(
    name="signposts",
    meaning="One row for each signpost that a program set.",
    sources=(gpu("os-signpost", unused="thread"),),
    columns=(
        time("time"),
        _EVENT_SIGNPOSTS,
        _NAME,
        _IDENTIFIER,
        _SUBSYSTEM,
        _CATEGORY,
        text("scope", "scope", "Thread, Process or System"),
        _FORMAT,
        _MESSAGE,
        *OWNER,
        THREAD,
        *stack("backtrace"),
        _PLACE,
        CLOCK,
    ),
)
signpost_intervals = Schema(
    name="signpost_intervals",
    meaning=(
        "Stretches between a signpost's begin and its end. Where the trace has only the "
        "signposts, they are paired by identifier, name, subsystem, category and process."
    ),
    sources=(
        gpu("os-signpost-interval", _UNUSED_SIGNPOSTS),
        gpu("OSSignpostIntervals", _UNUSED_SIGNPOSTS),
    ),
    columns=(
        START,
        DURATION,
        _NAME,
        _IDENTIFIER,
        _SUBSYSTEM,
        _CATEGORY,
        text("begin_message", "start-message", "message of the begin"),
        text("end_message", "end-message", "message of the end"),
        *OWNER,
        Column("tid", "start-thread.tid", Kind.INTEGER, "id of the thread that began it"),
        CLOCK,
    ),
    join=paired_signposts,
    versions="27: the schema is OSSignpostIntervals, os-signpost-interval before.",
)
signpost_arguments = Schema(
    name="signpost_arguments",
    meaning="One row for each argument of a signpost.",
    sources=(gpu("os-signpost-arg", unused="thread"),),
    columns=(
        time("time"),
        text("name", "signpost-name", "name of the signpost"),
        _IDENTIFIER,
        _ARGUMENT,
        _VALUE,
        _FORMAT,
        _SUBSYSTEM,
        _CATEGORY,
        Column("process", "process", Kind.PROCESS, "name of the process", since="27.2"),
        Column("pid", "process.pid", Kind.INTEGER, "id of that process", since="27.2"),
        THREAD,
        CLOCK,
    ),
    versions="27.2: process is new.",
)
logs = Schema(
    name="logs",
    meaning="One row for each message that a program logged.",
    sources=(gpu("os-log", unused="thread"),),
    columns=(
        time("time"),
        text("type", "message-type", "kind of message"),
        _MESSAGE,
        _FORMAT,
        _SUBSYSTEM,
        _CATEGORY,
        *OWNER,
        THREAD,
        *stack("backtrace"),
        _PLACE,
        CLOCK,
    ),
)
log_arguments = Schema(
    name="log_arguments",
    meaning="One row for each argument of a logged message.",
    sources=(gpu("os-log-arg", unused="thread"),),
    columns=(
        time("time"),
        _ARGUMENT,
        _VALUE,
        _FORMAT,
        _SUBSYSTEM,
        _CATEGORY,
        THREAD,
        CLOCK,
    ),
)


object_labels = Schema(
    name="object_labels",
    meaning="One row for each label that an object of Metal was given, of all processes.",
    sources=(gpu("metal-object-label"),),
    columns=(
        MOMENT,
        identifier("object", "object-id", "id of the command buffer, encoder or resource"),
        text("label", "label", "label of the object"),
        integer("type", "object-type", "kind of object, as a number"),
        integer("frame", "frame-number", "number of the frame; 2^32 - 1 for none"),
        integer("pid", "pid", "id of the process that it belongs to"),
        Column("target", "pid", Kind.TARGET, "whether that process is the recorded one"),
        CLOCK,
    ),
)
surface_accesses = Schema(
    name="surface_accesses",
    meaning="One row for each surface that a submission read or wrote.",
    sources=(gpu("metal-io-surface-access", unused="pid submission-id"),),
    columns=(
        MOMENT,
        identifier("surface", "surface-id", "id of the surface"),
        integer("access", "access-type", "kind of access, as a number"),
        text("format", "pixel-format", "format of the pixels"),
        integer("width", "width", "width in pixels"),
        integer("height", "height", "height in pixels"),
        COMMAND_BUFFER,
        ENCODER,
        SUBMISSION,
        identifier("segment", "segment-id", "id of the segment"),
        identifier("channel", "channel-id", "id of the channel"),
        *OWNER,
        ACCELERATOR,
        CLOCK,
    ),
)


def _dependencies(name: str, side: str, where: str) -> Schema:
    return Schema(
        name=name,
        meaning=f"Which pieces of work {where} belong to one object, from its begin to its end.",
        sources=(gpu(f"metal-object-dependency-chain-{side}", unused="color"),),
        columns=(
            time("in-time", "when the piece of work began"),
            instant("end", "out-time", "when it ended"),
            identifier("root", "root-id", "id of the object"),
            identifier("block", "block-id", "id of the piece of work"),
            integer("track", "track-id", "number of the track"),
            CLOCK,
        ),
    )


def _highlights(name: str, side: str, where: str) -> Schema:
    return Schema(
        name=name,
        meaning=f"Which pieces of work {where} Instruments shows as one when it is chosen.",
        sources=(gpu(f"metal-visual-highlight-chain-{side}"),),
        columns=(
            MOMENT,
            identifier("root", "root-id", "id of the object"),
            identifier("block", "block-id", "id of the piece of work"),
            CLOCK,
        ),
    )


application_dependencies = _dependencies("application_dependencies", "app", "of programs")
driver_dependencies = _dependencies("driver_dependencies", "driver", "of the driver")
gpu_dependencies = _dependencies("gpu_dependencies", "gpu", "on the GPU")
display_dependencies = _dependencies("display_dependencies", "display", "of displays")
application_highlights = _highlights("application_highlights", "app", "of programs")
driver_highlights = _highlights("driver_highlights", "driver", "of the driver")
gpu_highlights = _highlights("gpu_highlights", "gpu", "on the GPU")
display_highlights = _highlights("display_highlights", "display", "of displays")

visual_chains = Schema(
    name="visual_chains",
    meaning="Chains of intervals that Instruments draws as connected.",
    sources=(gpu("visual-chain"),),
    columns=(
        time("time"),
        identifier("interval", "uuid", "id of the interval"),
        text("chain", "uuid-chain", "ids of the chain, as the export writes them"),
        text("route", "route", "way of the connection"),
        CLOCK,
    ),
)
visual_connections = Schema(
    name="visual_connections",
    meaning="Connections that Instruments draws between intervals.",
    sources=(gpu("visual-connection", unused="color"),),
    columns=(
        Column("start", "time", Kind.TIME, "when it began", required=True),
        Column("duration", "duration", Kind.DURATION, "how long it took", required=True),
        identifier("connection", "uuid", "id of the connection"),
        identifier("source", "source-uuid", "id of the interval that it leads from"),
        identifier("sink", "sink-uuid", "id of the interval that it leads to"),
        text("filter", "filter", "what it is shown for"),
        text("metadata", "metadata", "what the trace says of it"),
        text("route", "route", "way of the connection"),
        CLOCK,
    ),
)
