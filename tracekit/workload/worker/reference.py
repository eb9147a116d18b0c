"""Fixed work of the worker's own, timed between steps, which tells the machine's pace.

Other programs on the same cores, a clock that swings and a host that gives a virtual machine less
make steps slower that do no more than before. They make this work slower, too, so that a
comparison of runs can take them out. It is of the kind that steps are: where the workload has
loaded MLX, a product of matrices and a softmax in half precision on MLX's CPU backend; else
arithmetic of Python.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tracekit.workload.told import OWN_REFERENCE, REFERENCE, Gauge, Span
from tracekit.workload.worker.loop import Loop

_PERIOD = 50_000_000  # ns between two of them, at least
_REST = 60  # times as long as one took, at least, so that they cost less than 2 %
_ROUNDS = 8_000
_MODULUS = 2_147_483_647
_ROWS, _INNER, _COLUMNS = 64, 128, 128


@dataclass
class Reference:
    """The work, whose tool it is of, and when it is due next, in monotonic ns."""

    work: Callable[[], None]
    tool: str
    due: int = 0

    def take(self, loop: Loop) -> None:
        """Do the work and mark how long it took, if it is due and the workload tells none."""
        start = time.monotonic_ns()
        if start < self.due or loop.referenced:
            return
        self.work()
        end = time.monotonic_ns()
        self.due = end + max(_PERIOD, _REST * (end - start))
        source = f"{OWN_REFERENCE} ({self.tool})"
        loop.account.mark("span", **vars(Span(REFERENCE, start, end)))
        loop.account.mark("gauge", **vars(Gauge(REFERENCE, end - start, start, "ns", source)))


def reference() -> Reference:
    """Make the work and do it a few times, for the first ones take longer."""
    core: Any = sys.modules.get("mlx.core")
    made = Reference(_arithmetic, "Python") if core is None else Reference(_product(core), "MLX")
    for _ in range(5):
        made.work()
    return made


def _arithmetic() -> None:
    state = 1
    for _ in range(_ROUNDS):
        state = state * 48_271 % _MODULUS


def _product(core: Any) -> Callable[[], None]:
    with core.stream(core.cpu):
        scores = core.arange(_ROWS * _INNER).reshape(_ROWS, _INNER) % 7 / 7
        values = core.arange(_INNER * _COLUMNS).reshape(_INNER, _COLUMNS) % 5 / 5
        left, right = scores.astype(core.float16), values.astype(core.float16)
        core.eval(left, right)

    def work() -> None:
        with core.stream(core.cpu):
            core.eval(core.softmax((left @ right).astype(core.float32), axis=-1))

    return work
