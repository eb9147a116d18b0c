"""`phases`: the stretches of the workload's life, on the trace's time."""

from tracekit.tables.schema import CLOCK, DURATION, START, Column, Kind, Schema, host

phases = Schema(
    name="phases",
    meaning=(
        "One row for each phase, by the workload's own marks: prepare, warm-up, steady, overhead."
    ),
    sources=(host("host-phases"),),
    columns=(START, DURATION, Column("name", "name", Kind.TEXT, "name of the phase"), CLOCK),
)
