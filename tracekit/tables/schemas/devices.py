"""The machine that was recorded: its GPUs, displays and clocks."""

from tracekit.tables.schema import (
    ACCELERATOR,
    CLOCK,
    MOMENT,
    OWNER,
    Schema,
    bits,
    flag,
    gpu,
    identifier,
    integer,
    size,
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
