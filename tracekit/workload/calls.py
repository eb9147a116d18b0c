"""Calls of MLX as steps: handed over without waiting, with what each of them does."""

from collections.abc import Callable
from typing import Any

import mlx.core as mx

from tracekit.workload.comparison import Variant
from tracekit.workload.step import Step
from tracekit.workload.told import Work

Call = Callable[[], mx.array]


def backend() -> str:
    """Return where MLX runs now: "metal", "cpu" or another device of MLX's."""
    if mx.default_device() == mx.Device(mx.cpu):
        return "cpu"
    return "metal" if mx.metal.is_available() else "gpu"


def submitting(call: Call) -> Call:
    """Make a call hand its work over without waiting for it."""

    def submit() -> mx.array:
        out = call()
        mx.async_eval(out)
        return out

    return submit


def step_of(call: Call, work: Work, **told: Any) -> Step:
    """Make a call a step that does this work.

    Args:
        call: Builds the result.
        work: What a call does.
        told: What else the step says of itself: other arguments of `Step`.
    """
    return Step(submit=submitting(call), wait=mx.eval, backend=backend(), **{**vars(work), **told})


def variant_of(name: str, call: Call, work: Work) -> Variant:
    """Make a call one of two that are compared."""
    return Variant(name, submitting(call), work)
