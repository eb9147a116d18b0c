"""What is compared: dense attention, and paged attention in every way that there is here."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import mlx.core as mx

from tracekit.base.errors import UsageError, require
from tracekit.ops.attention.dense import gathered, padding_mask, sdpa
from tracekit.ops.attention.metal import paged_decode
from tracekit.ops.attention.paged import attend
from tracekit.ops.attention.plan import Kernel, plan
from tracekit.ops.attention.problem import Problem
from tracekit.workload.calls import backend

# From a problem, the lengths of its sequences and the scale to `[batch, q_heads, head_dim]`.
Attend = Callable[[Problem, list[int], float], mx.array]


@dataclass(frozen=True)
class Implementation:
    """One way to attend.

    Attributes:
        name: As `--subject` takes it.
        attend: The call.
        kernel: Whether it is a Metal kernel, which needs Metal or the emulation.
        dense: Whether it is what paged ones are compared with; it gives nothing for an empty
            sequence.
    """

    name: str
    attend: Attend
    kernel: bool = False
    dense: bool = False


def _dense(problem: Problem, lens: list[int], scale: float) -> mx.array:
    """Attend as MLX does to contiguous keys and values, with a mask for the padding."""
    longest = max(lens)
    keys, values = gathered(problem, longest)
    mask = padding_mask(problem.context_lens[: problem.batch], keys.shape[2])
    nothing = mx.array(0, problem.dtype)
    keys, values = (mx.where(mask.swapaxes(2, 3), one, nothing) for one in (keys, values))
    return sdpa(problem.q[:, :, None], keys, values, scale=scale, mask=mask)[:, :, 0]


def _paged(problem: Problem, lens: list[int], scale: float) -> mx.array:
    return attend(problem, scale=scale, longest=max(lens))


def _by(kernel: Kernel, partitions: int | None = None) -> Attend:
    def launch(problem: Problem, lens: list[int], scale: float) -> mx.array:
        how = plan(problem, longest=max(lens), kernel=kernel, partitions=partitions)
        return paged_decode(problem, scale=scale, how=how)

    return launch


IMPLEMENTATIONS = (
    Implementation("sdpa", _dense, dense=True),
    Implementation("paged", _paged),
    Implementation("paged-grouped", _by("grouped"), kernel=True),
    Implementation("paged-split", _by("grouped", 3), kernel=True),
    Implementation("paged-per-head", _by("per-head"), kernel=True),
    Implementation("paged-barriers", _by("barriers"), kernel=True),
)


def available(*, emulate: bool) -> tuple[Implementation, ...]:
    """Return those that can run here: kernels need Metal, or `emulate`."""
    kernels = emulate or backend() == "metal"
    return tuple(one for one in IMPLEMENTATIONS if kernels or not one.kernel)


def chosen(names: Iterable[str], *, emulate: bool) -> tuple[Implementation, ...]:
    """Return some of those that can run here, and dense attention; all of them for no name.

    Raises:
        UsageError: There is no such implementation, or it cannot run here.
    """
    there = available(emulate=emulate)
    by_name = {one.name: one for one in IMPLEMENTATIONS}
    for name in names:
        require(name, by_name, "subject")
        if by_name[name] not in there:
            raise UsageError(
                f"{name} is a Metal kernel, and MLX finds no Metal on this machine.",
                hint="--emulate runs Metal kernels on the CPU.",
            )
    return tuple(one for one in there if one.dense or not names or one.name in names)
