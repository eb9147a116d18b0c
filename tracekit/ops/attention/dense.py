"""Dense attention as MLX does it: contiguous keys and values, ragged by padding and a mask."""

from typing import Literal

import mlx.core as mx

from tracekit.ops.attention.problem import Problem

Layout = Literal["BHSD", "BSHD"]
Mask = mx.array | Literal["causal"] | None


def padding_mask(lens: mx.array, longest: int) -> mx.array:
    """Return which of `longest` keys count for each sequence: bool `[batch, 1, 1, longest]`."""
    return (mx.arange(longest)[None] < lens[:, None])[:, None, None]


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

    Args:
        q: `[batch, q_heads, queries, head_dim]`, or with heads and queries swapped if `layout`
            is BSHD.
        keys: As `q`, with kv heads and keys.
        values: As `keys`.
        scale: Factor of the scores.
        mask: "causal", or which keys count: bool, of a shape that fits
            `[batch, q_heads, queries, keys]` whatever the layout.
        layout: The order of the axes. MLX attends in BHSD; BSHD costs two views and, where the
            op needs contiguous rows, a copy.

    Returns:
        The result, in the layout of `q`.
    """
    if layout == "BSHD":
        q, keys, values = (array.swapaxes(1, 2) for array in (q, keys, values))
    out = mx.fast.scaled_dot_product_attention(q, keys, values, scale=scale, mask=mask)
    return out.swapaxes(1, 2) if layout == "BSHD" else out


def gathered(problem: Problem, longest: int) -> tuple[mx.array, mx.array]:
    """Copy the first `longest` tokens of each sequence out of its pages.

    Returns:
        Keys and values, `[batch, kv_heads, tokens, head_dim]`, where tokens is `longest`
        rounded up to whole pages. What lies behind a sequence's end is whatever the pages hold.
    """
    blocks = min(problem.max_blocks, max(1, -(-longest // problem.block_size)))
    # Entries behind a sequence's end may name pages that do not exist.
    tables = mx.clip(problem.block_tables[:, :blocks], 0, problem.k_pages.shape[0] - 1)
    rows = (problem.batch, -1, problem.kv_heads, problem.head_dim)
    keys = problem.k_pages[tables].reshape(rows).swapaxes(1, 2)
    values = problem.v_pages[tables].reshape(rows).swapaxes(1, 2)
    return keys, values
