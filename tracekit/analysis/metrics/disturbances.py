"""What disturbs the steady window: pipelines made in it, other processes on the GPU."""

import numpy as np
import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import busy, clip, spans
from tracekit.analysis.late_pipelines import (
    activity_inside,
    counted,
    first_used_inside,
    of_the_service,
)
from tracekit.analysis.metric import metric
from tracekit.analysis.result import Better
from tracekit.analysis.steady import window_of_target
from tracekit.analysis.target import of_target, on_gpu, own_rows


@metric("count", Better.LOWER)
def steady_compiles(
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    specializations: pd.DataFrame | None,
) -> int:
    """Pipelines that came to be in the steady window; a workload that is warm has none.

    How often the shader compiler began to work for the target there, or how many pipelines the
    workload first used there by its own count: the greater, as both tell of the same.
    """
    known = counted(gpu_intervals, targets, specializations)
    if compiler_activity is None and known is None:
        raise Unavailable(
            "neither compiler activity (graphics-compiler-activity-intervals) was exported nor "
            "did the workload count its pipelines."
        )
    window = window_of_target(gpu_intervals, targets, phases)
    used = 0 if known is None else len(first_used_inside(known, window))
    if compiler_activity is None:
        return used
    inside = activity_inside(compiler_activity, window)
    service = of_the_service(inside)
    if known is None and len(service) and own_rows(compiler_activity).empty:
        raise Unavailable(
            f"the shader compiler worked {len(service):,} times under its own name; whether it "
            "did so for the target, the trace does not say."
        )
    return max(used, len(own_rows(inside)))


@metric("ratio", Better.LOWER)
def other_process_share(
    gpu_intervals: pd.DataFrame, targets: pd.DataFrame, phases: pd.DataFrame | None
) -> float:
    """Share of the GPU's busy time in the steady window in which other processes' work ran.

    Where their work and the target's ran side by side, it counts as theirs.
    """
    window = window_of_target(on_gpu(gpu_intervals), targets, phases)
    own = clip(*spans(of_target(gpu_intervals, targets)), window.start, window.end)
    theirs = gpu_intervals[~gpu_intervals["target"].astype(bool)]
    others = clip(*spans(theirs), window.start, window.end)
    together = busy(np.concatenate((own[0], others[0])), np.concatenate((own[1], others[1])))
    if together == 0:
        raise Unavailable(f"the GPU did nothing in {window.name}.")
    return busy(*others) / together
