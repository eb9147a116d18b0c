"""A mixture of experts to measure: the choice of experts for each row, and their products."""

import mlx.core as mx
import numpy as np

from tracekit.base import tolerances
from tracekit.lab.bench.inputs import Shape, SubjectUnavailable
from tracekit.lab.bench.subjects.operation import (
    Arrays,
    OperationFamily,
    OperationVariant,
    choose_rows,
    draw_normal,
    make_subjects,
    move_once,
    read_again,
)
from tracekit.lab.bench.subjects.products import count_rows
from tracekit.ops.kernels import CallTraffic
from tracekit.workload import backend

_INDEX = 4  # bytes

# ---- the choice ----


def _draw_routing(shape: Shape, seed: int) -> Arrays:
    return draw_normal(
        shape,
        seed,
        ((shape.rows, shape.dims), 1.0),
        ((shape.experts, shape.dims), shape.dims**-0.5),
    )


def _refer_probabilities(arrays: Arrays) -> tolerances.Floats:
    x, weight = map(tolerances.as_float64, arrays)
    logits = x @ weight.T
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def _routing_error(shape: Shape, arrays: Arrays, results: Arrays) -> float:
    """Return the larger error: that of the shares, or of the probabilities of the choice.

    Experts whose probabilities are nearly equal may be chosen for each other, so the exact
    probabilities of the chosen ones are compared with the largest.
    """
    rows = choose_rows(shape.rows)
    exact = _refer_probabilities((arrays[0], arrays[1]))[rows]
    largest = -np.sort(-exact, axis=1)[:, : shape.top_k]
    indices = np.array(results[0])[rows].astype(np.intp)
    if any(len(set(row)) < shape.top_k for row in indices.tolist()):
        return float("inf")  # an expert was chosen twice
    probabilities = np.take_along_axis(exact, indices, axis=1)
    choice_error = tolerances.relative_error(-np.sort(-probabilities, axis=1), largest)
    shares = probabilities / probabilities.sum(axis=1, keepdims=True)
    output = tolerances.as_float64(results[1])[rows]
    return max(choice_error, tolerances.relative_error(output, shares))


def _probabilities(arrays: Arrays) -> mx.array:
    x, weight = arrays
    return mx.softmax(x @ weight.T, axis=-1, precise=True)


def _share_out(probabilities: mx.array, indices: mx.array) -> Arrays:
    chosen_probabilities = mx.take_along_axis(probabilities, indices, axis=-1)
    total = chosen_probabilities.sum(axis=-1, keepdims=True)
    return indices, chosen_probabilities / total


def _route_by_partition(shape: Shape, arrays: Arrays) -> Arrays:
    probabilities = _probabilities(arrays)
    indices = mx.argpartition(-probabilities, kth=shape.top_k - 1, axis=-1)
    return _share_out(probabilities, indices[:, : shape.top_k])


def _route_by_sort(shape: Shape, arrays: Arrays) -> Arrays:
    probabilities = _probabilities(arrays)
    indices = mx.argsort(-probabilities, axis=-1)
    return _share_out(probabilities, indices[:, : shape.top_k])


def _route_before_softmax(shape: Shape, arrays: Arrays) -> Arrays:
    x, weight = arrays
    logits = x @ weight.T
    partition = mx.argpartition(-logits, kth=shape.top_k - 1, axis=-1)
    indices = partition[:, : shape.top_k]
    chosen_logits = mx.take_along_axis(logits, indices, axis=-1)
    return indices, mx.softmax(chosen_logits, axis=-1, precise=True)


def _routing_traffic(shape: Shape, arrays: Arrays) -> CallTraffic:
    """Model a choice that writes logits, probabilities and indices, and reads each once.

    Operations are those of the product and 5 for each probability; comparisons are not counted.
    """
    choices = shape.rows * shape.experts
    inner = choices * (2 * shape.itemsize + _INDEX)
    read = sum(array.nbytes for array in arrays) + inner
    written_bytes = inner + shape.rows * shape.top_k * (shape.itemsize + _INDEX)
    flops = 2 * choices * shape.dims + 5 * choices
    return move_once(read, written_bytes, flops)


def _short_routing_traffic(shape: Shape, arrays: Arrays) -> CallTraffic:
    """Model a choice that writes logits and indices, and the probabilities of the chosen."""
    choices = shape.rows * shape.experts
    inner = choices * (shape.itemsize + _INDEX)
    read = sum(array.nbytes for array in arrays) + inner
    written_bytes = inner + shape.rows * shape.top_k * (shape.itemsize + _INDEX)
    flops = 2 * choices * shape.dims + 5 * shape.rows * shape.top_k
    return move_once(read, written_bytes, flops)


_ROUTING = OperationFamily(
    "routing", "layers", _draw_routing, _routing_error, count_rows, roundings=4
)
ROUTING = make_subjects(
    _ROUTING,
    (
        OperationVariant(
            "route-short",
            "the largest logits, then softmax of these",
            _route_before_softmax,
            _short_routing_traffic,
        ),
        OperationVariant(
            "route-partition",
            "softmax, then the largest by a partition",
            _route_by_partition,
            _routing_traffic,
        ),
        OperationVariant(
            "route-sort",
            "softmax, then the largest of all experts sorted",
            _route_by_sort,
            _routing_traffic,
            naive=True,
        ),
    ),
)

# ---- the products ----


def _draw_experts(shape: Shape, seed: int) -> Arrays:
    x, weight = draw_normal(
        shape,
        seed,
        ((shape.rows, shape.dims), 1.0),
        ((shape.experts, shape.out_dims, shape.dims), shape.dims**-0.5),
    )
    generator = np.random.default_rng(seed)
    scores = generator.random((shape.rows, shape.experts))
    indices = mx.array(np.argsort(scores, axis=1)[:, : shape.top_k].astype(np.uint32))
    drawn_shares = generator.random((shape.rows, shape.top_k)) + 0.1
    shares = mx.array(drawn_shares / drawn_shares.sum(axis=1, keepdims=True))
    shares = shares.astype(x.dtype)
    mx.eval(indices, shares)
    return x, weight, indices, shares


def _experts_error(shape: Shape, arrays: Arrays, results: Arrays) -> float:
    x, weight, indices, shares = arrays
    rows = choose_rows(shape.rows)
    exact_x = tolerances.as_float64(x)[rows]
    exact_shares = tolerances.as_float64(shares)[rows]
    choices = np.array(indices)[rows]
    expected = np.zeros((len(rows), shape.out_dims))
    for expert in np.unique(choices):
        products = exact_x @ tolerances.as_float64(weight[int(expert)]).T
        share = np.where(choices == expert, exact_shares, 0).sum(axis=1, keepdims=True)
        expected += share * products
    output = tolerances.as_float64(results[0])[rows]
    return tolerances.relative_error(output, expected)


def _gather_experts(_: Shape, arrays: Arrays) -> Arrays:
    x, weight, indices, shares = arrays
    if x.dtype != mx.float32 and backend() == "cpu":
        raise SubjectUnavailable("on a CPU, MLX gathers matrices in float32 only")
    lone_rows = x[:, None, None, :]
    products = mx.gather_mm(lone_rows, weight.swapaxes(-1, -2), rhs_indices=indices)
    weighted_products = products.squeeze(-2) * shares[..., None]
    return (weighted_products.sum(axis=1),)


def _loop_over_experts(shape: Shape, arrays: Arrays) -> Arrays:
    x, weight, indices, shares = arrays
    choices = np.array(indices)
    output = mx.zeros((shape.rows, shape.out_dims), x.dtype)
    for expert in np.unique(choices).tolist():
        row_numbers, places = np.nonzero(choices == expert)
        rows = mx.array(row_numbers)
        share = shares[rows, mx.array(places)]
        products = x[rows] @ weight[expert].T
        output = output.at[rows].add(products * share[:, None])
    return (output,)


def _experts_traffic(shape: Shape, arrays: Arrays) -> CallTraffic:
    """Model products that are written, and read to be added up.

    Weights of experts that no row chose do not count. A weight is read for each of its rows, which
    caches may serve.
    """
    x, weight, indices, shares = arrays
    matrix = weight.nbytes // shape.experts
    used_experts = len(np.unique(np.array(indices)))
    pairs = shape.rows * shape.top_k
    products = pairs * shape.out_dims
    read = x.nbytes + used_experts * matrix + indices.nbytes + shares.nbytes
    read += products * shape.itemsize
    written_bytes = (products + shape.rows * shape.out_dims) * shape.itemsize
    flops = 2 * products * shape.dims + 2 * products
    return read_again(move_once(read, written_bytes, flops), (pairs - used_experts) * matrix)


_EXPERTS = OperationFamily(
    "experts", "layers", _draw_experts, _experts_error, count_rows, roundings=2
)
EXPERTS = make_subjects(
    _EXPERTS,
    (
        OperationVariant(
            "experts-gather",
            "the products of all chosen experts at once",
            _gather_experts,
            _experts_traffic,
        ),
        OperationVariant(
            "experts-loop",
            "one expert after the other, with its rows",
            _loop_over_experts,
            _experts_traffic,
            naive=True,
        ),
    ),
)
