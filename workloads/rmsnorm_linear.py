"""The workload `rmsnorm-linear`: RMSNorm and a linear layer, fused against separate."""

# ruff: noqa: PLC0415 - listing workloads must be instant, so MLX is loaded where it is used

from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.workload import (
    Dtype,
    Measured,
    Order,
    OrderOfSteps,
    Step,
    Turns,
    Variant,
    alternate,
    workload,
)

if TYPE_CHECKING:
    import mlx.core as mx

    from tracekit.ops import NormProblem, Traffic

NEEDS_METAL = "the fused kernel needs Metal; compiled, which is compared here, is MLX's own ops"


@workload
def rmsnorm_linear(
    *,
    rows: Annotated[int, typer.Option(min=1, max=65536, help="Rows of x: tokens.")] = 8,
    dims: Annotated[int, typer.Option(min=1, max=65536, help="Elements of a row.")] = 4096,
    out_dims: Annotated[int, typer.Option(min=1, max=262144, help="Elements of a result.")] = 4096,
    dtype: Dtype = "float16",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the contents.")] = 0,
    order: OrderOfSteps = "abba",
) -> Step:
    """Compare RMSNorm and Linear in one kernel with the two in a row.

    Both must agree with a float64 reference before anything is timed. Without Metal there is
    no kernel: the two in a row are then compared with what `mx.compile` makes of them.
    """
    import mlx.core as mx

    from tracekit.ops import draw_norm_problem

    problem = draw_norm_problem(rows, dims, out_dims, dtype=getattr(mx, dtype), seed=seed)
    return _step(problem, order)


def _step(problem: "NormProblem", order: Order) -> Step:
    import mlx.core as mx

    from tracekit.ops import norm_specializations, separate, separate_traffic
    from tracekit.workload import backend, variant_of

    metal = backend() == "metal"
    moved = separate_traffic(
        problem.rows, problem.dims, problem.outputs, itemsize=problem.dtype.size
    )
    subject = _fused(problem) if metal else _compiled(problem, moved)
    baseline = variant_of("separate", lambda: separate(problem), moved.work(problem.rows))
    results: dict[str, float | Measured] = {
        f"max_error_{one.name}": _error(problem, one.submit(), one.name)
        for one in (subject, baseline)
    }
    if not metal:
        results["fused_speedup"] = Measured(None, "x", "higher", NEEDS_METAL)
    turns = Turns(subject, baseline, order, mx.eval)
    return alternate(
        turns, backend=backend(), results=results, specializations=norm_specializations
    )


def _fused(problem: "NormProblem") -> Variant:
    from tracekit.ops import fused_kernel, kernel_traffic
    from tracekit.workload import variant_of

    work = kernel_traffic(problem).work(problem.rows, dispatches=1)
    return variant_of("fused", lambda: fused_kernel(problem), work)


def _compiled(problem: "NormProblem", moved: "Traffic") -> Variant:
    """Return the two ops as compiled: the product still needs its rows in memory."""
    from tracekit.ops import compiled
    from tracekit.workload import variant_of

    return variant_of("compiled", lambda: compiled(problem), moved.work(problem.rows))


def _error(problem: "NormProblem", out: "mx.array", name: str) -> float:
    """Compare a variant with float64; refuse a wrong result."""
    from tracekit.base import accepted
    from tracekit.ops import error_of

    return accepted(error_of(problem, out), problem.dtype, f"The result of {name}")
