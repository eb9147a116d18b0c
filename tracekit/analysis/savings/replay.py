"""A small discrete-event model of host threads, queues and devices that replays a schedule.

Time passes as the schedule says, and all that follows from it is computed anew:

    commit  = max(last commit of the thread + before, report that it waits for) + host
    started = max(commit + start, end of the last one on the device + gap)
    ended   = started + work + inner
    report  = max(ended + back, last report of the thread)

Threads commit in the order of time, and a device takes command buffers in the order of commits.
Work of other processes comes when it came, and goes first where it came first.
"""

import heapq
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np

from tracekit.analysis.savings.schedule import Schedule

_BOUND = 0.9  # of the time, from which a host or a device is what bounds a loop


class Bottleneck(StrEnum):
    """What a loop goes as fast as."""

    HOST = "host"
    DEVICE = "device"
    ROUND_TRIP = "round trip"
    UNKNOWN = "not known"


@dataclass(frozen=True)
class Replay:
    """How a replay went: its length, and how much of that the busiest thread and device worked."""

    length: int
    host: int
    device: int

    @property
    def limit(self) -> Bottleneck:
        """What bounds it: whoever is busy for nine tenths of the time, or nobody."""
        busiest = max(self.host, self.device)
        if busiest < _BOUND * self.length:
            return Bottleneck.ROUND_TRIP
        return Bottleneck.HOST if busiest == self.host else Bottleneck.DEVICE


@lru_cache(maxsize=16)
def replay(schedule: Schedule) -> Replay:
    """Replay a schedule; ns. It is the same at each call: a schedule does not change."""
    threads = [np.flatnonzero(schedule.thread == thread) for thread in np.unique(schedule.thread)]
    queues = [rows.tolist() for rows in threads]
    host_before, host = schedule.host_before.tolist(), schedule.host.tolist()
    awaits, devices = schedule.awaits.tolist(), schedule.device.tolist()
    starts, gaps = schedule.start.tolist(), schedule.gap.tolist()
    lengths, backs = (schedule.work + schedule.inner).tolist(), schedule.back.tolist()
    reports = [0] * schedule.number
    free_times: dict[int, int] = {}
    rivals = _rivals_of(schedule)
    place, last_reports = [0] * len(queues), [0] * len(queues)
    agenda = [(host[rows[0]], number) for number, rows in enumerate(queues)]
    heapq.heapify(agenda)
    while agenda:
        commit_time, number = heapq.heappop(agenda)
        row, device = queues[number][place[number]], devices[queues[number][place[number]]]
        started = commit_time + starts[row]
        waiting = rivals.get(device)
        while waiting and waiting[-1][0] <= max(started, free_times.get(device, 0)):
            arrival, length = waiting.pop()
            free_times[device] = max(arrival, free_times.get(device, 0)) + length
        if device in free_times:
            started = max(started, free_times[device] + gaps[row])
        free_times[device] = max(free_times.get(device, 0), started + lengths[row])
        last_reports[number] = max(started + lengths[row] + backs[row], last_reports[number])
        reports[row] = last_reports[number]
        place[number] += 1
        if place[number] < len(queues[number]):
            following = queues[number][place[number]]
            ready = commit_time + host_before[following]
            if awaits[following] >= 0:
                ready = max(ready, reports[awaits[following]])
            heapq.heappush(agenda, (ready + host[following], number))
    return _measure_replay(schedule, max(reports))


def _rivals_of(schedule: Schedule) -> dict[int, list[tuple[int, int]]]:
    """Return when other processes bring work to each device, and how much; the first comes last."""
    rivals = schedule.rivals
    rivals_by_device: dict[int, list[tuple[int, int]]] = {}
    columns = (rivals.device.tolist(), rivals.start.tolist(), rivals.length.tolist())
    for device, start, length in reversed(list(zip(*columns, strict=True))):
        rivals_by_device.setdefault(device, []).append((start, length))
    return rivals_by_device


def _measure_replay(schedule: Schedule, length: int) -> Replay:
    computed = schedule.host_before + schedule.host
    worked = schedule.work + schedule.inner
    return Replay(
        length,
        int(np.bincount(schedule.thread, weights=computed).max()),
        int(np.bincount(schedule.device, weights=worked).max()),
    )
