"""Run a compiled kernel on arrays: check their types and bounds, and count its accesses."""

import ctypes
import re
from collections.abc import Collection, Iterator, Mapping
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from dataclasses import dataclass, field, replace
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
from tracekit.machine import triad
from tracekit.workload import threadgroups

Array = NDArray[Any]
Triple = tuple[int, int, int]


class ThreadOrder(StrEnum):
    """The order in which the threads of a group run between two of their meeting points.

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
    """The counts of one launch.

    Barriers are summed over threadgroups, operations over simdgroups; `threadgroup_bytes` is the
    most that a threadgroup used. `traffic` has each buffer by its parameter's name, for checked
    programs only. `idle_groups` counts the threadgroups that returned without an access to a
    buffer, a barrier or an operation of a simdgroup; None for unchecked programs.

    `partial_operations` are simd operations that some lanes skipped. The others are of the
    threadgroup with the most: `most_barriers` that it met, `barrier_places` of these in the text,
    and `repeated_places` that it met again. `grid` and `threadgroup` count threads; `operations`
    are those on floating-point numbers by type, `divergent_branches` the branches at which lanes of
    a simdgroup parted, each for programs only that were compiled to count them.
    """

    barriers: int
    simd_operations: int
    threadgroup_bytes: int
    traffic: Mapping[str, BufferTraffic] = field(default_factory=dict[str, BufferTraffic])
    idle_groups: int | None = None
    partial_operations: int = 0
    most_barriers: int = 0
    barrier_places: int = 0
    repeated_places: int = 0
    grid: Triple = (0, 0, 0)
    threadgroup: Triple = (0, 0, 0)
    operations: Mapping[str, int] = field(default_factory=dict[str, int])
    divergent_branches: int | None = None


@dataclass(frozen=True)
class Launched:
    """One launch of a kernel, and its counts."""

    kernel: KernelText
    statistics: Statistics


ENTRY = "tracekit_entry_0"  # the name of the entry of a compiled library
MOST_BUFFERS = 64
POISON = 0xFF  # bytes that are NaN in every floating type
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
        ("fill", c_int),
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
        ("idle_groups", c_uint64),
        ("partial_operations", c_uint64),
        ("most_barriers", c_uint64),
        ("barrier_places", c_uint64),
        ("repeated_places", c_uint64),
        ("parted_branches", c_uint64),
        ("traffic", _MovedStruct * MOST_BUFFERS),
    )


class Library:
    """A compiled kernel that is loaded; raises OSError if the system refuses it."""

    _stacks: ClassVar[int | None] = None
    _turns: ClassVar[Lock] = Lock()  # each library has its own handlers for faults

    def __init__(self, path: Path) -> None:
        library = ctypes.CDLL(str(path))
        self._run = library.tracekit_run
        self._run.argtypes = [
            POINTER(_EntryStruct), POINTER(_RequestStruct), POINTER(_Counts), c_char_p, c_size_t,
        ]  # fmt: skip
        self._run.restype = c_int
        share = library.tracekit_share_stacks
        share.argtypes = [c_void_p]
        share.restype = c_void_p
        Library._stacks = share(Library._stacks)
        self.entry = _EntryStruct.in_dll(library, ENTRY)
        self._library = library

    def take_counter(self, name: str) -> int:
        """Return a counter that the library's own code keeps, and set it to 0."""
        counter = c_uint64.in_dll(self._library, name)
        value = counter.value
        counter.value = 0
        return value

    def run(self, request: _RequestStruct, patience: float) -> tuple[_Counts, str]:
        """Launch; return the counts, and the failure or "".

        The failure is "stopped" after `patience` seconds.
        """
        counts = _Counts()
        message = ctypes.create_string_buffer(_ROOM)
        stop = c_int(0)
        request.stop = ctypes.pointer(stop)

        def run_kernel() -> None:
            with Library._turns:
                self._run(self.entry, request, counts, message, _ROOM)

        # The kernel has its own thread, so that this one can be interrupted. A thread whose start
        # or end was interrupted runs on for a moment; it keeps its arguments, and the next one
        # waits.
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
_MARGIN = 4096  # bytes on both sides of a buffer
_UNTOUCHED = 0xA5


class _BoundArrays:
    """Arrays as bound to one launch.

    `table` has address, size and map of touched bytes of each buffer, by its number; `touched`
    the maps by name.
    """

    def __init__(self) -> None:
        self.table: list[_BufferStruct] = []
        self.touched: dict[str, Array] = {}
        self._sizes: dict[str, int] = {}
        self._held: list[Array] = []
        self._copies: list[tuple[str, Array, Array, Array]] = []

    def add(self, parameter: Parameter, array: Array, *, checked: bool, alone: bool) -> None:
        """Bind one array.

        An unchecked kernel writes to a copy between margins, which show whether it writes outside
        the buffer, if no other buffer shares its memory; an array at an odd address is copied too.
        """
        guarded = parameter.writable and alone and not checked
        if guarded or array.ctypes.data % _ALIGNMENT:
            room, copy = _copy_with_margins(array)
            if parameter.writable:
                copied_buffer = (parameter.name, array, copy, room)
                self._copies.append(copied_buffer)
            array = copy
        while len(self.table) <= parameter.index:
            self.table.append(_BufferStruct(None, 0, None))
        touched = None
        if checked:
            word_count = array.nbytes // 64 + 1
            bits = np.zeros(word_count, np.uint64)
            self.touched[parameter.name] = bits
            self._sizes[parameter.name] = array.nbytes
            touched = bits.ctypes.data
        self.table[parameter.index] = _BufferStruct(array.ctypes.data, array.nbytes, touched)
        self._held.append(array)

    def list_touched(self) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Yield the name of each buffer of a checked launch, and a mask of its touched bytes."""
        for name, bits in self.touched.items():
            mask = np.unpackbits(bits.view(np.uint8), bitorder="little")
            yield name, mask.view(np.bool_)[: self._sizes[name]]

    def write_back(self) -> str:
        """Copy the results to the arrays; return the name of a buffer that was overrun, or ""."""
        overrun_name = ""
        for name, array, copy, room in self._copies:
            array[...] = copy
            start = copy.ctypes.data - room.ctypes.data
            room[start : start + copy.nbytes] = _UNTOUCHED
            if (room != _UNTOUCHED).any():
                overrun_name = overrun_name or name
        return overrun_name


def _copy_with_margins(array: Array) -> tuple[Array, Array]:
    """Return memory with margins, and a copy of the array in its middle, at an even address."""
    room_size = array.nbytes + 2 * _MARGIN + _ALIGNMENT
    room = np.empty(room_size, np.uint8)
    start = _MARGIN + -room.ctypes.data % _ALIGNMENT
    end = start + array.nbytes
    room[:start] = _UNTOUCHED
    room[end:] = _UNTOUCHED
    aligned = room[start:end].view(array.dtype)
    copy = aligned.reshape(array.shape)
    copy[...] = array
    return room, copy


def _is_there(parameter: Parameter, kernel: KernelText) -> bool:
    """Return whether a parameter exists that may depend on a function constant."""
    if not parameter.condition:
        return True
    indices = constant_indices(without_comments(kernel.text), kernel)
    index = indices.get(parameter.condition)
    return index is None or bool(kernel.constants.get(index, False))


def _fitting(array: Array, parameter: Parameter, compiled: _Type) -> Array:
    kind = chr(compiled.kind)
    is_bfloat = kind == "b"
    dtype = _numpy_dtype(kind, compiled.size, array)
    if array.dtype != dtype:
        dtype_name = "bfloat16" if is_bfloat else dtype.name
        raise UsageError(
            f"{parameter.name} is {array.dtype}; the kernel takes "
            f"{dtype_name} ({parameter.element}).",
            hint="numpy has no bfloat16: give its bits as uint16." if is_bfloat else "",
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


def _numpy_dtype(kind: str, size: int, array: Array) -> np.dtype[Any]:
    """Return the dtype for a compiled type of a size in bytes."""
    if kind == "b":
        return np.dtype(np.uint16)
    if kind == "?":
        return np.dtype(np.bool_)
    if kind == "s":  # a struct may be given as anything
        return array.dtype
    return np.dtype(f"{kind}{size}")


_WHERE = "Compile it with checked=True to learn where."
_LARGEST = 2**32 - 1


class KernelProgram:
    """A kernel that is compiled for this processor; `checked` watches and counts its accesses.

    `counters` are the names of counters in the library, by the type whose operations they count:
    each run takes and returns them. One that `notes_branches` counts those at which lanes part.
    """

    def __init__(
        self,
        kernel: KernelText,
        parameters: tuple[Parameter, ...],
        library: Library,
        text: Edited,
        *,
        checked: bool,
    ) -> None:
        self.counters: Mapping[str, str] = {}
        self.notes_branches = False
        self.kernel = kernel
        self.parameters = parameters
        self.checked = checked
        self._library = library
        self._text = text

    def name_dtype(self, parameter: Parameter) -> str:
        """Return the dtype of the elements that a parameter points to: "bytes" for a struct."""
        compiled = self._compiled_type(parameter)
        match chr(compiled.kind):
            case "b":
                return "bfloat16"
            case "s":
                return "bytes"
            case kind:
                return _numpy_dtype(kind, compiled.size, np.empty(0, np.uint8)).name

    def view_as_elements(self, parameter: Parameter, octets: NDArray[np.uint8]) -> Array:
        """Return bytes as the elements that a parameter points to, in the same memory.

        The bits of bfloat16 are uint16, and a struct stays bytes. Bytes at the end that are less
        than an element are left out.
        """
        compiled = self._compiled_type(parameter)
        dtype = _numpy_dtype(chr(compiled.kind), compiled.size, octets)
        whole = octets.size // dtype.itemsize * dtype.itemsize
        return octets[:whole].view(dtype)

    def _compiled_type(self, parameter: Parameter) -> _Type:
        index = self.parameters.index(parameter)
        return self._library.entry.parameters[index]

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
        fill: int = POISON,
        touched: dict[str, NDArray[np.bool_]] | None = None,
    ) -> Statistics:
        """Run the kernel over a grid; it writes into the arrays.

        `buffers` has an array for each buffer, by the parameter's name: contiguous, of the dtype
        that the kernel declares (the bits of bfloat16, which numpy lacks, as uint16). `grid` is in
        threads, as for `dispatchThreads`: the last threadgroups may be smaller. `threadgroup_bytes`
        are sizes of threadgroup memory passed as an argument, by its number; threadgroup memory
        starts with every byte `fill`. A checked program leaves in `touched` a mask of the bytes of
        each buffer that it loaded or stored. For the rest see `emulation`.
        """
        _check_sizes(grid, threadgroup)
        bound = self._bound(buffers)
        memory_sizes = threadgroup_bytes or {}
        memory_count = max(memory_sizes, default=-1) + 1
        sizes = [memory_sizes.get(index, 0) for index in range(memory_count)]
        request = _RequestStruct(
            grid, threadgroup, list(ThreadOrder).index(order), triad.usable_cores(),
            seed % 2**64, lenient, fill, len(bound.table), len(sizes),
            (_BufferStruct * len(bound.table))(*bound.table),
            (ctypes.c_size_t * len(sizes))(*sizes),
        )  # fmt: skip
        request.held = bound  # its arrays, as long as anything can run
        counts, message = self._library.run(request, patience)
        overrun_name = bound.write_back()
        if touched is not None:
            touched.update(bound.list_touched())
        if message:
            raise self._error(message, patience)
        if overrun_name:
            raise KernelError(
                f"{self.kernel.file} writes outside the buffer {overrun_name!r}.", hint=_WHERE
            )
        operation_counts = map(self._library.take_counter, self.counters.values())
        return replace(
            self._statistics(counts, bound),
            grid=grid,
            threadgroup=threadgroup,
            operations=dict(zip(self.counters, operation_counts, strict=True)),
            divergent_branches=counts.parted_branches if self.notes_branches else None,
        )

    def _bound(self, buffers: Mapping[str, Array]) -> _BoundArrays:
        """Bind arrays; raise UsageError if one is missing, unknown, or does not fit."""
        expected_buffers = self._expected_buffers(buffers)
        self._require_names(buffers, expected_buffers)
        bound = _BoundArrays()
        for name, index in expected_buffers.items():
            parameter = self.parameters[index]
            entry_parameter = self._library.entry.parameters[index]
            array = _fitting(buffers[name], parameter, entry_parameter)
            other_arrays = [other_array for key, other_array in buffers.items() if key != name]
            alone = not any(np.may_share_memory(array, other_array) for other_array in other_arrays)
            bound.add(parameter, array, checked=self.checked, alone=alone)
        return bound

    def _expected_buffers(self, names: Collection[str]) -> dict[str, int]:
        """Return the index of each parameter that takes a buffer, with those of these names."""
        indices: dict[str, int] = {}
        for index, parameter in enumerate(self.parameters):
            if parameter.kind != "buffer":
                continue
            if parameter.name in names or _is_there(parameter, self.kernel):
                indices[parameter.name] = index
        return indices

    def _require_names(self, names: Collection[str], expected_names: Collection[str]) -> None:
        unknown_names = sorted(set(names) - set(expected_names))
        missing_names = sorted(set(expected_names) - set(names))
        problems = [f"there is none called {name!r}" for name in unknown_names]
        problems += [f"{name!r} is not given" for name in missing_names]
        if problems:
            buffers = [parameter for parameter in self.parameters if parameter.kind == "buffer"]
            all_names = ", ".join(parameter.name for parameter in buffers)
            raise UsageError(
                f"The buffers do not fit the kernel: {', '.join(problems)}.",
                hint=f"It has: {all_names or 'none'}.",
            )

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
                touched_counts = np.bitwise_count(bound.touched[parameter.name])
                touched = int(touched_counts.sum(dtype=np.int64))
                traffic[parameter.name] = BufferTraffic(moved.loaded, moved.stored, touched)
        idle_groups = counts.idle_groups if self.checked else None
        return Statistics(
            counts.barriers,
            counts.simd_operations,
            counts.threadgroup_bytes,
            traffic,
            idle_groups,
            counts.partial_operations,
            counts.most_barriers,
            counts.barrier_places,
            counts.repeated_places,
        )


def _check_sizes(grid: Triple, threadgroup: Triple) -> None:
    for name, sizes in (("grid", grid), ("threadgroup", threadgroup)):
        if len(sizes) != 3 or not all(0 < size <= _LARGEST for size in sizes):  # noqa: PLR2004
            raise UsageError(
                f"The {name} is {sizes}; it must be three numbers of threads, none of them 0."
            )
    x, y, z = map(min, grid, threadgroup)
    threads = x * y * z
    if threads > threadgroups.MOST_THREADS:
        raise UsageError(
            f"A threadgroup of {x} x {y} x {z} has {threads} threads; "
            f"Metal allows {threadgroups.MOST_THREADS} at most."
        )
