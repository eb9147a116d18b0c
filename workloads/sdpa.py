"""The workload `sdpa`: MLX's own attention over keys and values in one piece."""

# ruff: noqa: PLC0415 - listing workloads must be instant, so MLX is loaded at its first use

from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.workload import (
    ActiveBlocks,
    Batch,
    BlockSize,
    Dtype,
    HeadDim,
    KvHeads,
    LayoutOfAxes,
    MaxBlocks,
    Measured,
    QHeads,
    Ragged,
    Seed,
    Step,
    workload,
)

if TYPE_CHECKING:
    import mlx.core as mx

    from tracekit.ops import DenseProblem, DenseShape, Layout

FUSED_VECTOR_QUERIES = 8


@workload
def sdpa(
    *,
    batch: Batch = 16,
    q_heads: QHeads = 16,
    kv_heads: KvHeads = 8,
    head_dim: HeadDim = 128,
    block_size: BlockSize = 32,
    max_blocks: MaxBlocks = 64,
    active_blocks: ActiveBlocks = 32,
    dtype: Dtype = "float16",
    ragged: Ragged = False,
    seed: Seed = 0,
    queries: Annotated[
        int, typer.Option(min=1, max=65536, help="Queries of a sequence: 1 to decode, more prefill")
    ] = 1,
    layout: LayoutOfAxes = "BHSD",
) -> Step:
    """Attend with MLX's own op over keys and values in one piece.

    Shapes, lengths and contents are those of `paged` with the same parameters: a sequence has
    active blocks x block size tokens. The op knows no lengths: shorter sequences are padded to
    the longest and masked. Several queries are the last tokens of their context, and causal.
    """
    import mlx.core as mx

    from tracekit.ops import DenseShape, check_heads, context_lengths, dense_problem, draw_problem

    check_heads(q_heads, kv_heads)
    drawn = seed if ragged else None
    lens = context_lengths(batch, active_blocks, max_blocks, block_size, seed=drawn)
    pages = draw_problem(
        lens,
        q_heads=q_heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        block_size=block_size,
        max_blocks=active_blocks,
        dtype=getattr(mx, dtype),
        seed=seed,
    )
    problem = dense_problem(pages, lens, queries=queries, seed=seed)
    shape = DenseShape(
        lens, problem.longest, q_heads, kv_heads, head_dim, pages.dtype.size, queries
    )
    return _step(problem, shape, layout)


def _step(problem: "DenseProblem", shape: "DenseShape", layout: "Layout") -> Step:
    import mlx.core as mx

    from tracekit.base import require_accuracy
    from tracekit.ops import dense_traffic, largest_dense_error, sdpa
    from tracekit.workload import backend, step_of

    q, keys, values = problem.laid_out(layout)
    mask, scale = problem.mask(), problem.scale
    if isinstance(mask, mx.array):
        mx.eval(mask)

    def call() -> "mx.array":
        return sdpa(q, keys, values, scale=scale, mask=mask, layout=layout)

    out = call() if layout == "BHSD" else call().swapaxes(1, 2)
    error = require_accuracy(largest_dense_error(problem, out), problem.q.dtype, "Dense attention")
    # MLX's vector kernels read a row once for each q head; the others keep tiles of it.
    vector = backend() == "metal" and shape.queries <= FUSED_VECTOR_QUERIES
    model = dense_traffic(
        shape,
        rereads=shape.q_heads // shape.kv_heads if vector else 1,
        mask=mask.nbytes if isinstance(mask, mx.array) else 0,
    )
    return step_of(
        call,
        model.work(len(shape.lens) * shape.queries),
        results={"max_error": error, "padding": Measured(problem.padding, "ratio", "lower")},
    )
