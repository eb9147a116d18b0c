"""The machine that was recorded, what its displays showed and what programs asked them to show."""

from tracekit.tables.schema import (
    ACCELERATOR,
    CLOCK,
    COMMAND_BUFFER,
    DEPTH,
    DURATION,
    LABEL,
    MOMENT,
    OWNER,
    START,
    THREAD,
    Column,
    Kind,
    Schema,
    bits,
    flag,
    gpu,
    identifier,
    instant,
    integer,
    size,
    span,
    text,
    time,
)

_MOBILE = flag("mobile", "mobile", "whether it is a GPU of a mobile kind")

gpus = Schema(
    name="gpus",
    meaning="One row for each GPU, by the name that the other tables use.",
    sources=(gpu("metal-gpu-info"),),
    columns=(
        MOMENT,
        text("device", "gpu-name", "name of the device"),
        integer("index", "gpu-index", "number of the device"),
        ACCELERATOR,
        _MOBILE,
        CLOCK,
    ),
)
gpu_devices = Schema(
    name="gpu_devices",
    meaning="One row for each GPU, with what it is.",
    sources=(gpu("device-gpu-info"),),
    columns=(
        MOMENT,
        text("device", "device-name", "name of the device"),
        text("vendor", "vendor-name", "name of its vendor"),
        size(
            "working_set",
            "recommended-max-working-set-size",
            "bytes that Metal recommends as the most to keep resident",
        ),
        ACCELERATOR,
        flag("headless", "headless", "whether no display hangs on it"),
        flag("removable", "removable", "whether it can be removed"),
        flag("low_power", "low-power", "whether it is the one that saves power"),
        _MOBILE,
        text("trace_codes", "agx-tracecode-version", "version of the driver's trace codes"),
        bits("performance_map", "perf-map", "map of its performance states"),
        CLOCK,
    ),
)
displays = Schema(
    name="displays",
    meaning="One row for each display.",
    sources=(gpu("device-display-info"),),
    columns=(
        MOMENT,
        text("display", "device-name", "name of the display"),
        identifier("id", "display-id", "id of the display"),
        integer("framebuffer", "framebuffer-index", "number of its framebuffer"),
        text("resolution", "resolution", "width x height in pixels"),
        integer("width", "pixel-width", "width in pixels", since="27.2"),
        integer("height", "pixel-height", "height in pixels", since="27.2"),
        flag("built_in", "built-in", "whether it is part of the machine"),
        integer("refresh_rate", "max-refresh-rate", "most frames a second"),
        flag("main", "is-main-display", "whether it is the main one"),
        ACCELERATOR,
        CLOCK,
    ),
)
compositors = Schema(
    name="compositors",
    meaning="One row for each process that composes what displays show.",
    sources=(gpu("metal-known-compositor-process", unused="pid"),),
    columns=(
        MOMENT,
        text("name", "compositor-name", "name of the compositor"),
        *OWNER,
        CLOCK,
    ),
)
time_infos = Schema(
    name="time_infos",
    meaning="The trace's clock: what its time 0 is on the clocks of the machine.",
    sources=(gpu("time-info"),),
    columns=(
        time("update-time", "when it was written down"),
        text("absolute", "mabs-epoch", "mach absolute time, in ticks, at the trace's time 0"),
        text("continuous", "mct-epoch", "mach continuous time, in ticks, at the trace's time 0"),
        text("timebase", "timebase-info", "nanoseconds of a tick, as the export writes them"),
        text("epoch", "trace-start-time", "wall clock at the trace's time 0"),
        CLOCK,
    ),
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
