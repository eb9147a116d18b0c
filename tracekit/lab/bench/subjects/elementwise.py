"""Softmax and rotary positions to measure: in one kernel, and one operation after the other."""

import mlx.core as mx
import numpy as np

from tracekit.base import tolerances
from tracekit.lab.bench.inputs import Shape
from tracekit.lab.bench.subjects.operation import (
    Arrays,
    OperationFamily,
    OperationVariant,
    Rows,
    choose_rows,
    draw_normal,
    make_subjects,
    move_once,
    row_error,
)
from tracekit.lab.bench.subjects.products import count_rows
from tracekit.ops.kernels import CallTraffic

_BASE = 10_000.0  # of the frequencies (Su et al., RoFormer, section 3.2.2)

# ---- softmax ----


def _draw_scores(shape: Shape, seed: int) -> Arrays:
    return draw_normal(shape, seed, ((shape.rows, shape.dims), 2.0))


def _refer_softmax(scores: tolerances.Floats) -> tolerances.Floats:
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def _softmax(_: Shape, arrays: Arrays) -> Arrays:
    return (mx.softmax(arrays[0], axis=-1, precise=True),)


def _softmax_by_operations(_: Shape, arrays: Arrays) -> Arrays:
    scores = arrays[0].astype(mx.float32)
    exponentials = mx.exp(scores - scores.max(axis=-1, keepdims=True))
    shares = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return (shares.astype(arrays[0].dtype),)


def _softmax_traffic(shape: Shape, arrays: Arrays) -> CallTraffic:
    """Model one kernel: maximum, difference, exp, sum and quotient are 5 operations an element."""
    size = arrays[0].nbytes
    return move_once(size, size, 5 * shape.rows * shape.dims)


def _softmax_steps_traffic(shape: Shape, arrays: Arrays) -> CallTraffic:
    """Model six operations, each of which reads and writes the elements, in float32 between.

    They are: to float32, maximum and difference, exp, sum and quotient, and to the type again.
    Both reductions read all elements, and write next to nothing.
    """
    elements = shape.rows * shape.dims
    size = arrays[0].nbytes
    exact = 4 * elements
    unique = size + 6 * exact
    return move_once(unique, size + 4 * exact, 5 * elements)


_SOFTMAX = OperationFamily("softmax", "layers", _draw_scores, row_error(_refer_softmax), count_rows)
SOFTMAX = make_subjects(
    _SOFTMAX,
    (
        OperationVariant(
            "softmax", "one kernel; on a GPU it reduces by simdgroups", _softmax, _softmax_traffic
        ),
        OperationVariant(
            "softmax-separate",
            "one operation after the other, in float32",
            _softmax_by_operations,
            _softmax_steps_traffic,
            naive=True,
        ),
    ),
)

# ---- rotary positions ----


def _count_tokens(shape: Shape) -> int:
    return shape.queries


def _draw_heads(shape: Shape, seed: int) -> Arrays:
    size = (1, shape.q_heads, shape.queries, shape.head_dim)
    (heads,) = draw_normal(shape, seed, (size, 1.0))
    positions = mx.arange(shape.queries, dtype=mx.float32)[:, None]
    angles = positions * mx.array(_frequencies(shape.head_dim), mx.float32)
    cosines = mx.cos(angles).astype(heads.dtype)
    sines = mx.sin(angles).astype(heads.dtype)
    mx.eval(cosines, sines)
    return heads, cosines, sines


def _frequencies(head_dim: int) -> tolerances.Floats:
    return _BASE ** (-np.arange(0, head_dim, 2) / head_dim)


def _rotation_error(shape: Shape, arrays: Arrays, results: Arrays) -> float:
    rows: Rows = choose_rows(shape.queries)
    lower, upper = np.split(tolerances.as_float64(arrays[0])[0][:, rows], 2, axis=-1)
    angles = rows[:, None] * _frequencies(shape.head_dim)
    cosines = np.cos(angles)
    sines = np.sin(angles)
    expected = np.concatenate(
        [lower * cosines - upper * sines, lower * sines + upper * cosines], axis=-1
    )
    output = tolerances.as_float64(results[0])[0][:, rows]
    return tolerances.relative_error(output, expected)


def _rotate(shape: Shape, arrays: Arrays) -> Arrays:
    rotated_heads = mx.fast.rope(
        arrays[0], shape.head_dim, traditional=False, base=_BASE, scale=1.0, offset=0
    )
    return (rotated_heads,)


def _rotate_by_operations(_: Shape, arrays: Arrays) -> Arrays:
    heads, cosines, sines = arrays
    lower, upper = mx.split(heads, 2, axis=-1)
    first_half = lower * cosines - upper * sines
    second_half = lower * sines + upper * cosines
    return (mx.concatenate([first_half, second_half], axis=-1),)


def _rotation_traffic(_: Shape, arrays: Arrays) -> CallTraffic:
    """Model one kernel: 4 products, a sum and a difference for each pair of elements."""
    size = arrays[0].nbytes
    return move_once(size, size, 3 * arrays[0].size)


def _rotation_steps_traffic(_: Shape, arrays: Arrays) -> CallTraffic:
    """Model 4 products of halves, their sum and difference, and the copy that joins them."""
    heads, cosines, sines = arrays
    tables = 2 * (cosines.nbytes + sines.nbytes)
    return move_once(5 * heads.nbytes + tables, 4 * heads.nbytes, 3 * heads.size)


_ROTATION = OperationFamily(
    # Tables of cosines and sines are rounded, and so is each of the products.
    *("rope", "layers", _draw_heads, _rotation_error, _count_tokens),
    roundings=2,
)
ROPE = make_subjects(
    _ROTATION,
    (
        OperationVariant("rope", "mx.fast.rope, one kernel", _rotate, _rotation_traffic),
        OperationVariant(
            "rope-separate",
            "one operation after the other, by tables",
            _rotate_by_operations,
            _rotation_steps_traffic,
            naive=True,
        ),
    ),
)
