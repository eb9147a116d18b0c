"""Work that the driver and the compiler do for the target: memory is wired, pipelines are made."""

import numpy as np
import pandas as pd

from tracekit.analysis.inject import NotApplicable
from tracekit.analysis.intervals import Times, Window, choose_rows, clip, spans, union
from tracekit.analysis.scope import Device

WIRE = "Wire Memory"
"""The only event of the driver in any trace so far."""
_SERVICE = "compiler"  # in the name of a process that compiles for others


def wirings(driver_events: pd.DataFrame) -> pd.DataFrame:
    """Return the rows in which the driver wired memory for the target."""
    is_wiring = (driver_events["event"] == WIRE).to_numpy(np.bool_, na_value=False)
    return choose_rows(driver_events, is_wiring & driver_events["target"].to_numpy(np.bool_))


def wiring(driver_events: pd.DataFrame, window: Window) -> tuple[Times, Times]:
    """Return when the driver wired memory for the target in the window, with overlaps joined."""
    wiring_spans = spans(wirings(driver_events))
    wired = clip(*wiring_spans, window.start, window.end)
    return union(*wired)


def of_the_service(activity: pd.DataFrame) -> pd.DataFrame:
    """Return the compiler's work under its own name, whose client is not in the trace."""
    processes = activity["process"].fillna("")
    is_of_service = processes.str.contains(_SERVICE, case=False)
    return choose_rows(activity, is_of_service.to_numpy(np.bool_))


def select_pipelines(device: Device, specializations: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return the pipelines that the workload counts; None if it does not name any on a GPU."""
    if specializations is not None and not specializations.empty:
        return specializations
    if device.on_the_host:
        raise NotApplicable("the work ran on the CPU, and the workload names no pipelines.")
    return None
