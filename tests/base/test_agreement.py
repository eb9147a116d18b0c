"""Relative errors of literal arrays."""

import math

import mlx.core as mx
import numpy as np
import pytest

from tracekit.base.errors import ToolError
from tracekit.base.tolerances import BOUNDS, accepted, as_float64, relative_error


def test_the_error_is_of_the_sequence_where_it_is_largest() -> None:
    expected = np.array([[1.0, -4.0], [0.5, 0.1]])
    out = np.array([[1.0, -4.2], [0.5, 0.15]])
    assert relative_error(out, expected) == pytest.approx(0.05 / 0.5)


def test_elements_near_zero_do_not_decide() -> None:
    assert relative_error(np.array([[1.0, 1e-6]]), np.array([[1.0, 1e-9]])) < 1e-5


def test_equal_arrays_are_not_off_at_all() -> None:
    assert relative_error(np.zeros((2, 3)), np.zeros((2, 3))) == 0


def test_anything_but_zero_is_infinitely_far_from_zeros() -> None:
    assert math.isinf(relative_error(np.array([[0.0, 1e-9]]), np.zeros((1, 2))))


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_what_is_not_finite_is_infinitely_far_off(wrong: float) -> None:
    assert math.isinf(relative_error(np.array([[1.0, wrong]]), np.array([[1.0, 2.0]])))


def test_arrays_of_two_shapes_do_not_compare() -> None:
    with pytest.raises(ValueError, match=r"\[1, 2\] and \[2, 1\]"):
        relative_error(np.zeros((1, 2)), np.zeros((2, 1)))


def test_an_error_is_accepted_up_to_the_bound_of_its_type() -> None:
    assert accepted(0.002, mx.float16, "It") == 0.002
    with pytest.raises(
        ToolError, match=r"It is off by 0\.0021 of its .* float16 allows 0\.002\."
    ) as half:
        accepted(0.0021, mx.float16, "It")
    with pytest.raises(ToolError, match="float32 allows 1e-05") as single:
        accepted(math.inf, mx.float32, "It")
    assert "MLX_ENABLE_TF32" in single.value.hint
    assert "MLX_ENABLE_TF32" not in half.value.hint


def test_two_results_may_be_twice_as_far_apart() -> None:
    assert accepted(0.04, mx.bfloat16, "One against the other", results=2) == 0.04
    with pytest.raises(ToolError, match=r"bfloat16 allows 0\.04"):
        accepted(0.041, mx.bfloat16, "One against the other", results=2)


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16], ids=str)
def test_no_bit_is_lost_on_the_way_to_numpy(dtype: mx.Dtype) -> None:
    exact = as_float64(mx.array([1.0, -0.3, 3e4]).astype(dtype))
    assert exact.dtype == np.float64
    assert mx.array(exact.astype(np.float32)).astype(dtype).tolist() == exact.tolist()


def test_the_bounds_are_those_that_are_promised() -> None:
    assert dict(BOUNDS) == {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
