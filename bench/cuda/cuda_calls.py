"""Decode calls on an NVIDIA GPU: their data, their launches, what they must give."""

# pyright: reportMissingImports=false, reportUnknownVariableType=false
# CuPy and PyTorch are on the machine with the GPU, not here.

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
import torch

Case = dict[str, Any]
Tensors = dict[str, torch.Tensor]

UNMAPPED = 1_000_000


def drawn(case: Case, seed: int, *, poison: bool) -> Tensors:
    """Draw a problem on the GPU: disjoint pages in shuffled order."""
    random = torch.Generator("cuda").manual_seed(seed)
    dtype = getattr(torch, case["dtype"])
    batch, blocks, block = len(case["lens"]), case["blocks"], case["block_size"]
    pool = (batch * blocks, block, case["kv_heads"], case["head_dim"])

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=random, device="cuda").to(dtype)

    tables = torch.randperm(pool[0], generator=random, device="cuda").to(torch.int32)
    tables = tables.reshape(batch, blocks)
    q, keys, values = normal(batch, case["q_heads"], case["head_dim"]), normal(*pool), normal(*pool)
    if poison:
        _poison(case["lens"], block, tables, keys, values)
    lens = torch.zeros(max(8, batch), dtype=torch.int32, device="cuda")
    lens[:batch] = torch.tensor(case["lens"], dtype=torch.int32)
    names = ("q", "k_pages", "v_pages", "block_tables", "context_lens")
    return dict(zip(names, (q, keys, values, tables, lens), strict=True))


def _poison(lens: list[int], block: int, tables: torch.Tensor, *pages: torch.Tensor) -> None:
    for sequence, length in enumerate(lens):
        used, rest = divmod(length, block)
        for one in pages:
            one[tables[sequence, used + (rest > 0) :].long()] = torch.nan
            if rest:
                one[int(tables[sequence, used]), rest:] = torch.nan
        tables[sequence, used + (rest > 0) :] = UNMAPPED


def outputs(case: Case, data: Tensors) -> Tensors:
    """Make the arrays that the kernels write, filled with NaN."""
    batch, heads, head_dim = data["q"].shape
    rows = (batch, heads, case["plan"]["partitions"])
    return {
        "out": torch.full_like(data["q"], torch.nan),
        "sums": torch.full((*rows, head_dim), torch.nan, device="cuda"),
        "stats": torch.full((*rows, 2), torch.nan, device="cuda"),
    }


def prepared(modules: dict[str, Any], case: Case, data: Tensors) -> Callable[[], torch.Tensor]:
    """Return a function that launches the case's kernels on PyTorch's current stream."""
    arrays = {**data, **outputs(case, data)}
    scale = case["head_dim"] ** -0.5
    numbers = {
        "max_blocks": np.int32(case["blocks"]),
        "scale": np.float32(scale),
        "partitions": np.int32(case["plan"]["partitions"]),
    }
    return launched(modules, case, arrays, numbers)


def launched(
    modules: dict[str, Any], case: Case, arrays: Tensors, numbers: dict[str, Any]
) -> Callable[[], torch.Tensor]:
    """Return a function that launches kernels on these arguments and returns the array "out"."""
    given = {name: np.uint64(one.data_ptr()) for name, one in arrays.items()} | numbers
    launches = [
        (
            modules[one["entry"]].get_function(f"entry_{one['entry']}"),
            tuple(one["grid"]),
            tuple(one["block"]),
            tuple(given[name] for name in one["arguments"]),
        )
        for one in case["launches"]
    ]

    def call() -> torch.Tensor:
        with cupy.cuda.Stream.from_external(torch.cuda.current_stream()):
            for function, grid, block, arguments in launches:
                function(grid, block, arguments)
        return arrays["out"]

    return call


def reference(case: Case, data: Tensors) -> torch.Tensor:
    """Attend in float64, one sequence after the other."""
    out = torch.zeros(data["q"].shape, dtype=torch.float64, device="cuda")
    group = case["q_heads"] // case["kv_heads"]
    for sequence, length in enumerate(case["lens"]):
        if length == 0:
            continue
        pages = data["block_tables"][sequence, : -(-length // case["block_size"])].long()
        keys, values = (
            data[name][pages].flatten(0, 1)[:length].double().repeat_interleave(group, dim=1)
            for name in ("k_pages", "v_pages")
        )
        scores = torch.einsum("hd,thd->ht", data["q"][sequence].double(), keys)
        weights = torch.softmax(scores * case["head_dim"] ** -0.5, dim=1)
        out[sequence] = torch.einsum("ht,thd->hd", weights, values)
    return out


def error(out: torch.Tensor, expected: torch.Tensor) -> float:
    """Return the largest relative error of a sequence, in the 2-norm; NaN counts as inf."""
    off = (out.double() - expected).flatten(1).norm(dim=1)
    size = expected.flatten(1).norm(dim=1)
    relative = torch.where(size > 0, off / size, off)
    return float(torch.nan_to_num(relative, nan=torch.inf).max())
