"""MLX functions with kernels of their own, run where there is no Metal.

Calling a kernel needs Metal; tracing a function for export does not, since MLX 0.32. The trace
holds the text that MLX would compile, the grid and the threadgroup.
"""

import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, cast

import mlx.core as mx
import numpy as np

from tracekit.base import ToolError, UsageError
from tracekit.lab.msl.compile import compile_kernel
from tracekit.lab.msl.compiler import Compiler, find_compiler
from tracekit.lab.msl.edits import KernelText
from tracekit.lab.msl.program import Array, KernelProgram, Launched, ThreadOrder, Triple

_PREFIX = "custom_kernel_"
_TYPE = r"_(?:u?int(?:8|16|32|64)_t|b?float16_t|float|bool|complex64_t)[sc]?"


@dataclass(frozen=True)
class Generated:
    """A kernel as MLX would compile it for one call.

    `name` is what `mx.fast.metal_kernel` was given, `function` that in the text and in a trace of a
    GPU. `text` has the header, the kernel and its instantiation; MLX puts a prelude of its own
    before it when it compiles. `grid` and `threadgroup` are in threads.
    """

    name: str
    function: str
    template: str
    text: str
    grid: Triple
    threadgroup: Triple

    @property
    def kernel(self) -> KernelText:
        """What is to be compiled."""
        return KernelText(self.text, self.function, self.template, f"{self.name}.metal")


def generated(function: Callable[..., Any], *arrays: mx.array) -> tuple[Generated, ...]:
    """Trace a function of MLX's and return the kernels that it would launch, in running order.

    Nothing is computed: in the function, arrays have a shape and a dtype, and no contents. A
    call whose outputs nothing depends on is not there, as it would not be run either.
    """
    kernels: list[Generated] = []

    def keep(entry: dict[str, Any]) -> None:
        if entry.get("type") == "primitive" and entry.get("name") == "CustomKernel":
            kernels.append(_kernel(entry))

    mx.export_function(keep, function, *arrays)
    return tuple(kernels)


def _kernel(entry: dict[str, Any]) -> Generated:
    arguments = entry["arguments"][:8]
    kinds = [type(value) for value in arguments]
    if kinds != [str, str, *[int] * 6]:
        raise ToolError(
            "This version of MLX describes a custom kernel in a way that tracekit does not know: "
            f"{', '.join(kind.__name__ for kind in kinds)} "
            "instead of two texts and six whole numbers.",
            hint="MLX 0.32 is known to work.",
        )
    function, text, *sizes = arguments
    match = re.search(rf"decltype\({re.escape(function)}<(.*)>\)", text)
    template = match[1] if match else ""
    types = len(entry["inputs"]) + len(entry["outputs"])
    name = re.sub(rf"(?:{_TYPE}){{{types}}}$", "", function.removeprefix(_PREFIX))
    if template:
        values = re.sub(r", |-", "_", template.replace(", -", "__"))
        name = name.removesuffix(f"__{values}")
    return Generated(name, function, template, text, tuple(sizes[:3]), tuple(sizes[3:]))


@dataclass(frozen=True)
class Call:
    """One call of a kernel of `mx.fast.metal_kernel`.

    `inputs` are contents, shape, strides and dimensions of its arrays, and `outputs` what it is to
    write, NaN before or `init_value`, by the names of parameters.
    """

    source: Generated
    inputs: dict[str, Array]
    outputs: dict[str, Array]
    dtypes: Sequence[mx.Dtype]

    def results(self) -> list[mx.array]:
        """Return what the outputs hold now as arrays of MLX's, with the same bits."""
        arrays = map(mx.array, self.outputs.values())
        return [
            array.view(mx.bfloat16) if dtype == mx.bfloat16 else array
            for array, dtype in zip(arrays, self.dtypes, strict=True)
        ]


Handle = Callable[[Call], list[mx.array]]
_active: list[Handle] = []


@contextmanager
def handled_by(handle: Handle) -> Generator[None]:
    """Let `handle` answer the calls of kernels of `mx.fast.metal_kernel` made in the context.

    Each call is traced for the very text that MLX would compile. Kernels made before are MLX's
    own and still need Metal. `mx.compile` is off meanwhile, since a compiled function's arrays
    have no contents.
    """
    fast = cast("Any", mx.fast)
    real_maker = fast.metal_kernel
    if not _active:
        fast.metal_kernel = _maker(real_maker)
    _active.append(handle)
    mx.disable_compile()
    try:
        yield
    finally:
        _active.pop()
        fast.metal_kernel = real_maker
        if not _active:
            mx.enable_compile()


def _maker(real_maker: Callable[..., Callable[..., list[mx.array]]]) -> Callable[..., Any]:
    """Return what stands for `mx.fast.metal_kernel`."""

    def metal_kernel(*arguments: Any, **options: Any) -> Callable[..., list[mx.array]]:
        real = real_maker(*arguments, **options)
        names = ("name", "input_names", "output_names", "source", "header", "ensure_row_contiguous")
        declaration = {**dict(zip(names, arguments, strict=False)), **options}

        def kernel(**call: Any) -> list[mx.array]:
            return _active[-1](_describe_call(real, declaration, call)) if _active else real(**call)

        return kernel

    return metal_kernel


def _describe_call(
    real: Callable[..., list[mx.array]], declaration: Mapping[str, Any], call: Mapping[str, Any]
) -> Call:
    """Ask MLX what it would compile for this call; MLX refuses what does not fit, in its words."""
    inputs = [value if isinstance(value, mx.array) else mx.array(value) for value in call["inputs"]]
    if declaration.get("ensure_row_contiguous", True):
        inputs = [mx.contiguous(array) for array in inputs]

    def call_real(*arrays: mx.array) -> list[mx.array]:
        return real(**{**call, "inputs": list(arrays)})

    (source,) = generated(call_real, *inputs)
    shapes, dtypes = call["output_shapes"], call["output_dtypes"]
    outputs = {
        name: _make_output(shape, dtype, call.get("init_value"))
        for name, shape, dtype in zip(declaration["output_names"], shapes, dtypes, strict=True)
    }
    return Call(source, _describe_inputs(declaration["input_names"], inputs), outputs, dtypes)


@contextmanager
def emulation(
    *,
    order: ThreadOrder = ThreadOrder.ASCENDING,
    seed: int = 0,
    checked: bool = False,
    lenient: bool = False,
    patience: float = 600.0,
) -> Generator[list[Launched]]:
    """Let kernels of `mx.fast.metal_kernel` run on this CPU while the context is active.

    Each call is compiled for this processor and run on the arrays' contents at once; see
    `handled_by`. Outputs hold NaN before, or `init_value`. Yields what ran, in order; it grows.

    Threads run in an `order`, the random one by a `seed`, between two places where they meet. If
    `checked`, every access to a buffer is checked and its bytes are counted; if `lenient`, some
    lanes may leave out a simdgroup operation, as on Metal. A kernel is stopped after `patience`
    seconds: some never end.
    """
    launches: list[Launched] = []
    how: Any = {"order": order, "seed": seed, "lenient": lenient, "patience": patience}
    compiler = cache(find_compiler)  # once for the context, which may not need it

    def run(call: Call) -> list[mx.array]:
        source = call.source
        kernel = (source.text, source.function, source.template, source.name)
        program = _program(*kernel, checked, compiler())
        arrays = call.inputs | call.outputs
        names = [parameter.name for parameter in program.parameters if parameter.kind == "buffer"]
        buffers = {name: arrays[name] for name in names}
        statistics = program.run(buffers, grid=source.grid, threadgroup=source.threadgroup, **how)
        launches.append(Launched(source.kernel, statistics))
        return call.results()

    with handled_by(run):
        yield launches


@lru_cache(maxsize=1024)
def _program(
    text: str, function: str, template: str, name: str, checked: bool, _compiler: Compiler
) -> KernelProgram:
    return compile_kernel(KernelText(text, function, template, f"{name}.metal"), checked=checked)


def _make_output(shape: Sequence[int], dtype: mx.Dtype, value: float | None) -> Array:
    """Return an output before its kernel ran: `init_value`, or what no kernel would write."""
    kind = "u2" if dtype == mx.bfloat16 else "?" if dtype == mx.bool_ else str(dtype).split(".")[-1]
    array = np.empty(tuple(shape), np.dtype(kind))
    if value is not None:
        array[...] = _view_as_numpy(mx.array(value, dtype))
    elif dtype == mx.bool_:
        array[...] = True
    else:
        array.reshape(-1).view(np.uint8)[...] = 0xFF
    return array


def _view_as_numpy(array: mx.array) -> Array:
    """Return the same memory as numpy sees it, which knows no bfloat16: its bits as uint16."""
    return np.asarray(array.view(mx.uint16) if array.dtype == mx.bfloat16 else array)


def _describe_inputs(names: Iterable[str], inputs: Iterable[mx.array]) -> dict[str, Array]:
    """Return all that a kernel can ask of its inputs: contents, shape, strides, dimensions."""
    arrays: dict[str, Array] = {}
    for name, array in zip(names, inputs, strict=True):
        view = _view_as_numpy(array)
        strides = [step // view.itemsize for step in view.strides]
        if any(stride < 0 for stride in strides):
            raise UsageError(
                "An array that runs backwards through memory cannot be given to a kernel here.",
                hint="Pass mx.contiguous(array), or ensure_row_contiguous=True.",
            )
        last_offset = sum((size - 1) * step for size, step in zip(view.shape, strides, strict=True))
        count = last_offset + 1 if view.size else 0  # the memory that it spans, flat and not copied
        arrays[name] = np.lib.stride_tricks.as_strided(view, (count,), (view.itemsize,))
        arrays[f"{name}_shape"] = np.array(array.shape, np.int32)
        arrays[f"{name}_strides"] = np.array(strides, np.int64)
        arrays[f"{name}_ndim"] = np.array(array.ndim, np.int32)
    return arrays
