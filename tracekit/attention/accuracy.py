"""How far a result may be from the reference, and what becomes of one that is further."""

from collections.abc import Mapping

import mlx.core as mx

from tracekit.errors import ToolError

TOLERANCE: Mapping[str, float] = {"float32": 1e-4, "float16": 4e-3, "bfloat16": 3e-2}
"""By dtype: a few units in the last place of values near 1."""


def accepted(error: float, dtype: mx.Dtype, what: str) -> float:
    """Return `error`, the largest of `what`, if the dtype explains it.

    Raises:
        ToolError: It does not. A wrong result is not measured.
    """
    name = str(dtype).removeprefix("mlx.core.")
    if error <= TOLERANCE[name]:
        return error
    raise ToolError(
        f"{what} is off by up to {error:.2g}; {name} allows {TOLERANCE[name]:g}.",
        hint="A wrong result is not measured; the kernel or MLX must be mended first.",
    )
