"""The rows of a capture's objects: buffers, pipelines with their statistics, functions, lines."""

from collections.abc import Mapping
from typing import Any

from tracekit.tables.captures.arguments import list_buffers
from tracekit.tables.captures.capture import FrameCapture
from tracekit.tables.captures.row_tables import (
    FLAG,
    IDENTIFIER,
    INTEGER,
    TEXT,
    ObjectNumbers,
    Rows,
    RowTable,
    hide_folders,
)

_BUFFERS = {
    "index": INTEGER,
    "handle": IDENTIFIER,
    "label": TEXT,
    "length": INTEGER,
    "storage": TEXT,
    "written": FLAG,
    "address": IDENTIFIER,
    "allocation": IDENTIFIER,
    "allocation-size": INTEGER,
    "content": TEXT,
    "recorded": INTEGER,
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
    "index": INTEGER,
    "handle": IDENTIFIER,
    "function": TEXT,
    "kernel": INTEGER,
    "label": TEXT,
    "dispatches": INTEGER,
    **dict.fromkeys(_STATISTICS, INTEGER),
    "compile-time": INTEGER,
}


def _list_pipelines(capture: FrameCapture) -> Rows:
    numbers = ObjectNumbers(capture)
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
    if number is None or abs(number) >= 2**63:
        return None
    return round(number)


_FUNCTIONS = {
    "index": INTEGER,
    "handle": IDENTIFIER,
    "name": TEXT,
    "library": INTEGER,
    "file": TEXT,
    "line": INTEGER,
    "intact": FLAG,
    "threadgroup-memory": INTEGER,
    "barriers": INTEGER,
    "loop-barriers": INTEGER,
    "arguments": INTEGER,
    "constants": TEXT,
    "sources": INTEGER,
}


def _list_functions(capture: FrameCapture) -> Rows:
    numbers = ObjectNumbers(capture)
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
    "pipeline": INTEGER,
    "function": TEXT,
    "program": TEXT,
    "file": TEXT,
    "line": INTEGER,
    "instructions": INTEGER,
    "blocks": INTEGER,
}


def _list_lines(capture: FrameCapture) -> Rows:
    numbers = ObjectNumbers(capture)
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


OBJECT_TABLES = {
    "capture-buffers": RowTable(_BUFFERS, _list_buffers),
    "capture-pipelines": RowTable(_PIPELINES, _list_pipelines),
    "capture-functions": RowTable(_FUNCTIONS, _list_functions),
    "capture-source-lines": RowTable(_LINES, _list_lines),
}
