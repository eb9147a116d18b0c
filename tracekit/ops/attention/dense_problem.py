"""One call of dense attention: its arrays, its mask, and what it must give."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tracekit.base.errors import UsageError
from tracekit.base.tolerances import as_float64, relative_error
from tracekit.ops.attention.dense import Mask, gathered, padding_mask
from tracekit.ops.attention.dense_traffic import DenseShape
from tracekit.ops.attention.pool import check_memory
from tracekit.ops.attention.problem import Problem
from tracekit.ops.attention.reference import dense_reference

_CHECKED_QUERIES = 64


@dataclass(frozen=True, eq=False)
class DenseProblem:
    """Queries at the end of contexts whose keys and values lie in one piece.

    Attributes:
        q: `[batch, q_heads, queries, head_dim]`.
        keys: `[batch, kv_heads, longest, head_dim]`; what lies behind a sequence's end is
            padding.
        values: As `keys`.
        lens: Tokens of each context, its queries included.
        causal: Whether a query sees only keys up to its own place.
    """

    q: mx.array
    keys: mx.array
    values: mx.array
    lens: tuple[int, ...]
    causal: bool = True

    def __post_init__(self) -> None:
        """Refuse queries that would lie before their context."""
        if self.causal and self.queries > min(self.lens):
            raise UsageError(
                f"{self.queries} queries do not fit into a context of {min(self.lens)} tokens.",
                hint="Take fewer --queries or longer contexts.",
            )

    @property
    def queries(self) -> int:
        """Queries of each sequence."""
        return self.q.shape[2]

    @property
    def longest(self) -> int:
        """Tokens of K and V that each sequence has, padding included."""
        return self.keys.shape[2]

    @property
    def scale(self) -> float:
        """Factor of the scores."""
        return self.q.shape[3] ** -0.5

    @property
    def padding(self) -> float:
        """Share of the keys that are padding: 0 … 1."""
        return 1 - sum(self.lens) / (len(self.lens) * self.longest)

    def mask(self) -> Mask:
        """Return the mask that MLX needs: none at all where all keys count."""
        ragged, several = min(self.lens) < self.longest, self.causal and self.queries > 1
        if not ragged:
            return "causal" if several else None
        lens = mx.array(self.lens, mx.int32)
        if not several:
            return padding_mask(lens, self.longest)
        first = (lens - self.queries)[:, None, None, None]
        return mx.arange(self.longest) <= first + mx.arange(self.queries)[:, None]

    def seen(self, sequence: int) -> NDArray[np.bool_]:
        """Return which keys each query of a sequence sees: bool `[queries, longest]`."""
        length, places = self.lens[sequence], np.arange(self.longest)
        last = np.full(self.queries, length - 1)
        if self.causal:
            last = np.arange(length - self.queries, length)
        return places <= last[:, None]


def dense_problem(
    problem: Problem, lens: Sequence[int], *, queries: int = 1, seed: int = 0
) -> DenseProblem:
    """Copy the contexts of a decode call into one piece each, padded to the longest.

    With one query it is the decode call's own; several are drawn with the seed.
    """
    keys, values = gathered(problem, max(lens))
    q = problem.q[:, :, None]
    if queries > 1:
        shape = (problem.batch, problem.q_heads, queries, problem.head_dim)
        q = mx.random.normal(shape, dtype=problem.dtype, key=mx.random.key(seed + 1))
    q, keys, values = (
        mx.contiguous(array) for array in (q, keys[:, :, : max(lens)], values[:, :, : max(lens)])
    )
    mx.eval(q, keys, values)
    return DenseProblem(q, keys, values, tuple(lens))


def draw_dense(shape: DenseShape, *, dtype: mx.Dtype, seed: int = 0) -> DenseProblem:
    """Draw queries, keys and values of a shape, and fill the device with them.

    Raises:
        UsageError: They and the scores are larger than this machine's memory.
    """
    batch, width = len(shape.lens), shape.head_dim
    check_memory(2 * shape.out + batch * shape.longest * shape.row + shape.scores, "The call")
    keys = mx.random.split(mx.random.key(seed), 3)
    sizes = [(shape.q_heads, shape.queries), *[(shape.kv_heads, shape.longest)] * 2]
    drawn = [
        mx.random.normal((batch, heads, tokens, width), dtype=dtype, key=key)
        for (heads, tokens), key in zip(sizes, keys, strict=True)
    ]
    mx.eval(*drawn)
    return DenseProblem(*drawn, lens=tuple(shape.lens), causal=shape.causal)


def largest_dense_error(problem: DenseProblem, out: mx.array, *, sequences: Iterable[int]) -> float:
    """Return the largest relative error of some sequences of `out`; see `relative_error`.

    Of more than 64 queries, 64 from the first to the last are looked at.

    Args:
        problem: What was asked.
        out: `[batch, q_heads, queries, head_dim]`.
        sequences: Which sequences to look at.
    """
    rows = np.unique(np.linspace(0, problem.queries - 1, _CHECKED_QUERIES).astype(int))
    worst = 0.0
    for one in sequences:
        expected = dense_reference(
            as_float64(problem.q[one])[:, rows],
            as_float64(problem.keys[one]),
            as_float64(problem.values[one]),
            problem.seen(one)[rows],
            scale=problem.scale,
        )
        worst = max(worst, relative_error(as_float64(out[one])[None, :, rows], expected[None]))
    return worst
