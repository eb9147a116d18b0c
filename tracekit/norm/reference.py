"""What both layers must give, in float64."""

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tracekit.norm.problem import Problem

Floats = NDArray[np.float64]


def reference(x: Floats, gain: Floats, weight: Floats, eps: float) -> Floats:
    """Compute (x / sqrt(mean(x^2) + eps) * gain) weight^T; shapes as in `Problem`."""
    rms = np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)
    return (x / rms * gain) @ weight.T


def relative_error(problem: Problem, out: mx.array) -> float:
    """Return the largest error of `out`, as a part of the largest result; NaN counts as inf."""
    x, gain, weight = (_as_float64(one) for one in (problem.x, problem.gain, problem.weight))
    expected = reference(x, gain, weight, problem.eps)
    error = np.abs(_as_float64(out) - expected).max() / np.abs(expected).max()
    return float(np.nan_to_num(error, nan=np.inf))


def _as_float64(array: mx.array) -> Floats:
    return np.array(array.astype(mx.float32), dtype=np.float64)
