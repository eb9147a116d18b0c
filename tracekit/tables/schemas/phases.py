"""`phases`: the stretches of the workload's life, on the trace's time."""

from tracekit.tables.derived import phases_of_signposts
from tracekit.tables.schema import CLOCK, DURATION, START, Column, Kind, Schema, host

phases = Schema(
    name="phases",
    meaning=(
        "One row for each phase, by the workload's own marks: prepare, warm-up, steady, overhead. "
        "A program that is no workload can mark its own, as signpost intervals of the subsystem "
        "`tracekit` and the category `phases`; where the target has such, they count."
    ),
    sources=(host("host-phases"),),
    columns=(START, DURATION, Column("name", "name", Kind.TEXT, "name of the phase"), CLOCK),
    join=phases_of_signposts,
    joined_first=True,
)
