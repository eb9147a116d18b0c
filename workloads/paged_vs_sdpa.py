"""The workload `paged-vs-sdpa`: paged attention and MLX's alternatives, step by step."""

# ruff: noqa: PLC0415 - listing workloads must be instant, so MLX is loaded at its first use

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tracekit.workload import (
    ActiveBlocks,
    Batch,
    BlockSize,
    Dtype,
    HeadDim,
    KernelOfPaged,
    KvHeads,
    MaxBlocks,
    Measured,
    Order,
    OrderOfSteps,
    QHeads,
    Ragged,
    Seed,
    Step,
    Turns,
    alternate,
    workload,
)

if TYPE_CHECKING:
    import mlx.core as mx

    from tracekit.ops import CallTraffic, DecodePlan, DecodeProblem, DenseProblem, DenseShape

    Attend = Callable[[], mx.array]

Against = Literal["sdpa", "gather-sdpa", "naive"]


@workload
def paged_vs_sdpa(
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
    against: Annotated[
        Against,
        typer.Option(
            help="The other side: sdpa on a contiguous copy that was made before, gather-sdpa on "
            "one that each step makes, or naive attention on the former."
        ),
    ] = "sdpa",
    order: OrderOfSteps = "abba",
    kernel: KernelOfPaged = None,
) -> Step:
    """Compare paged attention with MLX's own, step by step in turn.

    Both decode the same tokens over the same keys and values, and both must agree with a
    float64 reference before anything is timed. Each reads its own copy in memory.
    """
    import mlx.core as mx

    from tracekit.ops import (
        DenseShape,
        check_heads,
        context_lengths,
        dense_problem,
        draw_problem,
        plan,
    )
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
    dense = dense_problem(problem, lens)
    shape = DenseShape(lens, dense.longest, q_heads, kv_heads, head_dim, problem.dtype.size)
    how = plan(problem, longest=dense.longest, kernel=kernel)
    chosen = how if kernel or backend() == "metal" else None
    return _step(problem, dense, shape, chosen, against=against, order=order)


def _step(
    problem: "DecodeProblem",
    dense: "DenseProblem",
    shape: "DenseShape",
    how: "DecodePlan | None",
    *,
    against: Against,
    order: Order,
) -> Step:
    import mlx.core as mx

    from tracekit.ops import attend, specializations, traffic_of
    from tracekit.workload import backend, variant_of

    def paged() -> "mx.array":
        return attend(problem, scale=dense.scale, longest=dense.longest, how=how)

    other = _baseline(problem, dense, against)
    results = _parity(dense, paged(), other(), against)
    moved = traffic_of(problem, shape.lens, how)
    turns = Turns(
        variant_of("paged", paged, moved.work(problem.batch)),
        variant_of(against, other, _traffic(problem, shape, against).work(problem.batch)),
        order,
        mx.eval,
    )
    return alternate(turns, backend=backend(), results=results, specializations=specializations)


def _baseline(problem: "DecodeProblem", dense: "DenseProblem", against: Against) -> "Attend":
    import mlx.core as mx

    from tracekit.ops import gather_pages, naive_attention, sdpa

    mask = dense.mask()
    assert not isinstance(mask, str)
    if mask is not None:
        mx.eval(mask)

    def own() -> "mx.array":
        attention = naive_attention if against == "naive" else sdpa
        out = attention(dense.q, dense.keys, dense.values, scale=dense.scale, mask=mask)
        return out[:, :, 0]

    def gathering() -> "mx.array":
        keys, values = gather_pages(problem, dense.longest)
        keys, values = keys[:, :, : dense.longest], values[:, :, : dense.longest]
        return sdpa(dense.q, keys, values, scale=dense.scale, mask=mask)[:, :, 0]

    return gathering if against == "gather-sdpa" else own


def _traffic(problem: "DecodeProblem", shape: "DenseShape", against: Against) -> "CallTraffic":
    from tracekit.ops import dense_traffic, gathered_traffic, naive_traffic
    from tracekit.workload import backend

    # MLX's vector kernels read a row once for each q head
    rereads = problem.group if backend() == "metal" else 1
    if against == "naive":
        return naive_traffic(shape)
    if against == "gather-sdpa":
        return gathered_traffic(shape, problem.block_size, rereads=rereads)
    return dense_traffic(shape, rereads=rereads)


def _parity(
    dense: "DenseProblem", paged: "mx.array", other: "mx.array", against: Against
) -> dict[str, float | Measured]:
    """Compare both with the reference, and with each other; refuse a wrong result."""
    from tracekit.base import as_float64, relative_error, require_accuracy
    from tracekit.ops import largest_dense_error

    dtype = dense.q.dtype
    errors = {
        f"max_error_{name}": require_accuracy(
            largest_dense_error(dense, out[:, :, None]), dtype, f"The result of {name}"
        )
        for name, out in (("paged", paged), (against, other))
    }
    apart = relative_error(as_float64(paged), as_float64(other))
    return {
        **errors,
        "max_difference": require_accuracy(apart, dtype, "One result against the other", results=2),
        "padding": Measured(dense.padding, "ratio", "lower"),
    }
