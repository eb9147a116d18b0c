"""Steps recorded and unrecorded in turn, so that the cost of recording can be told.

Unrecorded means: no marks, and the recorder, which reads them, pauses its sampling. Blocks
stand in the order ABBA ABBA …, which cancels a drift that is linear over four of them.
"""

import math
import time

from tracekit.workload.worker.loop import FEWEST, Loop
from tracekit.workload.worker.spec import Spec

FEWEST_PAIRS = 6
_BLOCK = 0.05  # seconds that a block lasts at least
_MOST_PAIRS = 100
_MOST_STEPS = 1000  # of a block: marks cost time and space as well
_MOST = 6.0  # seconds that the fewest pairs may take
_LONGEST = 20.0  # seconds that no measurement exceeds, however long the recording
_SECOND = 1_000_000_000


def budget(spec: Spec) -> float:
    """Return the seconds that the measurement may take: a tenth of the limit, but from 1 to 20."""
    return min(_LONGEST, max(1.0, (spec.seconds or 0.0) / 10))


def measure(loop: Loop, spec: Spec) -> None:
    """Run the blocks and mark them; mark a warning instead where they would take too long.

    The recorder is told how long it may take, and it ends by then, however slow steps become.
    """
    last = max(loop.last, 1) / 1e9
    steps = min(_MOST_STEPS, max(1, math.ceil(_BLOCK / last)))
    pair = 2 * (steps * last + spec.settle)
    pairs = min(_MOST_PAIRS, max(FEWEST_PAIRS, int(budget(spec) / pair)))
    longest = max(_MOST, budget(spec))
    if FEWEST_PAIRS * pair > longest:
        loop.account.mark(
            "warning",
            text=f"Steps of {last:.1f} s are too long to measure what recording costs.",
        )
        return
    deadline = time.monotonic_ns() + round(longest * _SECOND)
    loop.account.mark("busy", until=deadline + FEWEST * loop.last)
    for number in range(2 * pairs):
        if loop.stop.requested or loop.step.exhausted() or time.monotonic_ns() >= deadline:
            break
        _block(loop, spec, steps, deadline, recorded=number % 4 in (0, 3))
    loop.account.mark("sampling", on=True, at=time.monotonic_ns())


def _block(loop: Loop, spec: Spec, steps: int, deadline: int, *, recorded: bool) -> None:
    loop.account.mark("sampling", on=recorded, at=time.monotonic_ns())
    time.sleep(spec.settle)
    start = time.monotonic_ns()
    if recorded:
        made = loop.run("overhead", steps, deadline)
    else:
        made = loop.run_unrecorded(steps, deadline)
    end = time.monotonic_ns()
    if made == steps:  # a shorter one cannot be compared
        loop.account.mark("block", recorded=recorded, start=start, end=end, steps=steps)
