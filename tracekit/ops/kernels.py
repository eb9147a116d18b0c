"""Kernels of `kernels/` as MLX runs them, what a call must move, and whether memory holds it."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import mlx.core as mx
import psutil

from tracekit.base import ToolError, UsageError, find_shipped_folder
from tracekit.workload import Work

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
    """Give a problem the sizes of its arrays' axes as attributes; refuse what does not fit.

    Axes of one name must be equally long, and none 0.
    """
    sizes: dict[str, int] = {}
    for name, names in axes.items():
        shape: tuple[int, ...] = getattr(problem, name).shape
        fits = len(shape) == len(names) and 0 not in shape
        if not fits or any(sizes.setdefault(*pair) != pair[1] for pair in zip(names, shape)):  # noqa: B905
            raise UsageError(
                f"{name} must be [{', '.join(names)}], none of them 0, and fit the arrays before; "
                f"its shape is {list(shape)}.",
                hint=", ".join(f"{axis} is {size}" for axis, size in sizes.items()),
            )
    vars(problem).update(sizes)


def check_dtypes(problem: object, *names: str) -> None:
    """Raise UsageError unless these arrays have one type, which the kernels are made for."""
    kinds = [getattr(problem, name).dtype for name in names]
    if len(set(kinds)) > 1 or kinds[0] not in DTYPES:
        raise UsageError(
            f"{', '.join(names)} must all be float16, bfloat16 or float32; they are "
            f"{', '.join(map(str, kinds))}."
        )


@dataclass(frozen=True)
class CallTraffic:
    """Bytes and floating-point operations of one call.

    `read` counts every access, `unique` each byte once: the first is what caches see, the
    second what memory must deliver.
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
        """Return the traffic of a call that reads and writes so many bytes more, each once."""
        return replace(
            self,
            read=self.read + read,
            unique=self.unique + read,
            written=self.written + bytes_written,
        )

    def work(self, tokens: int, dispatches: int | None = None) -> Work:
        """Return the work of a step that is one such call, and produces so many tokens."""
        return Work(tokens, self.read, self.unique, self.written, self.flops, dispatches)


LEAST_BUFFER = 8
"""Elements of the shortest array that MLX binds as `device` memory.

It binds shorter ones as `constant`, which makes another kernel of the same text.
"""
LANES = 32
"""Threads of a simdgroup."""
METAL_TYPES = {mx.float16: "float16_t", mx.bfloat16: "bfloat16_t", mx.float32: "float"}
DTYPES = tuple(METAL_TYPES)
"""The types of elements that the kernels are made for."""

_BODY = "// ---- body ----\n"


@dataclass(frozen=True)
class KernelSource:
    """A file of `kernels/`, and the names of what its body takes and gives."""

    stem: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def kernel(self) -> Any:
        """Return the kernel that MLX's factory makes of the file; it is made once."""
        # Looked up when it is called: whoever replaces MLX's factory gets kernels of their own.
        return _built(mx.fast.metal_kernel, self)

    def launch(
        self,
        inputs: Sequence[Any],
        template: Sequence[tuple[str, Any]],
        grid: tuple[int, int, int],
        threads: int,
        outputs: Sequence[tuple[Sequence[int], mx.Dtype]],
    ) -> tuple[list[mx.array], str]:
        """Launch the kernel; return its outputs, of shapes and types, and what MLX calls it.

        Two calls share a pipeline exactly when these names are equal: template values, then types.
        The scheme is MLX's since 0.32.1: `s` follows the type of a scalar.
        """
        dtypes = [dtype for _, dtype in outputs]
        arrays = self.kernel()(
            inputs=list(inputs),
            template=list(template),
            grid=grid,
            threadgroup=(threads, 1, 1),
            output_shapes=[shape for shape, _ in outputs],
            output_dtypes=dtypes,
        )
        values = [METAL_TYPES.get(value) or str(value) for _, value in template]
        types = [_type_of(value) for value in inputs] + [METAL_TYPES[dtype] for dtype in dtypes]
        name = "_".join([f"custom_kernel_{self.stem}_", *values, *types])
        _launched.add(name)
        return arrays, name


def _type_of(value: Any) -> str:
    if isinstance(value, mx.array):
        return METAL_TYPES.get(value.dtype, "int32_t")
    return "floats" if isinstance(value, float) else "int32_ts"


_launched: set[str] = set()


def specializations() -> frozenset[str]:
    """Return the names of the kernels that this process has launched, as Metal knows them."""
    return frozenset(_launched)


@lru_cache(maxsize=64)  # each emulation has a factory of its own
def _built(factory: Callable[..., Any], source: KernelSource) -> Any:
    text = (find_shipped_folder("kernels") / f"{source.stem}.metal").read_text()
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
    return mx.pad(array.reshape(-1), (0, LEAST_BUFFER - array.size))


@contextmanager
def needing_metal(hint: str) -> Generator[None]:
    """Tell what MLX raises where it has no Metal as a ToolError with this hint."""
    try:
        yield
    except RuntimeError as error:
        if "Metal back-end" not in str(error):
            raise
        raise ToolError(f"MLX cannot run a Metal kernel here: {error}", hint=hint) from error
