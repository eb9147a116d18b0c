"""The workload `rmsnorm-linear`: RMSNorm and a linear layer, fused against separate."""

# ruff: noqa: PLC0415 - listing workloads must be instant, so MLX is loaded at its first use

from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.workload import Measured, Step, calls, parameters, workload

if TYPE_CHECKING:
    from tracekit.ops import norm

NEEDS_METAL = "the fused kernel needs Metal; compiled, which is compared here, is MLX's own ops"


@workload
def rmsnorm_linear(
    *,
    rows: Annotated[int, typer.Option(min=1, max=65536, help="Rows of x: tokens.")] = 8,
    dims: Annotated[int, typer.Option(min=1, max=65536, help="Elements of a row.")] = 4096,
    out_dims: Annotated[int, typer.Option(min=1, max=262144, help="Elements of a result.")] = 4096,
    dtype: parameters.Dtype = "float16",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the contents.")] = 0,
    order: parameters.OrderOfSteps = "abba",
) -> Step:
    """Compare RMSNorm and Linear in one kernel with the two in a row.

    Both must agree with a float64 reference before anything is timed. Without Metal there is
    no kernel: the two in a row are then compared with their compiled form by `mx.compile`.
    """
    import mlx.core as mx

    from tracekit.ops import norm

    problem = norm.draw_norm_problem(rows, dims, out_dims, dtype=getattr(mx, dtype), seed=seed)
    return _step(problem, order)


def _step(problem: "norm.NormProblem", order: calls.Order) -> Step:
    import mlx.core as mx

    from tracekit.base import tolerances
    from tracekit.ops import kernels, norm
    from tracekit.workload import backend, calls

    metal, rows = backend() == "metal", problem.rows
    moved = norm.separate_traffic(rows, problem.dims, problem.outputs, itemsize=problem.dtype.size)
    if metal:
        work = norm.kernel_traffic(problem).work(rows, dispatches=1)
        subject = calls.variant_of("fused", lambda: norm.fused_kernel(problem), work)
    else:  # the product of the two ops as compiled still needs its rows in memory
        subject = calls.variant_of(
            "compiled", lambda: norm.apply_compiled(problem), moved.work(rows)
        )
    baseline = calls.variant_of("separate", lambda: norm.separate(problem), moved.work(rows))
    results: dict[str, float | Measured] = {
        f"max_error_{variant.name}": tolerances.require_accuracy(
            norm.error_of(problem, variant.submit()), problem.dtype, f"The result of {variant.name}"
        )
        for variant in (subject, baseline)
    }
    if not metal:
        results["fused_speedup"] = Measured(None, "x", "higher", NEEDS_METAL)
    turns = calls.Turns(subject, baseline, order, mx.eval)
    return calls.alternate(
        turns,
        backend=backend(),
        results=results,
        specializations=kernels.specializations,
        noting_launches=kernels.noting_launches,
    )
