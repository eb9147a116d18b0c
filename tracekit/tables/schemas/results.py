"""`results`: what the workload itself measured."""

from tracekit.tables.schema import CLOCK, MOMENT, Column, Kind, Schema, host

results = Schema(
    name="results",
    meaning="One row for each number that the workload found out about itself.",
    sources=(host("host-results"),),
    columns=(
        MOMENT,
        Column("name", "name", Kind.TEXT, "what was measured"),
        Column("value", "value", Kind.NUMBER, "the number; null where there is none"),
        Column("unit", "unit", Kind.TEXT, "its unit"),
        Column("better", "better", Kind.TEXT, "lower, higher or neither: which is good news"),
        Column("reason", "reason", Kind.TEXT, "why there is no number"),
        CLOCK,
    ),
)
