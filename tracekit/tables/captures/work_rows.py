"""The rows of a capture's work: calls, command buffers, encoders, dispatches and their bindings."""

from collections.abc import Mapping, Sequence

from tracekit.tables.captures import codes
from tracekit.tables.captures.arguments import list_bindings, list_buffers
from tracekit.tables.captures.capture import FrameCapture
from tracekit.tables.captures.commands import CapturedDispatch
from tracekit.tables.captures.records import CallArgument, Scalar
from tracekit.tables.captures.row_tables import (
    FLAG,
    IDENTIFIER,
    INTEGER,
    NUMBER,
    TEXT,
    ObjectNumbers,
    Rows,
    RowTable,
    hide_folders,
)

_LONGEST_TEXT = 200  # letters of a call's arguments
_COMPUTE = "compute"
_RECEIVER = frozenset({"C"})

_CALLS = {
    "index": INTEGER,
    "function-index": INTEGER,
    "command-buffer": INTEGER,
    "encoder": INTEGER,
    "code": TEXT,
    "name": TEXT,
    "evidence": TEXT,
    "signature": TEXT,
    "receiver": IDENTIFIER,
    "arguments": TEXT,
    "result": IDENTIFIER,
    "call-site": INTEGER,
}


def _list_calls(capture: FrameCapture) -> Rows:
    sites: dict[int, int] = {}
    for call in capture.commands.calls:
        record = call.record
        name = codes.name_call(record.code, record.signature)
        site: int | None = None
        if record.stack:
            site = sites.setdefault(record.stack[0], len(sites))
        result: int | None = None
        if isinstance(record.result, int) and record.result >= 0:
            result = int(record.result)
        yield {
            "index": record.number,
            "function-index": call.function_number,
            "command-buffer": call.command_buffer,
            "encoder": call.encoder,
            "code": f"0x{record.code & 0xFFFFFFFF:08x}",
            "name": name.name,
            "evidence": str(name.evidence),
            "signature": record.signature,
            "receiver": record.receiver or None,
            "arguments": _describe_arguments(record.arguments),
            "result": result,
            "call-site": site,
        }


def _describe_arguments(arguments: Sequence[CallArgument]) -> str:
    words: list[str] = []
    for argument in arguments:
        if argument.token in _RECEIVER:
            continue
        if isinstance(argument.value, tuple):
            members = [_describe_value(argument.token, value) for value in argument.value]
            words.append(f"({', '.join(members)})")
        else:
            words.append(_describe_value(argument.token, argument.value))
    return ", ".join(words)[:_LONGEST_TEXT]


def _describe_value(token: str, value: Scalar) -> str:
    if isinstance(value, str):
        return f'"{hide_folders(value)}"'
    is_handle = token in {"t", "uw", "w"} and isinstance(value, int)
    if is_handle:
        return f"0x{value:x}"
    return str(value)


_COMMAND_BUFFERS = {
    "index": INTEGER,
    "handle": IDENTIFIER,
    "queue": IDENTIFIER,
    "label": TEXT,
    "committed": FLAG,
    "encoders": INTEGER,
    "dispatches": INTEGER,
    "recorded": INTEGER,
}


def _list_command_buffers(capture: FrameCapture) -> Rows:
    commands = capture.commands
    for command_buffer in commands.command_buffers:
        encoders = [item for item in commands.encoders if item.command_buffer is command_buffer]
        dispatches = [
            item for item in commands.dispatches if item.encoder.command_buffer is command_buffer
        ]
        yield {
            "index": command_buffer.number,
            "handle": command_buffer.handle,
            "queue": command_buffer.queue or None,
            "label": command_buffer.label or None,
            "committed": command_buffer.is_committed,
            "encoders": len(encoders),
            "dispatches": len(dispatches),
            "recorded": len(command_buffer.contents),
        }


_ENCODERS = {
    "index": INTEGER,
    "command-buffer": INTEGER,
    "handle": IDENTIFIER,
    "kind": TEXT,
    "label": TEXT,
    "dispatch-type": TEXT,
    "creator": TEXT,
    "dispatches": INTEGER,
    "barriers": INTEGER,
    "fence-waits": INTEGER,
    "fence-updates": INTEGER,
}


def _list_encoders(capture: FrameCapture) -> Rows:
    commands = capture.commands
    for encoder in commands.encoders:
        creator: str | None = None
        if encoder.creator is not None:
            creator = codes.name_call(encoder.creator.code, encoder.creator.signature).name
        command_buffer: int | None = None
        if encoder.command_buffer is not None:
            command_buffer = encoder.command_buffer.number
        yield {
            "index": encoder.number,
            "command-buffer": command_buffer,
            "handle": encoder.handle,
            "kind": _COMPUTE if encoder.is_compute else None,
            "label": encoder.label or None,
            "dispatch-type": encoder.dispatch_type or None,
            "creator": creator,
            "dispatches": sum(1 for item in commands.dispatches if item.encoder is encoder),
            "barriers": encoder.barriers,
            "fence-waits": encoder.fence_waits,
            "fence-updates": encoder.fence_updates,
        }


_DISPATCHES = {
    "index": INTEGER,
    "function-index": INTEGER,
    "command-buffer": INTEGER,
    "encoder": INTEGER,
    "function": TEXT,
    "kernel": INTEGER,
    "pipeline": INTEGER,
    "call": TEXT,
    "debug-group": TEXT,
    "threads-x": INTEGER,
    "threads-y": INTEGER,
    "threads-z": INTEGER,
    "group-x": INTEGER,
    "group-y": INTEGER,
    "group-z": INTEGER,
    "groups-x": INTEGER,
    "groups-y": INTEGER,
    "groups-z": INTEGER,
    "groups": INTEGER,
    "partial-groups": INTEGER,
    "threadgroup-memory": INTEGER,
    "barriers": INTEGER,
}


def _list_dispatches(capture: FrameCapture) -> Rows:
    numbers = ObjectNumbers(capture)
    for dispatch in capture.commands.dispatches:
        record = dispatch.record
        encoder = dispatch.encoder
        command_buffer: int | None = None
        if encoder.command_buffer is not None:
            command_buffer = encoder.command_buffer.number
        yield {
            "index": dispatch.number,
            "function-index": dispatch.function_number,
            "command-buffer": command_buffer,
            "encoder": encoder.number,
            "function": numbers.name_function(dispatch.pipeline),
            "kernel": numbers.find_kernel(dispatch.pipeline),
            "pipeline": numbers.pipelines.get(dispatch.pipeline),
            "call": codes.name_call(record.code, record.signature).name,
            "debug-group": dispatch.debug_group or None,
            **_spread("threads", dispatch.threads),
            **_spread("group", dispatch.group),
            **_spread("groups", dispatch.groups),
            "groups": dispatch.group_count,
            "partial-groups": dispatch.partial_group_count,
            "threadgroup-memory": sum(dispatch.threadgroup_memory.values()),
            "barriers": dispatch.barriers,
        }


def _spread(name: str, size: tuple[int, int, int]) -> dict[str, int]:
    return {f"{name}-{axis}": count for axis, count in zip("xyz", size, strict=True)}


_BINDINGS = {
    "dispatch": INTEGER,
    "index": INTEGER,
    "kind": TEXT,
    "name": TEXT,
    "type": TEXT,
    "access": TEXT,
    "active": FLAG,
    "space": TEXT,
    "bound": FLAG,
    "buffer": INTEGER,
    "offset": INTEGER,
    "length": INTEGER,
    "address": IDENTIFIER,
    "alignment": INTEGER,
    "data-size": INTEGER,
    "value": NUMBER,
}


def _list_bindings(capture: FrameCapture) -> Rows:
    numbers = {buffer.handle: number for number, buffer in enumerate(list_buffers(capture))}
    for dispatch in capture.commands.dispatches:
        yield from _list_dispatch_bindings(capture, dispatch, numbers)


def _list_dispatch_bindings(
    capture: FrameCapture, dispatch: CapturedDispatch, numbers: Mapping[int, int]
) -> Rows:
    for binding in list_bindings(capture, dispatch):
        address: int | None = None
        if binding.address is not None and binding.offset is not None:
            address = binding.address + binding.offset
        yield {
            "dispatch": dispatch.number,
            "index": binding.index,
            "kind": binding.kind,
            "name": binding.name,
            "type": binding.type_name,
            "access": binding.access,
            "active": binding.is_active,
            "space": binding.space,
            "bound": binding.is_bound,
            "buffer": numbers.get(binding.buffer or 0),
            "offset": binding.offset,
            "length": binding.length,
            "address": address,
            "alignment": binding.alignment,
            "data-size": binding.data_size,
            "value": binding.value,
        }


WORK_TABLES = {
    "capture-calls": RowTable(_CALLS, _list_calls),
    "capture-command-buffers": RowTable(_COMMAND_BUFFERS, _list_command_buffers),
    "capture-encoders": RowTable(_ENCODERS, _list_encoders),
    "capture-dispatches": RowTable(_DISPATCHES, _list_dispatches),
    "capture-bindings": RowTable(_BINDINGS, _list_bindings),
}
