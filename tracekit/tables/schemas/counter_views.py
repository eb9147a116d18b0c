"""Counters side by side, and summed up."""

from tracekit.tables.derived import counters_side_by_side, summarized_counters
from tracekit.tables.schema import CLOCK, Column, Kind, Schema, flag, integer, text

_DEVICE = text("device", "", "name of the device")

gpu_counters_wide = Schema(
    name="gpu_counters_wide",
    meaning="One row for each moment at which counters of a device were sampled.",
    sources=(),
    columns=(Column("start", "", Kind.TIME, "when the samples were taken"), _DEVICE, CLOCK),
    join=counters_side_by_side,
    more="a number for each counter, under the name that the trace gives it",
)
gpu_counter_summaries = Schema(
    name="gpu_counter_summaries",
    meaning="One row for each counter of a device: what it is, and its values in sum.",
    sources=(),
    columns=(
        text("counter", "", "name of the counter"),
        text("unit", "", "percent; null where the trace states no unit"),
        flag("percentage", "", "whether the values are in percent"),
        integer("samples", "", "how many samples there are"),
        Column("mean", "", Kind.NUMBER, "mean of the samples, each counted alike"),
        Column("least", "", Kind.NUMBER, "least value"),
        Column("most", "", Kind.NUMBER, "largest value"),
        text("description", "", "what it counts, in Apple's words"),
        _DEVICE,
    ),
    join=summarized_counters,
)
