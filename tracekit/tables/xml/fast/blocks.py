"""A file of rows as blocks of whole rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from tracekit.tables.xml.fast.irregular import demand

_BLOCK = 1 << 21
_LONGEST_BLOCK = 1 << 23
_BEYOND = 64
_AMPERSAND = ord("&")
_ROW_END = b"</row>\n"
_ENDS = (b"</node></trace-query-result>\n", b"</node></trace-query-result>")

Octets = NDArray[np.uint8]
Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Block:
    """Some whole rows: `size` bytes, with zeros behind them.

    `words[p]` is the little-endian number of the eight bytes that begin at `p`.
    """

    octets: Octets
    words: Words
    size: int

    @cached_property
    def ampersands(self) -> NDArray[np.int64]:
        """Where references to entities begin."""
        return np.flatnonzero(self.octets == _AMPERSAND)


def blocks(file: BinaryIO) -> Iterator[Block]:
    """Yield the rows of a table, two megabytes at a time.

    Args:
        file: The export, read up to its first row.

    Raises:
        IrregularError: A row is very long, or the table does not end as xctrace ends it.
    """
    rest, more = b"", True
    while more:
        content = bytearray(len(rest) + _BLOCK + _BEYOND)
        content[: len(rest)] = rest
        with memoryview(content) as view:
            count = _filled(file, view[len(rest) : -_BEYOND])
        more, length = count > 0, len(rest) + count
        size = content.rfind(_ROW_END, 0, length) + len(_ROW_END)
        if size < len(_ROW_END):
            size = 0
        rest = bytes(content[size:length])
        demand(len(rest) < _LONGEST_BLOCK, "a row is longer than a block")
        if size:
            yield block(content, size)
    demand(rest in _ENDS, "the table does not end as xctrace ends it")


def block(content: bytearray, size: int) -> Block:
    """Return the first `size` bytes as a block; some zeros take the place of what comes next."""
    content[size : size + _BEYOND] = bytes(_BEYOND)
    octets = np.frombuffer(content, np.uint8)
    words = np.ndarray((size + _BEYOND - 8,), "<u8", content, strides=(1,))
    return Block(octets[:size], words, size)


def _filled(file: BinaryIO, view: memoryview) -> int:
    """Read until the view is full or the file ends; return how much was read."""
    count = 0
    while more := file.readinto(view[count:]):  # pyright: ignore[reportAttributeAccessIssue]
        count += more
    return count
