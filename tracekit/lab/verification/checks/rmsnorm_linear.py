"""The check of kernels/rmsnorm_linear.metal."""

from typing import Annotated

import mlx.core as mx
import typer

from tracekit.base import BOUNDS, as_float64
from tracekit.lab.verification.check import Check, check
from tracekit.ops import draw_norm_problem, fused_kernel, reference, tile_of
from tracekit.workload import DTYPES, DtypeName


@check(each={"dtype": DTYPES, "rows": (1, 5, 9), "dims": (128, 67)})
def rmsnorm_linear(
    *,
    dtype: Annotated[DtypeName, typer.Option(help="Type of the elements.")] = "float16",
    rows: Annotated[int, typer.Option(min=1, max=4096, help="Rows of x.")] = 5,
    dims: Annotated[int, typer.Option(min=1, max=65536, help="Elements of a row.")] = 128,
    out_dims: Annotated[int, typer.Option(min=1, max=65536, help="Elements of a result.")] = 50,
) -> Check:
    """Normalise rows and multiply them with a matrix in one dispatch."""
    problem = draw_norm_problem(rows, dims, out_dims, dtype=getattr(mx, dtype))
    tile, size = tile_of(problem), problem.dtype.size
    down, across = -(-rows // tile.rows), -(-out_dims // tile.columns)
    return Check(
        run=lambda: fused_kernel(problem),
        expected=reference(
            as_float64(problem.x),
            as_float64(problem.gain),
            as_float64(problem.weight),
            problem.eps,
        ),
        bound=BOUNDS[dtype],
        loaded={
            "x": across * rows * dims * size,
            "gain": down * across * dims * size,
            "weight": down * out_dims * dims * size,
        },
    )
