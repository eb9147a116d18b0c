"""What paged attention must give: dense, in float64, one head after the other."""

from collections.abc import Iterable

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tracekit.agreement import Floats, as_float64, relative_error
from tracekit.attention.problem import Problem

Integers = NDArray[np.int32]


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
        for head in range(q.shape[1]):
            kv_head = head * kv_heads // q.shape[1]
            scores = scale * (keys[:, kv_head] @ q[sequence, head])
            weights = np.exp(scores - scores.max())
            out[sequence, head] = weights @ values[:, kv_head] / weights.sum()
    return out


def largest_error(
    problem: Problem, out: mx.array, *, scale: float, sequences: Iterable[int]
) -> float:
    """Return the largest relative error of some sequences of `out`; see `relative_error`."""
    worst = 0.0
    for sequence in sequences:
        pages = problem.block_tables[sequence]
        expected = reference(
            as_float64(problem.q[sequence][None]),
            as_float64(problem.k_pages[pages]),
            as_float64(problem.v_pages[pages]),
            np.arange(problem.max_blocks, dtype=np.int32)[None],
            np.array(problem.context_lens[sequence][None]),
            scale=scale,
        )
        worst = max(worst, relative_error(as_float64(out[sequence][None]), expected))
    return worst
