"""Waits for the device in the workload's steps."""

import numpy as np
import pandas as pd

from tracekit.analysis.intervals import Window
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.submission.flights import Waits, in_steps
from tracekit.workload.workload import READBACK


def told_readbacks(spans: pd.DataFrame | None, window: Window) -> Waits | None:
    """Return the readbacks in the window that the workload told of; None where it told of none.

    A span begins when the program begins to wait, long before the device is through. What the
    device then lacks is work at the span's end, so that a wait is taken to be there.
    """
    if spans is None:
        return None
    starts, ends = bounds(spans[spans["name"] == READBACK].sort_values("start", kind="stable"))
    if starts.size == 0:
        return None
    return Waits(ends - 1, ends).only((starts >= window.start) & (starts < window.end))


def per_step(waits: Waits, steps: pd.DataFrame) -> float:
    """Return how many waits a step has on average; of several variants the one with most."""
    if "variant" not in steps:
        return waits.starts.size / len(steps)
    ordered = steps.sort_values("start", kind="stable")
    codes, names = pd.factorize(ordered["variant"].fillna("").astype(str))
    places = in_steps(waits, ordered)
    counts = np.bincount(places[places >= 0], minlength=len(ordered))
    totals = np.bincount(codes, weights=counts, minlength=len(names))
    return float((totals / np.bincount(codes)).max())
