"""A file of rows as blocks of whole rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from tracekit.tables.xml.fast.irregular import demand

_BLOCK = 1 << 20
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
    """Yield the rows of a table, a megabyte at a time; a block lives until the next one.

    Args:
        file: The export, read up to its first row.

    Raises:
        IrregularError: A row is very long, or the table does not end as xctrace ends it.
    """
    rest, more = b"", True
    while more:
        content = file.read(max(_BLOCK - len(rest), _BLOCK >> 2))
        more = bool(content)
        rest += content
        size = rest.rfind(_ROW_END) + len(_ROW_END)
        if size >= len(_ROW_END):
            yield block(rest, size)
            rest = rest[size:]
        demand(len(rest) < _LONGEST_BLOCK, "a row is longer than a block")
    demand(rest in _ENDS, "the table does not end as xctrace ends it")


def block(data: bytes, size: int) -> Block:
    """Return the first `size` bytes as a block."""
    padded = np.zeros(size + _BEYOND, np.uint8)
    padded[:size] = np.frombuffer(data, np.uint8, size)
    words = np.ndarray((size + _BEYOND - 8,), "<u8", padded, strides=(1,))
    return Block(padded[:size], words, size)
