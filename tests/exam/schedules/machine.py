"""Threads that compute, commit and wait, and devices that run what they are given in turn.

A program is a generator for each thread: it yields actions, and the machine lets the thread that
is furthest behind act next. So commits come in the order of time, and all that follows from one is
known at once. Times are ns.
"""

import heapq
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np


class Doing(StrEnum):
    """What a thread does for a while."""

    COMPUTE = "compute"
    ENCODE = "encode"
    COMPILE = "compile"
    PAUSE = "pause"  # nobody asks for work
    NAP = "nap"  # it sleeps by a timer, of its own will
    WIRE = "wire"
    WAIT = "wait"
    SPIN = "spin"  # it waits and burns its core
    TAKE = "take"  # it waits for a job of another thread


RUNNING = frozenset({Doing.COMPUTE, Doing.ENCODE, Doing.SPIN})
"""What a profiler sees a thread run."""


@dataclass(eq=False)
class Buffer:
    """A command buffer: its parts on the device, and its life."""

    device: int
    works: list[int]
    pause: int = 0
    predecessor: "Buffer | None" = None
    number: int = 0
    thread: int = 0
    creation_time: int = 0
    encoded: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    committed: int = 0
    pieces: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    reported: int = 0

    @property
    def device_start(self) -> int:
        """When its first part began on the device."""
        return self.pieces[0][0]

    @property
    def device_end(self) -> int:
        """When its last part ended on the device."""
        return self.pieces[-1][1]


@dataclass(frozen=True)
class Spend:
    """Do something for so long."""

    doing: Doing
    time: int


@dataclass(frozen=True)
class Encode:
    """Encode a command buffer for so long, and no more."""

    buffer: Buffer
    time: int


@dataclass(frozen=True)
class Commit:
    """Hand a command buffer over."""

    buffer: Buffer


@dataclass(frozen=True)
class Wait:
    """Wait until a command buffer is reported complete."""

    buffer: Buffer
    spins: bool = False


@dataclass(eq=False)
class Box:
    """Jobs that one thread leaves for another, each with who left it and when."""

    jobs: deque[tuple[int, int, Any]] = field(default_factory=deque[tuple[int, int, Any]])


@dataclass(frozen=True)
class Post:
    """Leave a job."""

    box: Box
    job: Any


@dataclass(frozen=True)
class Take:
    """Wait for a job, and take it."""

    box: Box


Action = Spend | Encode | Commit | Wait | Post | Take
Thread = Generator[Action, Any, None]


@dataclass(frozen=True)
class State:
    """What a thread did from `start` to `end`, and whom it waited for: a buffer, or a thread."""

    start: int
    end: int
    doing: Doing
    buffer: Buffer | None = None
    thread: int = -1


@dataclass(frozen=True)
class Pace:
    """How long things take that no program decides, and by how much that varies.

    One start in `late_every`, but for the first, is held up for `late` more, by nothing that is
    recorded.
    """

    start: int = 70_000
    report: int = 50_000
    wake: int = 8_000
    switch: int = 2_000
    jitter: float = 0.1
    driver: int = 0
    wiring: int = 0
    rival: int = 0
    rival_every: int = 1_000_000
    rival_number: int = 0
    late: int = 0
    late_every: int = 4


@dataclass(eq=False)
class _Device:
    free_time: int = 0
    rivals: deque[tuple[int, int]] = field(default_factory=deque[tuple[int, int]])


class Machine:
    """Runs programs, and notes all that happened."""

    def __init__(self, pace: Pace, random: np.random.Generator, devices: int = 1) -> None:
        self.pace = pace
        self.random = random
        self.devices = devices
        self.buffers: list[Buffer] = []
        self.states: list[list[State]] = []
        self.drivers: list[tuple[int, int]] = []
        self.wirings: list[tuple[int, int]] = []
        self.compiles: list[tuple[int, int]] = []
        self.rivals: list[tuple[int, int, int]] = []
        self._reports: dict[tuple[int, int], int] = {}
        self._devices = [_Device(rivals=self._arrivals()) for _ in range(devices)]

    def around(self, time: float) -> int:
        """Return about so long a time."""
        spread = self.pace.jitter
        return max(1, round(time * self.random.lognormal(-spread * spread / 2, spread)))

    def run(self, programs: list[Thread], begin: int = 1_000_000) -> None:
        """Run each program in a thread of its own until all are through."""
        self._threads = programs
        self._now = [begin + 20_000 * place for place in range(len(programs))]
        self.states = [[] for _ in programs]
        self._waiting: dict[int, Box] = {}
        queue = [(start, place) for place, start in enumerate(self._now)]
        replies: dict[int, Any] = {}
        while queue:
            _, place = heapq.heappop(queue)
            try:
                action = programs[place].send(replies.pop(place, None))
            except StopIteration:
                continue
            if isinstance(action, Take) and not action.box.jobs:
                self._waiting[place] = action.box
                continue
            replies[place] = self._act(place, action)
            heapq.heappush(queue, (self._now[place], place))
            for waiter in [
                waiting_place for waiting_place, box in self._waiting.items() if box.jobs
            ]:
                replies[waiter] = self._take(waiter, self._waiting.pop(waiter))
                heapq.heappush(queue, (self._now[waiter], waiter))

    def _act(self, place: int, action: Action) -> Any:
        if isinstance(action, Spend):
            if action.doing is Doing.COMPILE:
                self.compiles.append((self._now[place], self._now[place] + action.time))
            if action.doing is Doing.WIRE:
                self.wirings.append((self._now[place], self._now[place] + action.time))
            self._spend(place, action.time, action.doing)
        elif isinstance(action, Encode):
            current_time = self._now[place]
            action.buffer.creation_time = action.buffer.creation_time or current_time
            action.buffer.encoded.append((current_time, current_time + action.time))
            self._spend(place, action.time, Doing.ENCODE)
        elif isinstance(action, Commit):
            self._commit(place, action.buffer)
        elif isinstance(action, Wait):
            self._wait(place, action)
        elif isinstance(action, Post):
            action.box.jobs.append((place, self._now[place], action.job))
        else:
            return self._take(place, action.box)
        return None

    def _spend(self, place: int, time: int, doing: Doing) -> None:
        current_time = self._now[place]
        self._now[place] = current_time + time
        self.states[place].append(State(current_time, current_time + time, doing))

    def _wait(self, place: int, wait: Wait) -> None:
        current_time = self._now[place]
        until = wait.buffer.reported
        if until <= current_time:
            return
        doing = Doing.SPIN if wait.spins else Doing.WAIT
        self.states[place].append(State(current_time, until, doing, buffer=wait.buffer))
        self._now[place] = until
        self._spend(place, self.around(self.pace.wake), Doing.COMPUTE)

    def _take(self, place: int, box: Box) -> Any:
        poster, posted, job = box.jobs.popleft()
        current_time = self._now[place]
        if posted > current_time:
            self.states[place].append(State(current_time, posted, Doing.TAKE, thread=poster))
            self._now[place] = posted
            self._spend(place, self.around(self.pace.wake), Doing.COMPUTE)
        return job

    def _commit(self, place: int, buffer: Buffer) -> None:
        current_time = self._now[place]
        buffer.number = len(self.buffers)
        buffer.thread = place
        buffer.committed = current_time
        buffer.creation_time = buffer.creation_time or current_time
        self.buffers.append(buffer)
        ready = current_time + self.around(self.pace.start) + self._prepare(current_time)
        if buffer.predecessor is not None:
            ready = max(ready, buffer.predecessor.device_end + self.around(self.pace.switch))
        self._dispatch(buffer, ready)
        report = buffer.device_end + self.around(self.pace.report)
        queue = place, buffer.device
        buffer.reported = max(report, self._reports.get(queue, 0) + 1_000)
        self._reports[queue] = buffer.reported
        self._now[place] = current_time + 500
        self.states[place].append(State(current_time, current_time + 500, Doing.ENCODE))

    def _prepare(self, current_time: int) -> int:
        """Let the driver prepare what was committed, and wire its memory; return how long."""
        delay = 0
        if self.pace.wiring and self.random.random() < 0.5:
            wired = self.around(self.pace.wiring)
            self.wirings.append((current_time + 1_000, current_time + 1_000 + wired))
            delay += wired
        if self.pace.driver:
            took = self.around(self.pace.driver)
            self.drivers.append((current_time + 1_000 + delay, current_time + 1_000 + delay + took))
            delay += took
        has_earlier_buffers = len(self.buffers) > 1
        if (
            self.pace.late
            and has_earlier_buffers
            and self.random.random() < 1 / self.pace.late_every
        ):
            delay += self.around(self.pace.late)
        return delay

    def _dispatch(self, buffer: Buffer, ready: int) -> None:
        device = self._devices[buffer.device]
        while device.rivals and device.rivals[0][0] <= max(ready, device.free_time):
            arrival, length = device.rivals.popleft()
            start = max(arrival, device.free_time)
            self.rivals.append((start, start + length, buffer.device))
            device.free_time = start + length + 500
        piece_start = max(ready, device.free_time + self.around(self.pace.switch))
        for work in buffer.works:
            buffer.pieces.append((piece_start, piece_start + max(1, work)))
            piece_start += max(1, work) + (self.around(buffer.pause) if buffer.pause else 0)
        device.free_time = buffer.device_end

    def _arrivals(self) -> deque[tuple[int, int]]:
        pace = self.pace
        if not pace.rival_number:
            return deque()
        number = pace.rival_number
        steps = pace.rival_every * self.random.uniform(0.5, 1.5, number)
        lengths = pace.rival * self.random.uniform(0.5, 1.5, number)
        arrivals = np.cumsum(steps).astype(int).tolist()
        return deque(zip(arrivals, lengths.astype(int).tolist(), strict=True))
