"""A value in the words that an export has for people, by the tag of its type.

Layout: docs/explanation/trace-bundles.md.
"""

from collections.abc import Callable, Mapping
from enum import Enum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracekit.tables.bundle.cells.encodings import UNITS
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
EXCLUSIVE = 0xEEEEB0B5B2B2EEEE
EXCLUSIVE_NAME = "OS_SIGNPOST_ID_EXCLUSIVE"
_UUID_BYTES = 16


class Words(Enum):
    """How a number is worded."""

    GROUPED = "in groups of three digits"
    DURATION = "as a duration"
    MOMENT = "as minutes, seconds and below"
    SIZE = "as an amount of bytes"
    HEXADECIMAL = "in hexadecimal behind 0x"
    DIGITS_OF_16 = "in hexadecimal digits alone"
    SIGNPOST = "as the id of a signpost, one of which has a name"
    FLAG = "as Yes or No"
    SAMPLE_KIND = "as what took a sample"
    FRAME = "as the number of a frame"


WORDS: Mapping[str, Words] = {
    "uint64": Words.GROUPED,
    **dict.fromkeys(("duration", "weight", "duration-on-core", "duration-waiting"), Words.DURATION),
    **dict.fromkeys(("start-time", "event-time", "sample-time"), Words.MOMENT),
    **dict.fromkeys(
        (
            *("tid", "address", "text-address", "metal-command-buffer-id", "metal-encoder-id"),
            *("metal-workload-priority", "mach-o-vm-offset", "register-content"),
            *("displayed-surface-swap", "gpu-driver-surface", "eight-byte-array"),
        ),
        Words.HEXADECIMAL,
    ),
    "uint64-hex-lowercase": Words.DIGITS_OF_16,
    "os-signpost-identifier": Words.SIGNPOST,
    "size-in-bytes": Words.SIZE,
    "boolean": Words.FLAG,
    "time-sample-kind": Words.SAMPLE_KIND,
    "gpu-frame-number": Words.FRAME,
}
"""By tag; a number of any other type is worded as its plain digits."""


def worded(tag: str, numbers: Numbers) -> pa.Array:
    """Return numbers as texts; those of a tag that is not known as plain digits."""
    words = WORDS.get(tag)
    return plain(numbers) if words is None else _COLUMNS[words](numbers)


def decimal(scaled: int) -> str:
    """Return a number in units of 10^-9 with all its nine places."""
    whole, rest = divmod(abs(scaled), UNITS)
    return f"{'-' if scaled < 0 else ''}{whole}.{rest:09d}"


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
    exclusive = pa.array(numbers == EXCLUSIVE)
    return pc.call_function("if_else", [exclusive, pa.scalar(EXCLUSIVE_NAME), hexadecimal(numbers)])


def _flags(numbers: Numbers) -> pa.Array:
    return pc.call_function("if_else", [pa.array(numbers != 0), pa.scalar("Yes"), pa.scalar("No")])


def _sample_kinds(numbers: Numbers) -> pa.Array:
    return pa.array([SAMPLE_KINDS.get(one, str(one)) for one in numbers.tolist()], pa.string())


_COLUMNS: dict[Words, Callable[[Numbers], pa.Array]] = {
    Words.GROUPED: grouped,
    Words.DURATION: durations,
    Words.MOMENT: moments,
    Words.SIZE: sizes,
    Words.HEXADECIMAL: hexadecimal,
    Words.DIGITS_OF_16: lambda numbers: hexadecimal(numbers, b""),
    Words.SIGNPOST: _identifiers,
    Words.FLAG: _flags,
    Words.SAMPLE_KIND: _sample_kinds,
    Words.FRAME: lambda numbers: joined(["Frame", plain(numbers)], " "),
}
