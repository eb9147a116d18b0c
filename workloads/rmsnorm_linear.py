"""The workload `rmsnorm-linear`: RMSNorm and a linear layer, fused against separate."""

# ruff: noqa: PLC0415 - listing workloads must be instant, so MLX is loaded where it is used

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tracekit.agreement import BOUNDS
from tracekit.comparison import Contender, Turns, alternate
from tracekit.errors import ToolError
from tracekit.parameters import Dtype, OrderOfSteps
from tracekit.told import Measured, Work
from tracekit.workload import Step, workload

if TYPE_CHECKING:
    import mlx.core as mx

    from tracekit.norm import Problem, Traffic

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

    from tracekit.norm import draw_problem

    problem = draw_problem(rows, dims, out_dims, dtype=getattr(mx, dtype), seed=seed)
    return _step(problem, order, BOUNDS[dtype])


def _step(problem: "Problem", order: Literal["abba", "abab"], bound: float) -> Step:
    import mlx.core as mx

    from tracekit.attention import backend
    from tracekit.norm import separate, separate_traffic, specializations

    metal = backend() == "metal"
    moved = separate_traffic(
        problem.rows, problem.dims, problem.outputs, itemsize=problem.dtype.size
    )
    subject = _fused(problem) if metal else _compiled(problem, moved)
    baseline = _contender("separate", lambda: separate(problem), moved, problem.rows)
    results: dict[str, float | Measured] = {
        f"max_error_{one.name}": _error(problem, one.submit(), one.name, bound)
        for one in (subject, baseline)
    }
    if not metal:
        results["fused_speedup"] = Measured(None, "x", "higher", NEEDS_METAL)
    turns = Turns(subject, baseline, order, mx.eval)
    return alternate(turns, backend=backend(), results=results, specializations=specializations)


def _fused(problem: "Problem") -> Contender:
    from tracekit.norm import fused_kernel, kernel_traffic

    moved = kernel_traffic(problem)
    return _contender("fused", lambda: fused_kernel(problem), moved, problem.rows, dispatches=1)


def _compiled(problem: "Problem", moved: "Traffic") -> Contender:
    """Return the two ops as compiled: the product still needs its rows in memory."""
    from tracekit.norm import compiled

    return _contender("compiled", lambda: compiled(problem), moved, problem.rows)


def _contender(
    name: str,
    call: "Callable[[], mx.array]",
    moved: "Traffic",
    rows: int,
    dispatches: int | None = None,
) -> Contender:
    import mlx.core as mx

    def submit() -> "mx.array":
        out = call()
        mx.async_eval(out)
        return out

    work = Work(
        tokens=rows,
        bytes_read=moved.read,
        bytes_unique=moved.unique,
        bytes_written=moved.written,
        flops=moved.flops,
        dispatches=dispatches,
    )
    return Contender(name, submit, work)


def _error(problem: "Problem", out: "mx.array", name: str, bound: float) -> float:
    """Compare a variant with float64; refuse a wrong result."""
    from tracekit.norm import error_of

    error = error_of(problem, out)
    if error > bound:
        raise ToolError(
            f"The result of {name} is off by {error:.2g} of its largest value; "
            f"{problem.dtype} allows {bound:g}.",
            hint="A wrong result is not measured; the kernel or MLX must be mended first.",
        )
    return error
