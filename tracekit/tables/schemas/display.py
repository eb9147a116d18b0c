"""What displays showed, and how it got there."""

from tracekit.tables.schema import (
    CLOCK,
    DEPTH,
    DURATION,
    LABEL,
    START,
    Column,
    Kind,
    Schema,
    flag,
    gpu,
    identifier,
    instant,
    integer,
    span,
    text,
)

_MOMENT = Column("time", "timestamp", Kind.TIME, "when it happened", required=True)
_VSYNC_START = Column("start", "timestamp", Kind.TIME, "when it began", required=True)
_DISPLAY = text("display", "display-name", "name of the display")
_COMPOSITOR = text("compositor", "compositor-name", "name of the compositor")
_SURFACE = identifier("surface", "surface-id", "id of the surface")
_FORMAT = text("format", "pixel-format", "format of the pixels")
_FRAMEBUFFER = integer("framebuffer", "framebuffer-index", "number of the framebuffer")
_SWAP = identifier("swap", "swap-id", "id of the swap")
_UNUSED = "color event-priority connection-UUID"

vsyncs = Schema(
    name="vsyncs",
    meaning="The time between one refresh of a display and the next.",
    sources=(gpu("display-vsyncs-interval", unused="color"),),
    columns=(
        _VSYNC_START,
        DURATION,
        _DISPLAY,
        text("event", "event", "kind of refresh"),
        LABEL,
        CLOCK,
    ),
)
displayed_surfaces = Schema(
    name="displayed_surfaces",
    meaning="Stretches in which a display showed one surface.",
    sources=(gpu("displayed-surfaces-interval", unused=_UNUSED),),
    columns=(
        START,
        DURATION,
        _DISPLAY,
        span("latency", "cpu-to-display-latency", "from the CPU's work to the display"),
        _SURFACE,
        _FORMAT,
        text("resolution", "resolution", "width x height in pixels", since="27.2"),
        text("category", "category", "kind of event"),
        LABEL,
        DEPTH,
        flag("direct", "direct-to-display", "whether it went past the compositor"),
        text("detachment", "detachment-reason", "why it did not"),
        text("suggestion", "detachment-suggestion", "what Instruments advises about that"),
        CLOCK,
    ),
)
surface_rates = Schema(
    name="surface_rates",
    meaning="How many surfaces a display showed in each stretch.",
    sources=(gpu("displayed-surfaces-per-second"),),
    columns=(
        START,
        DURATION,
        _DISPLAY,
        integer("count", "count", "surfaces shown"),
        LABEL,
        CLOCK,
    ),
)
surface_swaps = Schema(
    name="surface_swaps",
    meaning="One row for each swap of what a display shows.",
    sources=(gpu("display-surface-swap", unused="color"),),
    columns=(
        _MOMENT,
        instant("delay", "delay", "delay of the swap, as the trace states it"),
        _DISPLAY,
        _SURFACE,
        _FRAMEBUFFER,
        _SWAP,
        _FORMAT,
        instant("input", "hid-time", "time of the input that led to it"),
        instant("generated", "generation-time", "when it was made"),
        integer("quanta", "min-quanta", "least number of refreshes to show it for"),
        instant("desired", "desired-presentation-time", "when it should have been shown"),
        identifier("layer_1", "layer1-surface-id", "surface of layer 1"),
        identifier("layer_2", "layer2-surface-id", "surface of layer 2"),
        text("format_1", "layer1-pixel-format", "format of the pixels of layer 1"),
        text("format_2", "layer2-pixel-format", "format of the pixels of layer 2"),
        CLOCK,
    ),
)
surface_queues = Schema(
    name="surface_queues",
    meaning="One row for each swap that was queued for a display.",
    sources=(gpu("display-surface-queue"),),
    columns=(_MOMENT, _SWAP, _FRAMEBUFFER, CLOCK),
)
display_events = Schema(
    name="display_events",
    meaning="Stretches in which a display did something.",
    sources=(gpu("display-events-interval", unused=_UNUSED),),
    columns=(
        START,
        DURATION,
        text("event", "event-name", "kind of event"),
        LABEL,
        _SURFACE,
        _DISPLAY,
        DEPTH,
        CLOCK,
    ),
)
_VSYNC = identifier("vsync", "vsync-id", "id of the refresh")
compositor_intervals = Schema(
    name="compositor_intervals",
    meaning="Stretches in which the compositor worked.",
    sources=(gpu("display-compositor-interval", unused=_UNUSED),),
    columns=(
        START,
        DURATION,
        text("event", "category", "kind of work"),
        LABEL,
        _COMPOSITOR,
        _VSYNC,
        DEPTH,
        CLOCK,
    ),
)
compositor_events = Schema(
    name="compositor_events",
    meaning="Single events of the compositor.",
    sources=(gpu("display-compositor-events-interval", unused=_UNUSED),),
    columns=(
        START,
        DURATION,
        text("event", "event-name", "kind of event"),
        LABEL,
        _COMPOSITOR,
        _VSYNC,
        DEPTH,
        CLOCK,
    ),
)
