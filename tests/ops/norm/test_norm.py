"""RMSNorm and the linear layer after it: problems, ops, the kernel on this CPU, traffic."""

from itertools import product

import mlx.core as mx
import numpy as np
import pytest

from small_kernels import needs_emulation
from tracekit.base.errors import UsageError
from tracekit.lab.msl.emulation import emulation, generated
from tracekit.lab.msl.program import ThreadOrder
from tracekit.ops.kernels import LEAST_BUFFER, CallTraffic, specializations
from tracekit.ops.norm import (
    NormProblem,
    Tile,
    apply_compiled,
    draw_norm_problem,
    error_of,
    fused_kernel,
    kernel_traffic,
    reference,
    separate,
    separate_traffic,
    tile_of,
)

MOST = {mx.float32: 1e-5, mx.float16: 2e-3, mx.bfloat16: 2e-2}


def test_the_tile_holds_all_rows_if_it_can() -> None:
    shapes = [(1, 64), (2, 64), (3, 66), (8, 63), (9, 4096), (1000, 4096)]
    tiles = [tile_of(draw_norm_problem(*shape, 2, dtype=mx.float16)) for shape in shapes]
    assert tiles == [*(Tile(1, 4), Tile(2, 4), Tile(4, 1), Tile(8, 1)), *[Tile(8, 4)] * 2]


@pytest.mark.parametrize("sizes", [(3, 100, 5), (2, 7, 3), (1, 3, 1)], ids=str)
def test_the_name_is_the_one_that_mlx_gives(sizes: tuple[int, int, int]) -> None:
    problem = draw_norm_problem(*sizes, dtype=mx.bfloat16)

    def call(*arrays: mx.array) -> mx.array:
        return fused_kernel(NormProblem(*arrays))

    (kernel,) = generated(call, problem.x, problem.gain, problem.weight)
    assert kernel.function in specializations()


def test_neighbouring_tiles_read_x_again_and_lower_ones_the_weight() -> None:
    # 2 rows of 10, a gain of 10, 3 rows of weights, 4 bytes each
    alone = kernel_traffic(draw_norm_problem(2, 10, 3, dtype=mx.float32))
    assert alone == CallTraffic(4 * (20 + 10 + 30), 4 * 60, 4 * 6, 2 * 60 + 4 * 20)
    # 2 tiles down, 3 across, 2 bytes each
    moved = kernel_traffic(draw_norm_problem(9, 10, 33, dtype=mx.float16))
    assert moved.read == 2 * (3 * 90 + 6 * 10 + 2 * 330)
    assert moved.unique == 2 * (90 + 10 + 330)


def test_two_ops_write_the_normalised_rows_and_read_them_again() -> None:
    fused = kernel_traffic(draw_norm_problem(4, 8, 16, dtype=mx.float16))
    apart = separate_traffic(4, 8, 16, itemsize=2)
    assert apart.unique - fused.unique == apart.written - fused.written == 2 * 4 * 8
    assert apart.flops == fused.flops


def test_the_reference_is_the_definition() -> None:
    x, gain = np.array([[3.0, 4.0]]), np.array([1.0, 2.0])
    result = reference(x, gain, np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), 0.0)
    # rms([3, 4]) = sqrt(25 / 2)
    assert result[0].tolist() == pytest.approx([3 / 12.5**0.5, 8 / 12.5**0.5, 11 / 12.5**0.5])


@pytest.mark.processes
@pytest.mark.parametrize(
    ("dtype", "sizes"),
    [(mx.float32, (9, 2048, 16)), (mx.float16, (7, 100, 5)), (mx.bfloat16, (1, 64, 33))],
    ids=str,
)
def test_both_agree_with_float64(dtype: mx.Dtype, sizes: tuple[int, int, int]) -> None:
    problem = draw_norm_problem(*sizes, dtype=dtype)
    for result in (separate(problem), apply_compiled(problem)):
        assert (result.shape, result.dtype) == ((sizes[0], sizes[2]), dtype)
        assert error_of(problem, result) < MOST[dtype]


@pytest.mark.parametrize(
    ("shapes", "sentence"),
    [
        ([(2, 8), (8,), (3, 9)], r"weight must be \[outputs, dims\].* \[3, 9\]"),
        ([(2, 8), (7,), (3, 8)], r"gain must be \[dims\].* \[7\]"),
        ([(8,), (8,), (3, 8)], r"x must be \[rows, dims\]"),
        ([(2, 8), (1, 8), (3, 8)], r"gain must be \[dims\]"),
        ([(2, 8), (8,), (0, 8)], r"weight must be \[outputs, dims\], none of them 0"),
    ],
)
def test_arrays_that_do_not_fit_are_said(shapes: list[tuple[int, ...]], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        NormProblem(*map(mx.zeros, shapes))


def test_eps_is_a_number_of_at_least_0() -> None:
    for eps in (-1e-5, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="eps must be"):
            NormProblem(mx.zeros((2, 8)), mx.zeros(8), mx.zeros((3, 8)), eps)


# Rows, elements, outputs: each tile height, each width of loads, one turn of the loop and several.
SIZES = [
    *((1, 256, 32), (1, 33, 1), (2, 260, 5), (2, 255, 33)),
    *((4, 516, 37), (3, 517, 31), (9, 768, 40), (17, 301, 65)),
]


def test_the_sizes_reach_every_specialization() -> None:
    tiles = [tile_of(draw_norm_problem(*sizes, dtype=mx.float16)) for sizes in SIZES]
    assert {(tile.rows, tile.vec) for tile in tiles} == set(product((1, 2, 4, 8), (1, 4)))


@needs_emulation
@pytest.mark.parametrize(
    ("dtype", "sizes"),
    [
        *((dtype, sizes) for dtype in MOST for sizes in SIZES),
        # so small that MLX would bind them as constants
        *((mx.float32, sizes) for sizes in ((1, 3, 1), (2, 1, 2), (1, 7, 1))),
    ],
    ids=str,
)
def test_the_kernel_agrees_in_every_order_and_moves_the_bytes_of_the_model(
    dtype: mx.Dtype, sizes: tuple[int, int, int]
) -> None:
    problem = draw_norm_problem(*sizes, dtype=dtype, seed=3)
    outs: list[mx.array] = []
    for order in ThreadOrder:
        with emulation(order=order, seed=1, checked=True) as log:
            outs.append(fused_kernel(problem))
    assert (outs[0].shape, outs[0].dtype) == ((sizes[0], sizes[2]), dtype)
    assert error_of(problem, outs[0]) < MOST[dtype]
    assert all(mx.array_equal(outs[0], output) for output in outs)
    moved, model = log[0].statistics.traffic, kernel_traffic(problem)
    if min(sizes[0] * sizes[1], sizes[1]) >= LEAST_BUFFER:  # shorter arrays are filled up
        assert sum(traffic.loaded for traffic in moved.values()) == model.read
        assert sum(traffic.touched for traffic in moved.values()) == model.unique + model.written
    assert moved["out"].stored == model.written


@needs_emulation
def test_eps_counts_where_rows_are_small() -> None:
    drawn = draw_norm_problem(2, 33, 5, dtype=mx.float32)
    small = NormProblem(drawn.x * 1e-3, drawn.gain, drawn.weight, eps=1e-2)
    with emulation():
        result = fused_kernel(small)
    assert error_of(small, result) < MOST[mx.float32]
    assert error_of(NormProblem(small.x, small.gain, small.weight, eps=1e-6), result) > 0.1
