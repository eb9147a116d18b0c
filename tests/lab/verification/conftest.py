"""Checks and kernels in files, as users write them."""

from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[..., Path]

ROW_SUMS = '''
from typing import Annotated, Literal
import mlx.core as mx, numpy as np, typer
from tracekit.lab import Check, check

SOURCE = """
    uint row = threadgroup_position_in_grid.x;
    uint lane = thread_position_in_threadgroup.x;
    threadgroup float partial[2];
    float sum = 0.0f;
    for (uint i = lane; i < WIDTH; i += 64) {
        sum += float(x[row * WIDTH + i]);
    }
    sum = simd_sum(sum);
    if (thread_index_in_simdgroup == 0) {
        partial[simdgroup_index_in_threadgroup] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane == 0) {
        out[row] = T(partial[0] + partial[1]);
    }
"""
row_sum = mx.fast.metal_kernel(
    name="row_sum", input_names=["x"], output_names=["out"], source=SOURCE
)


def sums(x):
    template = [("T", x.dtype), ("WIDTH", x.shape[1])]
    sizes = {"grid": (64 * x.shape[0], 1, 1), "threadgroup": (64, 1, 1)}
    shapes = {"output_shapes": [(x.shape[0],)], "output_dtypes": [x.dtype]}
    return row_sum(inputs=[x], template=template, **sizes, **shapes)[0]


@check(each={"dtype": ("float16", "float32")})
def row_sums(
    rows: Annotated[int, typer.Option(min=1, help="Rows.")] = 4,
    dtype: Annotated[Literal["float16", "float32"], typer.Option(help="Type.")] = "float32",
) -> Check:
    """Add up rows."""
    x = mx.random.normal((rows, 100)).astype(getattr(mx, dtype))
    expected = np.array(x.astype(mx.float32), np.float64).sum(axis=1)
    bound = 2e-3 if dtype == "float16" else 1e-5
    return Check(run=lambda: sums(x), expected=expected, bound=bound, loaded={"x": x.nbytes})
'''
SCALE = """#include <metal_stdlib>
using namespace metal;

constant float factor [[function_constant(0)]];

template <typename T, int WIDTH>
[[kernel]] void scale(
    const device T* in [[buffer(0)]],
    device T* out [[buffer(1)]],
    const device int* rows [[buffer(2)]],
    uint3 at [[thread_position_in_grid]]) {
  out[at.y * WIDTH + at.x] = in[rows[at.y] * WIDTH + at.x] * T(factor);
}
"""


def _writer(file: Path, text: str) -> Write:
    def write(old: str = "", new: str = "") -> Path:
        assert old in text
        file.write_text(text.replace(old, new) if old else text)
        return file

    return write


@pytest.fixture
def row_sums(tmp_path: Path, compiled_kernels: object) -> Write:
    return _writer(tmp_path / "row_sums.py", ROW_SUMS)


@pytest.fixture
def scale(tmp_path: Path, compiled_kernels: object) -> Write:
    return _writer(tmp_path / "scale.metal", SCALE)
