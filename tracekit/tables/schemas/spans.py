"""`spans`: what the host did inside the workload's steps."""

from tracekit.tables.schema import CLOCK, DURATION, START, Column, Kind, Schema, host

spans = Schema(
    name="spans",
    meaning="One row for each thing that the workload says it did inside a step.",
    sources=(host("host-spans"),),
    columns=(
        START,
        DURATION,
        Column("name", "name", Kind.TEXT, "what was done, such as admit or prefill"),
        CLOCK,
    ),
)
