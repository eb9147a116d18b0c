"""The Metal kernel: how it is built, launched and named."""

from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from tracekit.ops.custom_kernel import LANES, METAL_TYPES, Source, needing_metal, padded
from tracekit.ops.norm.problem import Problem
from tracekit.ops.norm.traffic import fused_traffic
from tracekit.ops.traffic import Traffic

SIMDGROUPS = 8
COLUMNS = 2  # of the result, for each simdgroup: few registers, so many threadgroups at a time
MOST_ROWS = 8  # of x; a lane keeps a sum for each of them and each column

_SOURCE = Source(
    "rmsnorm_linear", ("x", "gain", "weight", "rows", "dims", "outputs", "eps"), ("out",)
)

_made: set[str] = set()


@dataclass(frozen=True)
class Tile:
    """The rows of x that a threadgroup takes, and the elements of the weight of one load."""

    rows: int
    vec: int

    @property
    def columns(self) -> int:
        """Columns of the result that a threadgroup makes."""
        return SIMDGROUPS * COLUMNS


def tile_of(problem: Problem) -> Tile:
    """Choose the smallest power of two that holds all rows, up to 8, and the widest loads."""
    rows = min(MOST_ROWS, 1 << (problem.rows - 1).bit_length())
    return Tile(rows, 1 if problem.dims % 4 else 4)


def kernel_traffic(problem: Problem) -> Traffic:
    """Model what the kernel moves and computes for this problem."""
    tile = tile_of(problem)
    return fused_traffic(
        problem.rows,
        problem.dims,
        problem.outputs,
        itemsize=problem.dtype.size,
        tile_rows=tile.rows,
        tile_columns=tile.columns,
    )


def specializations() -> frozenset[str]:
    """Return the names of the kernels that this process has launched, as Metal knows them."""
    return frozenset(_made)


def specialization_name(problem: Problem) -> str:
    """Return the name of the kernel of a call; see `tracekit.ops.custom_kernel.Source.name`."""
    kind = METAL_TYPES[problem.dtype]
    scalars = ["int32_ts"] * 3 + ["floats"]
    return _SOURCE.name(_template(problem), [*[kind] * 3, *scalars, kind])


def fused_kernel(problem: Problem) -> mx.array:
    """Launch `kernels/rmsnorm_linear.metal`: one dispatch.

    Without Metal this can be traced, by `tracekit.lab.msl.emulation`, not run.

    Returns:
        `[rows, outputs]` in the dtype of the problem.

    Raises:
        ToolError: MLX has no Metal here.
    """
    with needing_metal("`tracekit.ops.norm.compiled` does the same with MLX's own ops."):
        out = _launch(problem)
    _made.add(specialization_name(problem))
    return out


def _launch(problem: Problem) -> mx.array:
    tile = tile_of(problem)
    across = -(-problem.outputs // tile.columns)
    (out,) = _SOURCE.kernel()(
        inputs=[
            *(padded(one) for one in (problem.x, problem.gain, problem.weight)),
            *(problem.rows, problem.dims, problem.outputs, problem.eps),
        ],
        template=_template(problem),
        grid=(across * SIMDGROUPS * LANES, -(-problem.rows // tile.rows), 1),
        threadgroup=(SIMDGROUPS * LANES, 1, 1),
        output_shapes=[(problem.rows, problem.outputs)],
        output_dtypes=[problem.dtype],
    )
    return out


def _template(problem: Problem) -> list[tuple[str, Any]]:
    tile = tile_of(problem)
    sizes = [("ROWS", tile.rows), ("COLUMNS", COLUMNS), ("VEC", tile.vec)]
    return [("T", problem.dtype), *sizes, ("SIMDGROUPS", SIMDGROUPS)]
