"""`frequent-command-buffers`: too little work goes into each command buffer."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.inject import Unavailable, absence
from tracekit.analysis.intervals import Times, Window
from tracekit.analysis.rule import Finding, finding, longest
from tracekit.analysis.scope import of_target, on_gpu, steady_steps, window_of_target
from tracekit.analysis.submission import LATE, Launches, each, flights, launches, spared
from tracekit.base import count, duration, percent

_ADVICE = (
    "Put more into each command buffer. MLX commits one after so many operations or so much "
    "memory: try larger values of MLX_MAX_OPS_PER_BUFFER and MLX_MAX_MB_PER_BUFFER, set before "
    "the process first uses the GPU, and see that neither is set to a small value for profiling. "
    "Each evaluation ends a command buffer too: evaluate a whole step in one call. In a program "
    "of your own, commit once a step."
)


def frequent_command_buffers(  # noqa: PLR0917  it asks for these tables
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    steps: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    completions: pd.DataFrame | None,
    encoders: pd.DataFrame | None,
    *,
    most: float = 4,
    enough: int = 200_000,
    limit: float = 0.05,
) -> Iterator[Finding]:
    """Too little work goes into each command buffer.

    What it looks for:
        Command buffers of the target in the steady window. It fires when a step has more than
        `most` of them (4), each has less than `enough` device work on average (200 µs), and the
        gaps right before them take more than `limit` (5 %) of the window. Gaps over 100 µs are
        late starts or bubbles and do not count, nor do those after a wait for the device, which
        frequent-readback and shallow-queue judge. What could be saved are the gaps that command
        buffers of `enough` would not need.

    Why it matters:
        Driver and firmware take tens of microseconds for each command buffer. With little work
        in it the device waits for the next one.

    What to do:
        Commit less often: in MLX by its limits per command buffer, in your own program once a
        step.

    When it abstains:
        When the trace does not name command buffers, when the workload marks no steps, when the
        target is not known, and where a CPU did the work.
    """
    own = of_target(on_gpu(gpu_intervals), targets)
    if steps is None:
        raise Unavailable(absence("steps"))
    window = window_of_target(gpu_intervals, targets, phases)
    work = launches(own, window)
    if work.buffers == 0:
        raise Unavailable("the trace does not say to which command buffers the work belongs.")
    each_work = work.busy / work.buffers
    if work.buffers / len(steady_steps(steps)) <= most or each_work >= enough:
        return
    chosen = work.opens & (work.idle > 0) & (work.idle <= LATE)
    if submissions is not None and completions is not None:
        waits = flights(submissions, completions, encoders, targets).waits(window)
        chosen &= ~_after(work, waits.starts)
    between = int(work.idle[chosen].sum())
    if between > limit * window.length:
        share = spared(work.buffers, work.busy, enough)
        yield _finding(work, chosen, window, steps, round(between * share))


def _after(work: Launches, waits: Times) -> NDArray[np.bool_]:
    """Tell before which pieces of work the program had waited for the device."""
    held = np.searchsorted(waits, work.starts) - np.searchsorted(waits, work.starts - work.idle)
    return held > 0


def _finding(
    work: Launches, chosen: NDArray[np.bool_], window: Window, steps: pd.DataFrame, saving: int
) -> Finding:
    between = int(work.idle[chosen].sum())
    rate = work.buffers / (window.length / 1e9)
    return finding(
        message=(
            f"The target committed {work.buffers:,} command buffers in {window.name}"
            f"{each(work.buffers, steps)}, {count(round(rate))} a second, with "
            f"{duration(work.busy / work.buffers)} of device work in each. Gaps right before them "
            f"took {duration(between)}, {percent(between / window.length)} of the window."
        ),
        advice=_ADVICE,
        evidence=longest("gpu_intervals", *work.gaps(chosen)),
        saving=saving,
        within=work.counted(chosen),
    )
