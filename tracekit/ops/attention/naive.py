"""Attention as it is written on paper: every score is kept, which is what fused kernels spare."""

import mlx.core as mx


def naive_attention(
    q: mx.array, keys: mx.array, values: mx.array, *, scale: float, mask: mx.array | None = None
) -> mx.array:
    """Compute softmax(scale q K^T) V with a matrix of scores for every head.

    Args:
        q: `[batch, q_heads, queries, head_dim]`.
        keys: `[batch, kv_heads, keys, head_dim]`; q head h reads kv head
            h // (q_heads / kv_heads).
        values: As `keys`.
        scale: Factor of the scores.
        mask: Which keys count: bool, of a shape that fits `[batch, q_heads, queries, keys]`.

    Returns:
        `[batch, q_heads, queries, head_dim]`. The scores are float32, and take
        4 batch q_heads queries keys bytes.
    """
    group = q.shape[1] // keys.shape[1]
    if group > 1:
        keys, values = mx.repeat(keys, group, axis=1), mx.repeat(values, group, axis=1)
    scores = (q @ keys.swapaxes(2, 3)).astype(mx.float32) * scale
    if mask is not None:
        scores = mx.where(mask, scores, mx.array(-mx.inf, mx.float32))
    return mx.softmax(scores, axis=-1).astype(q.dtype) @ values


def causal_mask(queries: int, keys: int) -> mx.array:
    """Return which keys each query may see, where the last query is the last key: bool."""
    ages = mx.arange(queries)[:, None] + (keys - queries)
    return mx.arange(keys)[None] <= ages
