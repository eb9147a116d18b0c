"""Whether a property list holds more than its size allows: a bomb, which `plistlib` would unpack.

The parts of a binary property list are found by their places, so that many parts may be the same
megabyte, or overlap: a small file would become gigabytes. In an honest one no two parts share a
byte.

A binary property list is `bplist00`, the parts, a table of their places, and a trailer: the width
of a place and of a reference in bytes, the number of parts, the number of the top one, and the
start of the table, in big-endian order. A part begins with a marker: its kind in the upper half of
the byte, its length in the lower. A length of 15 is in an integer behind the marker: `0x1p` and
2^p bytes. The length counts bytes, letters or members.
"""

import struct

import numpy as np
from numpy.typing import NDArray

MOST_OBJECTS = 1 << 24
_MAGIC = b"bplist00"
_TRAILER = struct.Struct(">6xBBQQQ")
_LONG = 15  # the length of a marker that has its length behind it
# The kinds of parts that have a length.
_DATA = 0x4
_ASCII = 0x5
_UTF_16 = 0x6
_ARRAY = 0xA
_SET = 0xC
_DICTIONARY = 0xD
_WIDEST_PLACE = 8  # bytes

Numbers = NDArray[np.int64]


def has_room(content: bytes) -> bool:
    """Return whether a property list holds no more than its size and `MOST_OBJECTS` allow.

    Content that is too damaged to be recognised is left to its reader, which refuses it.
    """
    if not content.startswith(_MAGIC):
        return content.count(b"<") <= 2 * MOST_OBJECTS
    if len(content) < len(_MAGIC) + _TRAILER.size:
        return True
    trailer_start = len(content) - _TRAILER.size
    width, reference, count, _, table_start = _TRAILER.unpack_from(content, trailer_start)
    if not 0 < width <= _WIDEST_PLACE or table_start + count * width > len(content):
        return True
    if count > MOST_OBJECTS:
        return False
    table = np.frombuffer(content, np.uint8, count * width, table_start)
    places = _read_big_endian(table.reshape(count, width))
    is_inside = (places >= 0) & (places < trailer_start)
    octets = np.frombuffer(content, np.uint8)
    sizes = _measure_parts(octets, places[is_inside], reference)
    return int(sizes.sum()) <= len(content)


def _measure_parts(content: NDArray[np.uint8], places: Numbers, reference: int) -> Numbers:
    """Return the bytes that each part takes, without its marker; a part without a length has none.

    A member of an array or a set takes a reference of `reference` bytes, one of a dictionary two.
    """
    markers = content[places]
    unit_sizes = np.zeros(16, np.int64)  # bytes of a unit of length, by kind
    unit_sizes[_DATA] = 1
    unit_sizes[_ASCII] = 1
    unit_sizes[_UTF_16] = 2
    unit_sizes[_ARRAY] = reference
    unit_sizes[_SET] = reference
    unit_sizes[_DICTIONARY] = 2 * reference
    return _read_lengths(content, places) * unit_sizes[markers >> 4]


def _read_lengths(content: NDArray[np.uint8], places: Numbers) -> Numbers:
    """Return the length of each part; one beyond the content counts as the size of the content."""
    lengths = (content[places] & _LONG).astype(np.int64)
    integer_powers = content[places + 1] & 3
    for power in range(4):
        long_parts = np.flatnonzero((lengths == _LONG) & (integer_powers == power))
        first_digits = places[long_parts] + 2
        digits = first_digits[:, None] + np.arange(1 << power)
        long_lengths = _read_big_endian(content[np.minimum(digits, content.size - 1)])
        long_lengths[long_lengths < 0] = content.size
        lengths[long_parts] = np.minimum(long_lengths, content.size)
    return lengths


def _read_big_endian(digits: NDArray[np.uint8]) -> Numbers:
    """Return the number in each row of bytes; one of 64 bits may come out negative."""
    values = np.zeros(len(digits), np.int64)
    for column in digits.T:
        values = (values << 8) | column
    return values
