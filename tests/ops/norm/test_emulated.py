"""The Metal kernel itself, run on a CPU: every specialization, against float64."""

from math import prod

import mlx.core as mx
import pytest

from small_kernels import needs_compiler
from tracekit.lab.msl.emulation import emulation
from tracekit.lab.msl.program import Order
from tracekit.ops.norm import (
    NormProblem,
    draw_norm_problem,
    error_of,
    fused_kernel,
    kernel_traffic,
    tile_of,
)

pytestmark = [needs_compiler, pytest.mark.usefixtures("compiled_kernels"), pytest.mark.emulator]

MOST = {mx.float32: 1e-5, mx.float16: 2e-3, mx.bfloat16: 2e-2}
# Rows, elements, outputs: each tile height, each width of loads, one turn of the loop and several.
SIZES = [
    (1, 256, 32),
    (1, 33, 1),
    (2, 260, 5),
    (2, 255, 33),
    (4, 516, 37),
    (3, 517, 31),
    (9, 768, 40),
    (17, 301, 65),
]


def test_the_sizes_reach_every_specialization() -> None:
    tiles = {tile_of(draw_norm_problem(*sizes, dtype=mx.float16)) for sizes in SIZES}
    assert {(one.rows, one.vec) for one in tiles} == {
        (rows, vec) for rows in (1, 2, 4, 8) for vec in (1, 4)
    }


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("dtype", MOST, ids=str)
def test_it_agrees_with_float64_in_every_order_of_threads(
    dtype: mx.Dtype, sizes: tuple[int, int, int]
) -> None:
    problem = draw_norm_problem(*sizes, dtype=dtype, seed=3)
    outs: list[mx.array] = []
    for order in Order:
        with emulation(order=order, seed=1):
            outs.append(fused_kernel(problem))
    assert (outs[0].shape, outs[0].dtype) == ((sizes[0], sizes[2]), dtype)
    assert error_of(problem, outs[0]) < MOST[dtype]
    assert all(mx.array_equal(outs[0], out) for out in outs)


@pytest.mark.parametrize("sizes", [(2, 255, 33), (9, 768, 40)], ids=str)
@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16], ids=str)
def test_it_moves_the_bytes_of_the_model_and_none_outside(
    dtype: mx.Dtype, sizes: tuple[int, int, int]
) -> None:
    problem, tile = (
        draw_norm_problem(*sizes, dtype=dtype),
        tile_of(draw_norm_problem(*sizes, dtype=dtype)),
    )
    with emulation(checked=True) as log:
        fused_kernel(problem)
    (launch,) = log
    moved, model = launch.statistics.traffic, kernel_traffic(problem)
    assert sum(one.loaded for one in moved.values()) == model.read
    assert sum(one.touched for one in moved.values()) == model.unique + model.written
    assert moved["out"].stored == model.written
    down = -(-problem.rows // tile.rows)
    assert moved["weight"].loaded == down * prod(problem.weight.shape) * dtype.size


@pytest.mark.parametrize(("rows", "dims", "outputs"), [(1, 3, 1), (2, 1, 2), (1, 7, 1)])
def test_arrays_so_small_that_mlx_would_bind_them_as_constants(
    rows: int, dims: int, outputs: int
) -> None:
    problem = draw_norm_problem(rows, dims, outputs, dtype=mx.float32)
    with emulation(checked=True):
        assert error_of(problem, fused_kernel(problem)) < MOST[mx.float32]


def test_eps_counts_where_rows_are_small() -> None:
    drawn = draw_norm_problem(2, 33, 5, dtype=mx.float32)
    small = NormProblem(drawn.x * 1e-3, drawn.gain, drawn.weight, eps=1e-2)
    with emulation():
        assert error_of(small, fused_kernel(small)) < MOST[mx.float32]
        other = NormProblem(small.x, small.gain, small.weight, eps=1e-6)
        assert error_of(other, fused_kernel(small)) > 0.1
