"""The levers: each changes a schedule as a programmer would change the program.

With h the host's time an iteration, w the device's, g its gap between command buffers that are
there in time, and R the round trip: all of an iteration that waits for its own report, h + w and
the ways there and back, T of them. The formulas hold where all iterations are alike; a replay of
the changed schedule takes each as it was.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tracekit.analysis.idle.slopes import Places
from tracekit.analysis.intervals import Times
from tracekit.analysis.savings.schedule import Flags, Schedule

Lever = Callable[[Schedule], Schedule]
"""Changes a schedule."""


def keep_in_flight(schedule: Schedule, more: int) -> Schedule:
    """Let each wait be for the report that an earlier one, so many before, was for.

    With m = more + 1 in flight, an iteration takes max(h, w + g, R / m). It wins nothing where an
    iteration needs the result of the last one.
    """
    awaits = schedule.awaits.copy()
    for rows in _threads(schedule):
        waits = rows[schedule.awaits[rows] >= 0]
        awaits[waits] = -1
        awaits[waits[more:]] = schedule.awaits[waits[: max(0, waits.size - more)]]
    return replace(schedule, awaits=awaits)


def wait_once(schedule: Schedule) -> Schedule:
    """Wait only before the first commit of an iteration, not within it.

    Of n waits an iteration n - 1 no longer hold the host up. Where device and host cannot work at
    once, each saves T; where they can, the longer of h and w + g remains, and one T.
    """
    return replace(schedule, awaits=np.where(_inner(schedule), -1, schedule.awaits))


def batch_rounds(schedule: Schedule, number: int, *, wake: bool = False) -> Schedule:
    """Put what is between `number` waits into one command buffer, and wait once for all of it.

    Of k iterations with a wait k - 1 save T: an iteration takes h + w + T / k, and T is
    saved by (k - 1) / k. Where `wake`, the time from a report until the host encodes is part of
    the wait, and saved as T is.
    """
    return _merge(schedule, _rounds(schedule) // number, wake=wake)


def merge_buffers(schedule: Schedule) -> Schedule:
    """Put all command buffers between two waits into one, or of an iteration, or every two.

    Each boundary saves g. The device begins only when the host is through with all of them.
    """
    rounds = _rounds(schedule)
    inner_groups = schedule.iteration if _has_iterations(schedule) else _pairs(schedule)
    keys = np.stack([rounds, inner_groups], axis=1)
    if schedule.waits:
        keys = rounds[:, np.newaxis]
    return _merge(schedule, np.unique(keys, axis=0, return_inverse=True)[1])


def drop_boundaries(schedule: Schedule) -> Schedule:
    """Leave no gap between command buffers that are there in time: each saves g."""
    known_boundaries = schedule.boundary[schedule.boundary > 0]
    median_boundary = round(float(np.median(known_boundaries))) if known_boundaries.size else 0
    boundary_times = np.where(schedule.boundary > 0, schedule.boundary, median_boundary)
    return replace(
        schedule, gap=np.minimum(schedule.gap, np.maximum(schedule.gap - boundary_times, 0))
    )


def start_promptly(schedule: Schedule) -> Schedule:
    """Let what starts late start as others do: each saves what it was late by."""
    late = schedule.late > 0
    start, gap = (
        np.where(late, np.maximum(times - schedule.late, 0), times)
        for times in (schedule.start, schedule.gap)
    )
    return replace(schedule, start=start, gap=gap)


def join_encoders(schedule: Schedule) -> Schedule:
    """Leave no gap between the encoders of a command buffer: each saves itself."""
    return replace(schedule, inner=np.zeros(schedule.number, np.int64))


def scale_host(schedule: Schedule, share: float, *, wake: bool = True) -> Schedule:
    """Let the host compute for this share of its time: an iteration takes max(share h, w + g).

    Where not `wake`, the time from a report until it encodes stays as it is.
    """
    kept_wake = np.where(schedule.awaits >= 0, schedule.wake, 0) if not wake else 0
    fixed = np.maximum(schedule.fixed, kept_wake)
    return replace(
        schedule,
        host_before=_scale(schedule.host_before, share),
        host=fixed + _scale(schedule.host - fixed, share),
        wake=_scale(schedule.wake, share) if wake else schedule.wake,
    )


def _scale(times: Times, share: float) -> Times:
    return np.round(times * share).astype(np.int64)


def inner_waits(schedule: Schedule) -> int:
    """Return how many waits lie within an iteration."""
    return int(np.count_nonzero(_inner(schedule)))


def _inner(schedule: Schedule) -> Flags:
    inner = np.zeros(schedule.number, bool)
    for rows in _threads(schedule):
        number = schedule.iteration[rows]
        inner[rows[1:]] = (number[1:] == number[:-1]) & (number[1:] >= 0)
    return inner & (schedule.awaits >= 0)


def _has_iterations(schedule: Schedule) -> bool:
    return bool((schedule.iteration >= 0).any())


def _threads(schedule: Schedule) -> list[Places]:
    return [np.flatnonzero(schedule.thread == thread) for thread in np.unique(schedule.thread)]


def _rounds(schedule: Schedule) -> Places:
    """Return the number of waits of its thread before or at each commit."""
    number = np.zeros(schedule.number, np.intp)
    for rows in _threads(schedule):
        number[rows] = np.cumsum(schedule.awaits[rows] >= 0)
    return number


def _pairs(schedule: Schedule) -> Places:
    number = np.zeros(schedule.number, np.intp)
    for rows in _threads(schedule):
        number[rows] = np.arange(rows.size) // 2
    return number


def _merge(schedule: Schedule, group: Places, *, wake: bool = False) -> Schedule:
    """Put the command buffers of each group, thread and device into one, committed with the last.

    Where `wake`, only the first of a group has the time from a report until the host encodes.
    """
    keys = np.stack([schedule.thread, schedule.device, group], axis=1)
    whose = np.unique(keys, axis=0, return_inverse=True)[1]
    last_rows = np.zeros(whose.max() + 1, np.intp)
    first_rows = last_rows.copy()
    np.maximum.at(last_rows, whose, np.arange(schedule.number))
    first_rows[whose[::-1]] = np.arange(schedule.number)[::-1]
    leads = np.zeros(schedule.number, bool)
    leads[first_rows] = True
    host = schedule.host + np.where(leads, 0, schedule.host_before)
    host -= np.where(~leads & wake & (schedule.awaits >= 0), schedule.wake, 0)
    order = np.argsort(last_rows, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    sums = {
        name: np.bincount(whose, weights=values).astype(np.int64)[order]
        for name, values in (("host", host), ("work", schedule.work), ("inner", schedule.inner))
    }
    awaits = np.full(order.size, -1)
    for row in np.flatnonzero(schedule.awaits >= 0).tolist():
        mine, awaited_place = place[whose[row]], place[whose[schedule.awaits[row]]]
        if awaited_place < mine:
            awaits[mine] = max(awaits[mine], awaited_place)
    ends, begins = last_rows[order], first_rows[order]
    return replace(
        schedule.pick(begins),
        awaits=awaits,
        host_before=np.where(awaits >= 0, schedule.host_before[begins], 0),
        host=sums["host"],
        work=sums["work"],
        inner=sums["inner"],
        back=schedule.back[ends],
    )
