"""A value in the words that an export has for people, by the tag of its type.

Labels are texts that people read: their numbers are worded as Instruments words them in English.
Durations of a minute and more have never been seen in a label; they stay seconds here.

Layout: docs/explanation/trace-bundles.md.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tracekit.tables.bundle.cells.encodings import UNITS

Numbers = NDArray[np.uint64]

_PAIRS = np.array([f"{byte:02x}".encode() for byte in range(256)]).view(np.uint16)
_NIBBLES = 16
_POWERS = np.array([16**power for power in range(1, _NIBBLES)], np.uint64)
_DIGITS, _GROUP = 20, 3
_ZERO, _COMMA = ord("0"), ord(",")
UNITS_OF_TIME = (("ns", 1), ("µs", 10**3), ("ms", 10**6), ("s", 10**9))
UNITS_OF_SIZE = tuple(
    (unit, 1 << 10 * step) for step, unit in enumerate(("Bytes", "KiB", "MiB", "GiB", "TiB"))
)
_HUNDREDTHS = pa.array([f"{number:02d}" for number in range(100)])
_THOUSANDTHS = pa.array([f"{number:03d}" for number in range(1000)])


def plain(numbers: Numbers) -> pa.Array:
    """Return decimal digits, such as "2370013267"."""
    return pa.array(numbers).cast(pa.string())


def hexadecimal(numbers: Numbers, prefix: bytes = b"0x") -> pa.Array:
    """Return lower-case hexadecimal digits behind a prefix, such as "0x8d438853"."""
    pairs = _PAIRS.take(numbers.astype(">u8").view(np.uint8))
    letters = np.empty((numbers.size, len(prefix) + _NIBBLES), np.uint8)
    letters[:, : len(prefix)] = np.frombuffer(prefix, np.uint8)
    letters[:, len(prefix) :] = pairs.view(np.uint8).reshape(-1, _NIBBLES)
    digits = np.searchsorted(_POWERS, numbers, side="right")
    first = len(prefix) + _NIBBLES - 1 - digits
    if first.size and (first == first[0]).all():
        kept = np.r_[: len(prefix), first[0] : letters.shape[1]]
        return _texts(letters[:, kept], None)
    places = np.arange(letters.shape[1])
    return _texts(letters, (places >= first[:, None]) | (places < len(prefix)))


def grouped(numbers: Numbers) -> pa.Array:
    """Return digits in groups of three, such as "2,370,013,267"."""
    places = _DIGITS + (_DIGITS - 1) // _GROUP
    letters = np.full((numbers.size, places), _COMMA, np.uint8)
    digits = np.zeros((numbers.size, places), np.uint8)
    left, column = numbers, places
    for place in range(_DIGITS):
        column -= 2 if place and place % _GROUP == 0 else 1
        left, digits[:, column] = left // 10, left % 10
        letters[:, column] = digits[:, column] + _ZERO
    return _texts(letters, _from_first(digits))


def durations(nanoseconds: Numbers) -> pa.Array:
    """Return durations such as "583 ns" and "1.12 µs": two places, those of the nearest float."""
    return _in_units(nanoseconds, UNITS_OF_TIME)


def sizes(amounts: Numbers) -> pa.Array:
    """Return amounts of bytes such as "0 Bytes" and "16.00 KiB"."""
    return _in_units(amounts, UNITS_OF_SIZE)


def moments(nanoseconds: Numbers) -> pa.Array:
    """Return moments of a recording such as "00:00.420.244": minutes to microseconds."""
    micros = nanoseconds // 1000
    minutes = micros // 60_000_000
    parts = [
        pc.call_function("utf8_lpad", [plain(minutes)], pc.PadOptions(2, "0")),
        ":",
        _HUNDREDTHS.take(pa.array(micros // 1_000_000 % 60)),
        ".",
        _THOUSANDTHS.take(pa.array(micros // 1000 % 1000)),
        ".",
        _THOUSANDTHS.take(pa.array(micros % 1000)),
    ]
    return joined(parts, "")


def joined(parts: Sequence[pa.Array | str], between: str) -> pa.Array:
    """Join texts, cell by cell; a `str` stands in each cell."""
    scalars = [pa.scalar(part) if isinstance(part, str) else part for part in parts]
    return pc.call_function("binary_join_element_wise", [*scalars, pa.scalar(between)])


def reordered(parts: Sequence[tuple[NDArray[np.int64], pa.Array]]) -> pa.Array:
    """Put texts back to the places that they were taken from, which are given beside them."""
    if len(parts) == 1:
        return parts[0][1]
    places = np.concatenate([place for place, _ in parts])
    order = np.empty(places.size, np.int64)
    order[places] = np.arange(places.size)
    return pa.concat_arrays([texts for _, texts in parts]).take(pa.array(order))


def _in_units(numbers: Numbers, units: Sequence[tuple[str, int]]) -> pa.Array:
    limits = np.array([size for _, size in units[1:]], np.uint64)
    which = np.searchsorted(limits, numbers, side="right")
    parts: list[tuple[NDArray[np.int64], pa.Array]] = []
    for place, (unit, size) in enumerate(units):
        chosen = np.flatnonzero(which == place)
        if chosen.size or not (parts or place < len(units) - 1):
            texts = plain(numbers[chosen]) if size == 1 else _rounded(numbers[chosen], size)
            parts.append((chosen, joined([texts, unit], " ")))
    return reordered(parts)


def _rounded(numbers: Numbers, size: int) -> pa.Array:
    whole, rest = numbers // size, numbers % size * 100
    hundredths, twice = whole * 100 + rest // size, rest % size * 2
    hundredths += twice > size
    for tie in np.flatnonzero(twice == size).tolist():  # Instruments rounds the nearest float
        hundredths[tie] = int(f"{int(numbers[tie]) / size:.2f}".replace(".", ""))
    return joined([plain(hundredths // 100), _HUNDREDTHS.take(pa.array(hundredths % 100))], ".")


def _from_first(digits: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return which places are shown: those from the first digit that is not zero, and the last."""
    shown = np.logical_or.accumulate(digits != 0, axis=1)
    shown[:, -1] = True
    return shown


def _texts(letters: NDArray[np.uint8], shown: NDArray[np.bool_] | None) -> pa.Array:
    """Return each row's letters, all or those that are shown, as one text."""
    rows, width = letters.shape
    ends = np.arange(1, rows + 1) * width if shown is None else np.cumsum(shown.sum(axis=1))
    offsets = np.concatenate(([0], ends)).astype(np.int32)
    content = np.ascontiguousarray(letters) if shown is None else letters[shown]
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(content)]
    return pa.Array.from_buffers(pa.string(), rows, buffers)


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
