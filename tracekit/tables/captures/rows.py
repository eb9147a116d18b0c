"""The tables of a capture, as flat ones: their columns, and their rows.

Paths are cut to the names of files. Contents of buffers and sources have tables of their own, which
are made only if they are included.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from tracekit.tables.captures import codes
from tracekit.tables.captures.arguments import list_bindings, list_buffers
from tracekit.tables.captures.capture import FrameCapture
from tracekit.tables.captures.commands import CapturedDispatch
from tracekit.tables.captures.records import CallArgument, Scalar
from tracekit.tables.losses import Flaw, Loss

Row = Mapping[str, Any]
Rows = Iterator[Row]
SOURCE = "source"
BUFFERS = "buffers"
INCLUDABLE = (SOURCE, BUFFERS)
_INTEGER = "Int64"
_IDENTIFIER = "UInt64"
_TEXT = "string"
_FLAG = "boolean"
_NUMBER = "Float64"
_PATH = re.compile(r"(?:file:/)?/[^\s\"']*/([^/\s\"']*)")
_LONGEST_TEXT = 200
_PIECE = 4096  # bytes of contents in a row
_MOST_CONTENTS = 1 << 26
_COMPUTE = "compute"
_RECEIVER = frozenset({"C"})
_LIMITS = {_INTEGER: (-(2**63), 2**63), _IDENTIFIER: (0, 2**64)}

_CALLS = {
    "index": _INTEGER,
    "function-index": _INTEGER,
    "command-buffer": _INTEGER,
    "encoder": _INTEGER,
    "code": _TEXT,
    "name": _TEXT,
    "evidence": _TEXT,
    "signature": _TEXT,
    "receiver": _IDENTIFIER,
    "arguments": _TEXT,
    "result": _IDENTIFIER,
    "call-site": _INTEGER,
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


def hide_folders(text: str) -> str:
    """Return a text in which each path is cut to the name of its file."""
    return _PATH.sub(r"\1", text)


_COMMAND_BUFFERS = {
    "index": _INTEGER,
    "handle": _IDENTIFIER,
    "queue": _IDENTIFIER,
    "label": _TEXT,
    "committed": _FLAG,
    "encoders": _INTEGER,
    "dispatches": _INTEGER,
    "recorded": _INTEGER,
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
    "index": _INTEGER,
    "command-buffer": _INTEGER,
    "handle": _IDENTIFIER,
    "kind": _TEXT,
    "label": _TEXT,
    "dispatch-type": _TEXT,
    "creator": _TEXT,
    "dispatches": _INTEGER,
    "barriers": _INTEGER,
    "fence-waits": _INTEGER,
    "fence-updates": _INTEGER,
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
    "index": _INTEGER,
    "function-index": _INTEGER,
    "command-buffer": _INTEGER,
    "encoder": _INTEGER,
    "function": _TEXT,
    "kernel": _INTEGER,
    "pipeline": _INTEGER,
    "call": _TEXT,
    "debug-group": _TEXT,
    "threads-x": _INTEGER,
    "threads-y": _INTEGER,
    "threads-z": _INTEGER,
    "group-x": _INTEGER,
    "group-y": _INTEGER,
    "group-z": _INTEGER,
    "groups-x": _INTEGER,
    "groups-y": _INTEGER,
    "groups-z": _INTEGER,
    "groups": _INTEGER,
    "partial-groups": _INTEGER,
    "threadgroup-memory": _INTEGER,
    "barriers": _INTEGER,
}


def _list_dispatches(capture: FrameCapture) -> Rows:
    numbers = _Numbers(capture)
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


class _Numbers:
    """The numbers of objects in their tables, by their handles."""

    def __init__(self, capture: FrameCapture) -> None:
        self._capture = capture
        self.pipelines = {handle: number for number, handle in enumerate(capture.pipelines)}
        self.functions = {handle: number for number, handle in enumerate(capture.functions)}
        self.libraries = {handle: number for number, handle in enumerate(capture.libraries)}

    def find_kernel(self, pipeline: int) -> int | None:
        """Return the number of the function of a pipeline."""
        captured = self._capture.pipelines.get(pipeline)
        if captured is None:
            return None
        return self.functions.get(captured.function)

    def name_function(self, pipeline: int) -> str | None:
        """Return the name of the function of a pipeline."""
        captured = self._capture.pipelines.get(pipeline)
        if captured is None:
            return None
        function = self._capture.functions.get(captured.function)
        return None if function is None else function.name


_BINDINGS = {
    "dispatch": _INTEGER,
    "index": _INTEGER,
    "kind": _TEXT,
    "name": _TEXT,
    "type": _TEXT,
    "access": _TEXT,
    "active": _FLAG,
    "space": _TEXT,
    "bound": _FLAG,
    "buffer": _INTEGER,
    "offset": _INTEGER,
    "length": _INTEGER,
    "address": _IDENTIFIER,
    "alignment": _INTEGER,
    "data-size": _INTEGER,
    "value": _NUMBER,
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


_BUFFERS = {
    "index": _INTEGER,
    "handle": _IDENTIFIER,
    "label": _TEXT,
    "length": _INTEGER,
    "storage": _TEXT,
    "written": _FLAG,
    "address": _IDENTIFIER,
    "allocation": _IDENTIFIER,
    "allocation-size": _INTEGER,
    "content": _TEXT,
    "recorded": _INTEGER,
}


def _list_buffers(capture: FrameCapture) -> Rows:
    for number, buffer in enumerate(list_buffers(capture)):
        recorded: int | None = None
        if buffer.content in capture.files:
            recorded = capture.files.size(buffer.content)
        allocation: int | None = None
        allocation_size: int | None = None
        if buffer.allocation is not None:
            allocation = buffer.allocation[0]
            allocation_size = buffer.allocation[1]
        yield {
            "index": number,
            "handle": buffer.handle,
            "label": buffer.label or None,
            "length": buffer.length,
            "storage": buffer.storage or None,
            "written": buffer.is_written,
            "address": buffer.address,
            "allocation": allocation,
            "allocation-size": allocation_size,
            "content": buffer.content or None,
            "recorded": recorded,
        }


_STATISTICS = {
    "instructions": "Instruction count",
    "alu": "ALU instruction count",
    "fp32": "FP32 instruction count",
    "fp16": "FP16 instruction count",
    "int32": "INT32 instruction count",
    "int16": "INT16 instruction count",
    "branches": "Branch instruction count",
    "waits": "Wait instruction count",
    "device-loads": "Device load instruction count",
    "device-stores": "Device store instruction count",
    "device-atomics": "Device atomic instruction count",
    "threadgroup-loads": "Threadgroup load instruction count",
    "threadgroup-stores": "Threadgroup store instruction count",
    "threadgroup-atomics": "Threadgroup atomic instruction count",
    "texture-reads": "Texture reads instruction count",
    "texture-writes": "Texture writes instruction count",
    "registers": "Temporary register count",
    "uniform-registers": "Uniform register count",
    "spilled": "Spilled bytes",
    "invariant-spilled": "Thread invariant spilled bytes",
}
_COMPILE_TIME = "Compilation time in milliseconds"
_NS_A_MS = 1_000_000
_PIPELINES = {
    "index": _INTEGER,
    "handle": _IDENTIFIER,
    "function": _TEXT,
    "kernel": _INTEGER,
    "label": _TEXT,
    "dispatches": _INTEGER,
    **dict.fromkeys(_STATISTICS, _INTEGER),
    "compile-time": _INTEGER,
}


def _list_pipelines(capture: FrameCapture) -> Rows:
    numbers = _Numbers(capture)
    for number, (handle, pipeline) in enumerate(capture.pipelines.items()):
        statistics: Mapping[str, int | float] = {}
        if handle in capture.statistics:
            statistics = capture.statistics[handle].numbers
        counts: dict[str, int | None] = {}
        for name, key in _STATISTICS.items():
            counts[name] = _as_integer(statistics.get(key))
        compile_time: int | None = None
        if _COMPILE_TIME in statistics:
            compile_time = _as_integer(statistics[_COMPILE_TIME] * _NS_A_MS)
        dispatches = [item for item in capture.commands.dispatches if item.pipeline == handle]
        yield {
            "index": number,
            "handle": handle,
            "function": numbers.name_function(handle),
            "kernel": numbers.find_kernel(handle),
            "label": pipeline.label or None,
            "dispatches": len(dispatches),
            **counts,
            "compile-time": compile_time,
        }


def _as_integer(number: float | None) -> int | None:
    is_in_range = number is not None and abs(number) < 2**63
    return round(number) if number is not None and is_in_range else None


_FUNCTIONS = {
    "index": _INTEGER,
    "handle": _IDENTIFIER,
    "name": _TEXT,
    "library": _INTEGER,
    "file": _TEXT,
    "line": _INTEGER,
    "intact": _FLAG,
    "threadgroup-memory": _INTEGER,
    "barriers": _INTEGER,
    "loop-barriers": _INTEGER,
    "arguments": _INTEGER,
    "constants": _TEXT,
    "sources": _INTEGER,
}


def _list_functions(capture: FrameCapture) -> Rows:
    numbers = _Numbers(capture)
    for number, (handle, function) in enumerate(capture.functions.items()):
        air = capture.airs.get(handle)
        facts: dict[str, Any] = dict.fromkeys(
            ("threadgroup-memory", "barriers", "loop-barriers", "arguments", "constants")
        )
        if air is not None:
            facts = {
                "threadgroup-memory": air.threadgroup_memory,
                "barriers": air.barriers,
                "loop-barriers": air.loop_barriers,
                "arguments": len(air.arguments),
                "constants": ", ".join(air.constants),
            }
        yield {
            "index": number,
            "handle": handle,
            "name": function.name or None,
            "library": numbers.libraries.get(function.library),
            "file": hide_folders(function.path) or None,
            "line": function.line,
            "intact": capture.is_intact(function),
            **facts,
            "sources": len(capture.list_sources(function.library)),
        }


_LINES = {
    "pipeline": _INTEGER,
    "function": _TEXT,
    "program": _TEXT,
    "file": _TEXT,
    "line": _INTEGER,
    "instructions": _INTEGER,
    "blocks": _INTEGER,
}


def _list_lines(capture: FrameCapture) -> Rows:
    numbers = _Numbers(capture)
    for handle, number in numbers.pipelines.items():
        if handle not in capture.statistics:
            continue
        for line in capture.statistics[handle].lines:
            yield {
                "pipeline": number,
                "function": numbers.name_function(handle),
                "program": line.program or None,
                "file": line.path.rpartition("/")[2] or None,
                "line": line.line,
                "instructions": line.instructions,
                "blocks": line.blocks,
            }


_SOURCES = {"library": _INTEGER, "file": _TEXT, "text": _TEXT}


def _list_sources(capture: FrameCapture) -> Rows:
    remaining_bytes = _MOST_CONTENTS
    for number, handle in enumerate(capture.libraries):
        for source in capture.list_sources(handle):
            remaining_bytes -= len(source.content)
            if remaining_bytes < 0:
                return
            yield {
                "library": number,
                "file": source.path.rpartition("/")[2],
                "text": source.content.decode("utf-8", "replace"),
            }


_CONTENTS = {
    "buffer": _INTEGER,
    "command-buffer": _INTEGER,
    "offset": _INTEGER,
    "bytes": _TEXT,
}


def _list_contents(capture: FrameCapture) -> Rows:
    """Yield the contents of buffers in pieces: those of the capture, then those that are written.

    Contents beyond `_MOST_CONTENTS` bytes in all are left out.
    """
    numbers: dict[int, int] = {}
    contents: list[tuple[int, int | None, str, int, int]] = []
    for number, buffer in enumerate(list_buffers(capture)):
        numbers[buffer.handle] = number
        if buffer.content in capture.files and buffer.length is not None:
            contents.append((number, None, buffer.content, 0, buffer.length))
    for recorded in capture.recorded_contents:
        if recorded.buffer in numbers and recorded.content in capture.files:
            number = numbers[recorded.buffer]
            place = (recorded.offset, recorded.length)
            contents.append((number, recorded.command_buffer, recorded.content, *place))
    remaining_bytes = _MOST_CONTENTS
    for number, command_buffer, name, offset, length in contents:
        size = min(length, capture.files.size(name))
        remaining_bytes -= size
        if remaining_bytes < 0:
            return
        content = capture.read_contents(name)[:size]
        for start in range(0, size, _PIECE):
            yield {
                "buffer": number,
                "command-buffer": command_buffer,
                "offset": offset + start,
                "bytes": content[start : start + _PIECE].hex(),
            }


_Table = tuple[Mapping[str, str], Callable[[FrameCapture], Rows]]
_TABLES: dict[str, _Table] = {
    "capture-calls": (_CALLS, _list_calls),
    "capture-command-buffers": (_COMMAND_BUFFERS, _list_command_buffers),
    "capture-encoders": (_ENCODERS, _list_encoders),
    "capture-dispatches": (_DISPATCHES, _list_dispatches),
    "capture-bindings": (_BINDINGS, _list_bindings),
    "capture-buffers": (_BUFFERS, _list_buffers),
    "capture-pipelines": (_PIPELINES, _list_pipelines),
    "capture-functions": (_FUNCTIONS, _list_functions),
    "capture-source-lines": (_LINES, _list_lines),
}
_INCLUDED: dict[str, dict[str, _Table]] = {
    SOURCE: {"capture-sources": (_SOURCES, _list_sources)},
    BUFFERS: {"capture-contents": (_CONTENTS, _list_contents)},
}


def list_schemas(include: Sequence[str] = ()) -> list[str]:
    """Return the names of the tables of a capture, with those of included private data."""
    names = list(_TABLES)
    for part in include:
        names += _INCLUDED.get(part, {})
    return names


def list_rows(capture: FrameCapture, schema: str) -> list[Row]:
    """Return the rows of a table of a capture; raise KeyError if there is no such table."""
    _, list_table = _find_table(schema)
    return list(list_table(capture))


def _find_table(schema: str) -> _Table:
    for tables in (_TABLES, *_INCLUDED.values()):
        if schema in tables:
            return tables[schema]
    raise KeyError(schema)


def make_frame(capture: FrameCapture, schema: str) -> tuple[pd.DataFrame, tuple[Loss, ...]]:
    """Return a table of a capture and the losses of reading it; raise KeyError if there is none."""
    columns, _ = _find_table(schema)
    rows = list_rows(capture, schema)
    series: dict[str, pd.Series] = {}
    misfits: list[str] = []
    for name, dtype in columns.items():
        cells = [row[name] for row in rows]
        if dtype in _LIMITS:
            fitting_cells = _fit(cells, dtype)
            if fitting_cells != cells:
                misfits.append(name)
            cells = fitting_cells
        series[name] = pd.Series(cells, dtype=dtype)
    losses = list(capture.losses)
    if misfits:
        text = f"{capture.name}: {schema} has numbers that are too large: {', '.join(misfits)}."
        losses.append(Loss(Flaw.CHANGED, text, schema=schema, columns=tuple(misfits)))
    return pd.DataFrame(series), tuple(losses)


def _fit(cells: Sequence[int | None], dtype: str) -> list[int | None]:
    """Return integers with null for those that the dtype cannot hold."""
    smallest, limit = _LIMITS[dtype]
    fitting_cells: list[int | None] = []
    for cell in cells:
        if cell is not None and smallest <= cell < limit:
            fitting_cells.append(cell)
        else:
            fitting_cells.append(None)
    return fitting_cells
