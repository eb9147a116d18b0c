"""MLX functions with kernels of their own, run where there is no Metal."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tracekit.lab.msl.compile import compile_kernel
from tracekit.lab.msl.generated import Generated, generated
from tracekit.lab.msl.kernel import Kernel
from tracekit.lab.msl.program import Program, Triple
from tracekit.lab.msl.raw_memory import as_mlx, memory_of, numpy_dtype
from tracekit.lab.msl.statistics import Order, Statistics

Array = NDArray[Any]
MakeKernel = Callable[..., Callable[..., list[mx.array]]]


@dataclass(frozen=True)
class Launch:
    """One kernel that ran.

    Attributes:
        name: What `mx.fast.metal_kernel` was given as `name`.
        text: The source as MLX would compile it.
        function: Name of the kernel in the text.
        template: Its template arguments as text; "" for none.
        grid: Threads along x, y and z.
        threadgroup: Threads of a threadgroup along x, y and z.
        statistics: What it did.
    """

    name: str
    text: str
    function: str
    template: str
    grid: Triple
    threadgroup: Triple
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
    offered = _offered(given["input_names"], inputs)
    offered |= dict(zip(given["output_names"], outputs, strict=True))
    taken = {one.name: offered[one.name] for one in program.parameters if one.kind == "buffer"}
    statistics = program.run(
        taken,
        grid=source.grid,
        threadgroup=source.threadgroup,
        order=emulator.order,
        seed=emulator.seed,
        lenient=emulator.lenient,
        patience=emulator.patience,
    )
    emulator.log.launches.append(
        Launch(
            source.name,
            source.text,
            source.function,
            source.template,
            source.grid,
            source.threadgroup,
            statistics,
        )
    )
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


def _offered(names: Sequence[str], inputs: Sequence[mx.array]) -> dict[str, Array]:
    """Return all that a kernel can ask of its inputs: contents, shape, strides, dimensions."""
    offered: dict[str, Array] = {}
    for name, array in zip(names, inputs, strict=True):
        memory, strides = memory_of(array)
        offered[name] = memory
        offered[f"{name}_shape"] = np.array(array.shape, np.int32)
        offered[f"{name}_strides"] = np.array(strides, np.int64)
        offered[f"{name}_ndim"] = np.array(array.ndim, np.int32)
    return offered
