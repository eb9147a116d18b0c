"""Reference work between steps: when the worker did it, which is nobody's time to save."""

import numpy as np
import pandas as pd

from tracekit.analysis.intervals import Times, Window, busy, clip, spans
from tracekit.workload.workload import REFERENCE


def reference_work(told: pd.DataFrame | None) -> tuple[Times, Times]:
    """Return when reference work began and ended, by the table `spans`."""
    if told is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return spans(told[told["name"] == REFERENCE])


def reference_time(told: pd.DataFrame | None, window: Window) -> int:
    """Return the nanoseconds of a window in which reference work was done."""
    return busy(*clip(*reference_work(told), window.start, window.end))
