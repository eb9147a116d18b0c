"""Requests: stretches of a loop between two pauses, and the iterations that open them.

Who answers a person works in requests: quiet, then a long first piece of work, such as a prompt
that is read, then many short ones, then quiet again. The long ones are no spikes of the short ones.
"""

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis.intervals import Times

STEADY = "steady"
OPENING = "opening"
"""The phase of iterations that open a request."""
_LONGER = 1.5  # times the device time of what follows, for an iteration to open a request
_LATER_HALF = 2
_NEAR = 4.0  # times as much or as little device time as openings of other requests have
_MOSTLY = 0.5  # of the other requests, which open alike

Flags = NDArray[np.bool_]


def number_requests(quiet: Flags) -> Times:
    """Return the number of the request of each iteration, from 0, by the pauses between them."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(quiet, dtype=np.int64)))


def find_openings(work: Times, request: Times) -> Flags:
    """Tell which iterations open their request: the first ones, with far more device time."""
    openings = np.zeros(work.size, bool)
    places = np.flatnonzero(np.diff(request, prepend=-1))
    parts = np.split(np.arange(work.size), places[1:])
    usual_work = float(np.median([np.median(work[_later(part)]) for part in parts]))
    for part in parts:
        long = work[part] > _LONGER * usual_work
        opening_count = int(np.argmin(long)) if not long.all() else 0
        openings[part[:opening_count]] = True
    return openings


def _later(part: Times) -> Times:
    return part[part.size // _LATER_HALF :]


def opens_alike(earlier_work: int, work: Times, request: Times, openings: Flags) -> bool:
    """Tell whether device work (ns) before the first iteration opens the first request.

    So it is where most other requests are opened by about as much, and this one is not yet.
    """
    number = int(request[-1]) + 1
    if number == 1 or openings[request == 0].any() or not earlier_work:
        return False
    sums = np.bincount(request[openings], weights=work[openings], minlength=number)[1:]
    opened = sums[sums > 0]
    if opened.size < _MOSTLY * (number - 1):
        return False
    usual_work = float(np.median(opened))
    return usual_work / _NEAR <= earlier_work <= usual_work * _NEAR
