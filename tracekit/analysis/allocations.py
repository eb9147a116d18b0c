"""What the target allocated for the GPU in a window, and how long the driver wired memory."""

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Times, Window, clip, spans, union

# The only events of these tables that a trace was ever seen to hold.
ALLOCATION = "Allocation"
WIRE = "Wire Memory"


def allocations(resource_allocations: pd.DataFrame, window: Window) -> pd.DataFrame:
    """Return the rows of resources that the target allocated in the window.

    Raises:
        Unavailable: The table has rows of the target, and its events are of unknown names only.
    """
    own = resource_allocations[resource_allocations["target"]]
    known = own["event"].fillna("no name") == ALLOCATION
    if not own.empty and not known.any():
        words = ", ".join(sorted(set(own["event"].fillna("no name").astype(str))))
        raise Unavailable(f"which events of resources are allocations is not known: {words}.")
    inside = (own["time"] >= window.start) & (own["time"] < window.end)
    return own[known & inside]


def wiring(driver_events: pd.DataFrame, window: Window) -> tuple[Times, Times]:
    """Return when the driver wired memory for the target in the window; overlaps joined."""
    own = driver_events[driver_events["target"] & (driver_events["event"].fillna("") == WIRE)]
    return union(*clip(*spans(own), window.start, window.end))
