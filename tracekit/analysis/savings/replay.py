"""A small discrete-event model of host threads, queues and devices that replays a schedule.

Time passes as the schedule says, and all that follows from it is computed anew:

    commit  = max(last commit of the thread + before, report that it waits for) + host
    started = max(commit + start, end of the last one on the device + gap)
    ended   = started + work + inner
    report  = max(ended + back, last report of the thread)

Threads commit in the order of time, and a device takes command buffers in the order of commits.
Work of other processes comes at its recorded time, and goes first if it came first.
"""

import heapq
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np

from tracekit.analysis.savings.schedule import Schedule

_BOUND = 0.9  # share of the time from which a host or a device bounds a loop


class Bottleneck(StrEnum):
    """The resource that sets the speed of a loop."""

    HOST = "host"
    DEVICE = "device"
    ROUND_TRIP = "round trip"
    UNKNOWN = "not known"


@dataclass(frozen=True)
class Replay:
    """The length of a replay, and the work of its busiest thread and device; ns."""

    length: int
    host: int
    device: int

    @property
    def limit(self) -> Bottleneck:
        """The thread or device that is busy for nine tenths of the time; else the round trip."""
        busiest = max(self.host, self.device)
        if busiest < _BOUND * self.length:
            return Bottleneck.ROUND_TRIP
        if busiest == self.host:
            return Bottleneck.HOST
        return Bottleneck.DEVICE


class _Devices:
    """When each device is free, and the work of other processes that it has not taken yet; ns."""

    def __init__(self, rivals: dict[int, list[tuple[int, int]]]) -> None:
        self._rivals = rivals
        self._free_times: dict[int, int] = {}

    def run(self, device: int, earliest_start: int, gap: int, length: int) -> int:
        """Run a command buffer of the target on a device and return its end."""
        if self._rivals.get(device):
            self._run_rivals(device, earliest_start)
        ended = earliest_start + length
        free_time = self._free_times.get(device)
        if free_time is not None:
            ended = max(ended, free_time + gap + length)
        self._free_times[device] = max(free_time or 0, ended)
        return ended

    def _run_rivals(self, device: int, started: int) -> None:
        """Run the work of other processes that comes before a command buffer could start."""
        waiting = self._rivals[device]
        free_time = self._free_times.get(device, 0)
        while waiting and waiting[-1][0] <= max(started, free_time):
            arrival, length = waiting.pop()
            free_time = max(arrival, free_time) + length
            self._free_times[device] = free_time


@lru_cache(maxsize=16)
def replay(schedule: Schedule) -> Replay:
    """Replay a schedule. It is the same at each call: a schedule does not change."""
    host_before = schedule.host_before.tolist()
    host = schedule.host.tolist()
    awaits = schedule.awaits.tolist()
    devices = schedule.device.tolist()
    starts = schedule.start.tolist()
    gaps = schedule.gap.tolist()
    lengths = (schedule.work + schedule.inner).tolist()
    backs = schedule.back.tolist()

    queues: list[list[int]] = []  # the rows of each thread
    agenda: list[tuple[int, int]] = []  # the next commit of each thread, and its number
    for number, thread in enumerate(np.unique(schedule.thread)):
        is_of_thread = schedule.thread == thread
        rows = np.flatnonzero(is_of_thread).tolist()
        queues.append(rows)
        first_commit = (host[rows[0]], number)
        agenda.append(first_commit)
    heapq.heapify(agenda)

    timed_devices = _Devices(_rivals_of(schedule))
    reports = [0] * schedule.number
    places = [0] * len(queues)
    last_reports = [0] * len(queues)
    while agenda:
        commit_time, number = heapq.heappop(agenda)
        queue = queues[number]
        row = queue[places[number]]
        earliest_start = commit_time + starts[row]
        ended = timed_devices.run(devices[row], earliest_start, gaps[row], lengths[row])
        report = ended + backs[row]
        last_reports[number] = max(report, last_reports[number])
        reports[row] = last_reports[number]
        places[number] += 1
        if places[number] < len(queue):
            following = queue[places[number]]
            ready = commit_time + host_before[following]
            if awaits[following] >= 0:
                ready = max(ready, reports[awaits[following]])
            next_commit = (ready + host[following], number)
            heapq.heappush(agenda, next_commit)
    return _measure_replay(schedule, max(reports))


def _rivals_of(schedule: Schedule) -> dict[int, list[tuple[int, int]]]:
    """Return start and length of other processes' work on each device, the earliest at the end."""
    rivals = schedule.rivals
    devices = rivals.device[::-1].tolist()
    starts = rivals.start[::-1].tolist()
    lengths = rivals.length[::-1].tolist()
    rivals_by_device: dict[int, list[tuple[int, int]]] = {}
    rival_work = zip(devices, starts, lengths, strict=True)
    for device, start, length in rival_work:
        device_rivals = rivals_by_device.setdefault(device, [])
        device_rivals.append((start, length))
    return rivals_by_device


def _measure_replay(schedule: Schedule, length: int) -> Replay:
    computed = schedule.host_before + schedule.host
    worked = schedule.work + schedule.inner
    host_times = np.bincount(schedule.thread, weights=computed)
    device_times = np.bincount(schedule.device, weights=worked)
    return Replay(
        length,
        int(host_times.max()),
        int(device_times.max()),
    )
