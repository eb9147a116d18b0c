"""A value in the words that an export has for people, by the tag of its type.

Labels are texts that people read: their numbers are worded as Instruments words them in English.
Durations of a minute and more have never been seen in a label; they stay seconds here.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tracekit.tables.bundle.cells.encodings import UNITS

Numbers = NDArray[np.uint64]

NOTHING = "n/a"
PRIVATE = "<private>"
_SAMPLE_KINDS = {0: "Timer Fired", 2: "LPET", 3: "Stackshot"}
_EXCLUSIVE = 0xEEEEB0B5B2B2EEEE
_UNITS_OF_TIME = (("s", 10**9), ("ms", 10**6), ("µs", 10**3), ("ns", 1))
_UNITS_OF_SIZE = tuple(
    (unit, 1 << shift)
    for unit, shift in (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("Bytes", 0))
)


def _in_units(units: Sequence[tuple[str, int]], number: int) -> str:
    """Return an amount in the largest unit below it, with two digits behind the point.

    They are those of the float next to it: 4,025,000 ns are 4.03 ms, and 1,295,000 ns 1.29 ms.
    """
    for unit, size in units[:-1]:
        if number >= size:
            return f"{number / size:.2f} {unit}"
    return f"{number} {units[-1][0]}"


def _moment(ns: int) -> str:
    """Return minutes, seconds, milliseconds and microseconds; what is below is cut off.

    How Instruments shows an hour is not known; minutes just go on.
    """
    micros = ns // 1000
    minutes, seconds = divmod(micros // 10**6, 60)
    return f"{minutes:02}:{seconds:02}.{micros // 1000 % 1000:03}.{micros % 1000:03}"


_duration = partial(_in_units, _UNITS_OF_TIME)
FMT: Mapping[str, Callable[[int], str]] = {
    "uint64": "{:,}".format,
    **dict.fromkeys(("duration", "weight", "duration-on-core", "duration-waiting"), _duration),
    **dict.fromkeys(("start-time", "event-time", "sample-time"), _moment),
    **dict.fromkeys(
        (
            *("tid", "address", "text-address", "metal-command-buffer-id", "metal-encoder-id"),
            *("metal-workload-priority", "mach-o-vm-offset", "register-content"),
            *("displayed-surface-swap", "gpu-driver-surface", "eight-byte-array"),
        ),
        hex,
    ),
    "uint64-hex-lowercase": "{:x}".format,
    "os-signpost-identifier": lambda number: (
        "OS_SIGNPOST_ID_EXCLUSIVE" if number == _EXCLUSIVE else hex(number)
    ),
    "size-in-bytes": partial(_in_units, _UNITS_OF_SIZE),
    "boolean": lambda number: "Yes" if number else "No",
    "time-sample-kind": lambda number: _SAMPLE_KINDS.get(number, str(number)),
    "gpu-frame-number": "Frame {}".format,
    "private": lambda _: PRIVATE,
}
"""How a number is worded, by tag; a number of any other type is worded as its plain digits."""


def worded(tag: str, numbers: Numbers) -> pa.Array:
    """Return numbers as texts; those of a tag that is not known as plain digits."""
    words = FMT.get(tag)
    if words is None:
        return pa.array(numbers).cast(pa.string())
    return pa.array(map(words, numbers.tolist()), pa.string())


def uuid_words(high: int, low: int) -> str:
    """Return a UUID as a text, from its halves."""
    return str(UUID(int=high << 64 | low)).upper()


def decimal(scaled: int) -> str:
    """Return a number in units of 10^-9 with all its nine places."""
    whole, rest = divmod(abs(scaled), UNITS)
    return f"{'-' if scaled < 0 else ''}{whole}.{rest:09d}"


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
