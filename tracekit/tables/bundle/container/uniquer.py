"""The arrays of a run: each is stored once, and cells refer to it by its number.

`integeruniquer.index` has the place of each array, `integeruniquer.data` holds them one after the
other: the count of numbers, then the numbers. An array lies within a block of the file; before the
end of a block there may be padding, so only the index gives the start of an array.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.errors import ArchiveError, ReadOnce

NOTHING = -1
_MAGIC = struct.pack("<3I", 0x01234567, 0x000A337E, 1)
_DATA = "integeruniquer.data"
_INDEX = "integeruniquer.index"
_LARGEST = 1 << 32
_FIRST = 0x20
_FIRST_PAIR = 0x28
_BLOCK_SIZE = 0x1C
_MOST_TAKEN = 1 << 25  # numbers at once; several cells may refer to the same large array
_WORDS = 2  # of 32 bits, in a pair of the index and in a number

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ragged:
    """Arrays one after the other: array k is `values[offsets[k]:offsets[k + 1]]`."""

    offsets: Numbers
    values: NDArray[np.uint64]

    @property
    def lengths(self) -> Numbers:
        """The count of numbers of each array."""
        return np.diff(self.offsets)

    def lists(self) -> Iterator[list[int]]:
        """Yield the arrays."""
        values = self.values.tolist()
        return (values[start:end] for start, end in pairwise(self.offsets.tolist()))

    def pairs(self, noun: str) -> NDArray[np.uint64]:
        """Return arrays of two numbers as rows; raise ArchiveError if one is not such a `noun`."""
        if not (self.lengths == 2).all():  # noqa: PLR2004
            raise ArchiveError(f"names an array that is not a {noun}")
        return self.values.reshape(-1, 2)


class Arrays:
    """All arrays of a uniquer; its files are read at the first use of one."""

    def __init__(self, files: Files, folder: str) -> None:
        self._files = files
        self._folder = folder

    def __len__(self) -> int:
        """Count the arrays; raise BundleError if the files are damaged."""
        _, starts, _ = self._parts
        return starts.size

    def take(self, ids: Numbers) -> Ragged:
        """Return the arrays of these numbers, in this order."""
        words, starts, ends = self._parts
        if ids.size and not 0 <= int(ids.min()) <= int(ids.max()) < starts.size:
            raise ArchiveError("names an array that the bundle does not hold")
        begins = starts.take(ids)
        limits = ends.take(ids)
        if (begins >= limits).any():
            raise ArchiveError("names an array beyond the end of its file")
        lengths = words.take(begins).astype(np.int64)
        if int(lengths.sum()) > _MOST_TAKEN:
            raise ArchiveError("names arrays of more numbers than a recording can have")
        if (begins + 1 + lengths * _WORDS > limits).any():
            raise ArchiveError("names an array that does not fit into its block")
        summed_lengths = np.cumsum(lengths)
        offsets = np.concatenate(([0], summed_lengths))
        first_offsets = np.repeat(offsets[:-1], lengths)
        word_offsets = np.arange(offsets[-1]) - first_offsets
        first_words = np.repeat(begins + 1, lengths)
        places = first_words + word_offsets * _WORDS
        low_words = words.take(places).astype(np.uint64)
        high_words = words.take(places + 1).astype(np.uint64)
        high_halves = high_words << np.uint64(32)
        return Ragged(offsets, low_words | high_halves)

    @ReadOnce
    def _parts(self) -> tuple[NDArray[np.uint32], Numbers, Numbers]:
        """Return the data as 32-bit words, the start of each array in them, and its latest end."""
        index = f"{self._folder}/{_INDEX}"
        content = self._read(index, _FIRST_PAIR)
        block_size_field = content[_BLOCK_SIZE : _BLOCK_SIZE + 4]
        block = int.from_bytes(block_size_field, "little")
        if not block or block % 4 or (len(content) - _FIRST_PAIR) % 8:
            raise self._files.make_damage_error(
                index, "has blocks or entries of a size that cannot be"
            )
        pair_words = np.frombuffer(content, "<u4", offset=_FIRST_PAIR)
        pairs = pair_words.reshape(-1, _WORDS)
        offset, number = pairs.astype(np.int64).T
        stored = self._read(f"{self._folder}/{_DATA}", _FIRST)
        words = np.frombuffer(stored, "<u4", count=len(stored) // 4)
        starts = number * block + offset
        is_aligned = not (starts % 4).any()
        is_inside = (offset < block).all() and (starts >= _FIRST).all()
        counts = words.take(starts // 4, mode="clip")
        total_count = int(counts.sum(dtype=np.int64))
        needed_words = total_count * _WORDS + counts.size
        if not is_aligned or not is_inside or needed_words > words.size:
            raise self._files.make_damage_error(index, "has an entry that cannot be")
        ends = np.minimum((number + 1) * block, len(stored))
        return words, starts // 4, ends // 4

    def _read(self, name: str, min_size: int) -> bytes:
        content = self._files.read(name, _LARGEST)
        if len(content) < min_size or not content.startswith(_MAGIC):
            raise self._files.make_damage_error(name, "does not begin as an index of arrays does")
        return content
