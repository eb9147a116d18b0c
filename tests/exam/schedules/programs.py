"""Random programs, of kinds that hand work over in different ways."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from schedules.machine import (
    Action,
    Box,
    Buffer,
    Commit,
    Doing,
    Encode,
    Machine,
    Pace,
    Post,
    Spend,
    Take,
    Thread,
    Wait,
)
from schedules.tables import Recorded, tables_of
from schedules.truth import Truth

US = 1_000
MS = 1_000_000


@dataclass(eq=False)
class Maker:
    """What programs of one setting are made of: about how long work takes, and what is beside it.

    `host` and `work` are the times of host and device for a command buffer; `uneven` is how much
    work varies beside the machine's jitter; every so many iterations there is a `compile` or a
    `pause`, 0: never. Between two parts of a command buffer the device has a `part_pause`.
    """

    machine: Machine
    number: int
    host: int
    work: int
    uneven: float = 0.0
    parts: int = 1
    compile: int = 0
    pause: int = 0
    wire: int = 0
    depth: int = 1
    reads: bool = False
    part_pause: int = 3 * US

    @property
    def random(self) -> np.random.Generator:
        return self.machine.random

    def buffer(self, device: int = 0, share: float = 1.0) -> Buffer:
        """Make a command buffer whose work is a share of the usual."""
        work = self.work * share
        if self.uneven:
            work *= self.random.lognormal(0, self.uneven)
        works = [self.machine.around(work / self.parts) for _ in range(self.parts)]
        return Buffer(device, works, pause=self.part_pause if self.parts > 1 else 0)

    def write(self, buffer: Buffer, share: float = 1.0) -> Iterator[Action]:
        """Encode a command buffer, in one encoder for each of its parts."""
        for _ in buffer.works:
            time = self.host * share / len(buffer.works)
            yield Encode(buffer, self.machine.around(time))

    def hand_over(self, buffer: Buffer, share: float = 1.0) -> Iterator[Action]:
        """Encode a command buffer and commit it."""
        yield from self.write(buffer, share)
        if self.wire and self.random.random() < 1 / self.wire:
            yield Spend(Doing.WIRE, self.machine.around(40 * US))
        yield Commit(buffer)

    def compile_or_pause(self, iteration: int) -> Iterator[Action]:
        """Compile, or pause, where it is time to."""
        if self.compile and iteration % self.compile == self.compile // 2:
            yield Spend(Doing.COMPILE, self.machine.around(3 * MS))
        if self.pause and iteration % self.pause == self.pause - 1:
            length = self.random.uniform(450, 900) * MS
            yield Spend(Doing.PAUSE, round(length))


def waits_for_each(maker: Maker, device: int = 0) -> Thread:
    """Wait for each report before the next command buffer is encoded."""
    for iteration in range(maker.number):
        buffer = maker.buffer(device)
        yield from maker.hand_over(buffer)
        yield Wait(buffer)
        yield from maker.compile_or_pause(iteration)


def never_waits(maker: Maker, device: int = 0) -> Thread:
    """Encode and commit without a look at reports, until the end."""
    buffer = maker.buffer(device)
    for iteration in range(maker.number):
        buffer = maker.buffer(device)
        yield from maker.hand_over(buffer)
        yield from maker.compile_or_pause(iteration)
    yield Wait(buffer)


def waits_behind(maker: Maker, device: int = 0) -> Thread:
    """Keep some command buffers in flight: wait for the report of one before the last."""
    flight: list[Buffer] = []
    for iteration in range(maker.number):
        flight.append(maker.buffer(device))
        yield from maker.hand_over(flight[-1])
        if len(flight) >= maker.depth:
            yield Wait(flight.pop(0))
        yield from maker.compile_or_pause(iteration)
    for buffer in flight:
        yield Wait(buffer)


def several_buffers(maker: Maker) -> Thread:
    """Commit several command buffers an iteration, and wait for the last."""
    shares = maker.random.uniform(0.3, 1.7, int(maker.random.integers(2, 6))).tolist()
    for iteration in range(maker.number):
        buffers = [maker.buffer(0, share) for share in shares]
        for buffer, share in zip(buffers, shares, strict=True):
            yield from maker.hand_over(buffer, share)
        yield Wait(buffers[-1])
        yield from maker.compile_or_pause(iteration)


def several_waits(maker: Maker) -> Thread:
    """Wait several times an iteration."""
    shares = maker.random.uniform(0.3, 1.7, int(maker.random.integers(2, 5))).tolist()
    for iteration in range(maker.number):
        for share in shares:
            buffer = maker.buffer(0, share)
            yield from maker.hand_over(buffer, share)
            yield Wait(buffer)
        yield Spend(Doing.COMPUTE, maker.machine.around(2 * maker.host))
        yield from maker.compile_or_pause(iteration)


def computes_long(maker: Maker) -> Thread:
    """Compute for milliseconds between commits, and wait for nothing."""
    long = maker.random.uniform(1, 6) * MS
    buffer = maker.buffer()
    for iteration in range(maker.number):
        yield Spend(Doing.COMPUTE, maker.machine.around(long))
        buffer = maker.buffer()
        yield from maker.hand_over(buffer)
        yield from maker.compile_or_pause(iteration)
    yield Wait(buffer)


def naps(maker: Maker) -> Thread:
    """Sleep by a timer between commits, and wait for nothing."""
    long = maker.random.uniform(0.3, 2) * MS
    buffer = maker.buffer()
    for iteration in range(maker.number):
        yield Spend(Doing.NAP, maker.machine.around(long))
        buffer = maker.buffer()
        yield from maker.hand_over(buffer)
        yield from maker.compile_or_pause(iteration)
    yield Wait(buffer)


def computes_meanwhile(maker: Maker) -> Thread:
    """Compute while the device works, about as long as a round trip, and wait then."""
    long = maker.work + (maker.machine.pace.start + maker.machine.pace.report)
    long *= maker.random.uniform(0.6, 1.5)
    for iteration in range(maker.number):
        buffer = maker.buffer()
        yield from maker.hand_over(buffer)
        yield Spend(Doing.COMPUTE, maker.machine.around(long))
        yield Wait(buffer)
        yield from maker.compile_or_pause(iteration)


def writes_ahead(maker: Maker) -> Thread:
    """Encode the next command buffer before the wait, and commit it afterwards."""
    buffer = maker.buffer()
    yield from maker.hand_over(buffer)
    for iteration in range(maker.number):
        following = maker.buffer()
        yield from maker.write(following)
        yield Wait(buffer)
        yield Commit(following)
        buffer = following
        yield from maker.compile_or_pause(iteration)
    yield Wait(buffer)


def spins(maker: Maker) -> Thread:
    """Wait for each report, and burn the core meanwhile."""
    for iteration in range(maker.number):
        buffer = maker.buffer()
        yield from maker.hand_over(buffer)
        yield Wait(buffer, spins=True)
        yield from maker.compile_or_pause(iteration)


def devices_in_turns(maker: Maker) -> Thread:
    """Let two devices work in turns, each on the other's result."""
    for iteration in range(maker.number):
        for device in (0, 1):
            buffer = maker.buffer(device)
            yield from maker.hand_over(buffer)
            yield Wait(buffer)
        yield from maker.compile_or_pause(iteration)


def devices_at_once(maker: Maker) -> Thread:
    """Give two devices work at once, and wait for both."""
    shares = maker.random.uniform(0.4, 1.6, 2).tolist()
    for iteration in range(maker.number):
        buffers = [maker.buffer(device, shares[device]) for device in (0, 1)]
        for buffer in buffers:
            yield from maker.hand_over(buffer)
        for buffer in buffers:
            yield Wait(buffer)
        yield from maker.compile_or_pause(iteration)


def asks(maker: Maker, box: Box, done: Box) -> Thread:
    """Decide what is to be done, and leave it to another thread; wait for it or not."""
    long = maker.host * maker.random.uniform(0.5, 3) + maker.random.choice([0, 800]) * US
    for iteration in range(maker.number):
        yield Spend(Doing.COMPUTE, maker.machine.around(long))
        yield Post(box, iteration)
        if maker.reads:
            yield Wait((yield Take(done)))
        yield from maker.compile_or_pause(iteration)
    yield Post(box, None)


def serves(maker: Maker, box: Box, done: Box) -> Thread:
    """Encode and commit for each job."""
    buffer = None
    while (yield Take(box)) is not None:
        buffer = maker.buffer()
        yield from maker.hand_over(buffer)
        if maker.reads:
            yield Post(done, buffer)
    if buffer is not None:
        yield Wait(buffer)


def two_loops(maker: Maker, *, apart: bool = False) -> list[Thread]:
    """Two threads with a queue each, on one device or on two, each with its own way to wait."""
    ways = (waits_for_each, waits_behind, never_waits)
    chosen = maker.random.integers(len(ways), size=2)
    return [ways[way](maker, device if apart else 0) for device, way in enumerate(chosen)]


def dependent_queues(maker: Maker) -> list[Thread]:
    """Two threads: each command buffer of the second waits on the device for one of the first."""
    box = Box()

    def run_first_queue() -> Thread:
        for iteration in range(maker.number):
            buffer = maker.buffer()
            yield from maker.hand_over(buffer)
            yield Post(box, buffer)
            yield Wait(buffer)
            yield from maker.compile_or_pause(iteration)
        yield Post(box, None)

    def second() -> Thread:
        while (predecessor := (yield Take(box))) is not None:
            buffer = maker.buffer(0, 0.5)
            buffer.predecessor = predecessor
            yield from maker.hand_over(buffer)
            yield Wait(buffer)

    return [run_first_queue(), second()]


def by_a_worker(maker: Maker) -> list[Thread]:
    """One thread decides, another encodes and commits."""
    box, done = Box(), Box()
    return [asks(maker, box, done), serves(maker, box, done)]


KINDS: dict[str, Callable[[Maker], list[Thread]]] = {
    "waits for each": lambda maker: [waits_for_each(maker)],
    "never waits": lambda maker: [never_waits(maker)],
    "waits behind": lambda maker: [waits_behind(maker)],
    "several buffers": lambda maker: [several_buffers(maker)],
    "several waits": lambda maker: [several_waits(maker)],
    "computes long": lambda maker: [computes_long(maker)],
    "naps": lambda maker: [naps(maker)],
    "computes meanwhile": lambda maker: [computes_meanwhile(maker)],
    "writes ahead": lambda maker: [writes_ahead(maker)],
    "spins": lambda maker: [spins(maker)],
    "two threads": two_loops,
    "a worker": by_a_worker,
    "dependent queues": dependent_queues,
    "devices in turns": lambda maker: [devices_in_turns(maker)],
    "devices at once": lambda maker: [devices_at_once(maker)],
    "two threads, two devices": lambda maker: two_loops(maker, apart=True),
}


Log = list[Action]


def log_actions(thread: Thread, log: Log) -> Thread:
    """Do what a thread does, and note it."""
    reply = None
    while True:
        try:
            action = thread.send(reply)
        except StopIteration:
            return
        log.append(action)
        reply = yield action


@dataclass(eq=False)
class Program:
    """A program that has run: what was recorded of it, and what is true.

    `logs` has what each thread did, `chance` the state of chance before the machine was made.
    """

    kind: str
    conditions: frozenset[str]
    machine: Machine
    recorded: Recorded
    waits: bool
    logs: list[Log]
    chance: np.random.Generator
    truth: Truth = field(init=False)

    def __post_init__(self) -> None:
        self.truth = Truth(self.machine)

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables of the recording, by name."""
        return tables_of(self.machine, self.recorded)


BESIDE = ("uneven", "rivals", "driver", "compile", "wiring", "pauses", "parts", "smooth")
_CHANCE = 0.15


def program(kind: str, seed: int, part_pause: int = 0, **changes: int) -> Program:
    """Make a program of a kind, and run it; the seed decides all but changes of the pace.

    With a `part_pause`, all command buffers have parts, with rests between them.
    """
    random = np.random.default_rng([seed, list(KINDS).index(kind)])
    conditions = frozenset(word for word in BESIDE if random.random() < _CHANCE)
    pace = Pace(
        start=round(random.uniform(40, 110) * US),
        report=round(random.uniform(25, 90) * US),
        wake=round(random.uniform(3, 15) * US),
        jitter=random.uniform(0.005, 0.02) if "smooth" in conditions else random.uniform(0.05, 0.3),
        driver=round(random.uniform(10, 80) * US) if "driver" in conditions else 0,
        wiring=round(random.uniform(20, 200) * US) if "wiring" in conditions else 0,
        rival=round(random.uniform(50, 400) * US) if "rivals" in conditions else 0,
        rival_number=5_000 if "rivals" in conditions else 0,
    )
    pace = replace(pace, **changes)
    devices = 2 if "devices" in kind else 1
    chance = deepcopy(random)
    machine = Machine(pace, random, devices)
    maker = Maker(
        machine,
        number=int(random.integers(40, 300)),
        host=round(np.exp(random.uniform(np.log(8), np.log(300))) * US),
        work=round(np.exp(random.uniform(np.log(6), np.log(1_500))) * US),
        uneven=random.uniform(0.3, 1.0) if "uneven" in conditions else 0.0,
        parts=int(random.integers(2, 6)) if "parts" in conditions else 1,
        compile=int(random.integers(10, 40)) if "compile" in conditions else 0,
        pause=int(random.integers(12, 60)) if "pauses" in conditions else 0,
        wire=int(random.integers(2, 20)) if "wiring" in conditions else 0,
        depth=int(random.integers(2, 4)),
        reads=bool(random.random() < 0.5),
    )
    if part_pause:
        maker = replace(maker, part_pause=part_pause, parts=max(maker.parts, 3))
    recorded = Recorded(
        samples=bool(random.random() < 0.5),
        encoders=bool(random.random() < 0.7),
        submissions=bool(random.random() < 0.85),
        latency=bool(random.random() < 0.85),
        completions=bool(random.random() < 0.95),
    )
    threads = KINDS[kind](maker)
    logs: list[Log] = [[] for _ in threads]
    machine.run([log_actions(thread, log) for thread, log in zip(threads, logs, strict=True)])
    waits = any(state.buffer is not None for states in machine.states for state in states[:-3])
    return Program(kind, conditions, machine, recorded, waits, logs, chance)
