"""What is asked of a cache and appended to it, token by token, and what must come out."""

from dataclasses import dataclass

import mlx.core as mx
import numpy as np

from tracekit.base.tolerances import Floats, as_float64
from tracekit.ops.memory import require_memory

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
    def cache_shape(self) -> tuple[int, int, int]:
        """Sequences, kv heads, elements of a head."""
        return self.batch, self.kv_heads, self.head_dim

    @property
    def token_bytes(self) -> int:
        """Bytes of K and V of one token of each sequence."""
        return 2 * self.batch * self.kv_heads * self.head_dim * self.dtype.size

    @property
    def query_bytes(self) -> int:
        """Bytes of one query of each sequence, which are those of one result."""
        return self.batch * self.q_heads * self.head_dim * self.dtype.size

    def check(self, tokens: int) -> None:
        """Raise UsageError where so many tokens would not fit into this machine."""
        hint = "Take fewer sequences, tokens or heads."
        require_memory(tokens * self.token_bytes, "The cache", hint)


@dataclass(frozen=True, eq=False)
class Rows:
    """Queries, keys and values of `DRAWN` tokens, each `[DRAWN, batch, heads, head_dim]`."""

    queries: mx.array
    keys: mx.array
    values: mx.array

    def query(self, token: int) -> mx.array:
        """Return the queries that go with a token: `[batch, q_heads, head_dim]`."""
        return self.queries[token % DRAWN]

    def run(self, first: int, tokens: int) -> tuple[mx.array, mx.array]:
        """Return the keys and values of a run of tokens: `[batch, kv_heads, tokens, head_dim]`."""
        drawn = mx.arange(first, first + tokens) % DRAWN
        return self.keys[drawn].transpose(1, 2, 0, 3), self.values[drawn].transpose(1, 2, 0, 3)


def draw_rows(sizes: Sizes, *, seed: int = 0) -> Rows:
    """Draw normal rows, and fill the device with them."""
    heads = (sizes.q_heads, sizes.kv_heads, sizes.kv_heads)
    keys = mx.random.split(mx.random.key(seed), 3)
    drawn = [
        mx.random.normal((DRAWN, sizes.batch, one, sizes.head_dim), dtype=sizes.dtype, key=key)
        for one, key in zip(heads, keys, strict=True)
    ]
    mx.eval(*drawn)
    return Rows(*drawn)


def expected(rows: Rows, sequence: int, *, length: int, kept: int, scale: float) -> Floats:
    """Attend densely, in float64, from the last of `length` tokens to the last `kept` of them.

    softmax(scale * q K^T) V for each q head h and kv head h // (q_heads / kv_heads).

    Returns:
        `[q_heads, head_dim]`.
    """
    tokens = np.arange(length - kept, length) % DRAWN
    q = as_float64(rows.query(length - 1)[sequence])
    keys, values = (as_float64(one[:, sequence])[tokens] for one in (rows.keys, rows.values))
    group = q.shape[0] // keys.shape[1]
    keys, values = (np.repeat(one, group, axis=1) for one in (keys, values))
    scores = scale * np.einsum("hd,thd->ht", q, keys)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("ht,thd->hd", weights, values)
