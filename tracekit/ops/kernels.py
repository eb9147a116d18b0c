"""Run the kernels of `kernels/` through MLX, model their traffic, and check memory for arrays."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any

import mlx.core as mx
import psutil

from tracekit.base import ToolError, UsageError, files
from tracekit.workload import Work, journal

_SMALLER = "Take shorter or fewer sequences, or fewer heads."


def require_memory(needed: int, name: str, hint: str = _SMALLER) -> None:
    """Raise UsageError, with a hint, if `name` takes more bytes than this machine has."""
    there = psutil.virtual_memory().total
    if needed > there:
        raise UsageError(
            f"{name} takes {needed / 1e9:.1f} GB; this machine has {there / 1e9:.1f} GB.",
            hint=hint,
        )


def take_axes(problem: object, **axes: Sequence[str]) -> None:
    """Set the sizes of a problem's arrays as attributes; refuse arrays that do not fit together.

    Axes of one name must be equally long, and none 0.
    """
    sizes: dict[str, int] = {}
    for name, names in axes.items():
        shape: tuple[int, ...] = getattr(problem, name).shape
        if not _take_sizes(sizes, names, shape):
            raise UsageError(
                f"{name} must be [{', '.join(names)}], none of them 0, and fit the arrays before; "
                f"its shape is {list(shape)}.",
                hint=", ".join(f"{axis} is {size}" for axis, size in sizes.items()),
            )
    vars(problem).update(sizes)


def _take_sizes(sizes: dict[str, int], names: Sequence[str], shape: Sequence[int]) -> bool:
    """Add the sizes of a shape's axes until one does not fit; return whether all fit."""
    if len(shape) != len(names) or 0 in shape:
        return False
    for name, size in zip(names, shape, strict=True):
        if sizes.setdefault(name, size) != size:
            return False
    return True


def check_dtypes(problem: object, *names: str) -> None:
    """Raise UsageError unless these arrays have one type that the kernels support."""
    kinds = [getattr(problem, name).dtype for name in names]
    if len(set(kinds)) > 1 or kinds[0] not in DTYPES:
        raise UsageError(
            f"{', '.join(names)} must all be float16, bfloat16 or float32; they are "
            f"{', '.join(map(str, kinds))}."
        )


@dataclass(frozen=True)
class CallTraffic:
    """Bytes and floating-point operations of one call.

    `read` counts every access, `unique` each byte once: caches see the first, memory must deliver
    the second.
    """

    read: int
    unique: int
    written: int
    flops: int

    @property
    def intensity(self) -> float:
        """Floating-point operations for each byte that memory must move."""
        return self.flops / (self.unique + self.written)

    def plus(self, read: int, bytes_written: int) -> "CallTraffic":
        """Return the traffic of a call that also reads and writes these bytes, each once."""
        unique = self.unique + read
        written_bytes = self.written + bytes_written
        return replace(
            self,
            read=self.read + read,
            unique=unique,
            written=written_bytes,
        )

    def work(self, tokens: int, dispatches: int | None = None) -> Work:
        """Return the work of a step that is one such call, and produces `tokens` tokens."""
        return Work(tokens, self.read, self.unique, self.written, self.flops, dispatches)


LEAST_BUFFER = 8
"""Elements of the shortest array that MLX binds as `device` memory.

It binds shorter ones as `constant`, which makes another kernel of the same text.
"""
LANES = 32
"""Threads of a simdgroup."""
METAL_TYPES = {mx.float16: "float16_t", mx.bfloat16: "bfloat16_t", mx.float32: "float"}
DTYPES = tuple(METAL_TYPES)
"""The types of elements that the kernels support."""

_BODY = "// ---- body ----\n"


@dataclass(frozen=True)
class KernelSource:
    """A file of `kernels/`, and the names of the inputs and outputs of its body."""

    stem: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def kernel(self) -> Any:
        """Return the kernel that MLX's factory makes of the file; it is made once."""
        # Looked up at each call: a caller that replaces MLX's factory gets its own kernels.
        return _built(mx.fast.metal_kernel, self)

    def launch(
        self,
        inputs: Sequence[Any],
        template: Sequence[tuple[str, Any]],
        grid: tuple[int, int, int],
        threads: int,
        outputs: Sequence[tuple[Sequence[int], mx.Dtype]],
    ) -> tuple[list[mx.array], str]:
        """Launch the kernel; return its outputs, of shapes and types, and MLX's name of it.

        Two calls share a pipeline exactly when these names are equal: template values, then types.
        The scheme is MLX's since 0.32.1: `s` follows the type of a scalar. Arrays of inputs have
        one of `DTYPES`, or are int32; outputs have one of `DTYPES`.
        """
        shapes: list[Sequence[int]] = []
        dtypes: list[mx.Dtype] = []
        for shape, dtype in outputs:
            shapes.append(shape)
            dtypes.append(dtype)
        arrays = self.kernel()(
            inputs=list(inputs),
            template=list(template),
            grid=grid,
            threadgroup=(threads, 1, 1),
            output_shapes=shapes,
            output_dtypes=dtypes,
        )
        name = self._name(inputs, template, dtypes)
        _launched.add(name)
        for notes in _notes:
            notes[self._describe_launch(name, inputs, grid, threads, outputs)] = None
        return arrays, name

    def _describe_launch(
        self,
        name: str,
        inputs: Sequence[Any],
        grid: tuple[int, int, int],
        threads: int,
        outputs: Sequence[tuple[Sequence[int], mx.Dtype]],
    ) -> journal.KernelLaunch:
        """Return a launch as Metal gets it: MLX cuts a threadgroup to the size of the grid."""
        arguments: list[str] = []
        for argument, value in zip(self.inputs, inputs, strict=True):
            if isinstance(value, mx.array) and value.size >= LEAST_BUFFER:
                arguments.append(argument)
        for argument, (shape, _) in zip(self.outputs, outputs, strict=True):
            if prod(shape) >= LEAST_BUFFER:
                arguments.append(argument)
        threadgroup = (min(threads, grid[0]), 1, 1)
        return journal.KernelLaunch(name, grid, threadgroup, tuple(arguments))

    def _name(
        self,
        inputs: Sequence[Any],
        template: Sequence[tuple[str, Any]],
        dtypes: Sequence[mx.Dtype],
    ) -> str:
        values = [METAL_TYPES.get(value) or str(value) for _, value in template]
        input_types = [_type_of(value) for value in inputs]
        output_types = [METAL_TYPES[dtype] for dtype in dtypes]
        parts = [f"custom_kernel_{self.stem}_", *values, *input_types, *output_types]
        return "_".join(parts)


def _type_of(value: Any) -> str:
    if isinstance(value, mx.array):
        return METAL_TYPES.get(value.dtype, "int32_t")
    if isinstance(value, float):
        return "floats"
    return "int32_ts"


_launched: set[str] = set()


def specializations() -> frozenset[str]:
    """Return the names of the kernels that this process has launched, as Metal knows them."""
    return frozenset(_launched)


_notes: list[dict[journal.KernelLaunch, None]] = []


@contextmanager
def noting_launches() -> Generator[Mapping[journal.KernelLaunch, None]]:
    """Note the launches that are made in the context, each once, as keys of the mapping."""
    notes: dict[journal.KernelLaunch, None] = {}
    _notes.append(notes)
    try:
        yield notes
    finally:
        _notes.remove(notes)


@lru_cache(maxsize=64)  # each emulation has its own factory
def _built(factory: Callable[..., Any], source: KernelSource) -> Any:
    text = (files.find_shipped_folder("kernels") / f"{source.stem}.metal").read_text()
    header, _, body = text.partition(_BODY)
    return factory(
        name=source.stem,
        input_names=list(source.inputs),
        output_names=list(source.outputs),
        header=header,
        source=body,
    )


def pad_buffer(array: mx.array) -> mx.array:
    """Make an array long enough for `device` memory, flat if it was not; a no-op if it is."""
    if array.size >= LEAST_BUFFER:
        return array
    missing = LEAST_BUFFER - array.size
    return mx.pad(array.reshape(-1), (0, missing))


@contextmanager
def needing_metal(hint: str) -> Generator[None]:
    """Turn the error of an MLX without Metal into a ToolError with this hint."""
    try:
        yield
    except RuntimeError as error:
        if "Metal back-end" not in str(error):
            raise
        raise ToolError(f"MLX cannot run a Metal kernel here: {error}", hint=hint) from error
