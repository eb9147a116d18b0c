"""How far a result is from its reference, and how far it may be."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BOUNDS: Mapping[str, float] = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
"""What a kernel may be off by, by the type of its elements; see `relative_error`."""

NORM = "largest absolute error of a sequence over its largest absolute value"


def relative_error(out: Floats, expected: Floats) -> float:
    """Return max |out - expected| / max |expected|, of the sequence where it is largest.

    The first axis is that of sequences. Dividing by the largest value of the sequence, and not
    by each element, keeps elements near 0 from deciding. Where nothing but zeros is expected
    any other value is infinitely far off, as NaN is anywhere.

    Raises:
        ValueError: The shapes differ.
    """
    if out.shape != expected.shape:
        raise ValueError(f"Shapes {list(out.shape)} and {list(expected.shape)} do not compare.")
    if out.size == 0:
        return 0.0
    rows = (out.shape[0], -1)
    apart = np.abs(out - expected).reshape(rows).max(axis=1)
    largest = np.abs(expected).reshape(rows).max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.where(apart == 0, 0.0, apart / largest)
    return float(np.where(np.isnan(errors), np.inf, errors).max())
