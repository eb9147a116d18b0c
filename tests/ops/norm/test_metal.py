"""The kernel's choice of tiles, its names, and what is said where there is no Metal."""

import mlx.core as mx
import pytest

from tracekit.base.errors import ToolError
from tracekit.lab.msl.emulation import generated
from tracekit.ops.norm import (
    NormProblem,
    Tile,
    draw_norm_problem,
    fused_kernel,
    norm_specializations,
    specialization_name,
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


def test_all_sizes_share_as_many_kernels_as_there_are_tiles() -> None:
    names = {
        specialization_name(draw_norm_problem(rows, dims, outputs, dtype=mx.float16))
        for rows in (1, 2, 3, 5, 9, 17)
        for dims in (64, 96, 97)
        for outputs in (7, 40)
    }
    assert len(names) == 4 * 2


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
    assert kernel.function == specialization_name(problem)
    assert specialization_name(problem) in norm_specializations()
