"""A Metal queue of our own: one kernel, many dispatches in a command buffer, the GPU's clock.

The calls are those of PyObjC's bindings of Metal. `GPUStartTime` and `GPUEndTime` are of a whole
command buffer, so it holds many dispatches of one kernel, and nothing else; they run one after
the other.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tracekit.lab.metal_queue.bridge import unavailable

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
class GpuTime:
    """GPU nanoseconds of one dispatch, one sample for each command buffer."""

    samples: tuple[float, ...]
    dispatches: int

    @property
    def minimum(self) -> float:
        """The least of the samples."""
        return min(self.samples)

    @property
    def median(self) -> float:
        """The median of the samples."""
        return statistics.median(self.samples)


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
    ) -> GpuTime:
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
        return GpuTime(tuple(samples), protocol.dispatches)

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
