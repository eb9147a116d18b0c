"""The error of a result against its reference, and its bounds."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tracekit.base.errors import ToolError

if TYPE_CHECKING:
    import mlx.core as mx


Floats = NDArray[np.float64]

BOUNDS: Mapping[str, float] = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
"""The largest relative error of a kernel, by the type of its elements; see `relative_error`."""

NORM = "largest absolute error of a sequence over its largest absolute value"


def as_float64(array: "mx.array") -> Floats:
    """Copy an array of MLX's, of any floating type, to numpy without losing a bit."""
    import mlx.core as mx  # noqa: PLC0415  pairs are compared without MLX, too

    floats = array.astype(mx.float32)
    return np.array(floats, dtype=np.float64)


def relative_error(output: Floats, expected: Floats) -> float:
    """Return max |out - expected| / max |expected|, of the sequence with the largest one.

    The first axis is that of sequences. Dividing by the largest value of the sequence, and not
    by each element, keeps elements near 0 from deciding. If only zeros are expected, the error of
    any other value is infinite, as that of NaN is always. Raise ValueError for different shapes.
    """
    if output.shape != expected.shape:
        raise ValueError(f"Shapes {list(output.shape)} and {list(expected.shape)} do not compare.")
    if output.size == 0:
        return 0.0
    rows = (output.shape[0], -1)
    differences = np.abs(output - expected).reshape(rows)
    apart = differences.max(axis=1)
    magnitudes = np.abs(expected).reshape(rows)
    largest = magnitudes.max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.where(apart == 0, 0.0, apart / largest)
    worst_first = np.where(np.isnan(errors), np.inf, errors)
    return float(worst_first.max())


def require_accuracy(error: float, dtype: "mx.Dtype", subject: str, *, results: int = 1) -> float:
    """Return `error`, the relative error of `subject`, if it is within the bound of its type.

    Raise ToolError if it is not: a wrong result is not measured. Two `results` that are compared
    with each other may both be off.
    """
    name = str(dtype).removeprefix("mlx.core.")
    bound = results * BOUNDS[name]
    if error <= bound:
        return error
    hint = "A wrong result is not measured; the kernel or MLX must be fixed first."
    import mlx.core as mx  # noqa: PLC0415  as above

    if dtype == mx.float32:
        hint += " Where MLX multiplies float32 as TF32, MLX_ENABLE_TF32=0 has it multiply in full."
    raise ToolError(
        f"{subject} is off by {error:.2g} of its largest value; {name} allows {bound:g}.", hint=hint
    )
