"""`step_models`: what one step of the workload is known to do."""

from tracekit.tables.schema import CLOCK, MOMENT, Column, Kind, Schema, host

step_models = Schema(
    name="step_models",
    meaning="One row for each variant of a step: its tokens, bytes, operations and dispatches.",
    sources=(host("host-step-model"),),
    columns=(
        MOMENT,
        Column("backend", "backend", Kind.TEXT, "where the steps ran: metal or cpu"),
        Column("tokens", "tokens", Kind.INTEGER, "tokens of a step"),
        Column("bytes_read", "bytes-read", Kind.INTEGER, "bytes read, every access counted"),
        Column("bytes_unique", "bytes-unique", Kind.INTEGER, "bytes read, each counted once"),
        Column("bytes_written", "bytes-written", Kind.INTEGER, "bytes written"),
        Column("flops", "flops", Kind.INTEGER, "floating-point operations"),
        Column("dispatches", "dispatches", Kind.INTEGER, "GPU dispatches to expect"),
        Column("variant", "variant", Kind.TEXT, "which of several compared things it is of"),
        CLOCK,
    ),
)
