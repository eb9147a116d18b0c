"""The two layers by MLX's own ops: one after the other, or compiled together."""

from functools import cache
from typing import Any

import mlx.core as mx

from tracekit.ops.norm.problem import Problem


def separate(problem: Problem) -> mx.array:
    """Normalise with `mx.fast.rms_norm`, then multiply: what a model of `mlx.nn` layers does.

    The normalised rows are written in their own dtype and read again.

    Returns:
        `[rows, outputs]` in the dtype of the problem.
    """
    return mx.fast.rms_norm(problem.x, problem.gain, problem.eps) @ problem.weight.T


def compiled(problem: Problem) -> mx.array:
    """Do both in one function of `mx.compile`, which merges what is element-wise.

    It is no fused kernel: the multiplication stays an op of its own.

    Returns:
        `[rows, outputs]` in the dtype of the problem.
    """
    return _compiled()(problem.x, problem.gain, problem.weight, problem.eps)


@cache
def _compiled() -> Any:
    return mx.compile(_normalised_product)


def _normalised_product(x: mx.array, gain: mx.array, weight: mx.array, eps: float) -> mx.array:
    exact = x.astype(mx.float32)
    factor = mx.rsqrt(mx.mean(exact * exact, axis=-1, keepdims=True) + eps)
    return (exact * factor * gain).astype(x.dtype) @ weight.T
