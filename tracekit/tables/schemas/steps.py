"""`steps`: the workload's own steps, on the trace's time."""

from tracekit.tables.schema import CLOCK, DURATION, START, Column, Kind, Schema, host

steps = Schema(
    name="steps",
    meaning="One row for each step that the workload made, by its own marks.",
    sources=(host("host-steps"),),
    columns=(
        START,
        DURATION,
        Column("index", "index", Kind.INTEGER, "0, 1, 2 … over all phases"),
        Column("phase", "phase", Kind.TEXT, "phase that the step belongs to"),
        Column("submitted", "submitted", Kind.DURATION, "from the start until handed over"),
        Column("tokens", "tokens", Kind.INTEGER, "tokens that the step produced"),
        Column("variant", "variant", Kind.TEXT, "which of several compared things the step was"),
        CLOCK,
    ),
)
