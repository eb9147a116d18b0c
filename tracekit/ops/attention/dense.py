"""Dense attention as MLX computes it and in its plain form, and models of their traffic."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tracekit.base import UsageError, tolerances
from tracekit.ops.attention.problem import DecodeProblem, dense_reference
from tracekit.ops.kernels import CallTraffic, require_memory, take_axes

_SCORE = 4  # bytes: scores are float32


@dataclass(frozen=True)
class DenseShape:
    """Sizes of a call of dense attention; see `DenseProblem`."""

    lens: Sequence[int]
    longest: int
    q_heads: int
    kv_heads: int
    head_dim: int
    itemsize: int
    queries: int = 1
    causal: bool = True

    @property
    def row(self) -> int:
        """Bytes of one token's key and value, all heads."""
        return 2 * self.kv_heads * self.head_dim * self.itemsize

    @property
    def pairs(self) -> int:
        """Pairs of a query and a key that it sees, of one head, over all sequences."""
        pairs = self.queries * sum(self.lens)
        if self.causal:
            unseen = self.queries * (self.queries - 1) // 2
            pairs -= unseen * len(self.lens)
        return pairs

    @property
    def output_bytes(self) -> int:
        """Bytes of the result, which are those of the queries as well."""
        return len(self.lens) * self.queries * self.q_heads * self.head_dim * self.itemsize

    @property
    def scores(self) -> int:
        """Bytes of the matrix of scores that a fused kernel avoids, padding included."""
        return _SCORE * len(self.lens) * self.q_heads * self.queries * self.longest


def dense_traffic(shape: DenseShape, *, rereads: int = 1, mask: int = 0) -> CallTraffic:
    """Model attention that keeps no scores; `mask` is the size of its mask in bytes.

    `read` counts the padding, as an upper bound, since a kernel may skip masked keys; `unique` does
    not, since nobody needs it. Each row of K and V is read `rereads` times. A query that sees n
    keys takes 4 n head_dim operations in each of its heads.
    """
    padded_bytes = len(shape.lens) * shape.longest * shape.row
    unique_bytes = sum(shape.lens) * shape.row
    other_bytes = shape.output_bytes + mask
    total_read = rereads * padded_bytes + other_bytes
    unique = unique_bytes + other_bytes
    flops = 4 * shape.q_heads * shape.head_dim * shape.pairs
    return CallTraffic(
        read=total_read,
        unique=unique,
        written=shape.output_bytes,
        flops=flops,
    )


def gathered_traffic(shape: DenseShape, block_size: int, *, rereads: int = 1) -> CallTraffic:
    """Model the copy out of the pages into one piece, and attention over the copy.

    Whole pages are copied, up to the longest sequence's end: they are read, written and, by
    attention, read again.
    """
    pages_of_sequence = -(-shape.longest // block_size)
    pages = len(shape.lens) * pages_of_sequence
    copied = pages * block_size * shape.row
    tables = 4 * pages
    return dense_traffic(shape, rereads=rereads).plus(copied + tables, copied)


def naive_traffic(shape: DenseShape) -> CallTraffic:
    """Model attention that writes the scores of all pairs down and reads them back.

    Each once, in float32: the least that an implementation with a matrix of scores can do.
    """
    return dense_traffic(shape).plus(shape.scores, shape.scores)


Layout = Literal["BHSD", "BSHD"]
Mask = mx.array | Literal["causal"] | None


def padding_mask(lens: mx.array, longest: int) -> mx.array:
    """Return the keys of `longest` that count for each sequence: bool `[batch, 1, 1, longest]`."""
    is_valid = mx.arange(longest)[None] < lens[:, None]
    return is_valid[:, None, None]


def sdpa(
    q: mx.array,
    keys: mx.array,
    values: mx.array,
    *,
    scale: float,
    mask: Mask = None,
    layout: Layout = "BHSD",
) -> mx.array:
    """Attend with `mx.fast.scaled_dot_product_attention`, in either order of axes.

    `q` is `[batch, q_heads, queries, head_dim]`; `keys` and `values` have kv heads and keys. With
    the layout BSHD heads and tokens are swapped, in the result as well. MLX attends in BHSD; BSHD
    costs two views and, if the op needs contiguous rows, a copy. The mask is "causal", or a bool
    for each key of a shape that fits `[batch, q_heads, queries, keys]`, whatever the layout.
    """
    if layout == "BHSD":
        return mx.fast.scaled_dot_product_attention(q, keys, values, scale=scale, mask=mask)
    q_by_head = q.swapaxes(1, 2)
    keys_by_head = keys.swapaxes(1, 2)
    values_by_head = values.swapaxes(1, 2)
    output = mx.fast.scaled_dot_product_attention(
        q_by_head, keys_by_head, values_by_head, scale=scale, mask=mask
    )
    return output.swapaxes(1, 2)


def gather_pages(problem: DecodeProblem, longest: int) -> tuple[mx.array, mx.array]:
    """Copy the first `longest` tokens of each sequence out of its pages: keys and values.

    They are `[batch, kv_heads, tokens, head_dim]`, where tokens is `longest` rounded up to whole
    pages. Rows past a sequence's end have the contents of the pages, whatever they are.
    """
    needed_blocks = -(-longest // problem.block_size)
    blocks = min(problem.max_blocks, max(1, needed_blocks))
    # Entries past a sequence's end may name pages that do not exist.
    shown_tables = problem.block_tables[:, :blocks]
    tables = mx.clip(shown_tables, 0, problem.k_pages.shape[0] - 1)
    rows = (problem.batch, -1, problem.kv_heads, problem.head_dim)
    key_rows = problem.k_pages[tables].reshape(rows)
    keys = key_rows.swapaxes(1, 2)
    value_rows = problem.v_pages[tables].reshape(rows)
    values = value_rows.swapaxes(1, 2)
    return keys, values


_CHECKED_QUERIES = 64


@dataclass(frozen=True, eq=False)
class DenseProblem:
    """Queries at the end of contexts whose keys and values are in one piece.

    `q` is `[batch, q_heads, queries, head_dim]`; `keys` and `values` are `[batch, kv_heads,
    longest, head_dim]`, with padding past a sequence's end. `lens` are tokens of each context, its
    queries included. If `causal`, a query sees only keys up to its own place.
    """

    q: mx.array
    keys: mx.array
    values: mx.array
    lens: tuple[int, ...]
    causal: bool = True
    batch: int = field(init=False)  # sequences
    q_heads: int = field(init=False)
    kv_heads: int = field(init=False)
    head_dim: int = field(init=False)
    queries: int = field(init=False)  # of each sequence
    longest: int = field(init=False)  # tokens of K and V of each sequence, padding included

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit together, and queries that lie before their context."""
        query_axes = ("batch", "q_heads", "queries", "head_dim")
        key_axes = ("batch", "kv_heads", "longest", "head_dim")
        take_axes(self, q=query_axes, keys=key_axes, values=key_axes)
        if self.causal and self.queries > min(self.lens):
            raise UsageError(
                f"{self.queries} queries do not fit into a context of {min(self.lens)} tokens.",
                hint="Take fewer --queries or longer contexts.",
            )

    @property
    def scale(self) -> float:
        """Factor of the scores."""
        return self.head_dim**-0.5

    @property
    def padding(self) -> float:
        """Share of the keys that are padding: 0 … 1."""
        padded_tokens = len(self.lens) * self.longest
        return 1 - sum(self.lens) / padded_tokens

    def mask(self) -> Mask:
        """Return the mask that MLX needs: none at all if all keys count."""
        is_causal = self.causal and self.queries > 1
        is_ragged = min(self.lens) < self.longest
        if not is_ragged:
            return "causal" if is_causal else None
        lens = mx.array(self.lens, mx.int32)
        if not is_causal:
            return padding_mask(lens, self.longest)
        first_positions = (lens - self.queries)[:, None, None, None]
        later_positions = mx.arange(self.queries)[:, None]
        return mx.arange(self.longest) <= first_positions + later_positions

    def laid_out(self, layout: Layout) -> tuple[mx.array, mx.array, mx.array]:
        """Return queries, keys and values in a layout, contiguous; see `sdpa`."""
        if layout == "BHSD":
            return self.q, self.keys, self.values
        q = mx.contiguous(self.q.swapaxes(1, 2))
        keys = mx.contiguous(self.keys.swapaxes(1, 2))
        values = mx.contiguous(self.values.swapaxes(1, 2))
        mx.eval(q, keys, values)
        return q, keys, values

    def find_visible_keys(self, sequence: int) -> NDArray[np.bool_]:
        """Return the keys that each query of a sequence sees: bool `[queries, longest]`."""
        length = self.lens[sequence]
        last_positions = np.full(self.queries, length - 1)
        if self.causal:
            last_positions = np.arange(length - self.queries, length)
        return np.arange(self.longest) <= last_positions[:, None]


def dense_problem(
    problem: DecodeProblem, lens: Sequence[int], *, queries: int = 1, seed: int = 0
) -> DenseProblem:
    """Copy the contexts of a decode call into one piece each, padded to the longest.

    A single query is the decode call's own; several are drawn with the seed.
    """
    longest = max(lens)
    keys, values = gather_pages(problem, longest)
    q = problem.q[:, :, None]
    if queries > 1:
        shape = (problem.batch, problem.q_heads, queries, problem.head_dim)
        key = mx.random.key(seed + 1)
        q = mx.random.normal(shape, dtype=problem.dtype, key=key)
    q = mx.contiguous(q)
    keys = mx.contiguous(keys[:, :, :longest])
    values = mx.contiguous(values[:, :, :longest])
    mx.eval(q, keys, values)
    return DenseProblem(q, keys, values, tuple(lens))


def draw_dense(shape: DenseShape, *, dtype: mx.Dtype, seed: int = 0) -> DenseProblem:
    """Draw queries, keys and values of a shape, and fill the device with them."""
    batch = len(shape.lens)
    kv_bytes = batch * shape.longest * shape.row
    require_memory(2 * shape.output_bytes + kv_bytes, "The call")
    q_shape = (batch, shape.q_heads, shape.queries, shape.head_dim)
    kv_shape = (batch, shape.kv_heads, shape.longest, shape.head_dim)
    key = mx.random.key(seed)
    q_seed, k_seed, v_seed = mx.random.split(key, 3)
    q = mx.random.normal(q_shape, dtype=dtype, key=q_seed)
    keys = mx.random.normal(kv_shape, dtype=dtype, key=k_seed)
    values = mx.random.normal(kv_shape, dtype=dtype, key=v_seed)
    mx.eval(q, keys, values)
    return DenseProblem(q, keys, values, lens=tuple(shape.lens), causal=shape.causal)


def largest_dense_error(
    problem: DenseProblem, output: mx.array, *, sequences: Iterable[int] | None = None
) -> float:
    """Return the largest relative error of `output`; see `relative_error`.

    It is that of some sequences, by default of the first and the last. Of more than 64 queries,
    64 from the first to the last are compared.
    """
    if sequences is None:
        sequences = {0, len(problem.lens) - 1}
    exact_rows = np.linspace(0, problem.queries - 1, _CHECKED_QUERIES)
    rows = np.unique(exact_rows.astype(int))
    worst = 0.0
    for sequence in sequences:
        queries = tolerances.as_float64(problem.q[sequence])[:, rows]
        keys = tolerances.as_float64(problem.keys[sequence])
        values = tolerances.as_float64(problem.values[sequence])
        visible_keys = problem.find_visible_keys(sequence)[rows]
        expected = dense_reference(
            queries,
            keys,
            values,
            visible_keys,
            scale=problem.scale,
        )
        got = tolerances.as_float64(output[sequence])[None, :, rows]
        worst = max(worst, tolerances.relative_error(got, expected[None]))
    return worst


def naive_attention(
    q: mx.array, keys: mx.array, values: mx.array, *, scale: float, mask: mx.array | None = None
) -> mx.array:
    """Compute softmax(scale q K^T) V with a matrix of scores for every head.

    `q` is `[batch, q_heads, queries, head_dim]`; q head h reads kv head h // (q_heads / kv_heads).
    The mask is true for keys that count: bool, of a shape that fits `[batch, q_heads, queries,
    keys]`. The scores are float32, and take 4 batch q_heads queries keys bytes.
    """
    group = q.shape[1] // keys.shape[1]
    if group > 1:
        keys = mx.repeat(keys, group, axis=1)
        values = mx.repeat(values, group, axis=1)
    products = (q @ keys.swapaxes(2, 3)).astype(mx.float32)
    scores = products * scale
    if mask is not None:
        never = mx.array(-mx.inf, mx.float32)
        scores = mx.where(mask, scores, never)
    weights = mx.softmax(scores, axis=-1).astype(q.dtype)
    return weights @ values


def causal_mask(queries: int, keys: int) -> mx.array:
    """Return the keys that each query may see, where the last query is the last key: bool."""
    positions = mx.arange(queries)[:, None]
    ages = positions + (keys - queries)
    return mx.arange(keys)[None] <= ages
