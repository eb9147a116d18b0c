"""A dispatch of a GPU frame capture with its kernel, its pipeline and its arguments."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import pandas as pd

Axes = tuple[int, int, int]
"""A size in x, y and z."""


def describe_size(sizes: Axes) -> str:
    """Return a size in words: "256 \N{MULTIPLICATION SIGN} 8 \N{MULTIPLICATION SIGN} 1"."""
    return " \N{MULTIPLICATION SIGN} ".join(f"{side:,}" for side in sizes)


MIX = (
    *("alu", "fp32", "fp16", "int32", "int16", "branches", "waits"),
    *("device_loads", "device_stores", "device_atomics"),
    *("threadgroup_loads", "threadgroup_stores", "threadgroup_atomics"),
    *("texture_reads", "texture_writes"),
)
"""The kinds of instructions that a compiler counts, as columns of `pipelines`."""
_COUNTED = ("instructions", *MIX, "registers", "uniform_registers", "spilled")
_FENCES = ("fence_waits", "fence_updates")
_CONSTANT_PROGRAM = ".constant_program"  # ends the name of the program that computes constants


@dataclass(frozen=True)
class BoundArgument:
    """An argument of a dispatch; sizes in bytes, None for a fact that was not recorded.

    `is_active` says whether the compiled kernel uses it. `value` is that of a single number in
    constant memory. A resource that is bound without an argument has no name.
    """

    index: int
    kind: str
    name: str = ""
    type_name: str = ""
    access: str = ""
    space: str = ""
    is_active: bool | None = None
    is_bound: bool = False
    buffer: int | None = None
    offset: int | None = None
    length: int | None = None
    address: int | None = None
    alignment: int | None = None
    data_size: int | None = None
    value: float | None = None

    @property
    def title(self) -> str:
        """The name of the argument, else its kind and index."""
        return self.name or f"{self.kind} {self.index}"

    @property
    def is_written(self) -> bool:
        """Whether the kernel may write it."""
        return "write" in self.access


@dataclass(frozen=True)
class SourceLine:
    """A line of the source and the number of compiled instructions that begin there."""

    file: str
    line: int
    instructions: int


@dataclass(frozen=True)
class PipelineLimits:
    """The limits that Metal gave for a pipeline; None, with the reason, if it was not asked.

    `most_threads` of a threadgroup, `execution_width` threads of a simdgroup, and the bytes of
    threadgroup memory that the kernel declares.
    """

    most_threads: int | None = None
    execution_width: int | None = None
    threadgroup_memory: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class RecordedDispatch:
    """A dispatch; sizes in bytes, None for a fact that was not recorded.

    `grid` and `group` count threads, `groups` threadgroups, partial ones included.
    `static_memory` is the threadgroup memory that the kernel declares, `dynamic_memory` that which
    the encoder set. `barriers` and `loop_barriers` are those of the kernel's code,
    `encoder_barriers` those of the encoder before this dispatch. `counts` are the compiler's
    static counts, by the columns of `pipelines`; empty without statistics. `constants` are the
    names of function constants, None if the kernel's AIR was not recorded. `limits` are those that
    Metal gave for the pipeline. `unseen` names the facts
    whose records no real capture has shown so far.
    """

    index: int
    function: str
    grid: Axes
    group: Axes
    groups: Axes
    group_count: int
    partial_group_count: int
    function_index: int | None = None
    label: str = ""
    dynamic_memory: int = 0
    static_memory: int | None = None
    barriers: int | None = None
    loop_barriers: int | None = None
    encoder_barriers: int | None = None
    limits: PipelineLimits = PipelineLimits()
    constants: tuple[str, ...] | None = None
    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    arguments: tuple[BoundArgument, ...] = ()
    lines: tuple[SourceLine, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def group_threads(self) -> int:
        """The number of threads of a threadgroup."""
        return prod(self.group)

    @property
    def memory(self) -> int | None:
        """Bytes of threadgroup memory in all; None if the declared part was not recorded."""
        if self.static_memory is None:
            return None
        return self.static_memory + self.dynamic_memory

    @property
    def title(self) -> str:
        """The number and the function of the dispatch."""
        return f"dispatch {self.index}: {self.function or 'a function without a name'}"


TABLES = (
    *("dispatches", "bindings", "functions", "pipelines", "source_lines", "capture_encoders"),
    "pipeline_limits",
)
"""The tables of a capture that dispatches are read from, in the order of `list_dispatches`."""


def list_dispatches(
    dispatches: pd.DataFrame,
    bindings: pd.DataFrame | None,
    functions: pd.DataFrame | None,
    pipelines: pd.DataFrame | None,
    source_lines: pd.DataFrame | None,
    capture_encoders: pd.DataFrame | None,
    pipeline_limits: pd.DataFrame | None,
) -> tuple[RecordedDispatch, ...]:
    """Return the dispatches of a capture in their order, with the facts of its other tables.

    A fact of a table that is None was not recorded.
    """
    functions_by_index = _by_index(functions)
    pipelines_by_index = _by_index(pipelines)
    encoders_by_index = _by_index(capture_encoders)
    arguments: dict[int, list[BoundArgument]] = {}
    for row in _rows_of(bindings):
        arguments.setdefault(int(row["dispatch"]), []).append(_read_argument(row))
    lines = _list_lines(source_lines)
    limits: dict[int | None, PipelineLimits] = {}
    for row in _rows_of(pipeline_limits):
        limits[_integer(row["pipeline"])] = _read_limits(row)
    recorded_dispatches: list[RecordedDispatch] = []
    for row in _rows_of(dispatches):
        pipeline = _integer(row["pipeline"])
        kernel = _integer(row["kernel"])
        encoder = _integer(row["encoder"])
        dispatch = _read_dispatch(
            row,
            _row_at(functions_by_index, kernel),
            _row_at(pipelines_by_index, pipeline),
            _row_at(encoders_by_index, encoder),
            tuple(arguments.get(int(row["index"]), ())),
            lines.get(pipeline, ()),
            limits.get(pipeline, PipelineLimits()),
        )
        recorded_dispatches.append(dispatch)
    return tuple(recorded_dispatches)


_Row = Mapping[str, Any]


def _read_dispatch(
    row: _Row,
    function: _Row,
    pipeline: _Row,
    encoder: _Row,
    arguments: tuple[BoundArgument, ...],
    lines: tuple[SourceLine, ...],
    limits: PipelineLimits,
) -> RecordedDispatch:
    counts: dict[str, int] = {}
    for name in _COUNTED:
        count = _integer(pipeline.get(name))
        if count is not None:
            counts[name] = count
    constants: tuple[str, ...] | None = None
    if not _is_missing(function.get("constants")):
        constants = tuple(filter(None, str(function["constants"]).split(", ")))
    labels = (_text(encoder.get("label")), _text(row["debug_group"]))
    dynamic_memory = _integer(row["threadgroup_memory"]) or 0
    encoder_barriers = _integer(row["barriers"])
    unseen = {
        "the size in threadgroups": _text(row.get("call")).startswith("dispatchThreadgroups"),
        "the type of the encoder": bool(_text(encoder.get("dispatch_type"))),
        "labels": any(labels),
        "threadgroup memory that the encoder set": dynamic_memory > 0,
        "barriers of the encoder": bool(encoder_barriers),
        "fences of the encoder": any(map(_integer, map(encoder.get, _FENCES))),
        "bound bytes": any(_holds_bytes(argument) for argument in arguments),
        "the order of several command buffers": bool(_integer(row.get("command_buffer"))),
    }
    static_memory = _integer(function.get("threadgroup_memory"))
    if static_memory is None:
        static_memory = limits.threadgroup_memory
    return RecordedDispatch(
        index=int(row["index"]),
        function=_text(row["function"]),
        grid=_axes(row, "threads"),
        group=_axes(row, "group"),
        groups=_axes(row, "groups"),
        group_count=_integer(row["groups"]) or 0,
        partial_group_count=_integer(row["partial_groups"]) or 0,
        function_index=_integer(row["function_index"]),
        label=" / ".join(filter(None, labels)),
        dynamic_memory=dynamic_memory,
        static_memory=static_memory,
        barriers=_integer(function.get("barriers")),
        loop_barriers=_integer(function.get("loop_barriers")),
        encoder_barriers=encoder_barriers,
        limits=limits,
        constants=constants,
        counts=counts,
        arguments=arguments,
        lines=lines,
        unseen=tuple(name for name, is_there in unseen.items() if is_there),
    )


def _read_limits(row: _Row) -> PipelineLimits:
    return PipelineLimits(
        _integer(row["most_threads"]),
        _integer(row["execution_width"]),
        _integer(row["threadgroup_memory"]),
        _text(row["reason"]),
    )


def _holds_bytes(argument: BoundArgument) -> bool:
    is_buffer = argument.kind == "buffer" and argument.is_bound
    return is_buffer and argument.buffer is None


def _read_argument(row: _Row) -> BoundArgument:
    return BoundArgument(
        index=int(row["index"]),
        kind=_text(row["kind"]),
        name=_text(row["name"]),
        type_name=_text(row["type"]),
        access=_text(row["access"]),
        space=_text(row["space"]),
        is_active=_flag(row["active"]),
        is_bound=_flag(row["bound"]) or False,
        buffer=_integer(row["buffer"]),
        offset=_integer(row["offset"]),
        length=_integer(row["length"]),
        address=_integer(row["address"]),
        alignment=_integer(row["alignment"]),
        data_size=_integer(row["data_size"]),
        value=_number(row["value"]),
    )


def _list_lines(source_lines: pd.DataFrame | None) -> dict[int | None, tuple[SourceLine, ...]]:
    """Return the source lines of each pipeline's kernel, those with most instructions first."""
    by_pipeline: dict[int, list[SourceLine]] = {}
    for row in _rows_of(source_lines):
        line = _integer(row["line"])
        pipeline = _integer(row["pipeline"])
        is_of_constants = _text(row["program"]).endswith(_CONSTANT_PROGRAM)
        if line is None or pipeline is None or is_of_constants:
            continue
        source_line = SourceLine(_text(row["file"]), line, _integer(row["instructions"]) or 0)
        by_pipeline.setdefault(pipeline, []).append(source_line)
    ordered: dict[int | None, tuple[SourceLine, ...]] = {}
    for pipeline, lines in by_pipeline.items():
        ordered[pipeline] = tuple(sorted(lines, key=lambda line: -line.instructions))
    return ordered


def _rows_of(frame: pd.DataFrame | None) -> list[_Row]:
    if frame is None:
        return []
    rows: list[Any] = frame.to_dict("records")
    return rows


def _by_index(frame: pd.DataFrame | None) -> dict[int, _Row]:
    rows: dict[int, _Row] = {}
    for row in _rows_of(frame):
        rows[int(row["index"])] = row
    return rows


def _row_at(rows: Mapping[int, _Row], index: int | None) -> _Row:
    if index is None:
        return {}
    return rows.get(index, {})


def _axes(row: _Row, name: str) -> Axes:
    width = _integer(row[f"{name}_x"]) or 0
    height = _integer(row[f"{name}_y"]) or 0
    depth = _integer(row[f"{name}_z"]) or 0
    return width, height, depth


def _is_missing(cell: Any) -> bool:
    return cell is None or bool(pd.isna(cell))


def _integer(cell: Any) -> int | None:
    if _is_missing(cell):
        return None
    return int(cell)


def _number(cell: Any) -> float | None:
    if _is_missing(cell):
        return None
    return float(cell)


def _flag(cell: Any) -> bool | None:
    if _is_missing(cell):
        return None
    return bool(cell)


def _text(cell: Any) -> str:
    if _is_missing(cell):
        return ""
    return str(cell)
