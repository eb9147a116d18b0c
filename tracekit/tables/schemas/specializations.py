"""`specializations`: pipelines that the workload knows it made."""

from tracekit.tables.schema import CLOCK, MOMENT, Column, Kind, Schema, host

specializations = Schema(
    name="specializations",
    meaning="One row for each pipeline of the workload, when the workload first used it.",
    sources=(host("host-specializations"),),
    columns=(MOMENT, Column("name", "name", Kind.TEXT, "name of the specialization"), CLOCK),
)
