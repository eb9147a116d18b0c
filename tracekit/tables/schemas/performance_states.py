"""The state that the machine was in: clocks of the GPU, heat."""

from tracekit.tables.schema import (
    ACCELERATOR,
    CLOCK,
    DURATION,
    MOMENT,
    START,
    Schema,
    flag,
    gpu,
    instant,
    integer,
    text,
)

gpu_performance_states = Schema(
    name="gpu_performance_states",
    meaning="Stretches in which the GPU ran at one performance level.",
    sources=(gpu("gpu-performance-state-intervals"),),
    columns=(
        START,
        DURATION,
        text("state", "gpu-performance-state", "level, such as Minimum, Medium, Maximum"),
        flag("induced", "is-induced", "whether the recording asked for the level"),
        text("event", "event-type", "kind of event"),
        text("track", "track-label", "track that it belongs to"),
        text("label", "narrative", "what the trace says of it"),
        CLOCK,
    ),
)
gpu_device_performance_states = Schema(
    name="gpu_device_performance_states",
    meaning="Stretches in which a GPU was in one performance state, by the device's own numbers.",
    sources=(gpu("gpu-performance-device-state-intervals"),),
    columns=(
        START,
        DURATION,
        integer("state", "state", "number of the state"),
        integer("desired", "desired-state", "number of the state that was asked for"),
        ACCELERATOR,
        CLOCK,
    ),
)
gpu_performance_settings = Schema(
    name="gpu_performance_settings",
    meaning="One row for each GPU: whether its performance was held at one state.",
    sources=(gpu("gpu-performance-state-info"),),
    columns=(
        MOMENT,
        flag("available", "consistent-state-available", "whether the GPU can be held at a state"),
        flag("enabled", "consistent-state-enabled", "whether it was asked to be"),
        flag("sustained", "consistent-state-sustained", "whether it was held"),
        integer("mapping", "consistent-state-mapping", "number of the mapping of states"),
        integer("state", "consistent-state", "number of the state it was held at"),
        ACCELERATOR,
        CLOCK,
    ),
)
thermal_states = Schema(
    name="thermal_states",
    meaning="Stretches in which the machine was in one thermal state.",
    sources=(gpu("device-thermal-state-intervals"),),
    columns=(
        START,
        DURATION,
        instant("end", "end", "when it ended"),
        text("state", "thermal-state", "Nominal, Fair, Serious or Critical"),
        flag("induced", "is-induced", "whether a tool asked for the state"),
        text("track", "track-label", "track that it belongs to"),
        text("label", "narrative", "what the trace says of it"),
        CLOCK,
    ),
)
