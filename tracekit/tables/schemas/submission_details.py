"""What the trace tells of submissions besides the tables that have a file of their own."""

from tracekit.tables.schema import (
    ACCELERATOR,
    CLOCK,
    COMMAND_BUFFER,
    ENCODER,
    MOMENT,
    OWNER,
    SUBMISSION,
    Schema,
    bits,
    flag,
    gpu,
    identifier,
    instant,
    integer,
    text,
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
