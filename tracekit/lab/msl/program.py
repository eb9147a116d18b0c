"""A compiled kernel, and running it on arrays: their types, their bounds, what a launch counted."""

import ctypes
import re
from collections.abc import Mapping
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from threading import Lock, Thread
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tracekit.base import KernelError, UsageError
from tracekit.lab.msl.compiler import translate_places
from tracekit.lab.msl.edits import Edited, KernelText, without_comments
from tracekit.lab.msl.signature import Parameter, constant_indices
from tracekit.machine import usable_cores


class ThreadOrder(StrEnum):
    """In which order the threads of a group run between two places where they meet.

    A result that depends on it shows a missing barrier or a data race.
    """

    ASCENDING = "ascending"
    DESCENDING = "descending"
    RANDOM = "random"


@dataclass(frozen=True)
class BufferTraffic:
    """Bytes of one buffer.

    `loaded` and `stored` count each access of each thread, `touched` each byte once.
    """

    loaded: int
    stored: int
    touched: int


@dataclass(frozen=True)
class Statistics:
    """What one launch did.

    Barriers are summed over threadgroups, operations over simdgroups; `threadgroup_bytes` are the
    most that a threadgroup used. `traffic` is of each buffer by its parameter's name, of checked
    programs only.
    """

    barriers: int
    simd_operations: int
    threadgroup_bytes: int
    traffic: Mapping[str, BufferTraffic] = field(default_factory=dict[str, BufferTraffic])


@dataclass(frozen=True)
class Launched:
    """One launch of a kernel, and what was counted."""

    kernel: KernelText
    statistics: Statistics


Array = NDArray[Any]
Triple = tuple[int, int, int]

ENTRY = "tracekit_entry_0"  # the name of the entry of a compiled library
MOST_BUFFERS = 64
_ROOM = 4096


# A compiled library as ctypes sees it: see shim/launch.hpp and shim/interface.hpp.


class _BufferStruct(ctypes.Structure):
    _fields_ = (("start", c_void_p), ("size", c_size_t), ("touched", c_void_p))


class _Type(ctypes.Structure):
    """The type of a parameter, as the compiler knows it."""

    _fields_ = (("kind", c_int), ("size", c_uint), ("bytes", c_uint))


class _EntryStruct(ctypes.Structure):
    _fields_ = (("body", c_void_p), ("parameters", POINTER(_Type)))


class _RequestStruct(ctypes.Structure):
    _fields_ = (
        ("grid", c_uint * 3),
        ("threadgroup", c_uint * 3),
        ("order", c_int),
        ("workers", c_uint),
        ("seed", c_uint64),
        ("lenient", c_int),
        ("buffer_count", c_uint),
        ("argument_count", c_uint),
        ("buffers", POINTER(_BufferStruct)),
        ("argument_bytes", POINTER(c_size_t)),
        ("stop", POINTER(c_int)),
    )


class _MovedStruct(ctypes.Structure):
    _fields_ = (("loaded", c_uint64), ("stored", c_uint64))


class _Counts(ctypes.Structure):
    _fields_ = (
        ("barriers", c_uint64),
        ("simd_operations", c_uint64),
        ("threadgroup_bytes", c_uint64),
        ("traffic", _MovedStruct * MOST_BUFFERS),
    )


class Library:
    """A compiled kernel that is loaded; raises OSError where the system refuses it."""

    _stacks: ClassVar[int | None] = None
    _turns: ClassVar[Lock] = Lock()  # each library has handlers of its own for faults

    def __init__(self, path: Path) -> None:
        library = ctypes.CDLL(str(path))
        self._run = library.tracekit_run
        self._run.argtypes = [
            POINTER(_EntryStruct), POINTER(_RequestStruct), POINTER(_Counts), c_char_p, c_size_t,
        ]  # fmt: skip
        self._run.restype = c_int
        share = library.tracekit_share_stacks
        share.argtypes, share.restype = [c_void_p], c_void_p
        Library._stacks = share(Library._stacks)
        self.entry = _EntryStruct.in_dll(library, ENTRY)

    def run(self, request: _RequestStruct, patience: float) -> tuple[_Counts, str]:
        """Launch; return what was counted, and why it failed or ""; "stopped" after `patience`."""
        counts, message = _Counts(), ctypes.create_string_buffer(_ROOM)
        stop = c_int(0)
        request.stop = ctypes.pointer(stop)

        def run_kernel() -> None:
            with Library._turns:
                self._run(self.entry, request, counts, message, _ROOM)

        # In a thread of its own, so that this one can be interrupted. A thread whose start or end
        # was interrupted runs on for a moment; it keeps what it was given, and the next one waits.
        launch = Thread(target=run_kernel, name="launch")
        try:
            launch.start()
            launch.join(patience)
        finally:
            stop.value = 1
            if launch.is_alive():
                launch.join()
        return counts, message.value.decode(errors="replace")


_ALIGNMENT = 16  # of float4, which kernels read through casts of any pointer
_MARGIN = 4096  # bytes on both sides of what is written
_UNTOUCHED = 0xA5


class _BoundArrays:
    """Arrays as bound to one launch.

    `table` holds address, size and map of touched bytes of each buffer, by its number; `touched`
    the maps by name.
    """

    def __init__(self) -> None:
        self.table: list[_BufferStruct] = []
        self.touched: dict[str, Array] = {}
        self._held: list[Array] = []
        self._copies: list[tuple[str, Array, Array, Array]] = []

    def add(self, parameter: Parameter, array: Array, *, checked: bool, alone: bool) -> None:
        """Bind one array.

        What an unchecked kernel writes goes to a copy between margins, which show what it writes
        beside the buffer, if no other buffer shares its memory; and one at an odd address is
        copied.
        """
        guarded = parameter.writable and alone and not checked
        if guarded or array.ctypes.data % _ALIGNMENT:
            room, copy = _copy_with_margins(array)
            if parameter.writable:
                self._copies.append((parameter.name, array, copy, room))
            array = copy
        missing = parameter.index + 1 - len(self.table)
        self.table += [_BufferStruct(None, 0, None) for _ in range(missing)]
        touched = None
        if checked:
            bits = self.touched[parameter.name] = np.zeros(array.nbytes // 64 + 1, np.uint64)
            touched = bits.ctypes.data
        self.table[parameter.index] = _BufferStruct(array.ctypes.data, array.nbytes, touched)
        self._held.append(array)

    def write_back(self) -> str:
        """Bring what the kernel wrote to where it belongs; name a buffer it wrote beside."""
        overrun_name = ""
        for name, array, copy, room in self._copies:
            array[...] = copy
            start = copy.ctypes.data - room.ctypes.data
            room[start : start + copy.nbytes] = _UNTOUCHED
            if (room != _UNTOUCHED).any():
                overrun_name = overrun_name or name
        return overrun_name


def _copy_with_margins(array: Array) -> tuple[Array, Array]:
    """Return memory with margins, and a copy of the array in its midst, at an even address."""
    room = np.empty(array.nbytes + 2 * _MARGIN + _ALIGNMENT, np.uint8)
    start = _MARGIN + -room.ctypes.data % _ALIGNMENT
    room[:start] = room[start + array.nbytes :] = _UNTOUCHED
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return room, copy


def _is_there(parameter: Parameter, kernel: KernelText) -> bool:
    """Say whether a parameter that depends on a function constant is there."""
    if not parameter.condition:
        return True
    indices = constant_indices(without_comments(kernel.text), kernel)
    index = indices.get(parameter.condition)
    return index is None or bool(kernel.constants.get(index, False))


def _fitting(array: Array, parameter: Parameter, compiled: _Type) -> Array:
    kind = chr(compiled.kind)  # a struct may be given as anything
    dtype_name = {"b": "uint16", "?": "bool", "s": array.dtype}.get(kind, f"{kind}{compiled.size}")
    if array.dtype != np.dtype(dtype_name):
        raise UsageError(
            f"{parameter.name} is {array.dtype}; the kernel takes "
            f"{'bfloat16' if kind == 'b' else np.dtype(dtype_name).name} ({parameter.element}).",
            hint="numpy has no bfloat16: give its bits as uint16." if kind == "b" else "",
        )
    if not array.flags.c_contiguous or (parameter.writable and not array.flags.writeable):
        raise UsageError(
            f"{parameter.name} is not contiguous, or is written by the kernel and cannot be.",
            hint="Use numpy.ascontiguousarray.",
        )
    if array.nbytes < compiled.bytes and parameter.address_space == "constant":
        raise UsageError(
            f"{parameter.name} has {array.nbytes} bytes; the kernel reads {compiled.bytes}."
        )
    return array


MOST_THREADS = 1024
_WHERE = "Compile it with checked=True to learn where."
_LARGEST = 2**32 - 1


class KernelProgram:
    """A kernel that is compiled for this processor; `checked` watches and counts its accesses."""

    def __init__(
        self,
        kernel: KernelText,
        parameters: tuple[Parameter, ...],
        library: Library,
        text: Edited,
        *,
        checked: bool,
    ) -> None:
        self.kernel = kernel
        self.parameters = parameters
        self.checked = checked
        self._library, self._text = library, text

    def run(
        self,
        buffers: Mapping[str, NDArray[Any]],
        *,
        grid: Triple,
        threadgroup: Triple,
        order: ThreadOrder = ThreadOrder.ASCENDING,
        seed: int = 0,
        threadgroup_bytes: Mapping[int, int] | None = None,
        lenient: bool = False,
        patience: float = 600.0,
    ) -> Statistics:
        """Run the kernel over a grid; what it writes is written into the arrays.

        `buffers` has an array for each buffer, by the parameter's name: contiguous, of the dtype
        that the kernel declares (the bits of bfloat16, which numpy lacks, as uint16). `grid` is in
        threads, as of `dispatchThreads`: the last threadgroups may be smaller. `threadgroup_bytes`
        are sizes of threadgroup memory passed as an argument, by its number. For the rest see
        `emulation`.
        """
        _check_sizes(grid, threadgroup)
        bound = self._bound(buffers)
        memory_sizes = threadgroup_bytes or {}
        sizes = [memory_sizes.get(index, 0) for index in range(max(memory_sizes, default=-1) + 1)]
        request = _RequestStruct(
            grid, threadgroup, list(ThreadOrder).index(order), usable_cores(),
            seed % 2**64, lenient, len(bound.table), len(sizes),
            (_BufferStruct * len(bound.table))(*bound.table),
            (ctypes.c_size_t * len(sizes))(*sizes),
        )  # fmt: skip
        request.held = bound  # its arrays, as long as anything can run
        counts, message = self._library.run(request, patience)
        overrun_name = bound.write_back()
        if message:
            raise self._error(message, patience)
        if overrun_name:
            raise KernelError(
                f"{self.kernel.file} writes outside the buffer {overrun_name!r}.", hint=_WHERE
            )
        return self._statistics(counts, bound)

    def _bound(self, buffers: Mapping[str, Array]) -> _BoundArrays:
        """Bind arrays; raise UsageError where one is missing, unknown, or does not fit."""
        expected_buffers = {
            parameter.name: (index, parameter)
            for index, parameter in enumerate(self.parameters)
            if parameter.kind == "buffer"
            and (parameter.name in buffers or _is_there(parameter, self.kernel))
        }
        problems = [
            f"there is none called {name!r}"
            for name in sorted(set(buffers) - set(expected_buffers))
        ]
        problems += [
            f"{name!r} is not given" for name in sorted(set(expected_buffers) - set(buffers))
        ]
        if problems:
            names = [parameter.name for parameter in self.parameters if parameter.kind == "buffer"]
            raise UsageError(
                f"The buffers do not fit the kernel: {', '.join(problems)}.",
                hint=f"It has: {', '.join(names) or 'none'}.",
            )
        bound = _BoundArrays()
        for name, (index, declared) in expected_buffers.items():
            array = _fitting(buffers[name], declared, self._library.entry.parameters[index])
            other_arrays = (other_array for key, other_array in buffers.items() if key != name)
            alone = not any(np.may_share_memory(array, other_array) for other_array in other_arrays)
            bound.add(declared, array, checked=self.checked, alone=alone)
        return bound

    def _error(self, message: str, patience: float) -> KernelError:
        if message == "stopped":
            return KernelError(
                f"{self.kernel.file} did not end within {patience:g} s and was stopped.",
                hint="Threads that wait for each other without a barrier never meet here.",
            )
        for parameter in self.parameters:
            if parameter.kind == "buffer":
                number = rf"\bof buffer {parameter.index}\b"
                message = re.sub(number, f"of buffer {parameter.name!r}", message)
        unchecked = "access of memory" in message and not self.checked
        return KernelError(
            f"{self.kernel.file}: {translate_places(message, self.kernel, self._text)}",
            hint=_WHERE if unchecked else "",
        )

    def _statistics(self, counts: _Counts, bound: _BoundArrays) -> Statistics:
        traffic: dict[str, BufferTraffic] = {}
        for parameter in self.parameters:
            if parameter.name in bound.touched and not parameter.is_reference:
                moved = counts.traffic[parameter.index]
                touched = int(np.bitwise_count(bound.touched[parameter.name]).sum(dtype=np.int64))
                traffic[parameter.name] = BufferTraffic(moved.loaded, moved.stored, touched)
        return Statistics(
            counts.barriers, counts.simd_operations, counts.threadgroup_bytes, traffic
        )


def _check_sizes(grid: Triple, threadgroup: Triple) -> None:
    for name, sizes in (("grid", grid), ("threadgroup", threadgroup)):
        if len(sizes) != 3 or not all(0 < size <= _LARGEST for size in sizes):  # noqa: PLR2004
            raise UsageError(
                f"The {name} is {sizes}; it must be three numbers of threads, none of them 0."
            )
    x, y, z = map(min, grid, threadgroup)
    if x * y * z > MOST_THREADS:
        raise UsageError(
            f"A threadgroup of {x} x {y} x {z} has {x * y * z} threads; "
            f"Metal allows {MOST_THREADS} at most."
        )
