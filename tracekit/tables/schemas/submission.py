"""How work goes from a program to the device: encoders, command buffers, the driver."""

from tracekit.tables.derived import lives
from tracekit.tables.schema import (
    ACCELERATOR,
    CLOCK,
    COMMAND_BUFFER,
    DEPTH,
    DEVICE,
    DURATION,
    ENCODER,
    LABEL,
    MOMENT,
    OWNER,
    PID,
    PROCESS,
    START,
    SUBMISSION,
    TARGET,
    THREAD,
    Column,
    Kind,
    Schema,
    bits,
    flag,
    gpu,
    host,
    identifier,
    instant,
    integer,
    span,
    text,
)

_OWNER = tuple(
    Column(one.name, "", one.kind, one.meaning) for one in (COMMAND_BUFFER, PROCESS, PID, TARGET)
)

command_buffers = Schema(
    name="command_buffers",
    meaning=(
        "One row for each command buffer that any table names. Null where the recording has no "
        "such table, no such row, or several that differ."
    ),
    sources=(),
    columns=(
        *_OWNER[:1],
        text("label", "", "label, from `encoders`, else from `object_labels`"),
        *_OWNER[1:],
        instant("submitted", "", "start of its row among `submissions`"),
        instant("committed", "", "when the program committed it, from `commits`"),
        instant("gpu_start", "", "when its first work on the GPU began"),
        instant("gpu_end", "", "when its last work on the GPU ended"),
        instant("completed", "", "when it was complete, from `completions`"),
        span("commit_to_start", "", "from its commit to its first work on the GPU"),
        span("commit_to_complete", "", "from its commit until it was complete"),
        integer("gpu_intervals", "", "pieces of work on the GPU"),
        span("gpu_time", "", "sum of their durations, which may overlap"),
        integer("encoders", "", "encoders in it, from `encoders`"),
        span("encoder_time", "", "sum of the CPU time between their first and last calls"),
        integer("error", "", "number of the error it ended with, from `command_buffer_errors`"),
        integer("frame", "", "number of the frame, from `commits`"),
        CLOCK,
    ),
    join=lives,
)


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


encoders = Schema(
    name="encoders",
    meaning="One row for each encoder, with the CPU time between its first and its last call.",
    sources=(
        gpu(
            "metal-application-encoders-list",
            unused="thread cmdbuffer-label-indexed encoder-label-indexed",
        ),
    ),
    columns=(
        START,
        DURATION,
        Column("label", "encoder-label", Kind.TEXT, "label of the encoder"),
        Column("command_buffer_label", "cmdbuffer-label", Kind.TEXT, "label of its buffer"),
        Column("event", "event-type", Kind.TEXT, "kind of encoder"),
        PROCESS,
        PID,
        TARGET,
        THREAD,
        COMMAND_BUFFER,
        ENCODER,
        Column("frame", "frame-number", Kind.INTEGER, "number of the frame"),
        DEVICE,
        CLOCK,
    ),
)


_UNUSED = "event-priority connection-UUID color thread"
_COLUMNS = (
    START,
    DURATION,
    text("driver", "gpu-driver-name", "name of the driver"),
    text("event", "event-type", "kind of event, such as wiring memory"),
    LABEL,
    DEPTH,
    *OWNER,
    THREAD,
    identifier("resource", "resource-id", "id of the resource"),
    flag("per_thread", "show-per-thread", "whether it is shown for each thread"),
    DEVICE,
    CLOCK,
)

driver_events = Schema(
    name="driver_events",
    meaning="Events of the GPU driver that took time, such as wiring memory.",
    sources=(gpu("metal-driver-event-intervals", unused=_UNUSED),),
    columns=_COLUMNS,
)
driver_thread_events = Schema(
    name="driver_thread_events",
    meaning="Events of the GPU driver that belong to one thread.",
    sources=(gpu("metal-driver-event-per-thread-intervals", unused=_UNUSED),),
    columns=_COLUMNS,
)


driver_intervals = Schema(
    name="driver_intervals",
    meaning="Work of the GPU driver, such as processing a command buffer or wiring memory.",
    sources=(
        gpu(
            "metal-driver-intervals",
            unused="event-priority connection-UUID color thread object-id lane",
        ),
    ),
    columns=(
        START,
        DURATION,
        Column("driver", "gpu-driver-name", Kind.TEXT, "name of the driver"),
        Column("event", "event-type", Kind.TEXT, "kind of work"),
        Column("label", "event-label", Kind.TEXT, "what the trace calls it"),
        Column("depth", "event-depth", Kind.INTEGER, "lane on the track"),
        PROCESS,
        PID,
        TARGET,
        THREAD,
        DEVICE,
        CLOCK,
    ),
)


_COMMIT_ID = "27: commit-id is uint64, uint32 before."
_CHANNEL = identifier("channel", "channel-id", "id of the channel")
_COMMIT = identifier("commit", "commit-id", "id of the commit")

command_buffer_errors = Schema(
    name="command_buffer_errors",
    meaning="One row for each command buffer that ended with an error.",
    sources=(gpu("metal-command-buffer-error"),),
    columns=(
        MOMENT,
        COMMAND_BUFFER,
        integer("error", "error-code", "number of the error"),
        CLOCK,
    ),
)
commits = Schema(
    name="commits",
    meaning="One row for each command buffer, with the time of its commit and its frame.",
    sources=(
        gpu(
            "metal-command-buffer-frame-assignment",
            unused="frame-color present-surface-id compositor-cmdbuffer-id xr-frame pid",
        ),
    ),
    columns=(
        MOMENT,
        COMMAND_BUFFER,
        instant("committed", "commit-time", "when the program committed it"),
        _COMMIT,
        integer("frame", "frame-number", "number of the frame"),
        integer("place", "cmdbuffer-index", "its place in the frame"),
        flag("presents", "has-present", "whether it presents a drawable"),
        flag("compositor", "is-compositor", "whether it is the compositor's"),
        text("type", "type-name", "kind of command buffer"),
        *OWNER,
        CLOCK,
    ),
    versions=_COMMIT_ID,
)
command_buffer_devices = Schema(
    name="command_buffer_devices",
    meaning="Which device each command buffer was for.",
    sources=(gpu("metal-command-buffer-to-accelerator-id"),),
    columns=(MOMENT, COMMAND_BUFFER, ACCELERATOR, CLOCK),
)
gpu_submissions = Schema(
    name="gpu_submissions",
    meaning="One row for each submission to the GPU, with its command buffer and its encoder.",
    sources=(gpu("metal-gpu-submission-to-command-buffer-id", unused="pid"),),
    columns=(
        MOMENT,
        SUBMISSION,
        COMMAND_BUFFER,
        ENCODER,
        identifier("segment", "segment-id", "id of the segment"),
        identifier("segment_list", "segmentlist-id", "id of the list of segments"),
        _CHANNEL,
        integer("type", "submission-type", "kind of submission, as a number"),
        bits("metadata_1", "metadata-1", "data of the driver"),
        bits("metadata_2", "metadata-2", "further data of the driver"),
        integer("model", "model", "model of submission, as a number"),
        _COMMIT,
        integer("coalesced", "num-coalasced-encoders", "encoders that were coalesced"),
        *OWNER,
        ACCELERATOR,
        CLOCK,
    ),
    versions=_COMMIT_ID,
)
execution_points = Schema(
    name="execution_points",
    meaning="One row for each start and each end of a submission on a channel of the GPU.",
    sources=(gpu("metal-gpu-execution-points"),),
    columns=(
        MOMENT,
        integer("function", "function", "1 for a start, 2 for an end"),
        SUBMISSION,
        identifier("slot", "slot-id", "id of the slot"),
        _CHANNEL,
        ACCELERATOR,
        text("note", "note", "what the trace notes"),
        CLOCK,
    ),
)


submissions = Schema(
    name="submissions",
    meaning=(
        "One row for each event in the life of a command buffer on the CPU's side. From the "
        "host recorder: from the call that builds a step to its return."
    ),
    sources=(
        gpu(
            "metal-application-command-buffer-submissions",
            unused="track-label thread event-icon encoder-time-label frame-number color",
        ),
        host("host-submissions", unused="thread"),
    ),
    columns=(
        START,
        DURATION,
        Column("event", "event-type", Kind.TEXT, "kind of event"),
        Column("label", "event-label", Kind.TEXT, "what the trace calls it"),
        Column("encoders", "num-encoders", Kind.INTEGER, "encoders in the command buffer"),
        Column("encoder_time", "encoder-time", Kind.DURATION, "time spent encoding"),
        PROCESS,
        PID,
        TARGET,
        THREAD,
        COMMAND_BUFFER,
        DEVICE,
        CLOCK,
    ),
)
