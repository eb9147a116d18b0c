"""A compiled library and its engine, as ctypes sees them: see shim/launch.hpp, interface.hpp."""

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path
from threading import Thread
from typing import ClassVar

MOST_BUFFERS = 64
_ROOM = 4096


class Buffer(ctypes.Structure):
    """A buffer as bound to a launch."""

    _fields_ = (("start", c_void_p), ("size", c_size_t), ("touched", c_void_p))


class Parameter(ctypes.Structure):
    """The type of a parameter, as the compiler knows it."""

    _fields_ = (("kind", c_int), ("size", c_uint), ("bytes", c_uint))


class Entry(ctypes.Structure):
    """A kernel of a library."""

    _fields_ = (("body", c_void_p), ("parameters", POINTER(Parameter)))


class Request(ctypes.Structure):
    """What a launch asks for."""

    _fields_ = (
        ("grid", c_uint * 3),
        ("threadgroup", c_uint * 3),
        ("order", c_int),
        ("workers", c_uint),
        ("seed", c_uint64),
        ("lenient", c_int),
        ("buffer_count", c_uint),
        ("argument_count", c_uint),
        ("buffers", POINTER(Buffer)),
        ("argument_bytes", POINTER(c_size_t)),
        ("stop", POINTER(c_int)),
    )


class Moved(ctypes.Structure):
    """Bytes of one buffer."""

    _fields_ = (("loaded", c_uint64), ("stored", c_uint64), ("referenced", c_uint64))


class Counts(ctypes.Structure):
    """What a launch counted."""

    _fields_ = (
        ("barriers", c_uint64),
        ("simd_operations", c_uint64),
        ("partial_simd_operations", c_uint64),
        ("threadgroup_bytes", c_uint64),
        ("switches", c_uint64),
        ("traffic", Moved * MOST_BUFFERS),
    )


class Library:
    """A library that is loaded."""

    _stacks: ClassVar[int | None] = None

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self._run = self._library.tracekit_run
        self._run.argtypes = [
            POINTER(Entry), POINTER(Request), POINTER(Counts), c_char_p, c_size_t,
        ]  # fmt: skip
        self._run.restype = c_int
        share = self._library.tracekit_share_stacks
        share.argtypes, share.restype = [c_void_p], c_void_p
        Library._stacks = share(Library._stacks)

    def entry(self, name: str) -> Entry:
        """Return one of its kernels."""
        return Entry.in_dll(self._library, name)

    def run(self, entry: Entry, request: Request, patience: float) -> tuple[Counts, str]:
        """Launch; return what was counted, and why it failed or ""; "stopped" after `patience`."""
        counts, message = Counts(), ctypes.create_string_buffer(_ROOM)
        stop = c_int(0)
        request.stop = ctypes.pointer(stop)
        arguments = (entry, request, counts, message, _ROOM)
        # In a thread of its own, so that this one can be interrupted.
        launch = Thread(target=self._run, args=arguments)
        launch.start()
        try:
            launch.join(patience)
        finally:
            stop.value = 1
            launch.join()
        return counts, message.value.decode(errors="replace")
