"""RMSNorm and the linear layer after it: fused, separate, their reference and traffic."""

from dataclasses import dataclass, field

import mlx.core as mx
import numpy as np

from tracekit.base import UsageError, tolerances
from tracekit.ops.kernels import (
    LANES,
    CallTraffic,
    KernelSource,
    check_dtypes,
    needing_metal,
    pad_buffer,
    require_memory,
    take_axes,
)


def separate_traffic(rows: int, dims: int, outputs: int, *, itemsize: int) -> CallTraffic:
    """Model two ops: the normalised rows are written, and read again.

    How often MLX's multiplication reads an element is not modelled: each counts once.
    """
    row_elements = rows * dims
    weight_elements = outputs * dims
    elements = row_elements + dims + row_elements + weight_elements
    read = elements * itemsize
    written_bytes = (row_elements + rows * outputs) * itemsize
    flops = _flops(rows, dims, outputs)
    return CallTraffic(
        read=read,
        unique=read,
        written=written_bytes,
        flops=flops,
    )


def _flops(rows: int, dims: int, outputs: int) -> int:
    """A multiplication and an addition for each weight and row; 4 for each element of the norm.

    Those 4 are its square, the sum of squares, and two factors.
    """
    return 2 * rows * dims * outputs + 4 * rows * dims


@dataclass(frozen=True, eq=False)
class NormProblem:
    """Rows to normalise, and the layer after it; float16, bfloat16 or float32.

    `x` is `[rows, dims]`, `gain`, the weight of the norm, `[dims]`, and `weight` `[outputs, dims]`,
    as in `mlx.nn.Linear`. `eps` is added to the mean of the squares. Arrays that do not fit
    together raise UsageError.
    """

    x: mx.array
    gain: mx.array
    weight: mx.array
    eps: float = 1e-5
    rows: int = field(init=False)
    dims: int = field(init=False)
    outputs: int = field(init=False)

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit together."""
        take_axes(self, x=("rows", "dims"), gain=("dims",), weight=("outputs", "dims"))
        check_dtypes(self, "x", "gain", "weight")
        if not 0 <= self.eps < float("inf"):
            raise UsageError(f"eps must be a number of at least 0; it is {self.eps}.")

    @property
    def dtype(self) -> mx.Dtype:
        """Type of all arrays and of the result."""
        return self.x.dtype


def draw_norm_problem(
    rows: int, dims: int, outputs: int, *, dtype: mx.Dtype, seed: int = 0, eps: float = 1e-5
) -> NormProblem:
    """Draw a problem: x normal, gains about 1, weights scaled so that results are about 1."""
    needed = (rows * dims + dims + outputs * dims + rows * outputs) * dtype.size
    require_memory(needed, "The problem", "Take fewer rows, elements or outputs.")
    key = mx.random.key(seed)
    x_seed, gain_seed, weight_seed = mx.random.split(key, 3)
    x = mx.random.normal((rows, dims), dtype=dtype, key=x_seed)
    gain = 1 + 0.1 * mx.random.normal((dims,), dtype=dtype, key=gain_seed)
    weight = mx.random.normal((outputs, dims), dtype=dtype, scale=dims**-0.5, key=weight_seed)
    mx.eval(x, gain, weight)
    return NormProblem(x, gain, weight, eps)


def reference(
    x: tolerances.Floats, gain: tolerances.Floats, weight: tolerances.Floats, eps: float
) -> tolerances.Floats:
    """Compute (x / sqrt(mean(x^2) + eps) * gain) weight^T; shapes as in `NormProblem`."""
    mean_square = np.mean(x * x, axis=-1, keepdims=True)
    rms = np.sqrt(mean_square + eps)
    return (x / rms * gain) @ weight.T


def error_of(problem: NormProblem, output: mx.array) -> float:
    """Return the largest relative error of a row of `output`; NaN counts as inf."""
    x = tolerances.as_float64(problem.x)
    gain = tolerances.as_float64(problem.gain)
    weight = tolerances.as_float64(problem.weight)
    expected = reference(x, gain, weight, problem.eps)
    return tolerances.relative_error(tolerances.as_float64(output), expected)


def separate(problem: NormProblem) -> mx.array:
    """Normalise with `mx.fast.rms_norm`, then multiply, as a model of `mlx.nn` layers does.

    The normalised rows are written in their own dtype and read again.
    """
    normalised = mx.fast.rms_norm(problem.x, problem.gain, problem.eps)
    return normalised @ problem.weight.T


def apply_compiled(problem: NormProblem) -> mx.array:
    """Do both in one function of `mx.compile`, which merges element-wise ops.

    It is not a fused kernel: the multiplication stays a separate op.
    """
    return _normalised_product(problem.x, problem.gain, problem.weight, problem.eps)


@mx.compile
def _normalised_product(x: mx.array, gain: mx.array, weight: mx.array, eps: float) -> mx.array:
    exact = x.astype(mx.float32)
    mean_square = mx.mean(exact * exact, axis=-1, keepdims=True)
    factor = mx.rsqrt(mean_square + eps)
    normalised = (exact * factor * gain).astype(x.dtype)
    return normalised @ weight.T


SIMDGROUPS = 8
COLUMNS = 2  # of the result, for each simdgroup: few registers, so many threadgroups at a time
MOST_ROWS = 8  # of x; a lane keeps a sum for each of them and each column

_SOURCE = KernelSource(
    "rmsnorm_linear", ("x", "gain", "weight", "rows", "dims", "outputs", "eps"), ("out",)
)


@dataclass(frozen=True)
class Tile:
    """The rows of x that a threadgroup takes, and the elements of the weight of one load."""

    rows: int
    vec: int

    @property
    def columns(self) -> int:
        """Columns of the result that a threadgroup makes."""
        return SIMDGROUPS * COLUMNS


def tile_of(problem: NormProblem) -> Tile:
    """Choose the smallest power of two that holds all rows, up to 8, and the widest loads."""
    rows = min(MOST_ROWS, 1 << (problem.rows - 1).bit_length())
    if problem.dims % 4:
        return Tile(rows, 1)
    return Tile(rows, 4)


def kernel_traffic(problem: NormProblem) -> CallTraffic:
    """Model the bytes and operations of the kernel for this problem.

    Every tile reads its rows of x, its rows of the weight and the whole gain, each once.
    """
    tile = tile_of(problem)
    down = -(-problem.rows // tile.rows)
    across = -(-problem.outputs // tile.columns)
    x = problem.x.size
    gain = problem.gain.size
    weight = problem.weight.size
    itemsize = problem.dtype.size
    read = (across * x + down * across * gain + down * weight) * itemsize
    unique = (x + gain + weight) * itemsize
    written_bytes = problem.rows * problem.outputs * itemsize
    flops = _flops(problem.rows, problem.dims, problem.outputs)
    return CallTraffic(
        read=read,
        unique=unique,
        written=written_bytes,
        flops=flops,
    )


def fused_kernel(problem: NormProblem) -> mx.array:
    """Launch `kernels/rmsnorm_linear.metal`, one dispatch, for `[rows, outputs]`.

    Without Metal the call can be traced, by `tracekit.lab.msl.emulation`, but running it raises
    ToolError.
    """
    tile = tile_of(problem)
    down = -(-problem.rows // tile.rows)
    across = -(-problem.outputs // tile.columns)
    threads = SIMDGROUPS * LANES
    template = [
        ("T", problem.dtype),
        ("ROWS", tile.rows),
        ("COLUMNS", COLUMNS),
        ("VEC", tile.vec),
        ("SIMDGROUPS", SIMDGROUPS),
    ]
    with needing_metal("`tracekit.ops.norm.apply_compiled` does the same with MLX's own ops."):
        inputs = [
            pad_buffer(problem.x),
            pad_buffer(problem.gain),
            pad_buffer(problem.weight),
            problem.rows,
            problem.dims,
            problem.outputs,
            float(problem.eps),
        ]
        (output,), _ = _SOURCE.launch(
            inputs,
            template,
            (across * threads, down, 1),
            threads,
            [((problem.rows, problem.outputs), problem.dtype)],
        )
    return output
