import mlx.core as mx

from tracekit.ops.kernels import Traffic
from tracekit.ops.norm import draw_norm_problem, kernel_traffic, separate_traffic


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
