"""MLX arrays as numpy arrays over the same memory, strides and bfloat16 included."""

import ctypes
import math
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tracekit.errors import UsageError

Array = NDArray[Any]

_STRIDED = 0x0018  # PyBUF_STRIDES


class _View(ctypes.Structure):
    """Py_buffer, as CPython declares it."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    )


def numpy_dtype(dtype: mx.Dtype) -> np.dtype[Any]:
    """Return numpy's dtype for one of MLX's; bfloat16 as the uint16 of its bits."""
    if dtype == mx.bfloat16:
        return np.dtype(np.uint16)
    return np.dtype("?" if dtype == mx.bool_ else str(dtype).rpartition(".")[2])


def memory_of(array: mx.array) -> tuple[Array, tuple[int, ...]]:
    """Return the memory that an array spans, flat, and its strides in elements.

    Nothing is copied: use it as long as the array is there.

    Raises:
        UsageError: It runs backwards through memory.
    """
    mx.eval(array)
    dtype = numpy_dtype(array.dtype)
    view = _View()
    get, release = ctypes.pythonapi.PyObject_GetBuffer, ctypes.pythonapi.PyBuffer_Release
    get(ctypes.py_object(array), ctypes.byref(view), _STRIDED)
    try:
        strides = tuple(view.strides[axis] // dtype.itemsize for axis in range(view.ndim))
        if any(stride < 0 for stride in strides):
            raise UsageError(
                "An array that runs backwards through memory cannot be given to a kernel here.",
                hint="Pass mx.contiguous(array), or ensure_row_contiguous=True.",
            )
        last = sum((size - 1) * step for size, step in zip(array.shape, strides, strict=True))
        count = last + 1 if math.prod(array.shape) else 0
        if not count:
            return np.empty(0, dtype), strides
        raw = (ctypes.c_char * (count * dtype.itemsize)).from_address(view.buf)
        return np.frombuffer(memoryview(raw), dtype), strides
    finally:
        release(ctypes.byref(view))


def as_mlx(array: Array, dtype: mx.Dtype) -> mx.array:
    """Return an MLX array of that dtype with the same bits."""
    made = mx.array(array)
    return made.view(mx.bfloat16) if dtype == mx.bfloat16 else made
