import mlx.core as mx
import numpy as np
import pytest

from tracekit.ops.norm import (
    compiled,
    draw_norm_problem,
    error_of,
    reference,
    separate,
)

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


def test_an_error_is_seen_and_what_is_no_number_counts_as_infinite() -> None:
    problem = draw_norm_problem(2, 64, 8, dtype=mx.float32)
    assert error_of(problem, separate(problem) * 1.5) == pytest.approx(0.5, rel=1e-4)
    assert error_of(problem, separate(problem) * mx.nan) == np.inf
