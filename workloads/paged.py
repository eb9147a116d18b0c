"""The workload `paged`: decode steps of paged attention over a pool of blocks."""

# ruff: noqa: PLC0415 - listing workloads must be instant, so MLX is loaded where it is used

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracekit.parameters import (
    ActiveBlocks,
    Batch,
    BlockSize,
    Dtype,
    HeadDim,
    KvHeads,
    MaxBlocks,
    QHeads,
    Ragged,
    Seed,
)
from tracekit.workload import Step, workload

if TYPE_CHECKING:
    import mlx.core as mx

    from tracekit.attention import Problem

SHORT = 7


@workload
def paged(
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
) -> Step:
    """Decode one token for each of several sequences with paged attention.

    Every sequence has pages of its own, in shuffled order. Were pages shared, as in a bench
    that gives all sequences one table, the caches would serve most reads, and the numbers
    would say nothing of memory.
    """
    import mlx.core as mx

    from tracekit.attention import check_heads, context_lengths, draw_problem

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
    return _step(problem, lens)


def _step(problem: "Problem", lens: Sequence[int]) -> Step:
    import mlx.core as mx

    from tracekit.attention import attend, backend, specializations, submitting, traffic

    scale, longest, device = problem.head_dim**-0.5, max(lens), backend()

    submit = submitting(lambda: attend(problem, scale=scale, longest=longest))
    model = traffic(
        lens,
        q_heads=problem.q_heads,
        kv_heads=problem.kv_heads,
        head_dim=problem.head_dim,
        block_size=problem.block_size,
        itemsize=problem.dtype.size,
        rereads=problem.q_heads // problem.kv_heads if device == "metal" else 1,
    )
    return Step(
        submit=submit,
        wait=mx.eval,
        backend=device,
        tokens=problem.batch,
        bytes_read=model.read,
        bytes_unique=model.unique,
        bytes_written=model.written,
        flops=model.flops,
        # a table so short that MLX would bind it as a constant is padded by a dispatch of its own
        dispatches=1 if device == "metal" and problem.block_tables.size > SHORT else None,
        specializations=specializations,
        results={"max_error": _error(problem, submit(), scale)},
    )


def _error(problem: "Problem", out: "mx.array", scale: float) -> float:
    """Compare the first and the last sequence with the reference; refuse a wrong result."""
    from tracekit.attention import accepted, largest_error

    error = largest_error(problem, out, scale=scale, sequences={0, problem.batch - 1})
    return accepted(error, problem.dtype, "Paged attention")
