"""A value in the words that an export has for people, by the tag of its type.

Layout: docs/explanation/trace-bundles.md.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracekit.tables.bundle.cells.number_texts import (
    Numbers,
    durations,
    grouped,
    hexadecimal,
    joined,
    moments,
    plain,
    sizes,
)

NOTHING = "n/a"
PRIVATE = "<private>"
SAMPLE_KINDS = {0: "Timer Fired", 2: "LPET", 3: "Stackshot"}
_EXCLUSIVE = 0xEEEEB0B5B2B2EEEE
_UUID_BYTES = 16


def worded(tag: str, numbers: Numbers) -> pa.Array:
    """Return numbers as texts; those of a tag that is not known as plain digits."""
    return _WORDINGS.get(tag, plain)(numbers)


def uuids(halves: Numbers) -> pa.Array:
    """Return UUIDs as texts, from pairs of their halves in one row."""
    digits = hexadecimal_bytes(halves)
    parts = [
        pc.call_function("utf8_slice_codeunits", [digits], pc.SliceOptions(first, last))
        for first, last in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
    ]
    return joined(parts, "-")


def hexadecimal_bytes(halves: Numbers) -> pa.Array:
    """Return the 16 bytes of each pair of halves as 32 upper-case digits."""
    content = halves.astype(">u8").tobytes().hex().upper().encode()
    offsets = np.arange(0, len(content) + 1, 2 * _UUID_BYTES, dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(content)]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)


def _identifiers(numbers: Numbers) -> pa.Array:
    exclusive = pa.array(numbers == _EXCLUSIVE)
    return pc.call_function(
        "if_else", [exclusive, pa.scalar("OS_SIGNPOST_ID_EXCLUSIVE"), hexadecimal(numbers)]
    )


def _flags(numbers: Numbers) -> pa.Array:
    return pc.call_function("if_else", [pa.array(numbers != 0), pa.scalar("Yes"), pa.scalar("No")])


def _sample_kinds(numbers: Numbers) -> pa.Array:
    return pa.array([SAMPLE_KINDS.get(one, str(one)) for one in numbers.tolist()], pa.string())


_WORDINGS: dict[str, Callable[[Numbers], pa.Array]] = {
    "uint64": grouped,
    **dict.fromkeys(("duration", "weight", "duration-on-core", "duration-waiting"), durations),
    **dict.fromkeys(("start-time", "event-time", "sample-time"), moments),
    **dict.fromkeys(
        (
            *("tid", "address", "text-address", "metal-command-buffer-id", "metal-encoder-id"),
            *("metal-workload-priority", "mach-o-vm-offset", "register-content"),
            *("displayed-surface-swap", "gpu-driver-surface", "eight-byte-array"),
        ),
        hexadecimal,
    ),
    "uint64-hex-lowercase": lambda numbers: hexadecimal(numbers, b""),
    "os-signpost-identifier": _identifiers,
    "size-in-bytes": sizes,
    "boolean": _flags,
    "time-sample-kind": _sample_kinds,
    "gpu-frame-number": lambda numbers: joined(["Frame", plain(numbers)], " "),
}
