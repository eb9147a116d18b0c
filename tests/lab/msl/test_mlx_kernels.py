"""The engine, checked by kernels that nobody here wrote: MLX's own, read from the installed wheel.

They must agree with float64, and read what MLX's authors say that they read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx
import numpy as np
import pytest
from numpy.typing import NDArray

from tracekit.lab.msl.compile import compile_kernel
from tracekit.lab.msl.edits import Kernel
from tracekit.lab.msl.program import Order, Statistics

pytestmark = [pytest.mark.usefixtures("compiled_kernels"), pytest.mark.emulator]

FOLDER = Path(next(iter(mlx.__path__))) / "include/mlx/backend/metal/kernels"
BLOCKS = 32
# masks, causality and sinks are off; 26 is the number of parts of two passes
CONSTANTS = {**dict.fromkeys(range(20, 26), False), 26: BLOCKS}
BOUNDS = {"float32": 1e-6, "float16": 1e-3}
METAL = {"float32": "float", "float16": "float16_t"}

Array = NDArray[Any]


@dataclass(frozen=True)
class Attention:
    """Arrays of one call, dense: `[batch, heads, tokens, head_dim]`."""

    q: Array
    k: Array
    v: Array

    @property
    def group(self) -> int:
        """Query heads of a kv head."""
        return self.q.shape[1] // self.k.shape[1]

    @property
    def sizes(self) -> dict[str, Array]:
        """What the kernels take in addition to the arrays."""
        _, _, tokens, dim = self.k.shape
        strides = dict.fromkeys(("k_head_stride", "v_head_stride"), tokens * dim)
        strides |= dict.fromkeys(("k_seq_stride", "v_seq_stride"), dim)
        return {
            "N": np.array([tokens], np.int32),
            "gqa_factor": np.array([self.group], np.int32),
            "scale": np.array([dim**-0.5], np.float32),
            **{name: np.array([value], np.uint64) for name, value in strides.items()},
        }

    def expected(self) -> Array:
        """Attend in float64, as the definition says."""
        q, k, v = (one.astype(np.float64) for one in (self.q, self.k, self.v))
        k, v = (np.repeat(one, self.group, axis=1) for one in (k, v))
        scores = q.shape[-1] ** -0.5 * (q @ k.swapaxes(2, 3))
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return (weights / weights.sum(-1, keepdims=True)) @ v


def _draw(
    dtype: str, *, batch: int = 1, heads: int = 8, kv_heads: int = 1, tokens: int = 333, dim: int
) -> Attention:
    random = np.random.default_rng(0)
    shapes = [(batch, heads, 1, dim), *[(batch, kv_heads, tokens, dim)] * 2]
    return Attention(*(random.normal(size=shape).astype(dtype) for shape in shapes))


def _run(
    function: str, template: str, buffers: Mapping[str, Array], sizes: Any, **how: Any
) -> Statistics:
    kernel = Kernel((FOLDER / "sdpa_vector.h").read_text(), function, template, constants=CONSTANTS)
    program = compile_kernel(kernel, checked=how.pop("checked", False))
    wanted = {one.name for one in program.parameters if one.kind == "buffer"}
    given = {name: array for name, array in buffers.items() if name in wanted}
    return program.run(given, grid=sizes[0], threadgroup=sizes[1], **how)


def _one_pass(one: Attention, **how: Any) -> tuple[Array, Statistics]:
    batch, heads, _, dim = one.q.shape
    out = np.full_like(one.q, np.nan)
    arrays = {"queries": one.q, "keys": one.k, "values": one.v, "out": out, **one.sizes}
    template = f"{METAL[str(one.q.dtype)]}, {dim}"
    sizes = ((1024 * batch * heads, 1, 1), (1024, 1, 1))
    return out, _run("sdpa_vector", template, arrays, sizes, **how)


def _two_passes(
    one: Attention, function: str = "sdpa_vector_2pass_1", more: str = "", **how: Any
) -> tuple[Array, Statistics]:
    batch, heads, _, dim = one.q.shape
    dtype, kind = one.q.dtype, METAL[str(one.q.dtype)]
    partials = np.full((batch, heads, BLOCKS, dim), np.nan, dtype)
    sums, maxs = np.full((2, batch, heads, BLOCKS), np.nan, np.float32)
    arrays = {"queries": one.q, "keys": one.k, "values": one.v, "sums": sums, "maxs": maxs}
    sizes = ((32 * (heads // one.group), one.group * batch, BLOCKS), (32, one.group, 1))
    first = {**arrays, "out": partials, **one.sizes}
    statistics = _run(function, f"{kind}, {dim}, {dim}{more}", first, sizes, **how)
    out = np.full_like(one.q, np.nan)
    second = {"partials": partials, "sums": sums, "maxs": maxs, "out": out}
    second["blocks"] = np.array([BLOCKS], np.int32)
    sizes = ((1024 * batch * heads, 1, 1), (1024, 1, 1))
    _run("sdpa_vector_2pass_2", f"{kind}, {dim}", second, sizes, **how)
    return out, statistics


def _error(one: Attention, out: Array) -> float:
    return float(np.abs(out.astype(np.float64) - one.expected()).max())


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("dtype", METAL)
def test_sdpa_in_one_pass(dtype: str, order: Order) -> None:
    one = _draw(dtype, tokens=100, dim=64, heads=4, kv_heads=2)
    out, statistics = _one_pass(one, order=order)
    assert _error(one, out) <= BOUNDS[dtype]
    assert statistics.barriers == 4 * (1 + 2 * 2)  # of a head: one, and two for each of 64/32


@pytest.mark.parametrize("dtype", METAL)
def test_sdpa_in_two_passes(dtype: str) -> None:
    one = _draw(dtype, tokens=333, dim=128)
    out, _ = _two_passes(one, order=Order.RANDOM)
    assert _error(one, out) <= BOUNDS[dtype]


@pytest.mark.parametrize(
    ("function", "more", "times"),
    [
        ("sdpa_vector", "", 8.0),
        ("sdpa_vector_2pass_1", "", 8.0),
        ("sdpa_vector_2pass_1_gqa", ", 8, 4", 2.0),
    ],
)
def test_keys_are_loaded_as_often_as_mlx_says(function: str, more: str, times: float) -> None:
    """`each K/V byte is read G / HPT times instead of G times`, says the kernel of its own."""
    one = _draw("float16", dim=128)
    out, statistics = (
        _one_pass(one, checked=True)
        if function == "sdpa_vector"
        else _two_passes(one, function, more, checked=True)
    )
    assert _error(one, out) <= BOUNDS["float16"]
    for name in ("keys", "values"):
        moved = statistics.traffic[name]
        assert moved.touched == one.k.nbytes == 85_248
        assert moved.loaded == times * one.k.nbytes
        assert moved.stored == 0
