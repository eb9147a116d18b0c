"""A cache of pages, out of a pool that is made at once."""

from collections.abc import Callable

import mlx.core as mx

from tracekit.ops.cache.blocks import Blocks
from tracekit.ops.cache.page_tables import PageTables

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
