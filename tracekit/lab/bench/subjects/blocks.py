"""Parts of a transformer to measure: attention with its residual, and a step of training."""

from collections.abc import Callable
from functools import partial

import mlx.core as mx
import numpy as np

from tracekit.base import tolerances
from tracekit.lab.bench.inputs import Shape
from tracekit.lab.bench.subjects.operation import (
    Arrays,
    OperationFamily,
    OperationVariant,
    draw_normal,
    make_subjects,
    move_once,
)
from tracekit.lab.bench.subjects.products import count_rows, product_flops
from tracekit.ops import dense
from tracekit.ops.kernels import CallTraffic

# ---- attention and its residual ----


def _count_sequences(shape: Shape) -> int:
    return shape.batch


def _dense_shape(shape: Shape) -> dense.DenseShape:
    """Return one new token of each sequence, which sees its whole context."""
    return dense.DenseShape(
        (shape.context,) * shape.batch,
        shape.context,
        shape.q_heads,
        shape.kv_heads,
        shape.head_dim,
        shape.itemsize,
    )


def _draw_attention(shape: Shape, seed: int) -> Arrays:
    width = shape.q_heads * shape.head_dim
    kv_size = (shape.batch, shape.kv_heads, shape.context, shape.head_dim)
    return draw_normal(
        shape,
        seed,
        ((shape.batch, shape.q_heads, 1, shape.head_dim), 1.0),
        (kv_size, 1.0),
        (kv_size, 1.0),
        ((width, width), width**-0.5),
        ((shape.batch, width), 1.0),
    )


def _attention_error(shape: Shape, arrays: Arrays, results: Arrays) -> float:
    q, keys, values, weight, residual = arrays
    exact_weight = tolerances.as_float64(weight)
    worst = 0.0
    for sequence in {0, shape.batch - 1}:
        attention = _refer_attention(
            shape,
            tolerances.as_float64(q[sequence]),
            tolerances.as_float64(keys[sequence]),
            tolerances.as_float64(values[sequence]),
        )
        expected = tolerances.as_float64(residual[sequence]) + attention @ exact_weight.T
        output = tolerances.as_float64(results[0][sequence])
        worst = max(worst, tolerances.relative_error(output[None], expected[None]))
    return worst


def _refer_attention(
    shape: Shape, q: tolerances.Floats, keys: tolerances.Floats, values: tolerances.Floats
) -> tolerances.Floats:
    """Return the attention of one token, all heads in a row."""
    group = shape.q_heads // shape.kv_heads
    heads: list[tolerances.Floats] = []
    for head in range(shape.q_heads):
        scores = keys[head // group] @ q[head, 0] * shape.scale
        exponentials = np.exp(scores - scores.max())
        shares = exponentials / exponentials.sum()
        heads.append(shares @ values[head // group])
    return np.concatenate(heads)


def _attend(shape: Shape, arrays: Arrays) -> mx.array:
    q, keys, values, *_ = arrays
    heads = dense.sdpa(q, keys, values, scale=shape.scale)
    return heads.reshape(shape.batch, -1)


def _project_and_add(shape: Shape, arrays: Arrays) -> Arrays:
    *_, weight, residual = arrays
    return (mx.addmm(residual, _attend(shape, arrays), weight.T),)


def _project_then_add(shape: Shape, arrays: Arrays) -> Arrays:
    *_, weight, residual = arrays
    projection = _attend(shape, arrays) @ weight.T
    return (residual + projection,)


def _residual_traffic(shape: Shape, arrays: Arrays) -> CallTraffic:
    """Model attention that keeps no scores, and a product that adds the residual.

    Attention is modelled by `dense_traffic`; a product of `[m, k]` and `[k, n]` takes 2 m n k
    operations, and the sum one for each element.
    """
    *_, weight, residual = arrays
    attention = dense.dense_traffic(_dense_shape(shape))
    product_read = 2 * residual.nbytes + weight.nbytes  # the residual, and rows as long
    moved = attention.plus(product_read, residual.nbytes)
    flops = attention.flops + 2 * residual.size * weight.shape[0] + residual.size
    return CallTraffic(moved.read, moved.unique, moved.written, flops)


def _separate_residual_traffic(shape: Shape, arrays: Arrays) -> CallTraffic:
    rows = arrays[-1].nbytes
    return _residual_traffic(shape, arrays).plus(rows, rows)


_RESIDUAL = OperationFamily(
    "residual", "layers", _draw_attention, _attention_error, _count_sequences, roundings=2
)
RESIDUAL = make_subjects(
    _RESIDUAL,
    (
        OperationVariant(
            "residual-addmm",
            "attention, then a product that adds the residual",
            _project_and_add,
            _residual_traffic,
        ),
        OperationVariant(
            "residual-separate",
            "attention, a product, then a sum",
            _project_then_add,
            _separate_residual_traffic,
            naive=True,
        ),
    ),
)

# ---- a step of training ----

BLOCKS = 8
_RATE = 0.5  # of the gradients, so that updated weights differ from the old ones


def _draw_training(shape: Shape, seed: int) -> Arrays:
    return draw_normal(
        shape,
        seed,
        ((shape.rows, shape.dims), 1.0),
        ((BLOCKS, shape.out_dims, shape.dims), shape.dims**-0.5),
        ((BLOCKS, shape.dims, shape.out_dims), 0.5 * shape.out_dims**-0.5),
    )


def _apply_block(x: mx.array, up: mx.array, down: mx.array) -> mx.array:
    inner = x @ up.T
    activated = inner * mx.sigmoid(inner)
    return x + activated @ down.T


def _make_loss(
    apply: Callable[[mx.array, mx.array, mx.array], mx.array],
) -> Callable[[mx.array, mx.array, mx.array], mx.array]:
    """Return the loss of a stack of blocks: half the mean square of its output, over rows."""

    def loss(ups: mx.array, downs: mx.array, x: mx.array) -> mx.array:
        for block in range(BLOCKS):
            x = apply(x, ups[block], downs[block])
        exact = x.astype(mx.float32)
        return 0.5 * mx.sum(exact * exact) / x.shape[0]

    return loss


def _train(
    apply: Callable[[mx.array, mx.array, mx.array], mx.array], _: Shape, arrays: Arrays
) -> Arrays:
    x, ups, downs = arrays
    differentiate = mx.value_and_grad(_make_loss(apply), argnums=(0, 1))
    loss, (up_gradients, down_gradients) = differentiate(ups, downs, x)
    new_ups = ups - _RATE * up_gradients
    new_downs = downs - _RATE * down_gradients
    return loss, up_gradients, down_gradients, new_ups, new_downs


def _training_error(_: Shape, arrays: Arrays, results: Arrays) -> float:
    """Return the largest error of loss, gradients and updated weights.

    The gradients are those of the chain rule, written out for each block in float64.
    """
    x, ups, downs = map(tolerances.as_float64, arrays)
    rows = x.shape[0]
    states: list[tuple[tolerances.Floats, tolerances.Floats]] = []
    for up, down in zip(ups, downs, strict=True):
        inner = x @ up.T
        states.append((x, inner))
        x = x + inner / (1 + np.exp(-inner)) @ down.T
    loss = 0.5 * np.sum(x * x) / rows
    gradient = x / rows
    up_gradients = np.zeros_like(ups)
    down_gradients = np.zeros_like(downs)
    for block in reversed(range(BLOCKS)):
        state, inner = states[block]
        sigmoid = 1 / (1 + np.exp(-inner))
        down_gradients[block] = gradient.T @ (inner * sigmoid)
        slope = sigmoid * (1 + inner * (1 - sigmoid))
        inner_gradient = (gradient @ downs[block]) * slope
        up_gradients[block] = inner_gradient.T @ state
        gradient = gradient + inner_gradient @ ups[block]
    expected = (
        np.array([loss]),
        up_gradients,
        down_gradients,
        ups - _RATE * up_gradients,
        downs - _RATE * down_gradients,
    )
    errors: list[float] = []
    for result, exact in zip(results, expected, strict=True):
        output = tolerances.as_float64(result).reshape(exact.shape)
        errors.append(tolerances.relative_error(output, exact))
    return max(errors)


def _training_traffic(shape: Shape, arrays: Arrays, products: int) -> CallTraffic:
    """Model a step that keeps the states of its blocks; a block has this many products.

    A block has two products forward and four backward, two of each for its states and its weights
    (I. Goodfellow et al., Deep Learning, section 6.5.6). Weights are read forward, backward and at
    their update; gradients and new weights are written, and gradients read.
    """
    x, ups, downs = arrays
    weights = ups.nbytes + downs.nbytes
    inner = shape.rows * shape.out_dims * shape.itemsize
    states = BLOCKS * (x.nbytes + 3 * inner)
    read = x.nbytes + 4 * weights + 2 * states
    return move_once(read, 2 * weights + states, BLOCKS * products * product_flops(shape))


_TRAINING = OperationFamily(
    # States and gradients pass through all blocks, and each of them rounds.
    *("train", "training", _draw_training, _training_error, count_rows),
    roundings=BLOCKS,
)
TRAINING = make_subjects(
    _TRAINING,
    (
        OperationVariant(
            "train",
            f"gradients and update of {BLOCKS} blocks, all states kept",
            partial(_train, _apply_block),
            partial(_training_traffic, products=6),
            naive=True,
        ),
        OperationVariant(
            "train-checkpoint",
            "the same; each block is computed again on the way back",
            partial(_train, mx.checkpoint(_apply_block)),
            partial(_training_traffic, products=8),
        ),
    ),
)
