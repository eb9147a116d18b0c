"""How much memory a property list would take, before it is read.

Parts of a binary one are named by their places, so that many parts may be the same megabyte, or
overlap: a small file would become gigabytes. In an honest one no two parts share a byte.
"""

import struct

import numpy as np
from numpy.typing import NDArray

MOST_OBJECTS = 1 << 24
_MAGIC = b"bplist00"
_TRAILER = struct.Struct(">6xBBQQQ")
_LONG = 15  # a length that stands in an integer of its own
_DATA, _ASCII, _UTF_16, _ARRAY, _SET, _DICTIONARY = 0x4, 0x5, 0x6, 0xA, 0xC, 0xD
_BYTES = 8

Numbers = NDArray[np.int64]


def has_room(content: bytes) -> bool:
    """Tell whether a property list holds no more than its size and `MOST_OBJECTS` allow.

    What is so damaged that it cannot be told is left to its reader, which refuses it.
    """
    if not content.startswith(_MAGIC):
        return content.count(b"<") <= 2 * MOST_OBJECTS
    if len(content) < len(_MAGIC) + _TRAILER.size:
        return True
    width, reference, count, _, first = _TRAILER.unpack_from(content, len(content) - _TRAILER.size)
    if not 0 < width <= _BYTES or first + count * width > len(content):
        return True
    if count > MOST_OBJECTS:
        return False
    table = np.frombuffer(content, np.uint8, count * width, first).reshape(count, width)
    places = _big_endian(table)
    places = places[(places >= 0) & (places < len(content) - _TRAILER.size)]
    return int(_sizes(np.frombuffer(content, np.uint8), places, reference).sum()) <= len(content)


def _sizes(content: NDArray[np.uint8], places: Numbers, reference: int) -> Numbers:
    """Return how many bytes the parts take; lengths beyond the content count as all of it."""
    markers = content[places]
    lengths = (markers & _LONG).astype(np.int64)
    powers = np.where(lengths == _LONG, content[places + 1] & 3, -1)
    for power in range(4):
        width = 1 << power
        which = np.flatnonzero(powers == power)
        digits = places[which, None] + 2 + np.arange(width)
        found = _big_endian(content[np.minimum(digits, content.size - 1)])
        lengths[which] = np.where(found < 0, content.size, np.minimum(found, content.size))
    units = np.zeros(16, np.int64)
    units[[_DATA, _ASCII, _UTF_16]] = 1, 1, 2
    units[[_ARRAY, _SET, _DICTIONARY]] = reference, reference, 2 * reference
    return lengths * units[markers >> 4]


def _big_endian(digits: NDArray[np.uint8]) -> Numbers:
    found = np.zeros(len(digits), np.int64)
    for column in digits.T:
        found = (found << 8) | column
    return found
