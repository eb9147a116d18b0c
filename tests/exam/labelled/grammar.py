"""The tables of a Metal System Trace: their columns, in the order and with the types of exports."""

from labelled.writer import ExportColumn, ExportTable

_CORE = "start:start-time duration:duration"
_TAIL = "process:process thread:thread gpu:metal-device-name"
_BUFFER = "metal-command-buffer-id"
_PRIORITY = "event-priority:metal-workload-priority connection-UUID:connection-uuid64"

COLUMNS: dict[str, str] = {
    "metal-gpu-intervals": f"{_CORE} channel-name:gpu-channel-name frame-number:gpu-frame-number "
    "start-latency:duration event-depth:metal-nesting-level event-label:formatted-label "
    "state:gpu-state connection-UUID:connection-uuid64 color:render-buffer-depth process:process "
    "gpu:metal-device-name channel-subtitle:metal-object-label "
    "iosurface-accesses:formatted-label bytes:size-in-bytes "
    f"cmdbuffer-id:{_BUFFER} encoder-id:{_BUFFER} gpu-submission-id:uint64",
    "metal-gpu-state-intervals": f"{_CORE} state:gpu-state label:formatted-label "
    "color:render-buffer-depth num-events:uint32 gpu:metal-device-name",
    "metal-application-command-buffer-submissions": f"{_CORE} event-type:metal-event-name "
    "gpu:metal-device-name track-label:metal-object-label num-encoders:uint32 "
    "encoder-time:duration process:process thread:thread event-icon:metal-event "
    "event-label:narrative encoder-time-label:narrative frame-number:uint32 "
    f"color:render-buffer-depth cmdbuffer-id:{_BUFFER}",
    "metal-application-encoders-list": f"{_CORE} thread:thread process:process "
    "gpu:metal-device-name frame-number:gpu-frame-number cmdbuffer-label:metal-object-label "
    "cmdbuffer-label-indexed:metal-object-label encoder-label:metal-object-label "
    "encoder-label-indexed:metal-object-label event-type:metal-event-name "
    f"cmdbuffer-id:{_BUFFER} encoder-id:{_BUFFER}",
    "metal-application-intervals": f"{_CORE} process:process gpu:metal-device-name "
    f"event-depth:metal-nesting-level event-label:formatted-label {_PRIORITY} "
    "color:render-buffer-depth thread:thread event-type:metal-event-name "
    f"cmdbuffer-id:{_BUFFER} encoder-id:{_BUFFER}",
    "metal-command-buffer-completed": f"timestamp:start-time cmdbuffer-id:{_BUFFER} "
    "commit-id:uint32",
    "metal-command-buffer-error": f"timestamp:start-time cmdbuffer-id:{_BUFFER} error-code:uint32",
    "metal-command-buffer-frame-assignment": f"timestamp:start-time cmdbuffer-id:{_BUFFER} "
    "commit-time:uint64 commit-id:uint32 frame-number:uint32 frame-color:uint32 "
    "cmdbuffer-index:uint32 has-present:uint32 is-compositor:uint32 type-name:string "
    f"present-surface-id:gpu-driver-surface compositor-cmdbuffer-id:{_BUFFER} xr-frame:uint32 "
    "pid:uint64 process:process",
    "metal-gpu-submission-to-command-buffer-id": f"timestamp:start-time cmdbuffer-id:{_BUFFER} "
    f"gpu-submission-id:{_BUFFER} segment-id:{_BUFFER} segmentlist-id:{_BUFFER} "
    f"encoder-id:{_BUFFER} accelerator-id:uint64 channel-id:{_BUFFER} submission-type:uint32 "
    "metadata-1:uint64 metadata-2:uint64 pid:uint32 process:process model:uint32 "
    "commit-id:uint32 num-coalasced-encoders:uint32",
    "metal-driver-intervals": f"{_CORE} gpu-driver-name:gpu-driver-name "
    "event-type:metal-object-label event-depth:metal-nesting-level event-label:formatted-label "
    f"{_PRIORITY} color:render-buffer-depth {_TAIL} object-id:{_BUFFER} lane:formatted-label",
    "metal-driver-event-intervals": f"{_CORE} gpu-driver-name:gpu-driver-name "
    "event-type:gpu-driver-name event-depth:metal-nesting-level event-label:formatted-label "
    f"{_PRIORITY} color:render-buffer-depth {_TAIL} resource-id:{_BUFFER} show-per-thread:boolean",
    "graphics-compiler-activity-intervals": f"{_CORE} event-plane:metal-encoding-para "
    "compiler:shader-compiler-name program-type:formatted-label process:process "
    "event-priority:metal-workload-priority color:render-buffer-depth",
    "metal-shader-profiler-shader-list": "timestamp:start-time name:metal-object-label "
    "label:metal-object-label pso-name:metal-object-label id:uint64 pc-start:uint64 pc-end:uint64 "
    "shader-type:string process:process gpu:metal-device-name",
    "graphics-compiler-spill-events": f"timestamp:start-time cmdbuffer-id:{_BUFFER} "
    "encoder-id:uint64 spilled-bytes:size-in-bytes process:process",
    "gpu-performance-state-intervals": f"{_CORE} gpu-performance-state:gpu-performance-state "
    "track-label:string is-induced:boolean narrative:narrative event-type:gpu-event-name",
    "gpu-performance-device-state-intervals": f"{_CORE} accelerator-id:uint64 "
    "state:uint32 desired-state:uint32",
    "device-thermal-state-intervals": f"{_CORE} end:start-time thermal-state:thermal-state "
    "track-label:string is-induced:boolean narrative:narrative",
    "metal-current-allocated-size": f"{_CORE} end:start-time process:process "
    "current-allocated-size:size-in-bytes label:formatted-label track-name:formatted-label "
    "color:render-buffer-depth",
    "metal-resource-allocations": "timestamp:start-time duration:duration process:process "
    "thread:thread resource-id:gpu-hardware-trace parent-resource-id:gpu-hardware-trace "
    "label:metal-object-label vidmem-bytes:size-in-bytes sysmem-bytes:size-in-bytes "
    "resource-size:size-in-bytes event-label:formatted-label gpu:metal-device-name "
    "resource-type:metal-object-label event-type:gpu-memory-event-name backtrace:backtrace "
    "event-icon:metal-event",
    "gpu-counter-value": "timestamp:event-time counter-id:uint32 value:fixed-decimal "
    "accelerator-id:uint64 sample-index:uint32 ring-buffer-index:uint32",
    "gpu-counter-info": "timestamp:event-time counter-id:uint32 name:gpu-counter-name "
    "max-value:uint64 accelerator-id:uint64 description:string group-index:uint32 type:string "
    "ring-buffer-count:uint32 require-weighted-accumulation:boolean sample-interval:uint32",
}
"""Columns of Instruments 26.0, as mnemonic:type."""
_SINCE_27 = {"graphics-compiler-spill-events"}
_OF_27 = {
    "metal-command-buffer-completed": {"commit-id": "uint64"},
    "metal-command-buffer-frame-assignment": {"commit-id": "uint64"},
    "metal-gpu-submission-to-command-buffer-id": {"commit-id": "uint64"},
    "metal-resource-allocations": {"backtrace": "tagged-backtrace"},
}


def schemas(version: str) -> tuple[str, ...]:
    """Return the schemas that a trace of this version of Instruments has."""
    return tuple(name for name in COLUMNS if _is_27(version) or name not in _SINCE_27)


def table(schema: str, version: str, index: int, renamed: str = "") -> ExportTable:
    """Return the table as that version writes it; a column `renamed` has a name nobody knows."""
    changed = _OF_27.get(schema, {}) if _is_27(version) else {}
    pairs = (column.split(":") for column in COLUMNS[schema].split())
    columns = tuple(
        ExportColumn(f"{name}-v2" if name == renamed else name, name, changed.get(name, kind))
        for name, kind in pairs
    )
    return ExportTable(schema, columns, index)


def _is_27(version: str) -> bool:
    return int(version.partition(".")[0]) >= 27
