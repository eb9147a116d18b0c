"""MLX arrays as numpy arrays over the same memory, strides and bfloat16 included."""

from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tracekit.base.errors import UsageError

Array = NDArray[Any]


def numpy_dtype(dtype: mx.Dtype) -> np.dtype[Any]:
    """Return numpy's dtype for one of MLX's; bfloat16 as the uint16 of its bits."""
    if dtype == mx.bfloat16:
        return np.dtype(np.uint16)
    return np.dtype("?" if dtype == mx.bool_ else str(dtype).rpartition(".")[2])


def memory_of(array: mx.array) -> tuple[Array, tuple[int, ...]]:
    """Return the memory that an array spans, flat and not copied, and its strides in elements.

    Raises:
        UsageError: It runs backwards through memory.
    """
    # numpy knows no bfloat16; the view lies in the same memory
    seen = np.asarray(array.view(mx.uint16) if array.dtype == mx.bfloat16 else array)
    strides = tuple(step // seen.itemsize for step in seen.strides)
    if any(stride < 0 for stride in strides):
        raise UsageError(
            "An array that runs backwards through memory cannot be given to a kernel here.",
            hint="Pass mx.contiguous(array), or ensure_row_contiguous=True.",
        )
    last = sum((size - 1) * step for size, step in zip(seen.shape, strides, strict=True))
    count = last + 1 if seen.size else 0
    return np.lib.stride_tricks.as_strided(seen, (count,), (seen.itemsize,)), strides


def as_mlx(array: Array, dtype: mx.Dtype) -> mx.array:
    """Return an MLX array of that dtype with the same bits."""
    made = mx.array(array)
    return made.view(mx.bfloat16) if dtype == mx.bfloat16 else made
