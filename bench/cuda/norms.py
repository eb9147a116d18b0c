"""Calls of kernels/rmsnorm_linear.metal, as JSON."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import mlx.core as mx

from tracekit.ops.kernels import DTYPES
from tracekit.ops.norm import NormProblem, fused_kernel

ODD = ((1, 64, 40), (3, 600, 33), (4, 4096, 96), (9, 130, 17), (16, 1023, 64))
TIMED = ((1, 4096, 14336), (4, 4096, 14336))  # rows, dims, outputs
EPS = 1e-5

Launches = Callable[..., list[dict[str, Any]]]


def norm_checks(launches: Launches) -> Iterator[dict[str, Any]]:
    """Yield calls of all dtypes, with sizes that fill no tile and such that do."""
    for dtype, sizes in itertools.product(DTYPES, ODD):
        yield _call(launches, *sizes, dtype)


def norm_timed(launches: Launches) -> Iterator[dict[str, Any]]:
    """Yield the calls whose time is compared: one token and four, of a layer of 8B models."""
    for sizes in TIMED:
        yield _call(launches, *sizes, mx.float16)


def _call(
    launches: Launches, rows: int, dims: int, outputs: int, dtype: mx.Dtype
) -> dict[str, Any]:
    arrays = [mx.zeros(shape, dtype) for shape in ((rows, dims), (dims,), (outputs, dims))]

    def call(*given: mx.array) -> mx.array:
        return fused_kernel(NormProblem(*given, eps=EPS))

    sizes = {"rows": rows, "dims": dims, "outputs": outputs, "eps": EPS}
    name = str(dtype).removeprefix("mlx.core.")
    return {**sizes, "dtype": name, "launches": launches(call, *arrays)}
