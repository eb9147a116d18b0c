"""The workload `sdpa`: MLX's own attention over keys and values in one piece."""

# ruff: noqa: PLC0415 - listing workloads must be instant, so MLX is loaded at its first use

from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.workload import Measured, Step, parameters, workload

if TYPE_CHECKING:
    import mlx.core as mx

    from tracekit.ops import dense

FUSED_VECTOR_QUERIES = 8


@workload
def sdpa(
    *,
    batch: parameters.Batch = 16,
    q_heads: parameters.QHeads = 16,
    kv_heads: parameters.KvHeads = 8,
    head_dim: parameters.HeadDim = 128,
    block_size: parameters.BlockSize = 32,
    max_blocks: parameters.MaxBlocks = 64,
    active_blocks: parameters.ActiveBlocks = 32,
    dtype: parameters.Dtype = "float16",
    ragged: parameters.Ragged = False,
    seed: parameters.Seed = 0,
    queries: Annotated[
        int, typer.Option(min=1, max=65536, help="Queries of a sequence: 1 to decode, more prefill")
    ] = 1,
    layout: parameters.LayoutOfAxes = "BHSD",
) -> Step:
    """Attend with MLX's own op over keys and values in one piece.

    Shapes, lengths and contents are those of `paged` with the same parameters: a sequence has
    active blocks x block size tokens. The op knows no lengths: shorter sequences are padded to
    the longest and masked. Several queries are the last tokens of their context, and causal.
    """
    import mlx.core as mx

    from tracekit.ops import check_heads, context_lengths, dense, draw_problem

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
    problem = dense.dense_problem(pages, lens, queries=queries, seed=seed)
    shape = dense.DenseShape(
        lens, problem.longest, q_heads, kv_heads, head_dim, pages.dtype.size, queries
    )
    return _step(problem, shape, layout)


def _step(problem: "dense.DenseProblem", shape: "dense.DenseShape", layout: "dense.Layout") -> Step:
    import mlx.core as mx

    from tracekit.base import tolerances
    from tracekit.ops import dense
    from tracekit.workload import backend, step_of

    q, keys, values = problem.laid_out(layout)
    mask, scale = problem.mask(), problem.scale
    if isinstance(mask, mx.array):
        mx.eval(mask)

    def call() -> "mx.array":
        return dense.sdpa(q, keys, values, scale=scale, mask=mask, layout=layout)

    out = call() if layout == "BHSD" else call().swapaxes(1, 2)
    error = tolerances.require_accuracy(
        dense.largest_dense_error(problem, out), problem.q.dtype, "Dense attention"
    )
    # MLX's vector kernels read a row once for each q head; the others keep tiles of it.
    vector = backend() == "metal" and shape.queries <= FUSED_VECTOR_QUERIES
    model = dense.dense_traffic(
        shape,
        rereads=shape.q_heads // shape.kv_heads if vector else 1,
        mask=mask.nbytes if isinstance(mask, mx.array) else 0,
    )
    return step_of(
        call,
        model.work(len(shape.lens) * shape.queries),
        results={"max_error": error, "padding": Measured(problem.padding, "ratio", "lower")},
    )
