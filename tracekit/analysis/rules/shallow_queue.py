"""`shallow-queue`: the next command buffer is committed only when the last one is complete."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.inject import Unavailable, absence
from tracekit.analysis.intervals import Window, busy, overlap
from tracekit.analysis.rule import Finding, finding, longest
from tracekit.analysis.scope import on_gpu, steady_steps, window_of_target
from tracekit.analysis.submission import Flights, IdleGaps, between_steps, encoding, flights
from tracekit.base import duration, percent

_ADVICE = (
    "Keep two steps in flight: build and submit the next one before you wait for this one "
    "(mx.async_eval in MLX), so that host and device work at the same time. Where the next step "
    "needs a result of this one, such as the sampled token, keep that result on the device."
)


def shallow_queue(  # noqa: PLR0917  it asks for these tables
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    steps: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    completions: pd.DataFrame | None,
    encoders: pd.DataFrame | None,
    *,
    most: float = 0.8,
    limit: float = 0.05,
) -> Iterator[Finding]:
    """Host and device take turns: never more than one command buffer is in flight.

    What it looks for:
        The target's command buffers that are committed and not complete. It fires when there is
        at most one of them for more than `most` of the steady window (80 %), and more than
        `limit` of it (5 %) could be won with two in flight. What could be won is the idle time
        of the device around the moments at which the program had waited for everything, but no
        more than the program waited while one was in flight and it was not encoding. Where
        steps are marked, waits inside of them are frequent-readback's; late starts
        (over 100 µs) are left to late-start. Bubbles counts the same idle time.

    Why it matters:
        While the host prepares a step the device idles, and while the device works the host
        waits: a step takes the sum of both instead of the longer one.

    What to do:
        Submit the next step before you wait for this one.

    When it abstains:
        When submissions or completions of command buffers were not exported, and where a CPU
        did the work.
    """
    window = window_of_target(on_gpu(gpu_intervals), targets, phases)
    if submissions is None or completions is None:
        raise Unavailable(absence("submissions" if submissions is None else "completions"))
    found = flights(submissions, completions, encoders, targets)
    depths = found.depths(window)
    idle = IdleGaps.of(gpu_intervals, window)
    held = _held(found, idle, steps, window)
    alone = depths.at(1)
    unused = busy(*alone) - overlap(*alone, *encoding(submissions, encoders))
    lost = min(int(idle.before[held].sum()), unused)
    shallow = depths.share(0, 1)
    if shallow <= most or lost <= limit * window.length:
        return
    yield finding(
        message=(
            f"For {percent(shallow)} of {window.name} at most one command buffer was in flight "
            f"({depths.mean:.2f} on average): the device was idle for "
            f"{duration(int(idle.before[held].sum()))} while the host prepared the next one, and "
            f"the host waited for {duration(unused)} while the device worked."
        ),
        advice=_ADVICE,
        evidence=longest("gpu_intervals", idle.starts[held], idle.ends[held]),
        saving=lost,
        within="bubbles",
    )


def _held(
    found: Flights, idle: IdleGaps, steps: pd.DataFrame | None, window: Window
) -> NDArray[np.int64]:
    """Return which gaps hold a wait that this rule counts."""
    waits = found.waits(window)
    if steps is not None and (steps["phase"] == "steady").any():
        waits = waits.only(between_steps(waits, steady_steps(steps)))
    return idle.holding(waits)
