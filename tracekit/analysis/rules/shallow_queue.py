"""`shallow-queue`: the host hands the next iteration over only when the last one is complete."""

from dataclasses import replace

import numpy as np
import pandas as pd

from tracekit.analysis.idle.gaps import doubt, gaps_of, loaded_time
from tracekit.analysis.idle.levers import RARE, Habits, lever
from tracekit.analysis.idle.pieces import Cause
from tracekit.analysis.iterations import Loop
from tracekit.analysis.rule import Findings, finding, longest
from tracekit.analysis.scope import Device
from tracekit.analysis.submission import between_iterations, host_time, in_flight, per_iteration
from tracekit.base import duration, percent


def shallow_queue(
    gpu: Device,
    loop: Loop,
    gaps: pd.DataFrame,
    loaded: pd.DataFrame,
    timeline: pd.DataFrame,
    iterations: pd.DataFrame,
    causes: pd.DataFrame,
    habits: Habits,
    *,
    limit: float = 0.05,
) -> Findings:
    """Host and device take turns: the queue runs empty between iterations.

    What it looks for:
        Gaps of the target's device work after which the host began to encode only when everything
        that it had committed had been reported complete. It fires when more than `limit` of the
        window (5 %) could be won by handing the next iteration over before: the time of these
        gaps, less what the host takes to prepare an iteration beyond the device's time for one.
        Where iterations are known, waits inside of them are frequent-readback's, and waits in few
        of them no habit. It is silent where something outside paces the loop. Bubbles counts the
        same idle time.

    Why it matters:
        While the host prepares an iteration the device idles, and while the device works the host
        waits: an iteration takes the sum of both instead of the longer one.

    What to do:
        Submit the next iteration before you wait for this one.

    When it abstains:
        When no command buffer has both a commit and a completion, and where a CPU did the work.
    """
    depth, load = in_flight(timeline, loop), loaded_time(loaded)
    found = gaps_of(gaps, Cause.AFTER_WAIT)
    chosen = np.ones(found.count, bool)
    if not iterations.empty:
        chosen = between_iterations(found, iterations)
        if per_iteration(found, iterations) < RARE:
            return
    idle = int(found.lost[chosen].sum())
    lost = min(idle, idle + gpu.ran(loop) - host_time(found, timeline, loaded))
    if lost <= limit * load or loop.paced:
        return
    yield finding(
        message=(
            f"Before {int(chosen.sum()):,} gaps the host had waited for all of its work: in "
            f"{loop.name} the device was idle for {duration(idle)} "
            f"({percent(idle / load)}) while the host prepared the next iteration, and "
            "the host waited while the device worked. On average "
            f"{depth:.2f} command buffers were in flight."
            f"{doubt(causes, Cause.AFTER_WAIT)}{habits.meanwhile}"
        ),
        advice=lever(Cause.AFTER_WAIT, replace(habits, waits=1.0)),
        evidence=longest("gpu_intervals", found.starts[chosen], found.ends[chosen]),
        saving=lost,
        within="bubbles",
    )
