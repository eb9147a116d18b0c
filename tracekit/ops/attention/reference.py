"""What attention must give: in float64, one head after the other."""

from collections.abc import Iterable

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tracekit.base import Floats, as_float64, relative_error
from tracekit.ops.attention.problem import Problem

Integers = NDArray[np.int32]


def dense_reference(
    q: Floats, keys: Floats, values: Floats, seen: NDArray[np.bool_], *, scale: float
) -> Floats:
    """Attend as the definition says, for one sequence, in float64.

    Args:
        q: `[q_heads, queries, head_dim]`.
        keys: `[kv_heads, tokens, head_dim]`; q head h reads kv head h // (q_heads / kv_heads).
        values: As `keys`.
        seen: Which keys each query sees, `[queries, tokens]`, at least one.
        scale: Factor of the scores.
    """
    out = np.empty_like(q)
    group = q.shape[0] // keys.shape[0]
    for head in range(q.shape[0]):
        scores = np.where(seen, scale * (q[head] @ keys[head // group].T), -np.inf)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        out[head] = weights @ values[head // group] / weights.sum(axis=1, keepdims=True)
    return out


def reference(
    q: Floats,
    k_pages: Floats,
    v_pages: Floats,
    block_tables: Integers,
    context_lens: Integers,
    *,
    scale: float,
) -> Floats:
    """Attend as the definition says; shapes as in `paged_attention`.

    softmax(scale * q K^T) V over the tokens of each sequence, where q head h reads kv head
    h // (q_heads / kv_heads). A sequence of length 0 gives zeros.
    """
    out = np.zeros_like(q)
    _, block_size, kv_heads, head_dim = k_pages.shape
    for sequence in range(q.shape[0]):
        length = int(context_lens[sequence])
        if length == 0:
            continue
        pages = block_tables[sequence, : -(-length // block_size)]
        keys = k_pages[pages].reshape(-1, kv_heads, head_dim)[:length]
        values = v_pages[pages].reshape(-1, kv_heads, head_dim)[:length]
        rows = (q[sequence, :, None], keys.swapaxes(0, 1), values.swapaxes(0, 1))
        seen = np.ones((1, length), np.bool_)
        out[sequence] = dense_reference(*rows, seen, scale=scale)[:, 0]
    return out


def reference_of(problem: Problem, *, scale: float) -> Floats:
    """Return what a problem must give; see `reference`."""
    return reference(
        as_float64(problem.q),
        as_float64(problem.k_pages),
        as_float64(problem.v_pages),
        np.array(problem.block_tables),
        np.array(problem.context_lens),
        scale=scale,
    )


def largest_error(
    problem: Problem, out: mx.array, *, sequences: Iterable[int] | None = None
) -> float:
    """Return the largest relative error of `out`, with the usual factor of the scores.

    It is that of some sequences, by default of the first and the last; see `relative_error`.
    """
    worst = 0.0
    for sequence in {0, problem.batch - 1} if sequences is None else sequences:
        pages = problem.block_tables[sequence]
        expected = reference(
            as_float64(problem.q[sequence][None]),
            as_float64(problem.k_pages[pages]),
            as_float64(problem.v_pages[pages]),
            np.arange(problem.max_blocks, dtype=np.int32)[None],
            np.array(problem.context_lens[sequence][None]),
            scale=problem.scale,
        )
        worst = max(worst, relative_error(as_float64(out[sequence][None]), expected))
    return worst
