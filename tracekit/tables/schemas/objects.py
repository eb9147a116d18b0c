"""Metal's objects: their labels, the surfaces they touch, what depends on what."""

from tracekit.tables.schema import (
    ACCELERATOR,
    CLOCK,
    COMMAND_BUFFER,
    ENCODER,
    MOMENT,
    OWNER,
    SUBMISSION,
    Column,
    Kind,
    Schema,
    gpu,
    identifier,
    instant,
    integer,
    text,
    time,
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
