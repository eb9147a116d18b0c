"""The workload `paged`: decode steps of paged attention over a pool of blocks."""

# ruff: noqa: PLC0415 - listing workloads must be instant, so MLX is loaded at its first use

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.workload import Measured, Step, parameters, workload

if TYPE_CHECKING:
    import mlx.core as mx

    from tracekit.ops import DecodeProblem, planning

NO_METAL = "MLX has no Metal here, and makes no pipelines for its own ops"


@workload
def paged(
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
    kernel: parameters.KernelOfPaged = None,
    hd_tile: Annotated[
        int | None, typer.Option(min=8, max=16, help="Elements of a head of one lane: 8 or 16.")
    ] = None,
    tg_size: Annotated[
        int | None, typer.Option(min=32, max=1024, help="Threads of a threadgroup.")
    ] = None,
    partitions: Annotated[
        int | None, typer.Option(min=1, max=64, help="Parts that a sequence is divided into.")
    ] = None,
) -> Step:
    """Decode one token for each of several sequences with paged attention.

    Every sequence has its own pages, in shuffled order. If sequences shared pages, as in a bench
    that gives all of them one table, the caches would serve most reads, and the numbers would
    not show the speed of memory.
    """
    import mlx.core as mx

    from tracekit.ops import check_heads, context_lengths, draw_problem, planning
    from tracekit.workload import backend

    check_heads(q_heads, kv_heads)
    lens = context_lengths(
        batch, active_blocks, max_blocks, block_size, seed=seed if ragged else None
    )
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
    how = planning.plan(
        problem,
        longest=max(lens),
        kernel=kernel,
        hd_tile=hd_tile,
        threadgroup=tg_size,
        partitions=partitions,
    )
    asked = (kernel, hd_tile, tg_size, partitions) != (None, None, None, None)
    return _step(problem, lens, how if asked or backend() == "metal" else None)


def _step(problem: "DecodeProblem", lens: Sequence[int], how: "planning.DecodePlan | None") -> Step:
    """Make the step of a kernel, or of MLX's own ops if there is no plan for one."""
    from tracekit.base import tolerances
    from tracekit.ops import kernels, largest_error, paged
    from tracekit.workload import step_of

    ready, longest = _prewarmed(problem, how), max(lens)

    def call() -> "mx.array":
        return paged.attend(problem, scale=problem.scale, longest=longest, how=how)

    error = tolerances.require_accuracy(
        largest_error(problem, call()), problem.dtype, "Paged attention"
    )
    # a table so short that MLX would bind it as a constant is padded by a dispatch of its own
    counted = how is not None and problem.block_tables.size >= kernels.LEAST_BUFFER
    return step_of(
        call,
        paged.traffic_of(problem, lens, how).work(
            problem.batch, how.dispatches if how and counted else None
        ),
        specializations=kernels.specializations,
        noting_launches=kernels.noting_launches,
        results={"max_error": error, "specializations": ready},
    )


def _prewarmed(problem: "DecodeProblem", how: "planning.DecodePlan | None") -> Measured:
    """Make every specialization of the model before the hot path; report their number."""
    from tracekit.ops import planning, prewarm

    if how is None:
        return Measured(None, "count", reason=NO_METAL)
    names = prewarm(
        q_heads=problem.q_heads,
        kv_heads=problem.kv_heads,
        head_dim=problem.head_dim,
        dtype=problem.dtype,
        block_sizes=sorted({*planning.BLOCK_SIZES, problem.block_size}),
        hd_tiles=[how.hd_tile or None],
        kernel=how.kernel,
        threadgroup=how.threadgroup,
    )
    return Measured(len(names), "count")
