"""The machine's clock, heat and power in the steady window, where a monitor read them."""

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import steady_window
from tracekit.analysis.metric import metric
from tracekit.analysis.monitored import monitored
from tracekit.analysis.result import Better


@metric("Hz")
def gpu_clock_p50(gauges: pd.DataFrame | None, phases: pd.DataFrame | None) -> float:
    """Median clock of the GPU in the steady window, by the monitor beside the run."""
    return float(_steady(gauges, phases, "gpu_clock").median())


@metric("Hz")
def gpu_clock_min(gauges: pd.DataFrame | None, phases: pd.DataFrame | None) -> float:
    """Lowest clock of the GPU in the steady window: far below the median, it was throttled or idle.

    A monitor is read twice a second; shorter drops may not be seen.
    """
    return float(_steady(gauges, phases, "gpu_clock").min())


@metric("W", Better.LOWER)
def gpu_power_p50(gauges: pd.DataFrame | None, phases: pd.DataFrame | None) -> float:
    """Median power of the GPU in the steady window, by the monitor beside the run."""
    return float(_steady(gauges, phases, "gpu_power").median())


@metric("level", Better.LOWER)
def thermal_pressure_worst(gauges: pd.DataFrame | None, phases: pd.DataFrame | None) -> int:
    """Worst thermal pressure in the steady window.

    0 nominal, 1 light, 2 moderate, 3 heavy, 4 trapping, 5 sleeping.
    """
    return int(_steady(gauges, phases, "thermal_pressure").max())


def _steady(
    gauges: pd.DataFrame | None, phases: pd.DataFrame | None, name: str
) -> "pd.Series[float]":
    """Return the readings of one name in the steady phase, or of all the run without phases."""
    own = monitored(gauges, name)
    window = None if phases is None else steady_window(phases, phases.iloc[:0])
    if window is not None:
        own = own[own["time"].between(window.start, window.end)]
    if own.empty:
        raise Unavailable(f"no reading of {name} lies in the steady window: it was too short.")
    return own["value"].astype(float)
