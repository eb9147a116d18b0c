"""Requirements for the kernels of `kernels/`: a check for each, with the name of the kernel.

Those that decode run on ragged contexts over pages that hold traps.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import mlx.core as mx
import numpy as np
import typer

from tracekit.base import UsageError, tolerances
from tracekit.lab.verification.check import Check, Declared, check, declared_by
from tracekit.ops import (
    DecodeProblem,
    draw_problem,
    nan_past_ends,
    norm,
    paged,
    planning,
    reference_of,
)
from tracekit.workload import parameters

NO_PAGE = 10**6

Dtype = Annotated[parameters.DtypeName, typer.Option(help="Type of the elements.")]
HeadDim = Annotated[
    Literal["64", "80", "96", "128", "256"], typer.Option(help="Elements of a head.")
]
BlockSize = Annotated[int, typer.Option(min=2, max=1024, help="Tokens of a page.")]
KvHeads = Annotated[int, typer.Option(min=1, max=64, help="Heads of K and V.")]
Group = Annotated[int, typer.Option(min=1, max=64, help="Query heads of a kv head.")]


@check(each={"dtype": parameters.DTYPES, "hd_tile": (4, 8, 16), "partitions": (1, 3)})
def paged_decode_grouped(
    *,
    dtype: Dtype = "float16",
    head_dim: HeadDim = "128",
    block_size: BlockSize = 16,
    kv_heads: KvHeads = 2,
    group: Group = 4,
    hd_tile: Annotated[int, typer.Option(help="Elements of a head that a lane owns.")] = 4,
    partitions: Annotated[int, typer.Option(min=1, max=64, help="Parts of a context.")] = 1,
) -> Check:
    """Decode with rows of K and V loaded once for all query heads that share them."""
    problem = draw_trapped_problem(dtype, int(head_dim), block_size, kv_heads, group)
    return decode_check("grouped", problem, hd_tile=hd_tile, partitions=partitions)


def _decode(kernel: planning.Kernel) -> Callable[..., Check]:
    @check(each={"dtype": parameters.DTYPES})
    def decode(
        *,
        dtype: Dtype = "float16",
        head_dim: HeadDim = "64",
        block_size: BlockSize = 16,
        kv_heads: KvHeads = 1,
        group: Group = 2,
    ) -> Check:
        problem = draw_trapped_problem(dtype, int(head_dim), block_size, kv_heads, group)
        return decode_check(kernel, problem)

    return decode


@check(each={"dtype": parameters.DTYPES, "rows": (1, 5, 9), "dims": (128, 67)})
def rmsnorm_linear(
    *,
    dtype: Dtype = "float16",
    rows: Annotated[int, typer.Option(min=1, max=4096, help="Rows of x.")] = 5,
    dims: Annotated[int, typer.Option(min=1, max=65536, help="Elements of a row.")] = 128,
    out_dims: Annotated[int, typer.Option(min=1, max=65536, help="Elements of a result.")] = 50,
) -> Check:
    """Normalise rows and multiply them with a matrix in one dispatch."""
    problem = norm.draw_norm_problem(rows, dims, out_dims, dtype=getattr(mx, dtype))
    tile = norm.tile_of(problem)
    size = problem.dtype.size
    down = -(-rows // tile.rows)
    across = -(-out_dims // tile.columns)
    x = tolerances.as_float64(problem.x)
    gain = tolerances.as_float64(problem.gain)
    weight = tolerances.as_float64(problem.weight)
    x_bytes = across * rows * dims * size
    gain_bytes = down * across * dims * size
    weight_bytes = down * out_dims * dims * size
    return Check(
        run=lambda: norm.fused_kernel(problem),
        expected=norm.reference(x, gain, weight, problem.eps),
        bound=tolerances.BOUNDS[dtype],
        loaded={
            "x": x_bytes,
            "gain": gain_bytes,
            "weight": weight_bytes,
        },
    )


def draw_trapped_problem(
    dtype: parameters.DtypeName, head_dim: int, block_size: int, kv_heads: int, group: int
) -> DecodeProblem:
    """Draw a problem with NaN in unused rows, and unused entries that name no page.

    A kernel that reads beyond a sequence's length gets NaN, or is out of bounds. Each length is an
    edge: none, one token, around a page, a full table.
    """
    edges = [0, 1, block_size - 1, block_size, block_size + 1, 3 * block_size, 4 * block_size]
    problem = draw_problem(
        edges,
        q_heads=kv_heads * group,
        kv_heads=kv_heads,
        head_dim=head_dim,
        block_size=block_size,
        max_blocks=4,
        dtype=getattr(mx, dtype),
    )
    tables = np.array(problem.block_tables)
    for row, length in zip(tables, edges, strict=True):
        row[-(-length // block_size) :] = NO_PAGE
    return replace(nan_past_ends(problem), block_tables=mx.array(tables))


def decode_check(
    kernel: planning.Kernel,
    problem: DecodeProblem,
    *,
    hd_tile: int | None = None,
    partitions: int | None = None,
) -> Check:
    """Return the check of one specialization of one of the kernels that decode.

    Rows of K and V must be loaded exactly as often as the traffic model says.
    """
    how = planning.plan(problem, kernel=kernel, hd_tile=hd_tile, partitions=partitions)
    scale = problem.head_dim**-0.5
    context_rows = int(np.array(problem.context_lens).sum())
    rows = context_rows * how.rereads(problem.group)
    loaded = rows * problem.kv_heads * problem.head_dim * problem.dtype.size
    dtype_name = str(problem.dtype).rpartition(".")[2]
    return Check(
        run=lambda: paged.attend(problem, scale=scale, how=how),
        expected=reference_of(problem, scale=scale),
        bound=tolerances.BOUNDS[dtype_name],
        loaded={"k_pages": loaded, "v_pages": loaded},
    )


_SHIPPED = {
    "paged-decode": paged_decode_grouped,  # and, with partitions, paged-merge
    "paged-decode-barriers": _decode("barriers"),
    "paged-decode-per-head": _decode("per-head"),
    "rmsnorm-linear": rmsnorm_linear,
}


def shipped_names() -> tuple[str, ...]:
    """Return the names of the kernels that come with tracekit, in alphabetical order."""
    return tuple(_SHIPPED)


def shipped_check(name: str) -> Declared:
    """Return the check of a kernel of ours; raise UsageError if there is none of that name."""
    if name not in _SHIPPED:
        raise UsageError(
            f"There is no kernel {name!r}, and no file of that name.",
            hint=f"There are: {', '.join(_SHIPPED)}, all; or a FILE.metal or FILE.py.",
        )
    return declared_by(_SHIPPED[name], name, Path(__file__))
