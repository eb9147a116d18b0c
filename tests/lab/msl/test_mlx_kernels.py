"""The engine, checked by a kernel that nobody here wrote: MLX's own, of the installed wheel.

It must agree with float64, and read what MLX's authors say that it reads.
"""

from pathlib import Path
from typing import Any

import mlx
import numpy as np
import pytest

from small_kernels import EMULATED
from tracekit.lab.msl.compile import compile_kernel
from tracekit.lab.msl.edits import KernelText
from tracekit.lab.msl.program import ThreadOrder

pytestmark = EMULATED

FOLDER = Path(next(iter(mlx.__path__))) / "include/mlx/backend/metal/kernels"
HEADS, TOKENS, DIM = 8, 333, 128
# masks, causality and sinks are off
CONSTANTS = dict.fromkeys(range(20, 26), False)


@pytest.mark.parametrize(
    ("dtype", "metal", "bound", "order"),
    [
        ("float32", "float", 1e-6, ThreadOrder.RANDOM),
        ("float16", "float16_t", 1e-3, ThreadOrder.DESCENDING),
    ],
)
def test_sdpa_is_right_and_loads_each_row_for_every_head(
    dtype: str, metal: str, bound: float, order: ThreadOrder
) -> None:
    draw = np.random.default_rng(0)
    shapes = [(HEADS, DIM), *[(TOKENS, DIM)] * 2]  # all heads share one of K and V
    q, k, v = (draw.normal(size=shape).astype(dtype) for shape in shapes)
    output = np.full_like(q, np.nan)
    arrays: dict[str, Any] = {"queries": q, "keys": k, "values": v, "out": output}
    arrays |= {"N": np.int32([TOKENS]), "gqa_factor": np.int32([HEADS])}
    arrays |= dict.fromkeys(("k_head_stride", "v_head_stride"), np.uint64([TOKENS * DIM]))
    arrays |= dict.fromkeys(("k_seq_stride", "v_seq_stride"), np.uint64([DIM]))
    arrays["scale"] = np.float32([DIM**-0.5])
    text = (FOLDER / "sdpa_vector.h").read_text()
    kernel = KernelText(text, "sdpa_vector", f"{metal}, {DIM}", constants=CONSTANTS)
    program = compile_kernel(kernel, checked=True)
    sizes = {"grid": (1024 * HEADS, 1, 1), "threadgroup": (1024, 1, 1)}
    statistics = program.run(arrays, **sizes, order=order)
    weights = np.exp(DIM**-0.5 * (q.astype(float) @ k.T.astype(float)))
    expected = weights / weights.sum(-1, keepdims=True) @ v.astype(float)
    assert np.abs(output - expected).max() <= bound
    for name in ("keys", "values"):
        moved = statistics.traffic[name]
        assert (moved.loaded, moved.stored, moved.touched) == (HEADS * k.nbytes, 0, k.nbytes), name
