"""Pipelines that came to be in the steady window: what the compiler did, what was new to use."""

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window
from tracekit.analysis.target import of_target

_SERVICE = "compiler"  # in the name of a process that compiles for others


def activity_inside(activity: pd.DataFrame, window: Window) -> pd.DataFrame:
    """Return what the shader compiler began in the window, for whomever."""
    return activity[(activity["start"] >= window.start) & (activity["start"] < window.end)]


def of_the_service(activity: pd.DataFrame) -> pd.DataFrame:
    """Return what the compiler did under its own name: for whom, the trace does not say."""
    return activity[activity["process"].fillna("").str.contains(_SERVICE, case=False)]


def first_used_inside(made: pd.DataFrame, window: Window) -> pd.DataFrame:
    """Return the pipelines that the workload first used in the window, by its own count."""
    return made[(made["time"] >= window.start) & (made["time"] < window.end)]


def counted(
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    specializations: pd.DataFrame | None,
) -> pd.DataFrame | None:
    """Return the pipelines that the workload counts; None where it names none at all.

    Raises:
        Unavailable: A CPU did the work, and the workload names no pipelines.
    """
    own = of_target(gpu_intervals, targets)
    if specializations is not None and not specializations.empty:
        return specializations
    if (own["clock"] == "host").any():
        raise Unavailable("the work ran on the CPU, and the workload names no pipelines.")
    return None
