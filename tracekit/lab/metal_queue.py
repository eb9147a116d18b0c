"""Measure GPU time of single kernels, on a Metal queue separate from MLX's, through PyObjC.

The calls are those of PyObjC's bindings of Metal. `GPUStartTime` and `GPUEndTime` concern a whole
command buffer, so it holds many dispatches of one kernel, and nothing else; they run one after
the other.

MLX puts a prelude before a kernel's text and does not print it. Its headers are in the package, so
the prelude can be put together: the file that defines `Limits`, float16_t and bfloat16_t, with the
files that it includes.
"""

import importlib
import math
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mlx.core as mx

from tracekit.base import ToolError, distribution
from tracekit.lab.msl.edits import with_includes
from tracekit.lab.msl.emulation import Call, handled_by
from tracekit.lab.msl.program import Triple
from tracekit.lab.msl.signature import parameters_of


class MetalError(ToolError):
    """Metal cannot do a work; `reason` is a clause without a full stop."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(f"GPU time is not available, because {reason}.", hint)
        self.reason = reason


def unavailable(reason: str, hint: str = "") -> MetalError:
    """Return the error of a missing GPU time; the reason is without a full stop."""
    return MetalError(reason, hint)


_WARMUPS = 1  # command buffers that do not count


_REPEATS = 5  # command buffers that count


def load_metal() -> Any:
    """Import PyObjC's bindings of Metal."""
    if sys.platform != "darwin":
        raise unavailable("there is no Metal on this system")
    try:
        return importlib.import_module("Metal")
    except ImportError as error:
        raise unavailable(
            f"PyObjC's Metal cannot be loaded: {error}",
            hint=distribution.missing_extra("metal", "Metal").hint,
        ) from error


_DISPATCHES = 200  # in a command buffer


@dataclass(frozen=True)
class Dispatch:
    """GPU time of one kernel, alone on its queue, and the limits of its occupancy.

    `samples` are nanoseconds of one dispatch, one for each command buffer. `execution_width` is
    the number of threads in a simdgroup, `most_threads` the limit for its threadgroup,
    `threadgroup_memory` the bytes that a threadgroup declares.
    """

    function: str
    samples: Sequence[float]
    minimum: float
    median: float
    execution_width: int
    most_threads: int
    threadgroup_memory: int


class Queue:
    """A queue on the system's GPU; `metal` is PyObjC's module, see `load_metal`."""

    def __init__(self, metal: Any) -> None:
        self._metal = metal
        self._device = _require(
            metal.MTLCreateSystemDefaultDevice(), "the system has no Metal device"
        )
        self._queue = _require(self._device.newCommandQueue(), "Metal gives no command queue")

    def compile(self, source: str, function: str) -> Any:
        """Compile a text and return Metal's pipeline state of one of its kernels.

        Fast math is off, as it is for MLX kernels with the math mode "safe".
        """
        options = self._metal.MTLCompileOptions.new()
        options.setFastMathEnabled_(False)
        library, error = self._device.newLibraryWithSource_options_error_(source, options, None)
        _require(library, f"Metal cannot compile {function}: {_words(error)}")
        kernel = library.newFunctionWithName_(function)
        _require(kernel, f"the compiled library has no function {function}")
        state, error = self._device.newComputePipelineStateWithFunction_error_(kernel, None)
        return _require(state, f"Metal makes no pipeline of {function}: {_words(error)}")

    def buffer(self, contents: bytes | int) -> Any:
        """Make a buffer of these bytes, or of this number of bytes for a kernel to write."""
        shared = self._metal.MTLResourceStorageModeShared
        if isinstance(contents, int):
            size = contents
            metal_buffer = self._device.newBufferWithLength_options_(size, shared)
        else:
            size = len(contents)
            metal_buffer = self._device.newBufferWithBytes_length_options_(contents, size, shared)
        return _require(metal_buffer, f"Metal gives no buffer of {size} bytes")

    def time(
        self,
        function: str,
        state: Any,
        bindings: Sequence[dict[int, Any]],
        *,
        grid: Triple,
        threadgroup: Triple,
    ) -> Dispatch:
        """Time a kernel; dispatches take the sets of buffers, by their index, in turns."""
        most_threads = state.maxTotalThreadsPerThreadgroup()
        threads = math.prod(threadgroup)
        if threads > most_threads:
            raise unavailable(
                f"{function} may have {most_threads} threads in a threadgroup, not {threads}",
                hint=f"Launch it with at most {most_threads}, or keep fewer values in each.",
            )
        for _ in range(_WARMUPS):
            self._run(state, bindings, grid, threadgroup)
        samples: list[float] = []
        for _ in range(_REPEATS):
            seconds = self._run(state, bindings, grid, threadgroup)
            samples.append(seconds * 1e9 / _DISPATCHES)
        execution_width = state.threadExecutionWidth()
        threadgroup_memory = state.staticThreadgroupMemoryLength()
        return Dispatch(
            function,
            tuple(samples),
            min(samples),
            statistics.median(samples),
            execution_width,
            most_threads,
            threadgroup_memory,
        )

    def _run(
        self,
        state: Any,
        bindings: Sequence[dict[int, Any]],
        grid: Triple,
        threadgroup: Triple,
    ) -> float:
        size = self._metal.MTLSizeMake
        commands = self._queue.commandBuffer()
        encoder = commands.computeCommandEncoder()
        encoder.setComputePipelineState_(state)
        for number in range(_DISPATCHES):
            bound_buffers = bindings[number % len(bindings)]
            for index, buffer in bound_buffers.items():
                encoder.setBuffer_offset_atIndex_(buffer, 0, index)
            grid_size = size(*grid)
            threadgroup_size = size(*threadgroup)
            encoder.dispatchThreads_threadsPerThreadgroup_(grid_size, threadgroup_size)
        encoder.endEncoding()
        commands.commit()
        commands.waitUntilCompleted()
        if commands.error() is not None:
            raise unavailable(f"the GPU did not complete the work: {_words(commands.error())}")
        start = commands.GPUStartTime()
        end = commands.GPUEndTime()
        if start == 0 or end == 0:
            raise unavailable("the GPU's clock gave zeros")
        if not end > start:
            raise unavailable(f"the GPU's clock ran from {start!r} to {end!r} s")
        return end - start


def _require(result: Any, reason: str) -> Any:
    """Return an object of Metal's; raise with the reason if there is none."""
    if result is None:
        raise unavailable(reason)
    return result


def _words(error: Any) -> str:
    if error is None:
        return "it gives no reason"
    return str(error).strip().rstrip(".") or "it gives no reason"


UTILS = "mlx/backend/metal/kernels/utils.h"


def prelude() -> str:
    """Return the text of MLX's `utils.h` with all that it includes by quotes."""
    for place in _mlx_folders():
        folder = Path(place) / "include"
        if (folder / UTILS).is_file():
            include_line = f'#include "{UTILS}"'
            return with_includes(include_line, folder / "kernel.metal", [folder])[0]
    raise unavailable(f"the installed MLX has no header {UTILS}, which its kernels need")


def _mlx_folders() -> Sequence[str]:
    spec = find_spec("mlx")
    if spec is None:
        return []
    return spec.submodule_search_locations or []


def buffers_of(call: Call) -> dict[int, bytes | int]:
    """Return each buffer by its index: its contents, or its size if the kernel writes it."""
    source = call.source
    contents: dict[int, bytes | int] = {}
    parameters = parameters_of(source.text, source.function, source.kernel.file)
    for parameter in parameters:
        if parameter.kind == "builtin":
            continue
        if parameter.name in call.outputs:
            contents[parameter.index] = call.outputs[parameter.name].nbytes
        elif parameter.name in call.inputs:
            contents[parameter.index] = call.inputs[parameter.name].tobytes()
        else:
            raise unavailable(
                f"the contents of the parameter {parameter.name!r} of {source.function} are "
                "not known"
            )
    return contents


def record_calls(function: Callable[[], Any]) -> tuple[Call, ...]:
    """Run a function and return the calls of custom kernels, in their order.

    The kernels give zeros here, so a kernel that reads the output of another one gets zeros.
    Nothing is computed, so this works without Metal as well.
    """
    calls: list[Call] = []

    def note(call: Call) -> list[mx.array]:
        calls.append(call)
        zeros: list[mx.array] = []
        typed_outputs = zip(call.outputs.values(), call.dtypes, strict=True)
        for output, dtype in typed_outputs:
            zeros.append(mx.zeros(output.shape, dtype))
        return zeros

    with handled_by(note):
        function()
    return tuple(calls)


def time_kernels(calls: Sequence[Callable[[], Any]], metal: Any) -> tuple[Dispatch, ...]:
    """Time each custom kernel that a call launches, on a separate queue.

    `calls` are the same call on several inputs, which dispatches take in turns, so that caches do
    not serve everything.
    """
    sets = [record_calls(call) for call in calls]
    if not sets or not sets[0]:
        raise unavailable("the call launches no kernel of `mx.fast.metal_kernel`")
    queue = Queue(metal)
    launches_by_kernel = zip(*sets, strict=True)
    return tuple(_time_kernel(queue, launches) for launches in launches_by_kernel)


def _time_kernel(queue: Queue, calls: Sequence[Call]) -> Dispatch:
    source = calls[0].source
    contents = [buffers_of(call) for call in calls]
    # As in MLX, a threadgroup is at most as large as the grid along each axis.
    x, y, z = map(min, source.threadgroup, source.grid)
    try:
        program_text = f"{prelude()}\n{source.text}"
        state = queue.compile(program_text, source.function)
        bindings = [_bind(queue, content) for content in contents]
        return queue.time(source.function, state, bindings, grid=source.grid, threadgroup=(x, y, z))
    except (AttributeError, TypeError, ValueError) as error:
        # PyObjC raises these for a method that is missing, or takes other arguments.
        raise unavailable(
            f"this PyObjC or macOS takes a call of Metal otherwise: {error}"
        ) from error


def _bind(queue: Queue, contents: Mapping[int, bytes | int]) -> dict[int, Any]:
    """Return a buffer for each index."""
    return {index: queue.buffer(data) for index, data in contents.items()}
