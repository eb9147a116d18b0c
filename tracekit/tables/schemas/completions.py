"""`completions`: when command buffers were done."""

from tracekit.tables.schema import CLOCK, COMMAND_BUFFER, MOMENT, Column, Kind, Schema, gpu

completions = Schema(
    name="completions",
    meaning="One row for each command buffer that completed; it names no process.",
    sources=(gpu("metal-command-buffer-completed"),),
    columns=(
        MOMENT,
        COMMAND_BUFFER,
        Column("commit", "commit-id", Kind.IDENTIFIER, "id of the commit"),
        CLOCK,
    ),
    versions="27: commit-id is uint64, uint32 before.",
)
