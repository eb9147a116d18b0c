"""`frequent-readback`: the program waits for the device several times in a step."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Times, Window
from tracekit.analysis.rule import Finding, finding, longest
from tracekit.analysis.scope import steady_steps, window_of_target
from tracekit.analysis.submission import (
    IdleGaps,
    Waits,
    annotated_readbacks,
    between_steps,
    flights,
    per_step,
)
from tracekit.base import duration, percent

_ADVICE = (
    "Read results back once a step, at its end: keep what the next operation needs on the device "
    "(sampling, arg-max, masks, lengths), do not call item(), tolist() or numpy on "
    "intermediate arrays, and evaluate all outputs in one call, asynchronously where the host "
    "can do without them until the next step."
)


def frequent_readback(  # noqa: PLR0917  it asks for these tables
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    steps: pd.DataFrame,
    submissions: pd.DataFrame | None,
    completions: pd.DataFrame | None,
    encoders: pd.DataFrame | None,
    spans: pd.DataFrame | None,
    *,
    most: float = 1.5,
    limit: float = 0.03,
) -> Iterator[Finding]:
    """The program waits for the device several times in a step.

    What it looks for:
        Waits: moments at which all command buffers of the target were complete before it began
        to encode the next. Where a trace does not show them, spans of the workload named
        `readback`. It fires when there are more than `most` (1.5) in a steady step on average
        and the device is idle for more than `limit` (3 %) of the window after those that do
        not lie between two steps. Late starts (over 100 µs) within that time count for
        late-start; bubbles counts the same idle time.

    Why it matters:
        Each wait drains the queue: the device idles while the host is woken, decides, encodes
        and commits.

    What to do:
        Keep intermediate results on the device and read once a step.

    When it abstains:
        When the workload marks no steps, and when neither submissions and completions nor spans
        of readbacks are there, as in recordings of the host.
    """
    window = window_of_target(gpu_intervals, targets, phases)
    steady = steady_steps(steps)
    if submissions is not None and completions is not None:
        waits = flights(submissions, completions, encoders, targets).waits(window)
    else:
        waits = _annotated(spans, window)
    often = per_step(waits, steady)
    if often <= most:
        return
    idle = IdleGaps.of(gpu_intervals, window)
    held = idle.holding(waits.only(~between_steps(waits, steady)))
    lost = int(idle.before[held].sum())
    if lost > limit * window.length:
        yield _finding(often, lost, window, (idle.starts[held], idle.ends[held]))


def _annotated(spans: pd.DataFrame | None, window: Window) -> Waits:
    waits = annotated_readbacks(spans, window)
    if waits is None:
        raise Unavailable(
            "which waits the program made is not known: the recording has no submissions and "
            "completions of command buffers, and the workload has no spans `readback`."
        )
    return waits


def _finding(often: float, lost: int, window: Window, held: tuple[Times, Times]) -> Finding:
    return finding(
        message=(
            f"The program waits for the device {np.round(often, 1):g} times in a steady step on "
            f"average. After waits inside of steps the device was idle for {duration(lost)}, "
            f"{percent(lost / window.length)} of {window.name}, in {held[0].size:,} gaps."
        ),
        advice=_ADVICE,
        evidence=longest("gpu_intervals", *held),
        saving=lost,
        within="bubbles",
    )
