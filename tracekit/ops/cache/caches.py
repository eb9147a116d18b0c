"""Caches of keys and values: one that grows, a ring of the last tokens, pages out of a pool."""

from dataclasses import dataclass

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tracekit.base import UsageError, tolerances
from tracekit.ops.attention.paged import append, append_run
from tracekit.ops.attention.problem import dense_reference
from tracekit.ops.kernels import require_memory

# Rows come round again after so many tokens; a prime, so that no window and no block does too.
DRAWN = 61


@dataclass(frozen=True)
class Sizes:
    """The sizes of sequences and heads."""

    batch: int
    q_heads: int
    kv_heads: int
    head_dim: int
    dtype: mx.Dtype

    @property
    def token_bytes(self) -> int:
        """Bytes of K and V of one token of each sequence."""
        return 2 * self.batch * self.kv_heads * self.head_dim * self.dtype.size

    @property
    def query_bytes(self) -> int:
        """Bytes of one query of each sequence, which are those of one result."""
        return self.batch * self.q_heads * self.head_dim * self.dtype.size

    def check(self, tokens: int) -> None:
        """Raise UsageError if this number of tokens would not fit into this machine."""
        hint = "Take fewer sequences, tokens or heads."
        require_memory(tokens * self.token_bytes, "The cache", hint)


@dataclass(frozen=True, eq=False)
class DrawnTokens:
    """Queries, keys and values of `DRAWN` tokens, each `[DRAWN, batch, heads, head_dim]`."""

    queries: mx.array
    keys: mx.array
    values: mx.array

    def query(self, token: int) -> mx.array:
        """Return the queries of a token: `[batch, q_heads, head_dim]`."""
        return self.queries[token % DRAWN]

    def run(self, first_token: int, tokens: int) -> tuple[mx.array, mx.array]:
        """Return the keys and values of a run of tokens: `[batch, kv_heads, tokens, head_dim]`."""
        positions = mx.arange(first_token, first_token + tokens)
        drawn = positions % DRAWN
        keys = self.keys[drawn].transpose(1, 2, 0, 3)
        values = self.values[drawn].transpose(1, 2, 0, 3)
        return keys, values


def draw_rows(sizes: Sizes, *, seed: int = 0) -> DrawnTokens:
    """Draw normal rows, and fill the device with them."""
    q_shape = (DRAWN, sizes.batch, sizes.q_heads, sizes.head_dim)
    kv_shape = (DRAWN, sizes.batch, sizes.kv_heads, sizes.head_dim)
    key = mx.random.key(seed)
    q_seed, k_seed, v_seed = mx.random.split(key, 3)
    queries = mx.random.normal(q_shape, dtype=sizes.dtype, key=q_seed)
    keys = mx.random.normal(kv_shape, dtype=sizes.dtype, key=k_seed)
    values = mx.random.normal(kv_shape, dtype=sizes.dtype, key=v_seed)
    mx.eval(queries, keys, values)
    return DrawnTokens(queries, keys, values)


def compute_expected(
    rows: DrawnTokens, sequence: int, *, length: int, kept_tokens: int, scale: float
) -> tolerances.Floats:
    """Attend in float64 from the last token to the last `kept_tokens`: `[q_heads, head_dim]`.

    See `dense_reference`.
    """
    positions = np.arange(length - kept_tokens, length)
    tokens = positions % DRAWN
    last_query = rows.query(length - 1)[sequence]
    q = tolerances.as_float64(last_query)[:, None]
    drawn_keys = tolerances.as_float64(rows.keys[:, sequence])
    keys = drawn_keys[tokens].swapaxes(0, 1)
    drawn_values = tolerances.as_float64(rows.values[:, sequence])
    values = drawn_values[tokens].swapaxes(0, 1)
    visible_keys = np.ones((1, kept_tokens), np.bool_)
    return dense_reference(q, keys, values, visible_keys, scale=scale)[:, 0]


class GrowingCache:
    """Keys and values of a batch of contexts of one length, contiguous.

    Room is made for `step` tokens at a time, as mlx-lm does, by copying everything into longer
    arrays. Between two such copies an append writes in place, unless a caller still holds a view
    of the arrays: then MLX copies the whole cache for every token.
    """

    def __init__(self, sizes: Sizes, *, step: int = 256) -> None:
        self._sizes = sizes
        self._step = step
        self.length = 0  # tokens of each context
        self.copied = 0  # bytes that all growth so far has copied
        self.keys = self._room(0)
        self.values = self._room(0)

    @property
    def capacity(self) -> int:
        """Tokens that fit without growth."""
        return self.keys.shape[2]

    @property
    def kept_tokens(self) -> int:
        """Tokens of each context that are kept: all."""
        return self.length

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.keys.nbytes + self.values.nbytes

    def grow(self, tokens: int) -> bool:
        """Make room for this number of tokens, and return whether the arrays had to grow."""
        needed_tokens = self.length + tokens
        if needed_tokens <= self.capacity:
            return False
        steps = -(-(self.length + tokens) // self._step)
        room = self._room(steps * self._step - self.length)
        keys, values = self.view_kept()
        self.copied += keys.nbytes + values.nbytes
        self.keys = mx.concatenate([keys, room], axis=2)
        self.values = mx.concatenate([values, room], axis=2)
        return True

    def append(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Append new tokens, `[batch, kv_heads, tokens, head_dim]`; return all tokens.

        The results are views: MLX copies at the next append if a caller still holds one.
        """
        tokens = keys.shape[2]
        self.grow(tokens)
        start = self.length
        self.length += tokens
        self.keys[:, :, start : self.length] = keys
        self.values[:, :, start : self.length] = values
        return self.view_kept()

    def view_kept(self) -> tuple[mx.array, mx.array]:
        """Return the keys and values of all tokens, as views."""
        return self.keys[:, :, : self.length], self.values[:, :, : self.length]

    def _room(self, tokens: int) -> mx.array:
        sizes = self._sizes
        pool_shape = (sizes.batch, sizes.kv_heads, tokens, sizes.head_dim)
        return mx.zeros(pool_shape, sizes.dtype)


class SlidingCache:
    """Keys and values of the last `window` tokens of a batch of contexts of one length.

    Token t is in row t % window, so a new token takes the place of the oldest one, and the
    cache never grows. The order of keys does not matter to attention, provided that their
    positions were put into them before.
    """

    copied = 0  # it never grows

    def __init__(self, sizes: Sizes, *, window: int) -> None:
        self.window = window
        self.length = 0  # tokens of each context, kept or not
        shape = (sizes.batch, sizes.kv_heads, window, sizes.head_dim)
        self.keys = mx.zeros(shape, sizes.dtype)
        self.values = mx.zeros(shape, sizes.dtype)

    @property
    def kept_tokens(self) -> int:
        """Tokens of each context that are kept."""
        return min(self.length, self.window)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.keys.nbytes + self.values.nbytes

    def grow(self, tokens: int) -> bool:  # noqa: ARG002  as in caches that grow
        """Make room for more tokens: there is always some."""
        return False

    def append(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Append new tokens, `[batch, kv_heads, tokens, head_dim]`; return all kept tokens.

        Of more tokens than a window the last count. The results are views, in any order of tokens:
        MLX copies at the next append if a caller still holds one.
        """
        tokens = keys.shape[2]
        taken_count = min(tokens, self.window)
        first_row = (self.length + tokens - taken_count) % self.window
        self.length += tokens
        rows_to_end = min(taken_count, self.window - first_row)
        pairs = ((self.keys, keys), (self.values, values))
        for array, rows in pairs:
            last_rows = rows[:, :, tokens - taken_count :]
            array[:, :, first_row : first_row + rows_to_end] = last_rows[:, :, :rows_to_end]
            if rows_to_end < taken_count:
                array[:, :, : taken_count - rows_to_end] = last_rows[:, :, rows_to_end:]
        return self.view_kept()

    def view_kept(self) -> tuple[mx.array, mx.array]:
        """Return the keys and values that are kept, as views, in any order."""
        return self.keys[:, :, : self.kept_tokens], self.values[:, :, : self.kept_tokens]


class BlockPool:
    """The numbers from 0 to `count - 1`, each free or in use.

    The block that was freed last is given out first: its contents are the likeliest to be in a
    cache. A caller must not ask for more blocks than are free.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._free = list(range(count - 1, -1, -1))

    @property
    def used_count(self) -> int:
        """Blocks in use."""
        return self.count - len(self._free)

    @property
    def free_count(self) -> int:
        """Blocks that are free."""
        return len(self._free)

    def allocate(self, n: int) -> list[int]:
        """Take `n` blocks."""
        return [self._free.pop() for _ in range(n)]

    def release(self, blocks: list[int]) -> None:
        """Give blocks back."""
        self._free += reversed(blocks)


class PagedCache:
    """Keys and values of a batch of contexts of one length, each in its own pages.

    Token t of a context is in page `block_tables[context, t // block_size]`, row
    `t % block_size`. The pool has pages for contexts of `max_tokens`.
    """

    copied = 0  # pages stay in their places

    def __init__(self, sizes: Sizes, *, block_size: int, max_tokens: int) -> None:
        entries = -(-max_tokens // block_size)
        blocks = sizes.batch * entries
        shape = (blocks, block_size, sizes.kv_heads, sizes.head_dim)
        self.pool = BlockPool(blocks)
        self.length = 0  # tokens of each context
        self.keys = mx.zeros(shape, sizes.dtype)
        self.values = mx.zeros(shape, sizes.dtype)
        self._tables: NDArray[np.int32] = np.zeros((sizes.batch, entries), np.int32)
        self._blocks = 0  # of each context
        self.block_tables = mx.array(self._tables)

    @property
    def kept_tokens(self) -> int:
        """Tokens of each context that are kept: all."""
        return self.length

    @property
    def nbytes(self) -> int:
        """Bytes of the pages in use."""
        return 2 * self.keys.nbytes // self.pool.count * self.pool.used_count

    def grow(self, tokens: int) -> bool:
        """Take pages for new tokens of each context; return whether there were too few.

        Raise UsageError and change nothing if a context would exceed the longest.
        """
        size = self.keys.shape[1]
        entries = self._tables.shape[1]
        needed = -(-(self.length + tokens) // size)
        if needed <= self._blocks:
            return False
        if needed > entries:
            raise UsageError(
                f"{self.length + tokens} tokens need {needed} blocks of {size}; "
                f"a table has {entries} entries."
            )
        for table in self._tables:
            new_blocks = self.pool.allocate(needed - self._blocks)
            table[self._blocks : needed] = new_blocks
        self._blocks = needed
        self.block_tables = mx.array(self._tables)
        return True

    def append(self, keys: mx.array, values: mx.array) -> None:
        """Append new tokens, `[batch, kv_heads, tokens, head_dim]`; see `grow`."""
        self.grow(keys.shape[2])
        self.keys = self._write_rows(self.keys, keys)
        self.values = self._write_rows(self.values, values)
        self.length += keys.shape[2]

    def _write_rows(self, pages: mx.array, rows: mx.array) -> mx.array:
        if rows.shape[2] == 1:
            positions = mx.full((rows.shape[0],), self.length, mx.int32)
            return append(pages, rows[:, :, 0], self.block_tables, positions)
        for context in range(rows.shape[0]):
            table = self.block_tables[context]
            run = rows[context].swapaxes(0, 1)
            pages = append_run(pages, run, table, self.length)
        return pages
