"""Ops of attention as steps that can be compared."""

from collections.abc import Callable

import mlx.core as mx

from tracekit.attention.traffic import Traffic
from tracekit.comparison import Contender
from tracekit.told import Work

Attend = Callable[[], mx.array]


def contender(
    name: str, attend: Attend, model: Traffic, *, tokens: int, dispatches: int | None = None
) -> Contender:
    """Make a step of a call of attention, and say what it does."""
    moved = (model.read, model.unique, model.written)
    return Contender(name, submitting(attend), Work(tokens, *moved, model.flops, dispatches))


def submitting(attend: Attend) -> Attend:
    """Make a call hand its work over without waiting for it."""

    def submit() -> mx.array:
        out = attend()
        mx.async_eval(out)
        return out

    return submit
