"""One call: its arrays, their sizes, and the sentences for those that do not fit."""

from dataclasses import dataclass

import mlx.core as mx

from tracekit.base.errors import UsageError
from tracekit.ops.custom_kernel import DTYPES
from tracekit.ops.memory import require_memory


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows to normalise, and the layer after it.

    Attributes:
        x: `[rows, dims]`, float16, bfloat16 or float32, as the others.
        gain: `[dims]`, the weight of the norm.
        weight: `[outputs, dims]`, the weight of the linear layer, as `mlx.nn.Linear` holds it.
        eps: What is added to the mean of the squares.

    Raises:
        UsageError: The shapes or dtypes contradict each other.
    """

    x: mx.array
    gain: mx.array
    weight: mx.array
    eps: float = 1e-5

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit together."""
        _check_axes(self)
        dtypes = {self.x.dtype, self.gain.dtype, self.weight.dtype}
        if len(dtypes) > 1 or self.x.dtype not in DTYPES:
            raise UsageError(
                "x, gain and weight must all be float16, bfloat16 or float32; "
                f"they are {self.x.dtype}, {self.gain.dtype} and {self.weight.dtype}."
            )
        if not 0 <= self.eps < float("inf"):
            raise UsageError(f"eps must be a number of at least 0; it is {self.eps}.")

    @property
    def rows(self) -> int:
        """Rows of x: tokens."""
        return self.x.shape[0]

    @property
    def dims(self) -> int:
        """Elements of a row."""
        return self.x.shape[1]

    @property
    def outputs(self) -> int:
        """Elements of a row of the result."""
        return self.weight.shape[0]

    @property
    def dtype(self) -> mx.Dtype:
        """Type of all arrays and of the result."""
        return self.x.dtype


def _check_axes(problem: Problem) -> None:
    for name, array, axes in (
        ("x", problem.x, ("rows", "dims")),
        ("gain", problem.gain, ("dims",)),
        ("weight", problem.weight, ("outputs", "dims")),
    ):
        if array.ndim != len(axes) or 0 in array.shape:
            raise UsageError(
                f"{name} must be [{', '.join(axes)}], none of them 0; "
                f"its shape is {list(array.shape)}."
            )
    widths = (problem.x.shape[1], problem.gain.shape[0], problem.weight.shape[1])
    if len(set(widths)) > 1:
        raise UsageError(
            "x, gain and weight must have rows of one length; "
            f"they have {widths[0]}, {widths[1]} and {widths[2]}."
        )


def draw_problem(
    rows: int, dims: int, outputs: int, *, dtype: mx.Dtype, seed: int = 0, eps: float = 1e-5
) -> Problem:
    """Draw a problem: x normal, gains about 1, weights scaled so that results are about 1.

    Raises:
        UsageError: The arrays are larger than this machine's memory.
    """
    needed = (rows * dims + dims + outputs * dims + rows * outputs) * dtype.size
    require_memory(needed, "The problem", "Take fewer rows, elements or outputs.")
    keys = mx.random.split(mx.random.key(seed), 3)
    x = mx.random.normal((rows, dims), dtype=dtype, key=keys[0])
    gain = 1 + 0.1 * mx.random.normal((dims,), dtype=dtype, key=keys[1])
    weight = mx.random.normal((outputs, dims), dtype=dtype, scale=dims**-0.5, key=keys[2])
    mx.eval(x, gain, weight)
    return Problem(x, gain, weight, eps)
