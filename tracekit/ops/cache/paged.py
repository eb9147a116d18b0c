"""A cache of pages, out of a pool that is made at once, and who holds which block."""

from collections.abc import Iterable

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tracekit.base import InputError, TracekitError, UsageError
from tracekit.ops.attention.paged import append, append_run


class OutOfBlocks(TracekitError):  # noqa: N818 - what happened, as the field calls it
    """There are fewer free blocks than were asked for; nothing was allocated."""


class Blocks:
    """The numbers from 0 to `count - 1`, each free or in use.

    What was freed last is given out first: its contents are the likeliest to be in a cache.

    Raises:
        UsageError: There would be no block at all.
    """

    def __init__(self, count: int) -> None:
        if count < 1:
            raise UsageError(f"A pool needs at least 1 block; {count} were asked for.")
        self.count = count
        self._free = list(range(count - 1, -1, -1))
        self._is_free = bytearray(b"\x01") * count

    @property
    def used(self) -> int:
        """Blocks in use."""
        return self.count - len(self._free)

    @property
    def free_count(self) -> int:
        """Blocks that can still be had."""
        return len(self._free)

    def allocate(self, n: int) -> list[int]:
        """Take `n` blocks: all of them, or none.

        Raises:
            OutOfBlocks: Fewer than `n` are free.
            UsageError: `n` is negative.
        """
        if n < 0:
            raise UsageError(f"{n} blocks cannot be allocated.")
        if n > len(self._free):
            raise OutOfBlocks(
                f"{n} blocks are needed; {len(self._free)} of {self.count} are free.",
                hint="Free the blocks of a finished sequence first, or make the pool larger.",
            )
        taken = [self._free.pop() for _ in range(n)]
        for block in taken:
            self._is_free[block] = 0
        return taken

    def free(self, blocks: Iterable[int]) -> None:
        """Give blocks back: all of them, or none.

        Raises:
            InputError: One is not of this pool, is free already, or is named twice.
        """
        returned = list(blocks)
        seen: set[int] = set()
        for block in returned:
            if not 0 <= block < self.count:
                raise InputError(f"Block {block} is not of this pool of {self.count} blocks.")
            if self._is_free[block] or block in seen:
                raise InputError(f"Block {block} is freed twice.")
            seen.add(block)
        for block in reversed(returned):
            self._is_free[block] = 1
            self._free.append(block)


class PagedCache:
    """Keys and values of a batch of contexts of one length, in pages of their own.

    Token t of a context lies in page `block_tables[context, t // block_size]`, row
    `t % block_size`. `shape` is contexts, kv heads, elements of a head; the pool has pages for
    contexts of `max_tokens`.
    """

    copied = 0  # pages stay where they are

    def __init__(
        self, shape: tuple[int, int, int], dtype: mx.Dtype, *, block_size: int, max_tokens: int
    ) -> None:
        batch, heads, size = shape
        entries = -(-max_tokens // block_size)
        pool = (batch * entries, block_size, heads, size)
        self.pool = Blocks(pool[0])
        self.length = 0  # tokens of each context
        self.keys, self.values = mx.zeros(pool, dtype), mx.zeros(pool, dtype)
        self._tables: NDArray[np.int32] = np.zeros((batch, entries), np.int32)
        self._blocks = 0  # of each context
        self.block_tables = mx.array(self._tables)

    @property
    def kept(self) -> int:
        """Tokens of each context that are kept: all."""
        return self.length

    @property
    def nbytes(self) -> int:
        """Bytes of the pages in use."""
        return 2 * self.keys.nbytes // self.pool.count * self.pool.used

    def lacks(self, tokens: int) -> bool:
        """Whether so many more tokens need more pages."""
        return self.length + tokens > self._blocks * self.keys.shape[1]

    def grow(self, tokens: int) -> None:
        """Take pages for so many more tokens of each context; a no-op where there are.

        Raises:
            UsageError: A context would be longer than the longest; nothing is changed.
        """
        if not self.lacks(tokens):
            return
        size, (_, entries) = self.keys.shape[1], self._tables.shape
        needed = -(-(self.length + tokens) // size)
        if needed > entries:
            raise UsageError(
                f"{self.length + tokens} tokens need {needed} blocks of {size}; "
                f"a table has {entries} entries."
            )
        for table in self._tables:
            table[self._blocks : needed] = self.pool.allocate(needed - self._blocks)
        self._blocks = needed
        self.block_tables = mx.array(self._tables)

    def append(self, keys: mx.array, values: mx.array) -> None:
        """Append new tokens, `[batch, kv_heads, tokens, head_dim]`; see `grow`."""
        self.grow(keys.shape[2])
        self.keys = self._written(self.keys, keys)
        self.values = self._written(self.values, values)
        self.length += keys.shape[2]

    def _written(self, pages: mx.array, rows: mx.array) -> mx.array:
        if rows.shape[2] == 1:
            positions = mx.full((rows.shape[0],), self.length, mx.int32)
            return append(pages, rows[:, :, 0], self.block_tables, positions)
        for context in range(rows.shape[0]):
            table = self.block_tables[context]
            pages = append_run(pages, rows[context].swapaxes(0, 1), table, self.length)
        return pages
