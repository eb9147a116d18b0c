"""Run MLX functions with custom kernels on a machine without Metal.

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
from tracekit.lab.msl.barriers import apply_removal
from tracekit.lab.msl.compiler import Compiler, find_compiler
from tracekit.lab.msl.counting import Counted, compile_as_asked, find_counted
from tracekit.lab.msl.edits import KernelText
from tracekit.lab.msl.program import Array, KernelProgram, Launched, ThreadOrder, Triple

_PREFIX = "custom_kernel_"
_TYPE = r"_(?:u?int(?:8|16|32|64)_t|b?float16_t|float|bool|complex64_t)[sc]?"


@dataclass(frozen=True)
class Generated:
    """A kernel as MLX would compile it for one call.

    `name` is the name passed to `mx.fast.metal_kernel`; `function` is the name in the text and in
    a GPU trace. `text` has the header, the kernel and its instantiation; MLX puts its own prelude
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
        """The text to compile."""
        return KernelText(self.text, self.function, self.template, f"{self.name}.metal")


def generated(function: Callable[..., Any], *arrays: mx.array) -> tuple[Generated, ...]:
    """Trace an MLX function and return the kernels that it would launch, in running order.

    Nothing is computed: in the function, arrays have a shape and a dtype, but no contents. A
    call is missing if nothing depends on its outputs, as MLX would not run it either.
    """
    kernels: list[Generated] = []

    def keep(entry: dict[str, Any]) -> None:
        if entry.get("type") == "primitive" and entry.get("name") == "CustomKernel":
            kernels.append(_kernel(entry))

    mx.export_function(keep, function, *arrays)
    return tuple(kernels)


_ARGUMENT_KINDS = [str, str, int, int, int, int, int, int]


def _kernel(entry: dict[str, Any]) -> Generated:
    arguments = entry["arguments"][: len(_ARGUMENT_KINDS)]
    kinds = [type(value) for value in arguments]
    if kinds != _ARGUMENT_KINDS:
        kind_names = ", ".join(kind.__name__ for kind in kinds)
        raise ToolError(
            "This version of MLX describes a custom kernel in a way that tracekit does not know: "
            f"{kind_names} instead of two texts and six whole numbers.",
            hint="MLX 0.32 is known to work.",
        )
    function, text, *sizes = arguments
    grid = tuple(sizes[:3])
    threadgroup = tuple(sizes[3:])
    template = _find_template(text, function)
    array_count = len(entry["inputs"]) + len(entry["outputs"])
    name = _remove_suffixes(function, array_count, template)
    return Generated(name, function, template, text, grid, threadgroup)


def _find_template(text: str, function: str) -> str:
    """Return the template arguments in the instantiation of a function; empty without one."""
    pattern = rf"decltype\({re.escape(function)}<(.*)>\)"
    match = re.search(pattern, text)
    if match is None:
        return ""
    return match[1]


def _remove_suffixes(function: str, array_count: int, template: str) -> str:
    """Remove the prefix, types and template arguments that MLX adds to the name of a kernel."""
    name = function.removeprefix(_PREFIX)
    type_suffixes = rf"(?:{_TYPE}){{{array_count}}}$"
    name = re.sub(type_suffixes, "", name)
    if template:
        values = template.replace(", -", "__")
        values = re.sub(r", |-", "_", values)
        name = name.removesuffix(f"__{values}")
    return name


@dataclass(frozen=True)
class Call:
    """One call of a kernel of `mx.fast.metal_kernel`.

    `inputs` has the contents, shape, strides and dimensions of its arrays, `outputs` the arrays to
    write, filled with NaN or `init_value`. The keys are the names of parameters.
    """

    source: Generated
    inputs: dict[str, Array]
    outputs: dict[str, Array]
    dtypes: Sequence[mx.Dtype]

    def results(self) -> list[mx.array]:
        """Return the present contents of the outputs as MLX arrays, with the same bits."""
        arrays: list[mx.array] = []
        typed_outputs = zip(self.outputs.values(), self.dtypes, strict=True)
        for output, dtype in typed_outputs:
            array = mx.array(output)
            if dtype == mx.bfloat16:
                array = array.view(mx.bfloat16)
            arrays.append(array)
        return arrays


Handle = Callable[[Call], list[mx.array]]
_active: list[Handle] = []


@contextmanager
def handled_by(handle: Handle) -> Generator[None]:
    """Let `handle` answer the calls of kernels of `mx.fast.metal_kernel` made in the context.

    Each call is traced for the very text that MLX would compile. Kernels made before the context
    belong to MLX and still need Metal. `mx.compile` is off in the context, since the arrays of a
    compiled function have no contents.
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


# The parameters of `mx.fast.metal_kernel`, in their order.
_PARAMETERS = (
    "name",
    "input_names",
    "output_names",
    "source",
    "header",
    "ensure_row_contiguous",
)


def _maker(real_maker: Callable[..., Callable[..., list[mx.array]]]) -> Callable[..., Any]:
    """Return the function that replaces `mx.fast.metal_kernel`."""

    def metal_kernel(*arguments: Any, **options: Any) -> Callable[..., list[mx.array]]:
        real = real_maker(*arguments, **options)
        named_arguments = zip(_PARAMETERS, arguments, strict=False)
        declaration: dict[str, Any] = dict(named_arguments)
        declaration.update(options)

        def kernel(**call: Any) -> list[mx.array]:
            if not _active:
                return real(**call)
            handle = _active[-1]
            return handle(_describe_call(real, declaration, call))

        return kernel

    return metal_kernel


def _describe_call(
    real: Callable[..., list[mx.array]], declaration: Mapping[str, Any], call: Mapping[str, Any]
) -> Call:
    """Ask MLX for the text that it would compile for a call; raise MLX's own errors."""
    inputs = _make_inputs(call["inputs"], contiguous=declaration.get("ensure_row_contiguous", True))

    def call_real(*arrays: mx.array) -> list[mx.array]:
        arguments = dict(call)
        arguments["inputs"] = list(arrays)
        return real(**arguments)

    (source,) = generated(call_real, *inputs)
    names = declaration["output_names"]
    shapes = call["output_shapes"]
    dtypes = call["output_dtypes"]
    initial_value = call.get("init_value")
    outputs: dict[str, Array] = {}
    described_outputs = zip(names, shapes, dtypes, strict=True)
    for name, shape, dtype in described_outputs:
        outputs[name] = _make_output(shape, dtype, initial_value)
    described_inputs = _describe_inputs(declaration["input_names"], inputs)
    return Call(source, described_inputs, outputs, dtypes)


def _make_inputs(values: Iterable[Any], *, contiguous: bool) -> list[mx.array]:
    """Return the inputs of a call as arrays, copied if they must be contiguous and are not."""
    arrays: list[mx.array] = []
    for value in values:
        array = value
        if not isinstance(array, mx.array):
            array = mx.array(array)
        if contiguous:
            array = mx.contiguous(array)
        arrays.append(array)
    return arrays


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

    Each call is compiled for this processor and run at once on the contents of the arrays; see
    `handled_by`. Outputs first hold NaN, or `init_value`. Yields the launches in order; the list
    grows.

    Between two places where threads meet, they run in an `order`, the random one by a `seed`. If
    `checked`, every access to a buffer is checked and its bytes are counted; if `lenient`, some
    lanes may leave out a simdgroup operation, as on Metal. A kernel is stopped after `patience`
    seconds, since some never end.
    """
    launches: list[Launched] = []
    options: Any = {"order": order, "seed": seed, "lenient": lenient, "patience": patience}
    compiler = cache(find_compiler)  # once for the context, which may not need it

    def run(call: Call) -> list[mx.array]:
        source = call.source
        program = _program(
            apply_removal(source.kernel).text,
            source.function,
            source.template,
            source.name,
            checked,
            find_counted(),
            compiler(),
        )
        arrays = call.inputs | call.outputs
        buffers: dict[str, Array] = {}
        for parameter in program.parameters:
            if parameter.kind == "buffer":
                buffers[parameter.name] = arrays[parameter.name]
        statistics = program.run(
            buffers, grid=source.grid, threadgroup=source.threadgroup, **options
        )
        launches.append(Launched(source.kernel, statistics))
        return call.results()

    with handled_by(run):
        yield launches


@lru_cache(maxsize=1024)
def _program(
    text: str,
    function: str,
    template: str,
    name: str,
    checked: bool,
    _counted: Counted | None,
    _compiler: Compiler,
) -> KernelProgram:
    kernel_text = KernelText(text, function, template, f"{name}.metal")
    return compile_as_asked(kernel_text, checked=checked)


def _make_output(shape: Sequence[int], dtype: mx.Dtype, value: float | None) -> Array:
    """Return an output as it is before the launch: `init_value`, or NaN, which no kernel writes."""
    array = np.empty(tuple(shape), _numpy_dtype(dtype))
    if value is not None:
        array[...] = _view_as_numpy(mx.array(value, dtype))
    elif dtype == mx.bool_:
        array[...] = True
    else:
        octets = array.reshape(-1).view(np.uint8)
        octets[...] = 0xFF
    return array


def _numpy_dtype(dtype: mx.Dtype) -> np.dtype[Any]:
    """Return the dtype for the same bits in numpy, which has no bfloat16."""
    if dtype == mx.bfloat16:
        return np.dtype(np.uint16)
    if dtype == mx.bool_:
        return np.dtype(np.bool_)
    type_name = str(dtype).split(".")[-1]
    return np.dtype(type_name)


def _view_as_numpy(array: mx.array) -> Array:
    """Return the same memory in numpy, which has no bfloat16: its bits are uint16."""
    if array.dtype == mx.bfloat16:
        array = array.view(mx.uint16)
    return np.asarray(array)


def _describe_inputs(names: Iterable[str], inputs: Iterable[mx.array]) -> dict[str, Array]:
    """Return everything that a kernel can read of its inputs: contents, shape, strides, ndim."""
    arrays: dict[str, Array] = {}
    for name, array in zip(names, inputs, strict=True):
        view = _view_as_numpy(array)
        strides = [step // view.itemsize for step in view.strides]
        if any(stride < 0 for stride in strides):
            raise UsageError(
                "An array that runs backwards through memory cannot be given to a kernel here.",
                hint="Pass mx.contiguous(array), or ensure_row_contiguous=True.",
            )
        span = _span_elements(view.shape, strides)
        arrays[name] = np.lib.stride_tricks.as_strided(view, (span,), (view.itemsize,))
        arrays[f"{name}_shape"] = np.array(array.shape, np.int32)
        arrays[f"{name}_strides"] = np.array(strides, np.int64)
        arrays[f"{name}_ndim"] = np.array(array.ndim, np.int32)
    return arrays


def _span_elements(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Return the number of elements between the first and the last of an array in memory."""
    if 0 in shape:
        return 0
    last_offset = 0
    for size, stride in zip(shape, strides, strict=True):
        last_offset += (size - 1) * stride
    return last_offset + 1
