"""Slices on lanes: on each of them one ends before the next begins, as other programs want it."""

import heapq
from collections.abc import Iterator

import numpy as np

from tracekit.analysis.intervals import Times
from tracekit.interop.event_tracks import Slices


def lanes(track: Slices) -> Iterator[Slices]:
    """Yield the track's slices, as few tracks as it takes to let none overlap."""
    place = lanes_of(track.starts, track.ends)
    for lane in range(int(place.max(initial=-1)) + 1):
        yield track.taken(np.flatnonzero(place == lane))


def lanes_of(starts: Times, ends: Times) -> Times:
    """Return the lane of each interval, from 0: the lowest that is free when it starts.

    Args:
        starts: When each interval starts, ascending; ns.
        ends: When each ends; ns.
    """
    if not (starts[1:] < np.maximum.accumulate(ends)[:-1]).any():
        return np.zeros(starts.size, np.int64)
    taken: list[tuple[int, int]] = []
    free: list[int] = []
    found: list[int] = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        while taken and taken[0][0] <= start:
            heapq.heappush(free, heapq.heappop(taken)[1])
        lane = heapq.heappop(free) if free else len(taken)
        heapq.heappush(taken, (end, lane))
        found.append(lane)
    return np.array(found, np.int64)
