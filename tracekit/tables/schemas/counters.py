"""What GPU counters are made of: samples, and what each counter is."""

from tracekit.tables.schema import (
    ACCELERATOR,
    CLOCK,
    MOMENT,
    Column,
    Kind,
    Schema,
    bits,
    flag,
    gpu,
    identifier,
    integer,
    text,
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
