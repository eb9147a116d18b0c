"""Strings and arrays, kept once each and known by their numbers.

Layout: docs/explanation/trace-bundles.md.
"""

import struct
import zlib
from array import array
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 20
_HEAD = struct.pack("<5I", 0x01234567, 0x000A337E, 1, 0, 1)
_FIRST = 0x20


class Strings:
    """Texts by their numbers; the empty one is the first."""

    def __init__(self) -> None:
        self.texts = [""]
        self._ids = {"": 0}

    def id(self, text: str) -> int:
        found = self._ids.setdefault(text, len(self.texts))
        if found == len(self.texts):
            self.texts.append(text)
        return found


class Arrays:
    """Arrays of unsigned 64-bit numbers by their ids; no array crosses the end of a block."""

    def __init__(self, block: int = BLOCK) -> None:
        self._size = block
        self._blocks = [bytearray(_HEAD.ljust(_FIRST, b"\0"))]
        self._index = array("I")
        self._ids: dict[tuple[int, ...], int] = {}

    def __len__(self) -> int:
        return len(self._index) // 2

    def id(self, values: Sequence[int]) -> int:
        key = tuple(values)
        if key not in self._ids:
            self._ids[key] = self.append(key)
        return self._ids[key]

    def append(self, values: Sequence[int]) -> int:
        content = struct.pack(f"<I{len(values)}Q", len(values), *values)
        if len(content) > self._size - _FIRST:
            raise ValueError("an array larger than a block")
        if len(self._blocks[-1]) + len(content) > self._size:
            self._next_block()
        self._index.extend((len(self._blocks[-1]), len(self._blocks) - 1))
        self._blocks[-1] += content
        return len(self) - 1

    def extend(self, values: NDArray[np.uint64]) -> int:
        """Add arrays of one length, the rows of a matrix; return the id of the first."""
        first, count = len(self), values.shape[1]
        rows = np.empty(len(values), np.dtype([("n", "<u4"), ("values", "<u8", (count,))]))
        rows["n"], rows["values"] = count, values
        while len(rows):
            fit = (self._size - len(self._blocks[-1])) // rows.itemsize
            if fit == 0:
                self._next_block()
                continue
            taken, rows = rows[:fit], rows[fit:]
            offsets = len(self._blocks[-1]) + np.arange(len(taken)) * rows.itemsize
            pairs = np.column_stack([offsets, np.full(len(taken), len(self._blocks) - 1)])
            self._index.frombytes(pairs.astype("<u4").tobytes())
            self._blocks[-1] += taken.tobytes()
        return first

    def repeat(self, times: int) -> None:
        """List all arrays so many times, each time by other ids, as no recording does."""
        self._index *= times

    def _data(self) -> bytes:
        return b"".join(bytes(block).ljust(self._size, b"\0") for block in self._blocks)

    def _list(self) -> bytes:
        head = _HEAD + struct.pack("<IIIQ", 0, 0x00400000, self._size, 0)
        return head + self._index.tobytes()

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        for name, content in (("data", self._data()), ("index", self._list())):
            (folder / f"integeruniquer.{name}").write_bytes(zlib.compress(content, 1))

    def _next_block(self) -> None:
        self._blocks.append(bytearray())
