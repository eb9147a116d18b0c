"""RMSNorm and a linear layer on an NVIDIA GPU: the fused kernel, and PyTorch's two ops."""

# pyright: reportMissingImports=false, reportUnknownVariableType=false
# PyTorch is on the machine with the GPU, not here.

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from cuda_calls import Case, Tensors, launched


def drawn_norm(case: Case, seed: int) -> Tensors:
    """Draw x, gain and weight, and an output of NaN."""
    random = torch.Generator("cuda").manual_seed(seed)
    rows, dims, outputs = case["rows"], case["dims"], case["outputs"]

    def normal(*shape: int) -> torch.Tensor:
        dtype = getattr(torch, case["dtype"])
        return torch.randn(shape, generator=random, device="cuda").to(dtype)

    data = {"x": normal(rows, dims), "gain": normal(dims), "weight": normal(outputs, dims)}
    nothing = torch.full((rows, outputs), torch.nan, device="cuda", dtype=data["x"].dtype)
    return {**data, "out": nothing}


def fused(modules: dict[str, Any], case: Case, data: Tensors) -> Callable[[], torch.Tensor]:
    """Return a function that launches the kernel."""
    sizes = {name: np.int32(case[name]) for name in ("rows", "dims", "outputs")}
    return launched(modules, case, data, {**sizes, "eps": np.float32(case["eps"])})


def separate(case: Case, data: Tensors) -> torch.Tensor:
    """Do the same with PyTorch's two ops."""
    normed = functional.rms_norm(data["x"], (case["dims"],), data["gain"], case["eps"])
    return functional.linear(normed, data["weight"])


def norm_reference(case: Case, data: Tensors) -> torch.Tensor:
    """Do it in float64."""
    x, gain, weight = (data[name].double() for name in ("x", "gain", "weight"))
    return x * torch.rsqrt(x.square().mean(1, keepdim=True) + case["eps"]) * gain @ weight.T
