"""RMSNorm and the linear layer after it: problems, ops, tiles, names and traffic."""

import mlx.core as mx
import numpy as np
import pytest

from tracekit.base.errors import ToolError, UsageError
from tracekit.lab.msl.emulation import generated
from tracekit.ops.kernels import Traffic, specializations
from tracekit.ops.norm import (
    NormProblem,
    Tile,
    compiled,
    draw_norm_problem,
    error_of,
    fused_kernel,
    kernel_traffic,
    reference,
    separate,
    separate_traffic,
    tile_of,
)


@pytest.mark.parametrize(
    ("rows", "dims", "tile"),
    [
        (1, 64, Tile(1, 4)),
        (2, 64, Tile(2, 4)),
        (3, 66, Tile(4, 1)),
        (8, 63, Tile(8, 1)),
        (9, 4096, Tile(8, 4)),
        (1000, 4096, Tile(8, 4)),
    ],
)
def test_the_tile_holds_all_rows_if_it_can(rows: int, dims: int, tile: Tile) -> None:
    assert tile_of(draw_norm_problem(rows, dims, 2, dtype=mx.float16)) == tile


@pytest.mark.skipif(mx.metal.is_available(), reason="here is Metal")
def test_without_metal_the_kernel_says_what_to_do_instead() -> None:
    with pytest.raises(ToolError, match="cannot run a Metal kernel here") as caught:
        fused_kernel(draw_norm_problem(1, 64, 3, dtype=mx.float16))
    assert "compiled" in caught.value.hint


@pytest.mark.parametrize(("rows", "dims", "outputs"), [(3, 100, 5), (2, 7, 3), (1, 3, 1)])
def test_the_name_is_the_one_that_mlx_gives(rows: int, dims: int, outputs: int) -> None:
    problem = draw_norm_problem(rows, dims, outputs, dtype=mx.bfloat16)

    def call(*arrays: mx.array) -> mx.array:
        return fused_kernel(NormProblem(*arrays))

    (kernel,) = generated(call, problem.x, problem.gain, problem.weight)
    assert kernel.function in specializations()


def test_one_tile_reads_everything_once() -> None:
    # 2 rows of 10, a gain of 10, 3 rows of weights, 4 bytes each
    moved = kernel_traffic(draw_norm_problem(2, 10, 3, dtype=mx.float32))
    assert moved == Traffic(
        read=4 * (20 + 10 + 30), unique=4 * 60, written=4 * 6, flops=2 * 60 + 4 * 20
    )


def test_tiles_beside_each_other_read_x_again_and_those_below_the_weight() -> None:
    moved = kernel_traffic(draw_norm_problem(9, 10, 33, dtype=mx.float16))
    # 2 tiles down, 3 across
    assert moved.read == 2 * (3 * 90 + 6 * 10 + 2 * 330)
    assert moved.unique == 2 * (90 + 10 + 330)


def test_two_ops_write_the_normalised_rows_and_read_them_again() -> None:
    fused = kernel_traffic(draw_norm_problem(4, 8, 16, dtype=mx.float16))
    apart = separate_traffic(4, 8, 16, itemsize=2)
    assert apart.unique - fused.unique == apart.written - fused.written == 2 * 4 * 8
    assert apart.flops == fused.flops


MOST = {mx.float32: 1e-5, mx.float16: 2e-3, mx.bfloat16: 2e-2}


def test_the_reference_is_the_definition() -> None:
    x, gain = np.array([[3.0, 4.0]]), np.array([1.0, 2.0])
    out = reference(x, gain, np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), 0.0)
    # rms([3, 4]) = sqrt(25 / 2)
    assert out[0].tolist() == pytest.approx([3 / 12.5**0.5, 8 / 12.5**0.5, 11 / 12.5**0.5])


@pytest.mark.processes
@pytest.mark.parametrize("dtype", MOST)
@pytest.mark.parametrize("sizes", [(1, 64, 33), (7, 100, 5), (9, 2048, 16)])
def test_both_agree_with_float64(dtype: mx.Dtype, sizes: tuple[int, int, int]) -> None:
    problem = draw_norm_problem(*sizes, dtype=dtype)
    for out in (separate(problem), compiled(problem)):
        assert (out.shape, out.dtype) == ((sizes[0], sizes[2]), dtype)
        assert error_of(problem, out) < MOST[dtype]


@pytest.mark.parametrize(
    ("x", "gain", "weight", "sentence"),
    [
        ((2, 8), (8,), (3, 9), r"weight must be \[outputs, dims\].* \[3, 9\]"),
        ((2, 8), (7,), (3, 8), r"gain must be \[dims\].* \[7\]"),
        ((8,), (8,), (3, 8), r"x must be \[rows, dims\]"),
        ((2, 8), (1, 8), (3, 8), r"gain must be \[dims\]"),
        ((2, 8), (8,), (0, 8), r"weight must be \[outputs, dims\], none of them 0"),
    ],
)
def test_arrays_that_do_not_fit_are_one_sentence(
    x: tuple[int, ...], gain: tuple[int, ...], weight: tuple[int, ...], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        NormProblem(mx.zeros(x), mx.zeros(gain), mx.zeros(weight))


@pytest.mark.parametrize("eps", [-1e-5, float("nan"), float("inf")])
def test_eps_is_a_number_of_at_least_nought(eps: float) -> None:
    with pytest.raises(UsageError, match="eps must be"):
        NormProblem(mx.zeros((2, 8)), mx.zeros(8), mx.zeros((3, 8)), eps)
