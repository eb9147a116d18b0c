"""`shallow-queue`: the host hands the next iteration over only when the last one is complete."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from tracekit.analysis.idle.gaps import doubt, gaps_of, loaded_time
from tracekit.analysis.idle.levers import RARE, lever
from tracekit.analysis.idle.pieces import Cause
from tracekit.analysis.idle.samples import host_words
from tracekit.analysis.intervals import busy, clip, spans
from tracekit.analysis.iterations import paced
from tracekit.analysis.rule import Finding, finding, longest
from tracekit.analysis.scope import of_target, on_gpu, window_of_target
from tracekit.analysis.submission import (
    between_iterations,
    depths,
    host_time,
    loop_of,
    per_iteration,
)
from tracekit.base import duration, percent


def shallow_queue(  # noqa: PLR0917  it asks for these tables
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    loop: pd.DataFrame,
    gaps: pd.DataFrame,
    loaded: pd.DataFrame,
    timeline: pd.DataFrame,
    iterations: pd.DataFrame,
    causes: pd.DataFrame,
    habits: pd.DataFrame,
    meanwhile: pd.DataFrame | None,
    *,
    limit: float = 0.05,
) -> Iterator[Finding]:
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
    window = window_of_target(on_gpu(gpu_intervals), targets, loop)
    depth, load = depths(timeline, window), loaded_time(loaded)
    found = gaps_of(gaps, Cause.AFTER_WAIT)
    chosen = np.ones(found.count, bool)
    if not iterations.empty:
        chosen = between_iterations(found, iterations)
        if per_iteration(found, iterations) < RARE:
            return
    idle = int(found.lost[chosen].sum())
    own = of_target(gpu_intervals, targets)
    ran = busy(*clip(*spans(own), window.start, window.end))
    lost = min(idle, idle + ran - host_time(found, timeline, loaded))
    if lost <= limit * load or paced(loop):
        return
    yield finding(
        message=(
            f"Before {int(chosen.sum()):,} gaps the host had waited for all of its work: in "
            f"{window.name} the device was idle for {duration(idle)} "
            f"({percent(idle / load)}) while the host prepared the next iteration, and "
            "the host waited while the device worked. On average "
            f"{depth.mean:.2f} command buffers were in flight."
            f"{doubt(causes, Cause.AFTER_WAIT)}{host_words(meanwhile)}"
        ),
        advice=lever(Cause.AFTER_WAIT, replace(loop_of(habits), waits=1.0)),
        evidence=longest("gpu_intervals", found.starts[chosen], found.ends[chosen]),
        saving=lost,
        within="bubbles",
    )
