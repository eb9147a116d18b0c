"""Requests: stretches of a loop between two pauses, and the iterations that open them.

A program that answers people works in requests: a pause, then a long first piece of work, such as
reading a prompt, then many short ones, then a pause again. The long ones are not spikes.
"""

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis.intervals import Times

STEADY = "steady"
OPENING = "opening"
"""The phase of iterations that open a request."""
_LONGER = 1.5  # ratio of an opening's device time to that of a usual iteration, at least
_LATER_HALF = 2
_NEAR = 4.0  # largest ratio to the device time of other requests' openings, or its inverse
_MOSTLY = 0.5  # share of the other requests that have an opening

Flags = NDArray[np.bool_]


def number_requests(quiet: Flags) -> Times:
    """Return the number of each iteration's request, from 0, by the pauses between iterations."""
    quiet_counts = np.cumsum(quiet, dtype=np.int64)
    return np.concatenate((np.zeros(1, np.int64), quiet_counts))


def find_openings(work: Times, request: Times) -> Flags:
    """Return which iterations open their request: the first ones, with far more device time."""
    openings = np.zeros(work.size, bool)
    is_new = np.diff(request, prepend=-1)
    places = np.flatnonzero(is_new)
    row_places = np.arange(work.size)
    parts = np.split(row_places, places[1:])
    part_medians = [np.median(work[_later(part)]) for part in parts]
    usual_work = float(np.median(part_medians))
    for part in parts:
        long = work[part] > _LONGER * usual_work
        opening_count = 0
        if not long.all():
            opening_count = int(np.argmin(long))
        openings[part[:opening_count]] = True
    return openings


def _later(part: Times) -> Times:
    return part[part.size // _LATER_HALF :]


def opens_alike(earlier_work: int, work: Times, request: Times, openings: Flags) -> bool:
    """Return whether device work (ns) before the first iteration opens the first request.

    It does if most other requests are opened by a similar amount of work, and this one has no
    opening.
    """
    number = int(request[-1]) + 1
    if number == 1 or openings[request == 0].any() or not earlier_work:
        return False
    request_work = np.bincount(request[openings], weights=work[openings], minlength=number)
    sums = request_work[1:]
    opened = sums[sums > 0]
    if opened.size < _MOSTLY * (number - 1):
        return False
    usual_work = float(np.median(opened))
    return usual_work / _NEAR <= earlier_work <= usual_work * _NEAR
