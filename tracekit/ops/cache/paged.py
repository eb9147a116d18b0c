"""A cache of pages, out of a pool that is made at once, and who holds which block."""

from collections.abc import Callable, Iterable

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tracekit.base import InputError, TracekitError, UsageError


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


class PageTables:
    """A table of pages for each of some sequences, over one pool of blocks.

    Token t of a sequence lies in page `table[t // block_size]`, row `t % block_size`.

    Args:
        pool: The blocks, which others may share.
        sequences: How many sequences there can be at a time.
        block_size: Tokens of a block.
        max_blocks: Entries of a table: the blocks that a sequence can have.
    """

    def __init__(self, pool: Blocks, sequences: int, *, block_size: int, max_blocks: int) -> None:
        if min(sequences, block_size, max_blocks) < 1:
            raise UsageError("Tables need at least 1 sequence, 1 token a block and 1 block.")
        self.pool, self.block_size = pool, block_size
        self.tables: NDArray[np.int32] = np.zeros((sequences, max_blocks), np.int32)
        self.lengths: NDArray[np.int32] = np.zeros(sequences, np.int32)
        self._held: list[list[int]] = [[] for _ in range(sequences)]

    def blocks_of(self, sequence: int) -> tuple[int, ...]:
        """Return the blocks that a sequence holds, in the order of its tokens."""
        return tuple(self._held[sequence])

    def extend(self, sequence: int, tokens: int) -> int:
        """Make a sequence longer by so many tokens; return how many blocks it took for them.

        Raises:
            OutOfBlocks: The pool has too few; nothing is changed.
            UsageError: The table has too few entries; nothing is changed.
        """
        taken = self.reserve(sequence, tokens)
        self.lengths[sequence] += tokens
        return taken

    def reserve(self, sequence: int, tokens: int) -> int:
        """Take the blocks that so many more tokens will need; return how many it took.

        Raises:
            OutOfBlocks: The pool has too few; nothing is changed.
            UsageError: The table has too few entries; nothing is changed.
        """
        held = self._held[sequence]
        length = int(self.lengths[sequence]) + tokens
        needed = -(-length // self.block_size)
        if needed > self.tables.shape[1]:
            raise UsageError(
                f"{length} tokens need {needed} blocks of {self.block_size}; "
                f"a table has {self.tables.shape[1]} entries."
            )
        taken = self.pool.allocate(max(0, needed - len(held)))
        self.tables[sequence, len(held) : len(held) + len(taken)] = taken
        held.extend(taken)
        return len(taken)

    def release(self, sequence: int) -> None:
        """Give all blocks of a sequence back; it has no token then."""
        self.pool.free(self._held[sequence])
        self._held[sequence] = []
        self.lengths[sequence] = 0
        self.tables[sequence] = 0


# pages, rows [batch, kv_heads, head_dim], block tables, positions [batch] -> pages
Append = Callable[[mx.array, mx.array, mx.array, mx.array], mx.array]
# pages, rows [tokens, kv_heads, head_dim], one table, the first token -> pages
AppendRun = Callable[[mx.array, mx.array, mx.array, int], mx.array]


class PagedCache:
    """Keys and values of a batch of contexts of one length, in pages of their own.

    Args:
        shape: Contexts, kv heads, elements of a head.
        dtype: Type of the elements.
        block_size: Tokens of a page.
        max_tokens: The longest that a context gets; the pool has pages for it.
        append: Writes one row of each context into its page.
        append_run: Writes several rows of one context.
    """

    copied = 0  # pages stay where they are

    def __init__(
        self,
        shape: tuple[int, int, int],
        dtype: mx.Dtype,
        *,
        block_size: int,
        max_tokens: int,
        append: Append,
        append_run: AppendRun,
    ) -> None:
        batch, heads, size = shape
        blocks = -(-max_tokens // block_size)
        pool = (batch * blocks, block_size, heads, size)
        self.pool = Blocks(pool[0])
        self.tables = PageTables(self.pool, batch, block_size=block_size, max_blocks=blocks)
        self.block_tables = mx.array(self.tables.tables)
        self.keys, self.values = mx.zeros(pool, dtype), mx.zeros(pool, dtype)
        self._batch, self._append, self._append_run = batch, append, append_run

    @property
    def length(self) -> int:
        """Tokens of each context."""
        return int(self.tables.lengths[0])

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
        room = len(self.tables.blocks_of(0)) * self.tables.block_size
        return self.length + tokens > room

    def grow(self, tokens: int) -> None:
        """Take pages for so many more tokens of each context; a no-op where there are.

        Raises:
            UsageError: A context would be longer than the longest.
        """
        if not self.lacks(tokens):
            return
        for context in range(self._batch):
            self.tables.reserve(context, tokens)
        self.block_tables = mx.array(self.tables.tables)

    def append(self, keys: mx.array, values: mx.array) -> None:
        """Append the keys and values of new tokens.

        Args:
            keys: `[batch, kv_heads, tokens, head_dim]`.
            values: As `keys`.

        Raises:
            UsageError: A context would be longer than the longest.
        """
        tokens, first = keys.shape[2], self.length
        self.grow(tokens)
        self.keys = self._written(self.keys, keys, first)
        self.values = self._written(self.values, values, first)
        for context in range(self._batch):
            self.tables.extend(context, tokens)

    def _written(self, pages: mx.array, rows: mx.array, first: int) -> mx.array:
        if rows.shape[2] == 1:
            positions = mx.full((self._batch,), first, mx.int32)
            return self._append(pages, rows[:, :, 0], self.block_tables, positions)
        for context in range(self._batch):
            table = self.block_tables[context]
            pages = self._append_run(pages, rows[context].swapaxes(0, 1), table, first)
        return pages
