"""Attention of MLX's own ops, as often as asked for: what `compare_runs.py` slows down, too."""

# ruff: noqa: PLC0415 - listing workloads must be instant, so MLX is loaded where it is used

from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.workload import Step, workload

if TYPE_CHECKING:
    import mlx.core as mx

_CALLS = 20
_BLOCK, _BLOCKS = 16, 2


@workload
def attend(
    slow: Annotated[float, typer.Option(min=0, help="Share of work to add, such as 0.1.")] = 0.0,
) -> Step:
    """Attend to a few tokens, over and over within a step."""
    import mlx.core as mx

    from tracekit.ops.attention.paged import attend as attended
    from tracekit.ops.attention.problem import draw_problem

    problem = draw_problem(
        [_BLOCK * _BLOCKS],
        q_heads=8,
        kv_heads=4,
        head_dim=64,
        block_size=_BLOCK,
        max_blocks=_BLOCKS,
        dtype=mx.float16,
        seed=0,
    )
    calls = round(_CALLS * (1 + slow))

    def submit() -> "list[mx.array]":
        return [attended(problem, scale=0.125, longest=_BLOCK * _BLOCKS) for _ in range(calls)]

    return Step(submit=submit, wait=mx.eval, backend="cpu", tokens=1)
