"""The workload `paged`: decode steps of paged attention over a pool of blocks."""

# ruff: noqa: PLC0415 - listing workloads must be instant, so MLX is loaded where it is used

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tracekit.errors import ToolError, UsageError
from tracekit.workload import Step, workload

if TYPE_CHECKING:
    import mlx.core as mx

    from tracekit.attention import Problem

Dtype = Literal["float16", "bfloat16", "float32"]
# How far a result may be from the reference: a few units in the last place of values near 1.
TOLERANCE: dict[str, float] = {"float32": 1e-4, "float16": 4e-3, "bfloat16": 3e-2}
SHORT = 7


@workload
def paged(
    *,
    batch: Annotated[int, typer.Option(min=1, max=4096, help="Sequences of a step.")] = 16,
    q_heads: Annotated[int, typer.Option(min=1, max=512, help="Query heads.")] = 16,
    kv_heads: Annotated[int, typer.Option(min=1, max=512, help="Heads of K and V.")] = 8,
    head_dim: Annotated[int, typer.Option(min=1, max=256, help="Elements of a head.")] = 128,
    block_size: Annotated[int, typer.Option(min=1, max=1024, help="Tokens of a block.")] = 32,
    max_blocks: Annotated[int, typer.Option(min=1, max=65536, help="Blocks a sequence has.")] = 64,
    active_blocks: Annotated[int, typer.Option(min=1, max=65536, help="Blocks it uses.")] = 32,
    dtype: Annotated[Dtype, typer.Option(help="Type of the elements.")] = "float16",
    ragged: Annotated[
        bool, typer.Option(help="Draw lengths at random instead of filling all active blocks.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of contents, pages and lengths.")] = 0,
) -> Step:
    """Decode one token for each of several sequences with paged attention.

    Every sequence has pages of its own, in shuffled order. Were pages shared, as in a bench
    that gives all sequences one table, the caches would serve most reads, and the numbers
    would say nothing of memory.
    """
    import mlx.core as mx

    from tracekit.attention import check_heads, draw_problem

    check_heads(q_heads, kv_heads)
    lens = _lengths(batch, active_blocks, max_blocks, block_size, seed if ragged else None)
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
    return _step(problem, lens, TOLERANCE[dtype])


def _lengths(batch: int, active: int, most: int, block_size: int, seed: int | None) -> list[int]:
    from tracekit.attention import draw_lengths

    if active > most:
        raise UsageError(
            f"A sequence cannot use {active} blocks of {most}.",
            hint="--active-blocks must not exceed --max-blocks.",
        )
    full = active * block_size
    return [full] * batch if seed is None else draw_lengths(batch, full, seed=seed)


def _step(problem: "Problem", lens: Sequence[int], tolerance: float) -> Step:
    import mlx.core as mx

    from tracekit.attention import attend, backend, specializations, traffic

    scale, longest, device = problem.head_dim**-0.5, max(lens), backend()

    def submit() -> "mx.array":
        out = attend(problem, scale=scale, longest=longest)
        mx.async_eval(out)
        return out

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
        results={"max_error": _error(problem, submit(), scale, tolerance)},
    )


def _error(problem: "Problem", out: "mx.array", scale: float, tolerance: float) -> float:
    """Compare the first and the last sequence with the reference; refuse a wrong result."""
    from tracekit.attention import largest_error

    error = largest_error(problem, out, scale=scale, sequences={0, problem.batch - 1})
    if error > tolerance:
        raise ToolError(
            f"Paged attention is off by up to {error:.2g}; {problem.dtype} allows {tolerance:g}.",
            hint="A wrong result is not measured; the kernel or MLX must be mended first.",
        )
    return error
