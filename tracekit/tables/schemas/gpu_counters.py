"""`gpu_counters`: samples of the GPU's performance counters."""

from tracekit.tables.schema import CLOCK, DEVICE, DURATION, START, Column, Kind, Schema, gpu

gpu_counters = Schema(
    name="gpu_counters",
    meaning=(
        "One row for each sample of a counter, in long form. Counters are device-wide: they "
        "count all processes. Key by name: a counter's id differs between chips."
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
        Column("value", "value", Kind.NUMBER, "value; in percent where `percentage` is true"),
        Column("percentage", "is-percentage", Kind.FLAG, "whether the value is in percent"),
        Column("label", "label", Kind.TEXT, "the value in words, such as a limiter's name"),
        DEVICE,
        CLOCK,
    ),
)
