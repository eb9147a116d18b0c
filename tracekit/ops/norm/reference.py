"""What both layers must give, in float64."""

import mlx.core as mx
import numpy as np

from tracekit.base.tolerances import Floats, as_float64, relative_error
from tracekit.ops.norm.problem import Problem


def reference(x: Floats, gain: Floats, weight: Floats, eps: float) -> Floats:
    """Compute (x / sqrt(mean(x^2) + eps) * gain) weight^T; shapes as in `Problem`."""
    rms = np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)
    return (x / rms * gain) @ weight.T


def error_of(problem: Problem, out: mx.array) -> float:
    """Return the relative error of `out`, of the row where it is largest; NaN counts as inf."""
    x, gain, weight = (as_float64(one) for one in (problem.x, problem.gain, problem.weight))
    return relative_error(as_float64(out), reference(x, gain, weight, problem.eps))
