"""MLX functions with kernels of their own, run where there is no Metal.

Calling a kernel needs Metal; tracing a function for export does not, since MLX 0.32. The trace
holds the text that MLX would compile, the grid and the threadgroup.
"""

import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tracekit.base import ToolError, UsageError
from tracekit.lab.msl.compile import compile_kernel
from tracekit.lab.msl.kernel import Kernel
from tracekit.lab.msl.program import Order, Program, Statistics, Triple

Array = NDArray[Any]


def numpy_dtype(dtype: mx.Dtype) -> np.dtype[Any]:
    """Return numpy's dtype for one of MLX's; bfloat16 as the uint16 of its bits."""
    if dtype == mx.bfloat16:
        return np.dtype(np.uint16)
    return np.dtype("?" if dtype == mx.bool_ else str(dtype).rpartition(".")[2])


def memory_of(array: mx.array) -> tuple[Array, tuple[int, ...]]:
    """Return the memory that an array spans, flat and not copied, and its strides in elements.

    Raises:
        UsageError: It runs backwards through memory.
    """
    # numpy knows no bfloat16; the view lies in the same memory
    seen = np.asarray(array.view(mx.uint16) if array.dtype == mx.bfloat16 else array)
    strides = tuple(step // seen.itemsize for step in seen.strides)
    if any(stride < 0 for stride in strides):
        raise UsageError(
            "An array that runs backwards through memory cannot be given to a kernel here.",
            hint="Pass mx.contiguous(array), or ensure_row_contiguous=True.",
        )
    last = sum((size - 1) * step for size, step in zip(seen.shape, strides, strict=True))
    count = last + 1 if seen.size else 0
    return np.lib.stride_tricks.as_strided(seen, (count,), (seen.itemsize,)), strides


def as_mlx(array: Array, dtype: mx.Dtype) -> mx.array:
    """Return an MLX array of that dtype with the same bits."""
    made = mx.array(array)
    return made.view(mx.bfloat16) if dtype == mx.bfloat16 else made


_PREFIX = "custom_kernel_"
_TYPE = r"_(?:u?int(?:8|16|32|64)_t|b?float16_t|float|bool|complex64_t)[sc]?"


@dataclass(frozen=True)
class Generated:
    """A kernel as MLX would compile it for one call.

    Attributes:
        name: What `mx.fast.metal_kernel` was given as `name`.
        function: Name of the kernel in the text, and in a trace of a GPU.
        template: Template arguments as text, such as "float16_t, 128"; "" where there are none.
        text: The header, then the kernel, then its instantiation. MLX puts a prelude of its own
            before it when it compiles.
        grid: Threads to launch along x, y and z.
        threadgroup: Threads of a threadgroup along x, y and z.
    """

    name: str
    function: str
    template: str
    text: str
    grid: Triple
    threadgroup: Triple

    @property
    def kernel(self) -> Kernel:
        """What is to be compiled."""
        return Kernel(self.text, self.function, self.template, f"{self.name}.metal")


def generated(function: Callable[..., Any], *arrays: mx.array) -> tuple[Generated, ...]:
    """Trace a function of MLX's and return the kernels that it would launch, in running order.

    Nothing is computed: in the function, arrays have a shape and a dtype, and no contents. A
    call whose outputs nothing depends on is not there, as it would not be run either.

    Raises:
        ToolError: This MLX describes a kernel in a way that tracekit does not know.
    """
    found: list[Generated] = []

    def keep(entry: dict[str, Any]) -> None:
        if entry.get("type") == "primitive" and entry.get("name") == "CustomKernel":
            found.append(_kernel(entry))

    mx.export_function(keep, function, *arrays)
    return tuple(found)


def _kernel(entry: dict[str, Any]) -> Generated:
    arguments = entry["arguments"]
    kinds = [type(value) for value in arguments[:8]]
    if kinds != [str, str, *[int] * 6]:
        raise ToolError(
            "This version of MLX describes a custom kernel in a way that tracekit does not know: "
            f"{', '.join(kind.__name__ for kind in kinds)} "
            "instead of two texts and six whole numbers.",
            hint="MLX 0.32 is known to work.",
        )
    function, text, *sizes = arguments[:8]
    template = _template(function, text)
    types = len(entry["inputs"]) + len(entry["outputs"])
    grid, threadgroup = (sizes[0], sizes[1], sizes[2]), (sizes[3], sizes[4], sizes[5])
    name = _name(function, template, types)
    return Generated(name, function, template, text, grid, threadgroup)


def _template(function: str, text: str) -> str:
    found = re.search(rf"decltype\({re.escape(function)}<(.*)>\)", text)
    return found[1] if found else ""


def _name(function: str, template: str, types: int) -> str:
    rest = re.sub(rf"(?:{_TYPE}){{{types}}}$", "", function.removeprefix(_PREFIX))
    values = re.sub(r", |-", "_", template.replace(", -", "__"))
    return rest.removesuffix(f"__{values}") if template else rest


MakeKernel = Callable[..., Callable[..., list[mx.array]]]


@dataclass(frozen=True)
class Launch:
    """One kernel that ran, and what it did."""

    source: Generated
    statistics: Statistics


@dataclass
class Log:
    """What ran during an emulation, in order."""

    launches: list[Launch] = field(default_factory=list[Launch])


@dataclass(frozen=True)
class _Emulator:
    """How kernels run in the emulation that is active."""

    log: Log
    order: Order
    seed: int
    checked: bool
    lenient: bool
    patience: float


_active: list[_Emulator] = []


@contextmanager
def emulation(
    *,
    order: Order = Order.ASCENDING,
    seed: int = 0,
    checked: bool = False,
    lenient: bool = False,
    patience: float = 600.0,
) -> Generator[Log]:
    """Let kernels of `mx.fast.metal_kernel` run on this CPU while the context is active.

    Each call is traced for the very text that MLX would compile; it is compiled for this
    processor and run on the arrays' contents at once. Outputs hold NaN before, or `init_value`.
    Kernels made before the context was entered are MLX's own and still need Metal. `mx.compile`
    is off meanwhile, since a compiled function's arrays have no contents.

    Args:
        order: In which order threads run between two places where they meet.
        seed: Of the random order.
        checked: Check every access to a buffer and count its bytes.
        lenient: Let a simdgroup operation be reached by some lanes only, as Metal does.
        patience: Seconds after which a kernel is stopped: some never end.

    Yields:
        What ran.
    """
    fast = cast("Any", mx.fast)
    before = fast.metal_kernel
    emulator = _Emulator(Log(), order, seed, checked, lenient, patience)
    _active.append(emulator)
    fast.metal_kernel = _maker(before)
    mx.disable_compile()
    try:
        yield emulator.log
    finally:
        _active.remove(emulator)
        fast.metal_kernel = before
        if not _active:
            mx.enable_compile()


def _maker(before: MakeKernel) -> MakeKernel:
    """Return what stands for `mx.fast.metal_kernel`, which is `before`."""
    if getattr(before, "is_emulated", False):
        return before

    def metal_kernel(*arguments: Any, **options: Any) -> Callable[..., list[mx.array]]:
        real = before(*arguments, **options)
        names = ("name", "input_names", "output_names", "source", "header", "ensure_row_contiguous")
        given = {**dict(zip(names, arguments, strict=False)), **options}

        def kernel(**call: Any) -> list[mx.array]:
            return _run(real, given, call, _active[-1]) if _active else real(**call)

        return kernel

    metal_kernel.is_emulated = True  # pyright: ignore[reportFunctionMemberAccess]
    return metal_kernel


def _run(
    real: Callable[..., list[mx.array]],
    given: Mapping[str, Any],
    call: Mapping[str, Any],
    emulator: _Emulator,
) -> list[mx.array]:
    inputs = [one if isinstance(one, mx.array) else mx.array(one) for one in call["inputs"]]
    if given.get("ensure_row_contiguous", True):
        inputs = [mx.contiguous(one) for one in inputs]
    source = _source(real, call, inputs)
    outputs = [
        _filled(shape, dtype, call.get("init_value"))
        for shape, dtype in zip(call["output_shapes"], call["output_dtypes"], strict=True)
    ]
    program = _program(source.text, source.function, source.template, source.name, emulator.checked)
    there = offered(given["input_names"], inputs)
    there |= dict(zip(given["output_names"], outputs, strict=True))
    taken = {
        parameter.name: there[parameter.name]
        for parameter in program.parameters
        if parameter.kind == "buffer"
    }
    statistics = program.run(
        taken,
        grid=source.grid,
        threadgroup=source.threadgroup,
        order=emulator.order,
        seed=emulator.seed,
        lenient=emulator.lenient,
        patience=emulator.patience,
    )
    emulator.log.launches.append(Launch(source, statistics))
    return [
        as_mlx(array, dtype) for array, dtype in zip(outputs, call["output_dtypes"], strict=True)
    ]


def _source(
    real: Callable[..., list[mx.array]], call: Mapping[str, Any], inputs: Sequence[mx.array]
) -> Generated:
    """Ask MLX what it would compile for this call; MLX refuses what does not fit, in its words."""

    def traced(*arrays: mx.array) -> list[mx.array]:
        return real(**{**call, "inputs": list(arrays)})

    return generated(traced, *inputs)[0]


@lru_cache(maxsize=1024)
def _program(text: str, function: str, template: str, name: str, checked: bool) -> Program:
    return compile_kernel(Kernel(text, function, template, f"{name}.metal"), checked=checked)


def _filled(shape: Sequence[int], dtype: mx.Dtype, value: float | None) -> Array:
    """Return an output before its kernel ran: `init_value`, or what no kernel would write."""
    array = np.empty(tuple(shape), numpy_dtype(dtype))
    if value is not None:
        as_given = mx.array(value, dtype)
        array[...] = np.array(as_given.view(mx.uint16) if dtype == mx.bfloat16 else as_given)
    elif dtype == mx.bool_:
        array[...] = True
    else:
        array.reshape(-1).view(np.uint8)[...] = 0xFF
    return array


def offered(names: Iterable[str], inputs: Iterable[mx.array]) -> dict[str, Array]:
    """Return all that a kernel can ask of its inputs: contents, shape, strides, dimensions."""
    found: dict[str, Array] = {}
    for name, array in zip(names, inputs, strict=True):
        memory, strides = memory_of(array)
        found[name] = memory
        found[f"{name}_shape"] = np.array(array.shape, np.int32)
        found[f"{name}_strides"] = np.array(strides, np.int64)
        found[f"{name}_ndim"] = np.array(array.ndim, np.int32)
    return found
