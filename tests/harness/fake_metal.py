"""PyObjC's module `Metal` as far as it is documented, on a GPU that computes nothing.

It refuses what Metal refuses: an encoder that is used after its end, a buffer that is committed
twice, a clock that is read before the work is complete.
"""

# ruff: noqa: N802 - Metal named them and describes them

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Triple = tuple[int, int, int]
Times = Callable[[int], tuple[float, float]]  # of the how-manieth command buffer, from 0


def microseconds(dispatch_time: float) -> Times:
    """Return the clock of a GPU that takes so long for every dispatch of 200."""
    return lambda number: (10.0 + number, 10.0 + number + dispatch_time * 200 / 1e6)


@dataclass
class Buffer:
    contents: bytes | None
    size: int

    def length(self) -> int:
        return self.size


class Error(str):
    __slots__ = ()


class Options:
    fast = True

    def setFastMathEnabled_(self, fast: bool) -> None:
        self.fast = fast

    @classmethod
    def new(cls) -> "Options":
        return cls()


@dataclass
class Dispatch:
    state: Any
    bound: dict[int, Buffer]
    grid: Triple
    threadgroup: Triple


@dataclass
class Encoder:
    commands: "CommandBuffer"
    state: Any = None
    bound: dict[int, Buffer] = field(default_factory=dict)
    has_ended: bool = False

    def setComputePipelineState_(self, state: Any) -> None:
        assert not self.has_ended
        self.state = state

    def setBuffer_offset_atIndex_(self, buffer: Buffer, offset: int, index: int) -> None:
        assert isinstance(buffer, Buffer)
        assert (offset, self.has_ended) == (0, False)
        self.bound[index] = buffer

    def dispatchThreads_threadsPerThreadgroup_(self, grid: Triple, group: Triple) -> None:
        assert not self.has_ended
        assert self.state is not None
        self.commands.dispatches.append(Dispatch(self.state, dict(self.bound), grid, group))

    def endEncoding(self) -> None:
        assert not self.has_ended
        self.has_ended = True


@dataclass
class CommandBuffer:
    times: tuple[float, float]
    failure: Error | None
    dispatches: list[Dispatch] = field(default_factory=list)
    encoder: Encoder | None = None
    state: str = "new"

    def computeCommandEncoder(self) -> Encoder:
        self.encoder = Encoder(self)
        return self.encoder

    def commit(self) -> None:
        assert self.state == "new"
        assert self.encoder is not None
        assert self.encoder.has_ended
        self.state = "committed"

    def waitUntilCompleted(self) -> None:
        assert self.state == "committed"
        self.state = "completed"

    def error(self) -> Error | None:
        return self.failure

    def GPUStartTime(self) -> float:
        return self.times[0] if self.state == "completed" else 0.0

    def GPUEndTime(self) -> float:
        return self.times[1] if self.state == "completed" else 0.0


@dataclass
class Queue:
    metal: "FakeMetal"

    def commandBuffer(self) -> CommandBuffer:
        command_buffer = CommandBuffer(
            self.metal.times(len(self.metal.committed)), self.metal.gpu_error
        )
        self.metal.committed.append(command_buffer)
        return command_buffer


@dataclass
class State:
    metal: "FakeMetal"

    def threadExecutionWidth(self) -> int:
        return 32

    def maxTotalThreadsPerThreadgroup(self) -> int:
        return self.metal.most_threads

    def staticThreadgroupMemoryLength(self) -> int:
        return 2176


@dataclass
class Library:
    source: str

    def newFunctionWithName_(self, name: str) -> str | None:
        return name if name in self.source else None


@dataclass
class Device:
    metal: "FakeMetal"

    def newCommandQueue(self) -> Queue | None:
        return Queue(self.metal) if self.metal.has_queue else None

    def newLibraryWithSource_options_error_(
        self, source: str, options: Options, error: None
    ) -> tuple[Library | None, Error | None]:
        assert error is None
        self.metal.compiled.append((source, options.fast))
        refused = self.metal.compile_error
        return (None, Error(refused)) if refused else (Library(source), None)

    def newComputePipelineStateWithFunction_error_(
        self, function: str, error: None
    ) -> tuple[State | None, Error | None]:
        assert function
        assert error is None
        refused = self.metal.pipeline_error
        return (None, Error(refused)) if refused else (State(self.metal), None)

    def newBufferWithLength_options_(self, length: int, options: int) -> Buffer | None:
        assert options == self.metal.MTLResourceStorageModeShared
        return Buffer(None, length) if length <= self.metal.most_bytes else None

    def newBufferWithBytes_length_options_(
        self, contents: bytes, length: int, options: int
    ) -> Buffer | None:
        assert len(contents) == length
        buffer = self.newBufferWithLength_options_(length, options)
        return buffer and Buffer(contents, length)


@dataclass
class FakeMetal:
    """The module; its fields say how this Metal behaves, and keep what it was asked."""

    times: Times = field(default_factory=lambda: microseconds(50))
    has_device: bool = True
    has_queue: bool = True
    compile_error: str = ""
    pipeline_error: str = ""
    gpu_error: Error | None = None
    most_threads: int = 1024
    most_bytes: int = 1 << 30
    committed: list[CommandBuffer] = field(default_factory=list)
    compiled: list[tuple[str, bool]] = field(default_factory=list)

    MTLResourceStorageModeShared = 0
    MTLCompileOptions = Options

    def MTLCreateSystemDefaultDevice(self) -> Device | None:
        return Device(self) if self.has_device else None

    @staticmethod
    def MTLSizeMake(width: int, height: int, depth: int) -> Triple:
        return width, height, depth
