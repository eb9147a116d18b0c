"""What the GPU did: its work, its states, its counters, its clock."""

from tracekit.tables.derived import counters_side_by_side, jobs, named_counters, summarized_counters
from tracekit.tables.schema import (
    ACCELERATOR,
    CLOCK,
    COMMAND_BUFFER,
    DEVICE,
    DURATION,
    ENCODER,
    MOMENT,
    PID,
    PROCESS,
    START,
    TARGET,
    Column,
    Kind,
    Schema,
    bits,
    flag,
    gpu,
    host,
    identifier,
    instant,
    integer,
    span,
    text,
)

gpu_intervals = Schema(
    name="gpu_intervals",
    meaning=(
        "One row for each piece of work on a channel of the device, of all processes. Channels "
        "overlap, so busy time is the union of rows, not their sum. From the host recorder: "
        "from hand-over to observed completion, on the host's clock."
    ),
    sources=(
        gpu(
            "metal-gpu-intervals",
            unused="connection-UUID color channel-subtitle iosurface-accesses",
        ),
        host("host-intervals"),
    ),
    columns=(
        START,
        DURATION,
        Column("channel", "channel-name", Kind.TEXT, "Compute, Vertex, Fragment, Blit; CPU"),
        Column("label", "event-label", Kind.TEXT, "what the trace calls it"),
        PROCESS,
        PID,
        TARGET,
        Column("state", "state", Kind.TEXT, "state of the channel, such as Active"),
        Column("start_latency", "start-latency", Kind.DURATION, "from CPU submission to start"),
        Column("depth", "event-depth", Kind.INTEGER, "lane on the channel's track"),
        Column("bytes", "bytes", Kind.INTEGER, "bytes moved, as the trace states them"),
        Column("frame", "frame-number", Kind.INTEGER, "number of the frame"),
        COMMAND_BUFFER,
        ENCODER,
        Column("submission", "gpu-submission-id", Kind.IDENTIFIER, "id of the GPU submission"),
        DEVICE,
        CLOCK,
    ),
)


gpu_states = Schema(
    name="gpu_states",
    meaning="Stretches in which the device was active or idle, whoever used it.",
    sources=(gpu("metal-gpu-state-intervals", unused="color"),),
    columns=(
        START,
        DURATION,
        Column("state", "state", Kind.TEXT, "Active or Idle"),
        Column("label", "label", Kind.TEXT, "what the trace calls it"),
        Column("events", "num-events", Kind.INTEGER, "pieces of work in it"),
        DEVICE,
        CLOCK,
    ),
)


gpu_jobs = Schema(
    name="gpu_jobs",
    meaning=(
        "One row for each row of `gpu_intervals`, with its encoder and its command buffer: by "
        "the ids of both among `encoders`, else by one of them among `object_labels`. Null where "
        "the recording has no such table, no such row, or several that differ."
    ),
    sources=(),
    columns=(
        *gpu_intervals.columns[:-1],
        text("encoder_label", "", "label of the encoder"),
        text("encoder_kind", "", "kind of encoder"),
        text("command_buffer_label", "", "label of the command buffer"),
        instant("submitted", "", "start of its row among `submissions`"),
        instant("committed", "", "when the program committed it, from `commits`"),
        instant("completed", "", "when it was complete, from `completions`"),
        span("commit_to_complete", "", "from its commit until it was complete"),
        span(
            "latency",
            "",
            "from the commit to the start on the GPU: `start_latency` where the trace has it, "
            "else from `committed`, else from `submitted`",
        ),
        gpu_intervals.columns[-1],
    ),
    join=jobs,
)


gpu_counters = Schema(
    name="gpu_counters",
    meaning=(
        "One row for each sample of a counter, in long form. Counters are device-wide: they "
        "count all processes. Key by name: a counter's id differs between chips. Where the "
        "recording has only raw samples, they are named by `gpu_counter_infos`, and have no "
        "duration."
    ),
    sources=(
        gpu(
            "metal-gpu-counter-intervals",
            unused="counter-id percent-value color group-index ring-buffer-index",
        ),
    ),
    columns=(
        START,
        DURATION,
        Column("counter", "name", Kind.TEXT, "name of the counter"),
        Column("value", "value", Kind.NUMBER, "percent if `percentage`; else no unit is stated"),
        Column("percentage", "is-percentage", Kind.FLAG, "whether the value is in percent"),
        Column("label", "label", Kind.TEXT, "the value in words, such as a limiter's name"),
        DEVICE,
        CLOCK,
    ),
    join=named_counters,
)


gpu_counter_values = Schema(
    name="gpu_counter_values",
    meaning=(
        "One row for each raw sample of a counter, by the counter's id, which differs between "
        "chips. `gpu_counters` has the names."
    ),
    sources=(gpu("gpu-counter-value"),),
    columns=(
        MOMENT,
        identifier("counter", "counter-id", "id of the counter, on this device"),
        Column("value", "value", Kind.NUMBER, "value; in percent for a counter in percent"),
        ACCELERATOR,
        integer("sample", "sample-index", "number of the sample"),
        integer("ring_buffer", "ring-buffer-index", "number of the ring buffer"),
        CLOCK,
    ),
)
gpu_counter_infos = Schema(
    name="gpu_counter_infos",
    meaning="One row for each counter that a device can count.",
    sources=(gpu("gpu-counter-info"),),
    columns=(
        MOMENT,
        identifier("counter", "counter-id", "id of the counter, on this device"),
        text("name", "name", "name of the counter"),
        text("type", "type", "Percentage or Value"),
        bits("most", "max-value", "largest value: 100 for a percentage"),
        text("description", "description", "what it counts, in Apple's words"),
        ACCELERATOR,
        integer("group", "group-index", "number of the group it is sampled in"),
        integer("ring_buffers", "ring-buffer-count", "ring buffers that it is written to"),
        flag("weighted", "require-weighted-accumulation", "whether samples have to be weighted"),
        integer("interval", "sample-interval", "interval of the samples, as the trace states it"),
        CLOCK,
    ),
    together=True,
)
gpu_counter_profiles = Schema(
    name="gpu_counter_profiles",
    meaning="The moments at which a counter profile was set.",
    sources=(gpu("metal-gpu-counter-profile"),),
    columns=(MOMENT, CLOCK),
)
gpu_streams = Schema(
    name="gpu_streams",
    meaning="One row for each block of the GPU's own profiling data, which is opaque.",
    sources=(gpu("gpu-aps-stream"),),
    columns=(
        MOMENT,
        integer("buffer", "buffer-index", "number of the buffer"),
        integer("source", "source-index", "number of the source"),
        integer("type", "source-type", "kind of the source, as a number"),
        text("stream", "stream", "the data, as the export writes them"),
        CLOCK,
    ),
)


_DEVICE = text("device", "", "name of the device")

gpu_counters_wide = Schema(
    name="gpu_counters_wide",
    meaning="One row for each moment at which counters of a device were sampled.",
    sources=(),
    columns=(Column("start", "", Kind.TIME, "when the samples were taken"), _DEVICE, CLOCK),
    join=counters_side_by_side,
    more="a number for each counter, under the name that the trace gives it",
)
gpu_counter_summaries = Schema(
    name="gpu_counter_summaries",
    meaning="One row for each counter of a device: what it is, and its values in sum.",
    sources=(),
    columns=(
        text("counter", "", "name of the counter"),
        text("unit", "", "percent; null where the trace states no unit"),
        flag("percentage", "", "whether the values are in percent"),
        integer("samples", "", "how many samples there are"),
        Column("mean", "", Kind.NUMBER, "mean of the samples, each counted alike"),
        Column("least", "", Kind.NUMBER, "least value"),
        Column("most", "", Kind.NUMBER, "largest value"),
        text("description", "", "what it counts, in Apple's words"),
        _DEVICE,
    ),
    join=summarized_counters,
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
