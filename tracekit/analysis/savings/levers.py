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
    """Let each wait be for the report of the wait that is `more` places before it.

    With m = more + 1 in flight, an iteration takes max(h, w + g, R / m). It wins nothing if an
    iteration needs the result of the last one.
    """
    awaits = schedule.awaits.copy()
    for rows in _threads(schedule):
        waits = rows[schedule.awaits[rows] >= 0]
        earlier_count = max(0, waits.size - more)
        earlier_waits = waits[:earlier_count]
        awaits[waits] = -1
        awaits[waits[more:]] = schedule.awaits[earlier_waits]
    return replace(schedule, awaits=awaits)


def wait_once(schedule: Schedule) -> Schedule:
    """Wait only before the first commit of an iteration, not within it.

    Of n waits an iteration n - 1 no longer hold the host up. If device and host cannot work at
    once, each saves T; if they can, the longer of h and w + g remains, and one T.
    """
    awaits = np.where(_inner(schedule), -1, schedule.awaits)
    return replace(schedule, awaits=awaits)


def batch_rounds(schedule: Schedule, number: int, *, wake: bool = False) -> Schedule:
    """Put the work between `number` waits into one command buffer, and wait once for all of it.

    Of k iterations with a wait k - 1 save T: an iteration takes h + w + T / k, and T is
    saved by (k - 1) / k. With `wake`, the time from a report until the host encodes is part of
    the wait, and saved as T is.
    """
    return _merge(schedule, _rounds(schedule) // number, wake=wake)


def merge_buffers(schedule: Schedule) -> Schedule:
    """Put all command buffers between two waits into one, or of an iteration, or every two.

    Each boundary saves g. The device begins only when the host is through with all of them.
    """
    if schedule.waits:
        keys = _rounds(schedule)
    elif _has_iterations(schedule):
        keys = schedule.iteration
    else:
        keys = _pairs(schedule)
    groups = np.unique(keys, return_inverse=True)[1]
    return _merge(schedule, groups)


def drop_boundaries(schedule: Schedule) -> Schedule:
    """Leave no gap between command buffers that are there in time: each saves g."""
    is_known = schedule.boundary > 0
    median_boundary = 0
    if is_known.any():
        known_boundaries = schedule.boundary[is_known]
        median_boundary = round(float(np.median(known_boundaries)))
    boundary_times = np.where(is_known, schedule.boundary, median_boundary)
    shorter_gaps = np.maximum(schedule.gap - boundary_times, 0)
    return replace(schedule, gap=np.minimum(schedule.gap, shorter_gaps))


def start_promptly(schedule: Schedule) -> Schedule:
    """Let late command buffers start as others do: each saves the time by which it was late."""
    late = schedule.late > 0
    earlier_starts = np.maximum(schedule.start - schedule.late, 0)
    shorter_gaps = np.maximum(schedule.gap - schedule.late, 0)
    starts = np.where(late, earlier_starts, schedule.start)
    gaps = np.where(late, shorter_gaps, schedule.gap)
    return replace(
        schedule,
        start=starts,
        gap=gaps,
    )


def join_encoders(schedule: Schedule) -> Schedule:
    """Leave no gap between the encoders of a command buffer: each saves itself."""
    return replace(schedule, inner=np.zeros(schedule.number, np.int64))


def scale_host(schedule: Schedule, share: float, *, wake: bool = True) -> Schedule:
    """Let the host compute for this share of its time: an iteration takes max(share h, w + g).

    Without `wake`, the time from a report until it encodes stays as it is.
    """
    if wake:
        fixed = np.maximum(schedule.fixed, 0)
        scaled_wake = _scale(schedule.wake, share)
    else:
        needed_wake = np.where(schedule.awaits >= 0, schedule.wake, 0)
        fixed = np.maximum(schedule.fixed, needed_wake)
        scaled_wake = schedule.wake
    host_before = _scale(schedule.host_before, share)
    host = fixed + _scale(schedule.host - fixed, share)
    return replace(
        schedule,
        host_before=host_before,
        host=host,
        wake=scaled_wake,
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
        is_same_number = number[1:] == number[:-1]
        inner[rows[1:]] = is_same_number & (number[1:] >= 0)
    return inner & (schedule.awaits >= 0)


def _has_iterations(schedule: Schedule) -> bool:
    return bool((schedule.iteration >= 0).any())


def _threads(schedule: Schedule) -> list[Places]:
    threads = np.unique(schedule.thread)
    return [np.flatnonzero(schedule.thread == thread) for thread in threads]


def _rounds(schedule: Schedule) -> Places:
    """Return the number of waits of its thread before or at each commit."""
    number = np.zeros(schedule.number, np.intp)
    for rows in _threads(schedule):
        is_waiting = schedule.awaits[rows] >= 0
        number[rows] = np.cumsum(is_waiting)
    return number


def _pairs(schedule: Schedule) -> Places:
    number = np.zeros(schedule.number, np.intp)
    for rows in _threads(schedule):
        row_places = np.arange(rows.size)
        number[rows] = row_places // 2
    return number


def _merge(schedule: Schedule, group: Places, *, wake: bool = False) -> Schedule:
    """Put the command buffers of each group, thread and device into one, committed with the last.

    With `wake`, only the first of a group has the time from a report until the host encodes.
    """
    rows = np.arange(schedule.number)
    keys = np.stack([schedule.thread, schedule.device, group], axis=1)
    groups = np.unique(keys, axis=0, return_inverse=True)[1]
    group_count = groups.max() + 1
    last_rows = np.zeros(group_count, np.intp)
    np.maximum.at(last_rows, groups, rows)
    first_rows = np.zeros_like(last_rows)
    first_rows[groups[::-1]] = rows[::-1]

    follows = np.ones(schedule.number, bool)
    follows[first_rows] = False
    host_between = np.where(follows, schedule.host_before, 0)
    host = schedule.host + host_between
    if wake:
        follows_wait = follows & (schedule.awaits >= 0)
        host -= np.where(follows_wait, schedule.wake, 0)

    order = np.argsort(last_rows, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    awaits = _merge_awaits(schedule, place[groups], order.size)
    begins = first_rows[order]
    host_before = np.where(awaits >= 0, schedule.host_before[begins], 0)
    work = _sum_by_group(schedule.work, groups)[order]
    inner = _sum_by_group(schedule.inner, groups)[order]
    back = schedule.back[last_rows[order]]
    host_times = _sum_by_group(host, groups)[order]
    return replace(
        schedule.pick(begins),
        awaits=awaits,
        host_before=host_before,
        host=host_times,
        work=work,
        inner=inner,
        back=back,
    )


def _sum_by_group(times: Times, groups: Places) -> Times:
    return np.bincount(groups, weights=times).astype(np.int64)


def _merge_awaits(schedule: Schedule, places: Places, number: int) -> Places:
    """Return the merged command buffer that each of `number` waits for, -1 for none.

    `places` has the merged command buffer of each row. It waits for the last of those that its
    rows waited for, unless it is that one itself.
    """
    awaits = np.full(number, -1)
    for row in np.flatnonzero(schedule.awaits >= 0).tolist():
        waiting_place = places[row]
        awaited_place = places[schedule.awaits[row]]
        if awaited_place < waiting_place:
            awaits[waiting_place] = max(awaits[waiting_place], awaited_place)
    return awaits
