"""One decode call: its arrays, their sizes, and the sentences for those that do not fit."""

from dataclasses import dataclass

import mlx.core as mx

from tracekit.base.errors import UsageError
from tracekit.ops.custom_kernel import DTYPES

HEAD_DIMS = (64, 80, 96, 128, 256)


@dataclass(frozen=True, eq=False)
class Problem:
    """The arrays of one decode call; `tracekit.ops.attention.paged_attention` says what they hold.

    Raises:
        UsageError: Their shapes or dtypes contradict each other.
    """

    q: mx.array
    k_pages: mx.array
    v_pages: mx.array
    block_tables: mx.array
    context_lens: mx.array

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit together."""
        _check_axes(self)
        _check_pages(self)
        _check_tables(self)
        check_heads(self.q_heads, self.kv_heads)

    @property
    def batch(self) -> int:
        """Sequences."""
        return self.q.shape[0]

    @property
    def q_heads(self) -> int:
        """Query heads."""
        return self.q.shape[1]

    @property
    def kv_heads(self) -> int:
        """Heads of K and V."""
        return self.k_pages.shape[2]

    @property
    def head_dim(self) -> int:
        """Elements of a head."""
        return self.q.shape[2]

    @property
    def block_size(self) -> int:
        """Tokens of a page."""
        return self.k_pages.shape[1]

    @property
    def max_blocks(self) -> int:
        """Entries that the table has for each sequence."""
        return self.block_tables.shape[1]

    @property
    def dtype(self) -> mx.Dtype:
        """Type of queries, pages and output."""
        return self.q.dtype


def check_heads(q_heads: int, kv_heads: int) -> None:
    """Raise UsageError unless every kv head serves the same number of q heads."""
    if kv_heads == 0 or q_heads % kv_heads:
        raise UsageError(
            f"{q_heads} q heads cannot be shared out among {kv_heads} kv heads.",
            hint="The number of q heads must be a multiple of the number of kv heads.",
        )


def check_head_dim(head_dim: int) -> None:
    """Raise UsageError for a head size that the Metal kernel is not made for."""
    if head_dim not in HEAD_DIMS:
        sizes = ", ".join(str(size) for size in HEAD_DIMS)
        raise UsageError(f"The Metal kernel has no head size {head_dim}; it has {sizes}.")


def _check_axes(problem: Problem) -> None:
    for name, array, axes in (
        ("q", problem.q, ("batch", "q_heads", "head_dim")),
        ("k_pages", problem.k_pages, ("blocks", "block_size", "kv_heads", "head_dim")),
        ("v_pages", problem.v_pages, ("blocks", "block_size", "kv_heads", "head_dim")),
        ("block_tables", problem.block_tables, ("batch", "max_blocks")),
        ("context_lens", problem.context_lens, ("batch or more",)),
    ):
        if array.ndim != len(axes) or 0 in array.shape:
            raise UsageError(
                f"{name} must be [{', '.join(axes)}], none of them 0; "
                f"its shape is {list(array.shape)}."
            )


def _check_pages(problem: Problem) -> None:
    q, keys, values = problem.q, problem.k_pages, problem.v_pages
    if keys.shape != values.shape:
        raise UsageError(
            "k_pages and v_pages must have one shape; "
            f"they have {list(keys.shape)} and {list(values.shape)}."
        )
    if q.shape[2] != keys.shape[3]:
        raise UsageError(f"q has head size {q.shape[2]}, the pages have {keys.shape[3]}.")
    if q.dtype not in DTYPES or keys.dtype != q.dtype or values.dtype != q.dtype:
        raise UsageError(
            "q, k_pages and v_pages must all be float16, bfloat16 or float32; "
            f"they are {q.dtype}, {keys.dtype} and {values.dtype}."
        )


def _check_tables(problem: Problem) -> None:
    tables, lens = problem.block_tables, problem.context_lens
    if tables.dtype != mx.int32 or lens.dtype != mx.int32:
        raise UsageError(
            f"block_tables and context_lens must be int32; they are {tables.dtype} "
            f"and {lens.dtype}."
        )
    if tables.shape[0] != problem.batch or lens.shape[0] < problem.batch:
        raise UsageError(
            f"{problem.batch} sequences need as many rows of block_tables and lengths; "
            f"there are {tables.shape[0]} and {lens.shape[0]}."
        )
