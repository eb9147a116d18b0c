"""The steady window of the target, where there is one to judge."""

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window, steady_window
from tracekit.analysis.target import of_target


def window_of_target(
    gpu_intervals: pd.DataFrame, targets: pd.DataFrame, phases: pd.DataFrame | None
) -> Window:
    """Return the steady window: by the workload's marks, else the span of the target's rows.

    Raises:
        Unavailable: The target is not known or has no rows, or the window has no length.
    """
    window = steady_window(phases, of_target(gpu_intervals, targets))
    assert window is not None
    if window.length == 0:
        raise Unavailable(f"{window.name} has no length.")
    return window
