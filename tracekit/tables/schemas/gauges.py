"""`gauges`: levels at moments, by the workload or a monitor beside it."""

from tracekit.tables.schema import CLOCK, MOMENT, Column, Kind, Schema, host

gauges = Schema(
    name="gauges",
    meaning="One row for each reading of a level, such as blocks in use or the GPU's clock.",
    sources=(host("host-gauges"),),
    columns=(
        MOMENT,
        Column("name", "name", Kind.TEXT, "what was read"),
        Column("value", "value", Kind.NUMBER, "the level"),
        Column("unit", "unit", Kind.TEXT, "what the number counts"),
        Column("source", "source", Kind.TEXT, "who read it: workload, or a monitor's name"),
        CLOCK,
    ),
)
