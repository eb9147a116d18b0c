"""The memory of a recorded dispatch: its buffers in a recorded state, as arrays of its arguments.

A buffer may be recorded twice: with the objects of the capture, and by the command buffer that
writes it. Whether a content was taken before or after the work is not established, so each one is a
state that the dispatch may start from, and one that it may end with.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit import tables
from tracekit.base import InconclusiveError, UsageError
from tracekit.lab.msl.program import Array, KernelProgram
from tracekit.lab.msl.signature import Parameter

Octets = NDArray[np.uint8]
OBJECTS = "objects"
COMMAND_BUFFER = "command buffer"
_ALIGNED = 16  # bytes: a buffer at another offset is copied for the launch


@dataclass(frozen=True)
class MemoryRange:
    """The part of a recorded buffer that an argument has: `key` names the buffer, `start` is bytes.

    Arguments with the same key share memory.
    """

    key: str
    start: int


@dataclass(frozen=True, eq=False)
class RecordedState:
    """The contents of all bound buffers, by their keys, as one place of the capture has them."""

    name: str
    contents: Mapping[str, Octets]

    def copy_contents(self) -> dict[str, Octets]:
        """Return contents that a launch may change."""
        return {key: content.copy() for key, content in self.contents.items()}

    def is_blank(self) -> bool:
        """Return whether every buffer of more than a few numbers has nothing but zeros."""
        large = [content for content in self.contents.values() if content.size > _FEW]
        return bool(large) and not any(content.any() for content in large)


_FEW = 64  # bytes: sizes and strides, which a redacted copy may keep


class DispatchMemory:
    """The arguments of a dispatch in memory; `states` are the recorded ones, objects first."""

    def __init__(
        self,
        capture: "tables.captures.FrameCapture",
        dispatch: "tables.captures.CapturedDispatch",
    ) -> None:
        """Read the contents of all bound buffers; raise BundleError if one is damaged."""
        self._capture = capture
        self.ranges: dict[int, MemoryRange] = {}
        self.unrecorded: dict[str, int | None] = {}
        contents: dict[str, Octets] = {}
        for index, bound in dispatch.buffers.items():
            key = f"buffer {bound.handle}" if bound.handle else f"bytes {index}"
            self.ranges[index] = MemoryRange(key, bound.offset)
            if key in contents or key in self.unrecorded:
                continue
            name, length = bound.content, bound.length
            buffer = capture.buffers.get(bound.handle)
            if buffer is not None:
                name, length = buffer.content, buffer.length
            if name:
                contents[key] = self._read(name, length)
            else:
                self.unrecorded[key] = length
        self.states = tuple(self._list_states(contents, dispatch))

    def _read(self, name: str, length: int | None) -> Octets:
        content = self._capture.read_contents(name)
        return np.frombuffer(content[:length], np.uint8)

    def _list_states(
        self, contents: dict[str, Octets], dispatch: "tables.captures.CapturedDispatch"
    ) -> Iterator[RecordedState]:
        """Yield the state of the objects, and that of the command buffer if it is another one."""
        yield RecordedState(OBJECTS, contents)
        command_buffer = dispatch.encoder.command_buffer
        changed: dict[str, Octets] = {}
        for recorded in self._capture.recorded_contents:
            key = f"buffer {recorded.buffer}"
            if command_buffer is None or recorded.command_buffer != command_buffer.number:
                continue
            if key not in contents:
                continue
            piece = self._read(recorded.content, recorded.length)
            place = slice(recorded.offset, recorded.offset + piece.size)
            content = changed.get(key, contents[key]).copy()
            if content[place].size == piece.size and not np.array_equal(content[place], piece):
                content[place] = piece
                changed[key] = content
        if changed:
            yield RecordedState(COMMAND_BUFFER, {**contents, **changed})

    def bind(self, program: KernelProgram, contents: Mapping[str, Octets]) -> dict[str, Array]:
        """Return the array of each buffer argument of a program, by its name.

        Arrays of one buffer share its memory. An argument that is not bound gets no memory
        that the kernel may touch, in constant memory zeros.

        Raises:
            InconclusiveError: The contents of an argument that the kernel reads were not recorded.
            UsageError: Arguments share a buffer in a way that the emulator cannot keep.
        """
        arrays: dict[str, Array] = {}
        for parameter in program.parameters:
            if parameter.kind == "buffer":
                octets = self._find(parameter, contents)
                arrays[parameter.name] = program.view_as_elements(parameter, octets)
        return arrays

    def _find(self, parameter: Parameter, contents: Mapping[str, Octets]) -> Octets:
        place = self.ranges.get(parameter.index)
        if place is None:
            size = _FEW if parameter.address_space == "constant" else 0
            return np.zeros(size, np.uint8)
        if place.key in self.unrecorded:
            raise InconclusiveError(
                f"The contents of {parameter.name} were not recorded.",
                hint="Captures have those of shared buffers; private ones stay on the GPU.",
            )
        is_shared = sum(entry.key == place.key for entry in self.ranges.values()) > 1
        if is_shared and parameter.writable and place.start % _ALIGNED:
            raise UsageError(
                f"{parameter.name} shares its buffer, at an offset of {place.start} bytes.",
                hint=f"Buffers that are shared and written need a multiple of {_ALIGNED}.",
            )
        return contents[place.key][place.start :]
