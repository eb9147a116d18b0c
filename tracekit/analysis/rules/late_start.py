"""`late-start`: submitted work waits although the device is idle."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Finding, finding, longest
from tracekit.analysis.scope import of_target, on_gpu, window_of_target
from tracekit.analysis.submission import LATE, IdleGaps
from tracekit.base import duration, percent

_ADVICE = (
    "Keep the device awake and the queue filled: commit the next command buffer while this one "
    "runs, so that its launch hides behind work. Candidates beside that: fewer resources for the "
    "driver to process with each command buffer (argument buffers, residency sets, buffers that "
    "are made once), and fewer, larger command buffers."
)


def late_start(
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    *,
    late: int = LATE,
    limit: float = 0.05,
) -> Iterator[Finding]:
    """Submitted work starts late on an idle device.

    What it looks for:
        The start latency of the target's device intervals in the steady window, as far as the
        device was idle meanwhile: waiting behind earlier work of the target, or behind other
        processes, is no latency. Waits of at most `late` (100 µs) are the usual launch and do
        not count. It fires when the device was idle in the others for more than `limit` of the
        window (5 %). Bubbles counts the same time, under start latency.

    Why it matters:
        Driver, firmware and a device that wakes up add their time to every step that finds the
        queue empty.

    What to do:
        Submit ahead, and give the driver less to process per command buffer.

    When it abstains:
        When no interval of the target has a start latency, when the target is not known, and
        where a CPU did the work.
    """
    own = of_target(on_gpu(gpu_intervals), targets)
    if own["start_latency"].isna().all():
        raise Unavailable("no interval of the target has a start latency.")
    window = window_of_target(gpu_intervals, targets, phases)
    idle = IdleGaps.of(gpu_intervals, window)
    chosen = idle.waited > late
    waited = idle.waited[chosen]
    if waited.sum() <= limit * window.length:
        return
    all_waits = idle.waited[idle.waited > 0]
    p50, p99 = np.percentile(all_waits, (50, 99))
    yield finding(
        message=(
            f"The device was idle for {percent(waited.sum() / window.length)} of {window.name} "
            f"({duration(waited.sum())}) although work of the target had been submitted: "
            f"{waited.size:,} starts waited longer than {duration(late)}. Of {all_waits.size:,} "
            f"starts on an idle device, half waited {duration(p50)} or longer, 1 % "
            f"{duration(p99)} or longer."
        ),
        advice=_ADVICE,
        evidence=longest("gpu_intervals", idle.ready[chosen], idle.ends[chosen]),
        saving=int(waited.sum()),
        within="bubbles",
    )
