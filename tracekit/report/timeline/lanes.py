"""Intervals that overlap are drawn below each other: which lane each one takes."""

import numpy as np

from tracekit.analysis.intervals import Times

MOST = 6


def assign(starts: Times, ends: Times, most: int = MOST) -> Times:
    """Return the lane of each interval: the first that is free when it starts.

    Args:
        starts: When each interval starts, ascending; ns.
        ends: When each ends; ns.
        most: Lanes to use. An interval that finds none free gets the lane -1.
    """
    if starts.size < 2 or not (starts[1:] < np.maximum.accumulate(ends)[:-1]).any():  # noqa: PLR2004
        return np.zeros(starts.size, np.int64)
    free_from = [starts[0]] * most
    lanes: list[int] = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        lane = next((one for one, free in enumerate(free_from) if free <= start), -1)
        if lane >= 0:
            free_from[lane] = end
        lanes.append(lane)
    return np.array(lanes, np.int64)
