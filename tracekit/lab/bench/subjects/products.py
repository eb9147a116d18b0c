"""Matrix products to measure: of one matrix, of a quantized one, and those of a gated MLP.

A product of `[m, k]` and `[k, n]` takes 2 m n k operations (G. H. Golub and C. F. Van Loan, Matrix
Computations, 4th ed., section 1.1.11).
"""

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
    row_error,
)
from tracekit.ops.kernels import CallTraffic
from tracekit.workload import backend

_BITS = 4
_GROUPS = (64, 32)  # elements with one scale, as MLX supports them; the larger first


def count_rows(shape: Shape) -> int:
    """Return the tokens of a call."""
    return shape.rows


def product_flops(shape: Shape) -> int:
    """Return the operations of a product of `[rows, dims]` and `[dims, out_dims]`."""
    return 2 * shape.rows * shape.dims * shape.out_dims


# ---- one matrix ----


def _draw_product(shape: Shape, seed: int) -> Arrays:
    return draw_normal(
        shape,
        seed,
        ((shape.rows, shape.dims), 1.0),
        ((shape.out_dims, shape.dims), shape.dims**-0.5),
    )


def _refer_product(x: tolerances.Floats, weight: tolerances.Floats) -> tolerances.Floats:
    return x @ weight.T


def _multiply(_: Shape, arrays: Arrays) -> Arrays:
    x, weight = arrays
    return (x @ weight.T,)


def _multiply_rows(_: Shape, arrays: Arrays) -> Arrays:
    x, weight = arrays
    products = [x[row] @ weight.T for row in range(x.shape[0])]
    return (mx.stack(products),)


def _product_traffic(shape: Shape, arrays: Arrays) -> CallTraffic:
    x, weight = arrays
    written_bytes = shape.rows * shape.out_dims * shape.itemsize
    return move_once(x.nbytes + weight.nbytes, written_bytes, product_flops(shape))


def _rows_traffic(shape: Shape, arrays: Arrays) -> CallTraffic:
    reread_bytes = (shape.rows - 1) * arrays[1].nbytes
    return read_again(_product_traffic(shape, arrays), reread_bytes)


_PRODUCT = OperationFamily("matmul", "layers", _draw_product, row_error(_refer_product), count_rows)
MATMUL = make_subjects(
    _PRODUCT,
    (
        OperationVariant(
            "matmul", "all rows in one product, in tiles", _multiply, _product_traffic
        ),
        OperationVariant(
            "matmul-rows",
            "a product for each row: the weight is read again",
            _multiply_rows,
            _rows_traffic,
            naive=True,
        ),
    ),
)


# ---- a quantized matrix ----


def choose_group(shape: Shape) -> int:
    """Return the elements of a row that share a scale; raise SubjectUnavailable if none fits."""
    for size in _GROUPS:
        if shape.dims % size == 0:
            return size
    raise SubjectUnavailable(f"groups have {_GROUPS[-1]} elements, and dims is {shape.dims}")


def _draw_quantized(shape: Shape, seed: int) -> Arrays:
    group = choose_group(shape)
    x, weight = _draw_product(shape, seed)
    packed, scales, biases = mx.quantize(weight, group_size=group, bits=_BITS)
    mx.eval(packed, scales, biases)
    return x, packed, scales, biases


def unpack_weight(
    packed: mx.array, scales: mx.array, biases: mx.array, bits: int = _BITS
) -> tolerances.Floats:
    """Return the weight that packed integers stand for, in float64: integer x scale + bias.

    MLX packs the first element of a row into the lowest bits of a word of 32.
    """
    words = np.array(packed, np.uint32)
    places = np.arange(0, 32, bits, dtype=np.uint32)
    digits = (words[..., None] >> places) & np.uint32(2**bits - 1)
    integers = digits.reshape(words.shape[0], -1).astype(np.float64)
    group = integers.shape[1] // scales.shape[1]
    factors = np.repeat(tolerances.as_float64(scales), group, axis=1)
    offsets = np.repeat(tolerances.as_float64(biases), group, axis=1)
    return integers * factors + offsets


def _quantized_error(_: Shape, arrays: Arrays, results: Arrays) -> float:
    x, packed, scales, biases = arrays
    rows = choose_rows(x.shape[0])
    expected = _refer_product(tolerances.as_float64(x)[rows], unpack_weight(packed, scales, biases))
    output = tolerances.as_float64(results[0])[rows]
    return tolerances.relative_error(output, expected)


def _multiply_packed(shape: Shape, arrays: Arrays) -> Arrays:
    x, packed, scales, biases = arrays
    if x.dtype != mx.float32 and backend() == "cpu":
        # mlx/backend/cpu/quantized.cpp, `_qmm_t`: the sum has the type of the elements
        raise SubjectUnavailable(
            "on a CPU, MLX may add up these products in a short type, which is too inexact"
        )
    group = choose_group(shape)
    return (mx.quantized_matmul(x, packed, scales, biases, group_size=group, bits=_BITS),)


def _unpack_and_multiply(shape: Shape, arrays: Arrays) -> Arrays:
    x, packed, scales, biases = arrays
    group = choose_group(shape)
    weight = mx.dequantize(packed, scales, biases, group_size=group, bits=_BITS)
    return (x @ weight.T,)


def _packed_traffic(shape: Shape, arrays: Arrays) -> CallTraffic:
    read = sum(array.nbytes for array in arrays)
    written_bytes = shape.rows * shape.out_dims * shape.itemsize
    return move_once(read, written_bytes, product_flops(shape))


def _unpacked_traffic(shape: Shape, arrays: Arrays) -> CallTraffic:
    weight = shape.out_dims * shape.dims * shape.itemsize
    return _packed_traffic(shape, arrays).plus(weight, weight)


_QUANTIZED = OperationFamily(
    # The weight is rounded to its type before the product, where it is not multiplied at once.
    *("quantized", "layers", _draw_quantized, _quantized_error, count_rows),
    roundings=2,
)
QUANTIZED = make_subjects(
    _QUANTIZED,
    (
        OperationVariant(
            "quantized-matmul", "4 bits a weight, unpacked on the way", _multiply_packed,
            _packed_traffic,
        ),
        OperationVariant(
            "quantized-unpacked",
            "the weight unpacked into memory, then a product",
            _unpack_and_multiply,
            _unpacked_traffic,
            naive=True,
        ),
    ),
)  # fmt: skip


# ---- a gated MLP ----


def _draw_mlp(shape: Shape, seed: int) -> Arrays:
    x, merged, down = draw_normal(
        shape,
        seed,
        ((shape.rows, shape.dims), 1.0),
        ((2 * shape.out_dims, shape.dims), shape.dims**-0.5),
        ((shape.dims, shape.out_dims), shape.out_dims**-0.5),
    )
    return x, merged, down


def _refer_mlp(
    x: tolerances.Floats, merged: tolerances.Floats, down: tolerances.Floats
) -> tolerances.Floats:
    gate, up = np.split(x @ merged.T, 2, axis=1)
    activated = gate / (1 + np.exp(-gate)) * up
    return activated @ down.T


def _apply_separately(shape: Shape, arrays: Arrays) -> Arrays:
    x, merged, down = arrays
    gate = x @ merged[: shape.out_dims].T
    up = x @ merged[shape.out_dims :].T
    sigmoid = mx.sigmoid(gate)
    activated = gate * sigmoid
    return ((activated * up) @ down.T,)


def _apply_merged(shape: Shape, arrays: Arrays) -> Arrays:
    x, merged, down = arrays
    products = x @ merged.T
    activated = _activate(products[:, : shape.out_dims], products[:, shape.out_dims :])
    return (activated @ down.T,)


@mx.compile
def _activate(gate: mx.array, up: mx.array) -> mx.array:
    return gate * mx.sigmoid(gate) * up


def _mlp_traffic(shape: Shape, arrays: Arrays, reads: int, writes: int) -> CallTraffic:
    """Model an MLP that reads and writes this many arrays of `[rows, out_dims]` on its way.

    The activation takes 5 operations an element: exp, addition, division, two multiplications.
    """
    inner = shape.rows * shape.out_dims
    read = sum(array.nbytes for array in arrays) + reads * inner * shape.itemsize
    written_bytes = arrays[0].nbytes + writes * inner * shape.itemsize
    return move_once(read, written_bytes, 3 * product_flops(shape) + 5 * inner)


def _separate_mlp_traffic(shape: Shape, arrays: Arrays) -> CallTraffic:
    # Written: gate, up, sigmoid, activated, product. Read: gate twice, and each other once.
    traffic = _mlp_traffic(shape, arrays, reads=6, writes=5)
    return read_again(traffic, arrays[0].nbytes)


def _merged_mlp_traffic(shape: Shape, arrays: Arrays) -> CallTraffic:
    # Written and read: gate, up, and their product.
    return _mlp_traffic(shape, arrays, reads=3, writes=3)


_MLP = OperationFamily("mlp", "layers", _draw_mlp, row_error(_refer_mlp), count_rows, roundings=2)
MLP = make_subjects(
    _MLP,
    (
        OperationVariant(
            "mlp-merged",
            "gate and up in one product, the activation compiled",
            _apply_merged,
            _merged_mlp_traffic,
        ),
        OperationVariant(
            "mlp-separate",
            "one operation after the other",
            _apply_separately,
            _separate_mlp_traffic,
            naive=True,
        ),
    ),
)
