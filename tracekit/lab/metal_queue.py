"""GPU time of single kernels: a Metal queue of our own, beside MLX's, through PyObjC.

The calls are those of PyObjC's bindings of Metal. `GPUStartTime` and `GPUEndTime` are of a whole
command buffer, so it holds many dispatches of one kernel, and nothing else; they run one after
the other.

MLX puts a prelude before a kernel's text and does not print it. Its headers lie in the package, so
it can be put together: the
file that defines `Limits`, float16_t and bfloat16_t, with the files that it includes.

`mx.fast.metal_kernel` is replaced while the function runs; nothing is computed, so this works
where there is no Metal as well.
"""

import importlib
import math
import re
import statistics
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mlx.core as mx

from tracekit.base import ToolError
from tracekit.lab.msl.emulation import Array, Generated, generated, offered


def unavailable(reason: str, hint: str = "") -> ToolError:
    """Return the error of a GPU time that cannot be had; the reason is without a full stop."""
    return ToolError(f"GPU time is not available, because {reason}.", hint=hint)


def load_metal() -> Any:
    """Import PyObjC's bindings of Metal.

    Raises:
        ToolError: This is no Mac, or PyObjC is not installed, or cannot be loaded.
    """
    if sys.platform != "darwin":
        raise unavailable("there is no Metal on this system")
    try:
        return importlib.import_module("Metal")
    except ImportError as error:
        raise unavailable(
            f"PyObjC's Metal cannot be loaded: {error}", hint="pip install 'tracekit[metal]'"
        ) from error


Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Protocol:
    """How a kernel is timed: command buffers that do not count, those that do, their dispatches."""

    warmups: int = 1
    repeats: int = 5
    dispatches: int = 200


PROTOCOL = Protocol()


@dataclass(frozen=True)
class Pipeline:
    """A compiled kernel, and what the GPU says of its occupancy.

    Attributes:
        function: Its name.
        state: Metal's pipeline state.
        execution_width: Threads of a simdgroup.
        most_threads: Threads that a threadgroup of it may have.
        threadgroup_memory: Bytes that a threadgroup of it declares.
    """

    function: str
    state: Any
    execution_width: int
    most_threads: int
    threadgroup_memory: int


@dataclass(frozen=True)
class Dispatch:
    """GPU time of one kernel, alone on a queue of ours, and what limits its occupancy.

    Times are nanoseconds of one dispatch, one sample for each command buffer of many.
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
        self._device = metal.MTLCreateSystemDefaultDevice()
        if self._device is None:
            raise unavailable("the system has no Metal device")
        self._queue = self._device.newCommandQueue()
        if self._queue is None:
            raise unavailable("Metal gives no command queue")

    def compile(self, source: str, function: str) -> Pipeline:
        """Compile a text and make a pipeline of one of its kernels.

        Fast math is off, as it is for kernels of MLX's with the math mode "safe".

        Raises:
            ToolError: Metal refuses; its words are in the message.
        """
        options = self._metal.MTLCompileOptions.new()
        options.setFastMathEnabled_(False)
        library, error = self._device.newLibraryWithSource_options_error_(source, options, None)
        if library is None:
            raise unavailable(f"Metal cannot compile {function}: {_words(error)}")
        kernel = library.newFunctionWithName_(function)
        if kernel is None:
            raise unavailable(f"the compiled library has no function {function}")
        state, error = self._device.newComputePipelineStateWithFunction_error_(kernel, None)
        if state is None:
            raise unavailable(f"Metal makes no pipeline of {function}: {_words(error)}")
        return Pipeline(
            function,
            state,
            state.threadExecutionWidth(),
            state.maxTotalThreadsPerThreadgroup(),
            state.staticThreadgroupMemoryLength(),
        )

    def buffer(self, contents: bytes | int) -> Any:
        """Make a buffer of these bytes, or of so many for a kernel to write."""
        shared = self._metal.MTLResourceStorageModeShared
        if isinstance(contents, int):
            size, made = contents, self._device.newBufferWithLength_options_(contents, shared)
        else:
            size = len(contents)
            made = self._device.newBufferWithBytes_length_options_(contents, size, shared)
        if made is None:
            raise unavailable(f"Metal gives no buffer of {size} bytes")
        return made

    def time(
        self,
        pipeline: Pipeline,
        bindings: Sequence[dict[int, Any]],
        grid: Triple,
        threadgroup: Triple,
        protocol: Protocol = PROTOCOL,
    ) -> Dispatch:
        """Time a kernel.

        Args:
            pipeline: The compiled kernel.
            bindings: Sets of buffers by their index, which dispatches take in turns.
            grid: Threads in all.
            threadgroup: Threads of a threadgroup.
            protocol: How often.

        Raises:
            ToolError: The launch is refused, or the GPU's clock says nothing.
        """
        if math.prod(threadgroup) > pipeline.most_threads:
            raise unavailable(
                f"{pipeline.function} may have {pipeline.most_threads} threads in a threadgroup, "
                f"not {math.prod(threadgroup)}"
            )
        samples: list[float] = []
        for number in range(protocol.warmups + protocol.repeats):
            seconds = self._run(pipeline, bindings, grid, threadgroup, protocol.dispatches)
            if number >= protocol.warmups:
                samples.append(seconds * 1e9 / protocol.dispatches)
        return Dispatch(
            pipeline.function,
            tuple(samples),
            min(samples),
            statistics.median(samples),
            pipeline.execution_width,
            pipeline.most_threads,
            pipeline.threadgroup_memory,
        )

    def _run(
        self,
        pipeline: Pipeline,
        bindings: Sequence[dict[int, Any]],
        grid: Triple,
        threadgroup: Triple,
        dispatches: int,
    ) -> float:
        size = self._metal.MTLSizeMake
        commands = self._queue.commandBuffer()
        encoder = commands.computeCommandEncoder()
        encoder.setComputePipelineState_(pipeline.state)
        for number in range(dispatches):
            for index, buffer in bindings[number % len(bindings)].items():
                encoder.setBuffer_offset_atIndex_(buffer, 0, index)
            encoder.dispatchThreads_threadsPerThreadgroup_(size(*grid), size(*threadgroup))
        encoder.endEncoding()
        commands.commit()
        commands.waitUntilCompleted()
        if commands.error() is not None:
            raise unavailable(f"the GPU did not complete the work: {_words(commands.error())}")
        return _elapsed(commands.GPUStartTime(), commands.GPUEndTime())


def _elapsed(start: float, end: float) -> float:
    if start == 0 or end == 0:
        raise unavailable("the GPU's clock gave zeros")
    if not end > start:
        raise unavailable(f"the GPU's clock ran from {start!r} to {end!r} s")
    return end - start


def _words(error: Any) -> str:
    said = str(error) if error is not None else ""
    return said.strip().rstrip(".") or "it gives no reason"


UTILS = "mlx/backend/metal/kernels/utils.h"
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"[^\n]*$', re.MULTILINE)
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once[^\n]*$", re.MULTILINE)


def include_folder() -> Path:
    """Return the folder that holds MLX's headers.

    Raises:
        ToolError: MLX is not installed, or without them.
    """
    spec = find_spec("mlx")
    places = list(spec.submodule_search_locations or []) if spec else []
    for place in places:
        if (Path(place) / "include" / UTILS).is_file():
            return Path(place) / "include"
    raise unavailable(f"the installed MLX has no header {UTILS}, which its kernels need")


def prelude(folder: Path | None = None) -> str:
    """Return the text of MLX's `utils.h` with all that it includes by quotes, each file once.

    Raises:
        ToolError: A header is missing.
    """
    return _expanded(UTILS, folder or include_folder(), set())


def _expanded(name: str, folder: Path, seen: set[str]) -> str:
    if name in seen:
        return ""
    seen.add(name)
    try:
        text = (folder / name).read_text()
    except OSError as error:
        raise unavailable(f"MLX's header {name} cannot be read: {error.strerror}") from error
    text = _ONCE.sub("", text)
    return _INCLUDE.sub(lambda found: _expanded(found[1], folder, seen), text)


_BUFFER = re.compile(r"(\w+)\s*\[\[\s*buffer\((\d+)\)\s*\]\]")


@dataclass(frozen=True)
class Launch:
    """One kernel as it is launched.

    Attributes:
        source: Its text, name, grid and threadgroup, as MLX would compile and launch it.
        inputs: Its arrays, their shapes, strides and dimensions, by the names of parameters.
        outputs: Bytes of what it writes, by the names of their parameters.
    """

    source: Generated
    inputs: dict[str, Array]
    outputs: dict[str, int]

    @property
    def threadgroup(self) -> Triple:
        """Threads of a threadgroup, as MLX has it: no more than the grid has along an axis."""
        least = [min(pair) for pair in zip(self.source.threadgroup, self.source.grid, strict=True)]
        return least[0], least[1], least[2]

    def buffers(self) -> dict[int, bytes | int]:
        """Return each buffer's contents, or the size of those to be written, by its index.

        Raises:
            ToolError: The text has a parameter whose meaning is not known.
        """
        signature = self.source.text.partition(f"void {self.source.function}(")[2]
        found = _BUFFER.findall(signature.partition("{")[0])
        return {int(index): self._contents(name) for name, index in found}

    def _contents(self, name: str) -> bytes | int:
        if name in self.outputs:
            return self.outputs[name]
        if name in self.inputs:
            return self.inputs[name].tobytes()
        raise unavailable(
            f"it is not known what the parameter {name!r} of {self.source.function} holds"
        )


@contextmanager
def _replaced(factory: Callable[..., Any]) -> Generator[None]:
    true = mx.fast.metal_kernel
    mx.fast.metal_kernel = factory
    try:
        yield
    finally:
        mx.fast.metal_kernel = true


def recorded(function: Callable[[], Any]) -> tuple[Launch, ...]:
    """Run a function and return the custom kernels that it launches, in the order of its calls.

    The kernels give zeros here, so a kernel that reads what another one wrote gets zeros.

    Raises:
        ToolError: This MLX describes a kernel in a way that tracekit does not know.
    """
    found: list[Launch] = []
    make = mx.fast.metal_kernel

    def factory(*, name: str, input_names: Any, output_names: Any, **how: Any) -> Any:
        kernel = make(name=name, input_names=input_names, output_names=output_names, **how)

        def call(*, inputs: Sequence[Any], **launch: Any) -> list[mx.array]:
            arrays = [one if isinstance(one, mx.array) else mx.array(one) for one in inputs]
            outs = _zeros(launch["output_shapes"], launch["output_dtypes"])
            sizes = dict(zip(output_names, (out.nbytes for out in outs), strict=True))
            text = _text(kernel, arrays, launch)
            found.append(Launch(text, offered(input_names, map(mx.contiguous, arrays)), sizes))
            return outs

        return call

    with _replaced(factory):
        function()
    return tuple(found)


def _text(kernel: Any, arrays: Sequence[mx.array], launch: dict[str, Any]) -> Generated:
    def traced(*given: mx.array) -> list[mx.array]:
        return kernel(inputs=list(given), **launch | {"verbose": False})

    (text,) = generated(traced, *arrays)
    return text


def _zeros(shapes: Sequence[Sequence[int]], dtypes: Sequence[mx.Dtype]) -> list[mx.array]:
    return [mx.zeros(tuple(one), kind) for one, kind in zip(shapes, dtypes, strict=True)]


def time_kernels(
    calls: Sequence[Callable[[], Any]], metal: Any, protocol: Protocol = PROTOCOL
) -> tuple[Dispatch, ...]:
    """Time each custom kernel that a call launches, on a queue of our own.

    Args:
        calls: The same call on several inputs; dispatches take the inputs in turns, so that
            caches do not serve everything.
        metal: PyObjC's module, see `load_metal`.
        protocol: How often.

    Raises:
        ToolError: GPU time is not available; the message says why.
    """
    sets = [recorded(call) for call in calls]
    if not sets or not sets[0]:
        raise unavailable("the call launches no kernel of `mx.fast.metal_kernel`")
    queue = Queue(metal)
    return tuple(_timed(queue, launches, protocol) for launches in zip(*sets, strict=True))


def _timed(queue: Queue, launches: Sequence[Launch], protocol: Protocol) -> Dispatch:
    first = launches[0]
    text = f"{prelude()}\n{first.source.text}"
    contents = [launch.buffers() for launch in launches]
    try:
        pipeline = queue.compile(text, first.source.function)
        bindings = [
            {index: queue.buffer(held) for index, held in content.items()} for content in contents
        ]
        return queue.time(pipeline, bindings, first.source.grid, first.threadgroup, protocol)
    except (AttributeError, TypeError, ValueError) as error:
        # What PyObjC raises for a method that is not there, or takes something else.
        raise unavailable(
            f"this PyObjC or macOS takes a call of Metal otherwise: {error}"
        ) from error
