"""`gpu_states`: when the device as a whole was active or idle."""

from tracekit.tables.schema import CLOCK, DEVICE, DURATION, START, Column, Kind, Schema, gpu

gpu_states = Schema(
    name="gpu_states",
    meaning="Stretches in which the device was active or idle, whoever used it.",
    sources=(gpu("metal-gpu-state-intervals", unused="color"),),
    columns=(
        START,
        DURATION,
        Column("state", "state", Kind.TEXT, "Active or Idle"),
        Column("label", "label", Kind.TEXT, "what the trace calls it"),
        Column("events", "num-events", Kind.INTEGER, "pieces of work in it"),
        DEVICE,
        CLOCK,
    ),
)
