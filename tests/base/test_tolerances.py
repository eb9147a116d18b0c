"""Relative errors of literal arrays, and the types of elements that have bounds."""

import math

import mlx.core as mx
import numpy as np
import pytest

from tracekit.base.errors import ToolError
from tracekit.base.tolerances import BOUNDS, as_float64, relative_error, require_accuracy
from tracekit.ops.kernels import DTYPES as OF_KERNELS
from tracekit.ops.kernels import METAL_TYPES
from tracekit.workload.parameters import DTYPES

ERRORS = {
    # of the sequence where it is largest
    ((1.0, -4.2), (0.5, 0.15)): (((1.0, -4.0), (0.5, 0.1)), 0.05 / 0.5),
    ((1.0, 1e-6),): (((1.0, 1e-9),), 1e-6 - 1e-9),  # near zero decides nothing
    ((0.0, 0.0),): (((0.0, 0.0),), 0),
    ((0.0, 1e-9),): (((0.0, 0.0),), math.inf),
    ((1.0, math.nan),): (((1.0, 2.0),), math.inf),
    ((1.0, math.inf),): (((1.0, 2.0),), math.inf),
}


def test_the_relative_error() -> None:
    for output, (expected, error) in ERRORS.items():
        assert relative_error(np.array(output), np.array(expected)) == pytest.approx(error), output


def test_arrays_of_two_shapes_do_not_compare() -> None:
    assert relative_error(np.zeros((0, 2)), np.zeros((0, 2))) == 0
    with pytest.raises(ValueError, match=r"\[1, 2\] and \[2, 1\]"):
        relative_error(np.zeros((1, 2)), np.zeros((2, 1)))


def test_an_error_is_accepted_up_to_the_bound_of_its_type() -> None:
    assert dict(BOUNDS) == {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}  # as promised
    assert require_accuracy(0.002, mx.float16, "It") == 0.002
    with pytest.raises(
        ToolError, match=r"It is off by 0\.0021 of its .* float16 allows 0\.002\."
    ) as half:
        require_accuracy(0.0021, mx.float16, "It")
    with pytest.raises(ToolError, match="float32 allows 1e-05") as single:
        require_accuracy(math.inf, mx.float32, "It")
    assert "MLX_ENABLE_TF32" in single.value.hint
    assert "MLX_ENABLE_TF32" not in half.value.hint
    # two results may be twice as far apart
    assert require_accuracy(0.04, mx.bfloat16, "One against the other", results=2) == 0.04
    with pytest.raises(ToolError, match=r"bfloat16 allows 0\.04"):
        require_accuracy(0.041, mx.bfloat16, "One against the other", results=2)


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16], ids=str)
def test_no_bit_is_lost_on_the_way_to_numpy(dtype: mx.Dtype) -> None:
    exact = as_float64(mx.array([1.0, -0.3, 3e4]).astype(dtype))
    assert exact.dtype == np.float64
    assert mx.array(exact.astype(np.float32)).astype(dtype).tolist() == exact.tolist()


def test_kernels_are_made_for_the_types_that_have_bounds() -> None:
    assert {getattr(mx, name) for name in DTYPES} == set(OF_KERNELS) == set(METAL_TYPES)
    assert set(BOUNDS) == set(DTYPES)
