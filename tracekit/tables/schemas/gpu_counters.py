"""`gpu_counters`: samples of the GPU's performance counters."""

from tracekit.tables.derived import named_counters
from tracekit.tables.schema import CLOCK, DEVICE, DURATION, START, Column, Kind, Schema, gpu

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
