"""What is measured: a named implementation, and what it becomes on one shape."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mlx.core as mx

from tracekit.workload import Step

if TYPE_CHECKING:
    from tracekit.lab.bench.inputs import Inputs


class Unavailable(Exception):  # noqa: N818  nothing went wrong
    """An implementation cannot run on this machine; its text says why, without a full stop."""


@dataclass(frozen=True)
class Launch:
    """How a Metal kernel is launched; None leaves a size to the kernel's plan, or to MLX.

    Attributes:
        kernel: Its name, such as "grouped"; "mlx" for MLX's own operations.
        hd_tile: Elements of a head that a lane owns.
        threadgroup: Threads of a threadgroup.
        partitions: Threadgroups that share out a sequence's tokens.
    """

    kernel: str
    hd_tile: int | None = None
    threadgroup: int | None = None
    partitions: int | None = None


BY_MLX = Launch("mlx")


@dataclass(frozen=True)
class Prepared:
    """An implementation on one shape.

    Attributes:
        step: One call as the workload makes it, with what it reads, writes and computes.
        chain: Build so many calls, each one fed with the result of the one before, over
            rotating inputs; what it returns is still to be evaluated, by the step's `wait`.
        working_set: Bytes that the rotating inputs take together.
        sets: How many inputs rotate.
        sequence: Tokens of the longest context, or rows.
        error: Relative error against float64; None where nothing can be off.
        chained: Whether a call of a chain waits for the one before it.
        launched: How it is launched.
        launch: One call, on the input of that number, of kernels made with
            `mx.fast.metal_kernel`, for a queue of our own; None where MLX brings the kernels.
    """

    step: Step
    chain: Callable[[int], Any]
    working_set: int
    sets: int
    sequence: int
    error: float | None = None
    chained: bool = True
    launched: Launch = BY_MLX
    launch: Callable[[int], mx.array] | None = None


@dataclass(frozen=True)
class Subject:
    """A named implementation.

    Attributes:
        name: As `--subject` and `--against` take it.
        suite: The suite that it belongs to.
        family: Those of one family do the same work on the same inputs, and are compared.
        summary: What it is, in a line.
        prepare: Make it ready; raises `Unavailable` where it cannot run.
        naive: Whether speed-ups of its family are against it.
        paged: Whether its keys and values lie in pages, so that the size of a block matters.
    """

    name: str
    suite: str
    family: str
    summary: str
    prepare: Callable[["Inputs"], Prepared]
    naive: bool = False
    paged: bool = False
