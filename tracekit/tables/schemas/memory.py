"""Memory: of the GPU, and of the workload's process phase by phase."""

from tracekit.tables.schema import (
    CLOCK,
    DEPTH,
    DEVICE,
    DURATION,
    MOMENT,
    OWNER,
    START,
    THREAD,
    Column,
    Kind,
    Schema,
    gpu,
    host,
    identifier,
    instant,
    integer,
    size,
    stack,
    text,
)

_EVENT = text("event", "event-type", "kind of event")
_VIDEO = size("video_memory", "vidmem-bytes", "bytes of the GPU's own memory")
_SYSTEM = size("system_memory", "sysmem-bytes", "bytes of the system's memory")
_TYPE = text("type", "resource-type", "kind of resource")
_RESOURCE = Column("resource", "resource-id", Kind.IDENTIFIER, "id of the resource", doubtful=True)
_SET = identifier("set", "residency-set-id", "id of the residency set")
_SET_LABEL = text("label", "label", "label of the residency set")

resource_allocations = Schema(
    name="resource_allocations",
    meaning="One row for each resource of Metal that was allocated or freed.",
    sources=(gpu("metal-resource-allocations", unused="event-icon thread"),),
    columns=(
        MOMENT,
        DURATION,
        _EVENT,
        text("label", "label", "label of the resource"),
        text("text", "event-label", "what the trace calls it"),
        _TYPE,
        size("size", "resource-size", "bytes of the resource"),
        _VIDEO,
        _SYSTEM,
        _RESOURCE,
        Column(
            "parent",
            "parent-resource-id",
            Kind.IDENTIFIER,
            "id of what it is a part of, such as a heap",
            doubtful=True,
        ),
        *OWNER,
        THREAD,
        *stack("backtrace"),
        DEVICE,
        CLOCK,
    ),
    versions="27.2: backtrace is a tagged-backtrace, a backtrace before.",
)
kernel_allocations = Schema(
    name="kernel_allocations",
    meaning="One row for each resource that the kernel allocated for the GPU.",
    sources=(gpu("metal-kernel-resource-allocations", unused="thread"),),
    columns=(
        MOMENT,
        _EVENT,
        _TYPE,
        _VIDEO,
        _SYSTEM,
        _RESOURCE,
        *OWNER,
        THREAD,
        DEVICE,
        CLOCK,
    ),
)
allocated_sizes = Schema(
    name="allocated_sizes",
    meaning="Stretches in which a process had so many bytes of GPU memory allocated.",
    sources=(gpu("metal-current-allocated-size", unused="color track-name"),),
    columns=(
        START,
        DURATION,
        instant("end", "end", "when it ended"),
        size("size", "current-allocated-size", "bytes that were allocated"),
        text("label", "label", "the bytes in words"),
        *OWNER,
        CLOCK,
    ),
)
wired_memory = Schema(
    name="wired_memory",
    meaning="Stretches in which the GPU had so many bytes of the system's memory wired.",
    sources=(gpu("metal-wired-sysmem-level-interval", unused="color"),),
    columns=(
        START,
        DURATION,
        size("size", "bytes", "bytes that were wired"),
        _EVENT,
        text("label", "event-label", "the bytes in words"),
        DEVICE,
        CLOCK,
    ),
)
residency_intervals = Schema(
    name="residency_intervals",
    meaning="Stretches in the life of a residency set.",
    sources=(gpu("metal-residency-set-interval", unused="event-priority color"),),
    columns=(
        START,
        DURATION,
        _EVENT,
        _SET,
        _SET_LABEL,
        text("text", "event-label", "what the trace calls it"),
        DEPTH,
        *OWNER,
        DEVICE,
        CLOCK,
    ),
)
residency_changes = Schema(
    name="residency_changes",
    meaning="One row for each allocation that was added to a residency set or taken from it.",
    sources=(gpu("metal-residency-set-resource-event"),),
    columns=(
        MOMENT,
        _EVENT,
        _SET,
        _SET_LABEL,
        identifier("allocation", "allocation-id", "id of the allocation"),
        text("allocation_label", "allocation-label", "label of the allocation"),
        text("allocation_type", "allocation-type", "kind of allocation"),
        size("size", "allocation-size", "bytes of the allocation"),
        *OWNER,
        DEVICE,
        CLOCK,
    ),
)
residency_uses = Schema(
    name="residency_uses",
    meaning="One row for each use of a residency set.",
    sources=(gpu("metal-residency-set-usage-event", unused="event-icon"),),
    columns=(
        MOMENT,
        _EVENT,
        _SET,
        _SET_LABEL,
        text("object_label", "metal-object-label", "label of what used it"),
        text("text", "event-label", "what the trace calls it"),
        size("size", "allocated-size", "bytes of the set"),
        integer("allocations", "num-allocations", "allocations in the set"),
        text("lane", "lane", "lane on the track"),
        *OWNER,
        DEVICE,
        CLOCK,
    ),
)


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
