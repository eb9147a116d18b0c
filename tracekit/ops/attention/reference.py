"""What attention must give: in float64, one head after the other."""

from collections.abc import Iterable

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tracekit.base import Floats, as_float64, relative_error
from tracekit.ops.attention.problem import Problem


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


def reference_of(
    problem: Problem, *, scale: float, sequences: Iterable[int] | None = None
) -> Floats:
    """Return what a problem must give, of all its sequences or of some.

    softmax(scale * q K^T) V over the tokens of each sequence, where q head h reads kv head
    h // (q_heads / kv_heads). A sequence of length 0 gives zeros.

    Returns:
        `[sequences, q_heads, head_dim]`.
    """
    tables, lens = np.array(problem.block_tables), np.array(problem.context_lens)
    chosen = list(range(problem.batch) if sequences is None else sequences)
    out = np.zeros((len(chosen), problem.q_heads, problem.head_dim))
    for row, sequence in enumerate(chosen):
        length = int(lens[sequence])
        if length == 0:
            continue
        pages = mx.array(tables[sequence, : -(-length // problem.block_size)])
        rows = (-1, problem.kv_heads, problem.head_dim)
        keys, values = (
            as_float64(one[pages]).reshape(rows)[:length].swapaxes(0, 1)
            for one in (problem.k_pages, problem.v_pages)
        )
        q, seen = as_float64(problem.q[sequence])[:, None], np.ones((1, length), np.bool_)
        out[row] = dense_reference(q, keys, values, seen, scale=scale)[:, 0]
    return out


def largest_error(
    problem: Problem, out: mx.array, *, sequences: Iterable[int] | None = None
) -> float:
    """Return the largest relative error of `out`, with the usual factor of the scores.

    It is that of some sequences, by default of the first and the last; see `relative_error`.
    """
    chosen = sorted({0, problem.batch - 1} if sequences is None else sequences)
    expected = reference_of(problem, scale=problem.scale, sequences=chosen)
    return relative_error(as_float64(out[mx.array(chosen)]), expected)
