"""Small Metal kernels for tests: a body becomes a kernel over one-dimensional grids."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tracekit.lab.msl.compile import compile_kernel
from tracekit.lab.msl.edits import KernelText
from tracekit.lab.msl.program import KernelProgram, Statistics, ThreadOrder

Array = NDArray[Any]

EMULATED = pytest.mark.usefixtures("compiled_kernels")
"""Mark of tests that compile kernels, which are kept; they are skipped without a compiler."""


def needs_emulation(test: Any) -> Any:
    return EMULATED(test)


PLACES = """\
    uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]],
    uint g [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]"""


def kernel(body: str, parameters: str, *, before: str = "", **options: Any) -> KernelText:
    """Make a kernel `k` of its parameters and its body, which knows i, t, g, lane, simdgroup."""
    text = f"{before}kernel void k({parameters},\n{PLACES}) {{\n{body}\n}}\n"
    return KernelText(text, "k", **options)


def compile_body(
    body: str, parameters: str, *, checked: bool = False, **options: Any
) -> KernelProgram:
    return compile_kernel(kernel(body, parameters, **options), checked=checked)


def run(
    body: str,
    parameters: str,
    buffers: Mapping[str, Array],
    *,
    threads: int,
    threadgroup: int = 32,
    order: ThreadOrder = ThreadOrder.ASCENDING,
    checked: bool = False,
    **options: Any,
) -> Statistics:
    program = compile_body(body, parameters, checked=checked, **options)
    sizes = {"grid": (threads, 1, 1), "threadgroup": (threadgroup, 1, 1)}
    return program.run(buffers, order=order, **sizes)


def one_output(
    body: str, a: Array, *, threads: int | None = None, kind: str = "float", **options: Any
) -> Array:
    """Run a body that reads `a` and writes `out`, both of a type; return `out`, NaN before."""
    parameters = f"const device {kind}* a, device {kind}* out"
    output = np.full_like(a, np.nan)
    run(body, parameters, {"a": a, "out": output}, threads=threads or a.size, **options)
    return output
