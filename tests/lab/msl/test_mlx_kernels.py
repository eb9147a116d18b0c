"""The engine, checked by kernels that nobody here wrote: MLX's own, read from the installed wheel.

They must agree with float64, and read what MLX's authors say that they read.
"""

from pathlib import Path
from typing import Any

import mlx
import numpy as np
import pytest
from numpy.typing import NDArray

from small_kernels import EMULATED
from tracekit.lab.msl.compile import compile_kernel
from tracekit.lab.msl.edits import Kernel
from tracekit.lab.msl.program import Order, Statistics

pytestmark = EMULATED

FOLDER = Path(next(iter(mlx.__path__))) / "include/mlx/backend/metal/kernels"
BLOCKS = 32
# masks, causality and sinks are off; 26 is the number of parts of two passes
CONSTANTS = {**dict.fromkeys(range(20, 26), False), 26: BLOCKS}
BOUNDS = {"float32": 1e-6, "float16": 1e-3}
METAL = {"float32": "float", "float16": "float16_t"}

Array = NDArray[Any]
Arrays = dict[str, Array]


def _draw(dtype: str, *, dim: int, heads: int = 8, kv_heads: int = 1, tokens: int = 333) -> Arrays:
    """Return the arrays of one call, dense: `[batch, heads, tokens, head_dim]`."""
    random = np.random.default_rng(0)
    shapes = [(1, heads, 1, dim), *[(1, kv_heads, tokens, dim)] * 2]
    q, k, v = (random.normal(size=shape).astype(dtype) for shape in shapes)
    strides = dict.fromkeys(("k_head_stride", "v_head_stride"), tokens * dim)
    strides |= dict.fromkeys(("k_seq_stride", "v_seq_stride"), dim)
    return {
        "queries": q,
        "keys": k,
        "values": v,
        "N": np.array([tokens], np.int32),
        "gqa_factor": np.array([heads // kv_heads], np.int32),
        "scale": np.array([dim**-0.5], np.float32),
        "blocks": np.array([BLOCKS], np.int32),
        **{name: np.array([value], np.uint64) for name, value in strides.items()},
    }


def _error(arrays: Arrays, out: Array) -> float:
    """Attend in float64, as the definition says; return the largest distance from that."""
    q, k, v = (arrays[name].astype(np.float64) for name in ("queries", "keys", "values"))
    k, v = (np.repeat(array, q.shape[1] // k.shape[1], axis=1) for array in (k, v))
    scores = q.shape[-1] ** -0.5 * (q @ k.swapaxes(2, 3))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = (weights / weights.sum(-1, keepdims=True)) @ v
    return float(np.abs(out.astype(np.float64) - expected).max())


def _run(function: str, more: str, arrays: Arrays, sizes: Any, order: Order) -> Statistics:
    q = arrays["queries"]
    template = f"{METAL[str(q.dtype)]}, {q.shape[-1]}{more}"
    kernel = Kernel((FOLDER / "sdpa_vector.h").read_text(), function, template, constants=CONSTANTS)
    program = compile_kernel(kernel, checked=True)
    wanted = {asked.name for asked in program.parameters if asked.kind == "buffer"}
    given = {name: array for name, array in arrays.items() if name in wanted}
    return program.run(given, grid=sizes[0], threadgroup=sizes[1], order=order)


def _one_pass(arrays: Arrays, order: Order) -> tuple[Array, Statistics]:
    out = np.full_like(arrays["queries"], np.nan)
    sizes = ((1024 * out.shape[1], 1, 1), (1024, 1, 1))
    return out, _run("sdpa_vector", "", arrays | {"out": out}, sizes, order)


def _two_passes(arrays: Arrays, function: str, more: str, order: Order) -> tuple[Array, Statistics]:
    q = arrays["queries"]
    heads, dim, group = q.shape[1], q.shape[-1], int(arrays["gqa_factor"][0])
    partials = np.full((1, heads, BLOCKS, dim), np.nan, q.dtype)
    sums, maxs = np.full((2, 1, heads, BLOCKS), np.nan, np.float32)
    arrays = arrays | {"sums": sums, "maxs": maxs, "partials": partials}
    sizes = ((32 * (heads // group), group, BLOCKS), (32, group, 1))
    first = _run(function, f", {dim}{more}", arrays | {"out": partials}, sizes, order)
    out, sizes = np.full_like(q, np.nan), ((1024 * heads, 1, 1), (1024, 1, 1))
    _run("sdpa_vector_2pass_2", "", arrays | {"out": out}, sizes, order)
    return out, first


@pytest.mark.parametrize(
    ("function", "more", "times", "dtype", "order"),
    [
        ("sdpa_vector", "", 8.0, "float32", Order.RANDOM),
        ("sdpa_vector_2pass_1", "", 8.0, "float16", Order.DESCENDING),
        ("sdpa_vector_2pass_1_gqa", ", 8, 4", 2.0, "float16", Order.ASCENDING),
    ],
)
def test_kernels_of_mlx_are_right_and_load_keys_as_often_as_mlx_says(
    function: str, more: str, times: float, dtype: str, order: Order
) -> None:
    """`each K/V byte is read G / HPT times instead of G times`, says the kernel of its own."""
    arrays = _draw(dtype, dim=128)
    if function == "sdpa_vector":
        out, found = _one_pass(arrays, order)
    else:
        out, found = _two_passes(arrays, function, more, order)
    assert _error(arrays, out) <= BOUNDS[dtype]
    for name in ("keys", "values"):
        moved, size = found.traffic[name], 333 * 128 * out.itemsize
        assert (moved.loaded, moved.stored, moved.touched) == (times * size, 0, size)
