"""Fixed work that tells the machine's pace, so that a slow machine is not taken for slow code."""

import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any

from tracekit.base.errors import ToolError
from tracekit.workload.turns.protocol import Canary, Paced
from tracekit.workload.worker.reference import reference

SIDE = 2048
"""Rows and columns of the matrices of half precision that a GPU multiplies: 17 GFLOP."""
_LEAST = 5
_SECOND = 1e9

Work = Callable[[], None]


def work_of(canary: Canary) -> Work:
    """Return the work of a kind.

    On a GPU it is a product of two matrices. On a CPU it is the reference work of workers, by MLX
    or by Python.

    Raises:
        ToolError: It needs an MLX that is not there, or has no such device.
    """
    if canary.device == "cpu" and not canary.mlx:
        return reference().work
    try:
        core: Any = importlib.import_module("mlx.core")
        return reference().work if canary.device == "cpu" else _product(core)
    except (ImportError, RuntimeError, ValueError) as error:
        raise ToolError(f"The machine's pace cannot be told by MLX: {error}.") from error


def pace(work: Work, canary: Canary) -> Paced:
    """Repeat the work, and return its median time."""
    _repeat(work, canary.wake, 1)
    times = _repeat(work, canary.seconds, _LEAST)
    return Paced(round(statistics.median(times)), len(times))


def _repeat(work: Work, seconds: float, least: int) -> list[int]:
    times: list[int] = []
    end = time.monotonic_ns() + round(seconds * _SECOND)
    while len(times) < least or time.monotonic_ns() < end:
        start = time.monotonic_ns()
        work()
        times.append(time.monotonic_ns() - start)
    return times


def _product(core: Any) -> Work:
    with core.stream(core.gpu):
        left = (core.arange(SIDE * SIDE).reshape(SIDE, SIDE) % 7 / 7).astype(core.float16)
        right = (core.arange(SIDE * SIDE).reshape(SIDE, SIDE) % 5 / 5).astype(core.float16)
        core.eval(left, right)

    def work() -> None:
        with core.stream(core.gpu):
            core.eval(left @ right)

    return work
