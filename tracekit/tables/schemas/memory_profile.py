"""`memory_profile`: the memory of the workload's process, phase by phase."""

from tracekit.tables.schema import CLOCK, MOMENT, Column, Kind, Schema, host, size

memory_profile = Schema(
    name="memory_profile",
    meaning=(
        "One row for each sort of memory at the end of each phase; baseline is before the "
        "workload was loaded."
    ),
    sources=(host("host-memory-profile"),),
    columns=(
        MOMENT,
        Column("phase", "phase", Kind.TEXT, "the phase that was over, or baseline"),
        Column(
            "what",
            "what",
            Kind.TEXT,
            "resident; mlx_active, mlx_cache and mlx_peak since the phase before; by vmmap on "
            "macOS: footprint, and accelerator, the resident regions of the GPU",
        ),
        size("bytes", "bytes", "how much; null where it is not known"),
        Column("reason", "reason", Kind.TEXT, "why it is not known"),
        CLOCK,
    ),
)
