"""What both layers must give, in float64."""

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tracekit.agreement import relative_error
from tracekit.norm.problem import Problem

Floats = NDArray[np.float64]


def reference(x: Floats, gain: Floats, weight: Floats, eps: float) -> Floats:
    """Compute (x / sqrt(mean(x^2) + eps) * gain) weight^T; shapes as in `Problem`."""
    rms = np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)
    return (x / rms * gain) @ weight.T


def error_of(problem: Problem, out: mx.array) -> float:
    """Return the relative error of `out`, of the row where it is largest; NaN counts as inf."""
    x, gain, weight = (_as_float64(one) for one in (problem.x, problem.gain, problem.weight))
    return relative_error(_as_float64(out), reference(x, gain, weight, problem.eps))


def _as_float64(array: mx.array) -> Floats:
    return np.array(array.astype(mx.float32), dtype=np.float64)
