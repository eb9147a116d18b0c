"""The workload `paged-vs-sdpa`: paged attention and MLX's alternatives, step by step."""

# ruff: noqa: PLC0415 - listing workloads must be instant, so MLX is loaded at its first use

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tracekit.workload import Measured, Step, calls, parameters, workload

if TYPE_CHECKING:
    import mlx.core as mx

    from tracekit.ops import DecodeProblem, kernels, planning
    from tracekit.ops import dense as ops_dense

    Attend = Callable[[], mx.array]

Against = Literal["sdpa", "gather-sdpa", "naive"]


@workload
def paged_vs_sdpa(
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
    against: Annotated[
        Against,
        typer.Option(
            help="The other side: sdpa on a contiguous copy that was made before, gather-sdpa on "
            "one that each step makes, or naive attention on the former."
        ),
    ] = "sdpa",
    order: parameters.OrderOfSteps = "abba",
    kernel: parameters.KernelOfPaged = None,
) -> Step:
    """Compare paged attention with MLX's own, step by step in turn.

    Both decode the same tokens over the same keys and values, and both must agree with a
    float64 reference before anything is timed. Each reads its own copy in memory.
    """
    import mlx.core as mx

    from tracekit.ops import check_heads, context_lengths, draw_problem, planning
    from tracekit.ops import dense as ops_dense
    from tracekit.workload import backend

    check_heads(q_heads, kv_heads)
    drawn = seed if ragged else None
    lens = context_lengths(batch, active_blocks, max_blocks, block_size, seed=drawn)
    problem = draw_problem(
        lens,
        q_heads=q_heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        block_size=block_size,
        max_blocks=max_blocks,
        dtype=getattr(mx, dtype),
        seed=seed,
    )
    dense = ops_dense.dense_problem(problem, lens)
    shape = ops_dense.DenseShape(
        lens, dense.longest, q_heads, kv_heads, head_dim, problem.dtype.size
    )
    how = planning.plan(problem, longest=dense.longest, kernel=kernel)
    chosen = how if kernel or backend() == "metal" else None
    return _step(problem, dense, shape, chosen, against=against, order=order)


def _step(
    problem: "DecodeProblem",
    dense: "ops_dense.DenseProblem",
    shape: "ops_dense.DenseShape",
    how: "planning.DecodePlan | None",
    *,
    against: Against,
    order: calls.Order,
) -> Step:
    import mlx.core as mx

    from tracekit.ops import kernels
    from tracekit.ops import paged as ops_paged
    from tracekit.workload import backend, calls

    def paged() -> "mx.array":
        return ops_paged.attend(problem, scale=dense.scale, longest=dense.longest, how=how)

    other = _baseline(problem, dense, against)
    results = _parity(dense, paged(), other(), against)
    moved = ops_paged.traffic_of(problem, shape.lens, how)
    turns = calls.Turns(
        calls.variant_of("paged", paged, moved.work(problem.batch)),
        calls.variant_of(against, other, _traffic(problem, shape, against).work(problem.batch)),
        order,
        mx.eval,
    )
    return calls.alternate(
        turns,
        backend=backend(),
        results=results,
        specializations=kernels.specializations,
        noting_launches=kernels.noting_launches,
    )


def _baseline(
    problem: "DecodeProblem", dense: "ops_dense.DenseProblem", against: Against
) -> "Attend":
    import mlx.core as mx

    from tracekit.ops import dense as ops_dense

    mask = dense.mask()
    assert not isinstance(mask, str)
    if mask is not None:
        mx.eval(mask)

    def own() -> "mx.array":
        attention = ops_dense.naive_attention if against == "naive" else ops_dense.sdpa
        out = attention(dense.q, dense.keys, dense.values, scale=dense.scale, mask=mask)
        return out[:, :, 0]

    def gathering() -> "mx.array":
        keys, values = ops_dense.gather_pages(problem, dense.longest)
        keys, values = keys[:, :, : dense.longest], values[:, :, : dense.longest]
        return ops_dense.sdpa(dense.q, keys, values, scale=dense.scale, mask=mask)[:, :, 0]

    return gathering if against == "gather-sdpa" else own


def _traffic(
    problem: "DecodeProblem", shape: "ops_dense.DenseShape", against: Against
) -> "kernels.CallTraffic":
    from tracekit.ops import dense as ops_dense
    from tracekit.workload import backend

    # MLX's vector kernels read a row once for each q head
    rereads = problem.group if backend() == "metal" else 1
    if against == "naive":
        return ops_dense.naive_traffic(shape)
    if against == "gather-sdpa":
        return ops_dense.gathered_traffic(shape, problem.block_size, rereads=rereads)
    return ops_dense.dense_traffic(shape, rereads=rereads)


def _parity(
    dense: "ops_dense.DenseProblem", paged: "mx.array", other: "mx.array", against: Against
) -> dict[str, float | Measured]:
    """Compare both with the reference, and with each other; refuse a wrong result."""
    from tracekit.base import tolerances
    from tracekit.ops import dense as ops_dense

    dtype = dense.q.dtype
    errors = {
        f"max_error_{name}": tolerances.require_accuracy(
            ops_dense.largest_dense_error(dense, out[:, :, None]), dtype, f"The result of {name}"
        )
        for name, out in (("paged", paged), (against, other))
    }
    apart = tolerances.relative_error(tolerances.as_float64(paged), tolerances.as_float64(other))
    return {
        **errors,
        "max_difference": tolerances.require_accuracy(
            apart, dtype, "One result against the other", results=2
        ),
        "padding": Measured(dense.padding, "ratio", "lower"),
    }
