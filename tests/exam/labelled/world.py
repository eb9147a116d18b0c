"""What happened in the model: every event, before any table is made of it.

All times are ns of the trace.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from labelled.setup import Setup


class Owner(NamedTuple):
    """A process: its name and its number."""

    name: str
    pid: int


TARGET = Owner("python3", 4711)
COMPOSITOR = Owner("WindowServer", 420)
BROWSER = Owner("Browser Helper (GPU)", 6857)
RIVAL = Owner("python3.12", 5180)
OTHER_COMPILER = Owner("Mail", 912)


class Interval(NamedTuple):
    """Work on one channel of the GPU, and how it came there.

    `committed`, `processed` and `ready` are when the host had committed it, when the driver was
    through with it, and when the GPU could have started it. `held` is how long nothing but the
    GPU itself kept it from starting.
    """

    start: int
    end: int
    channel: str
    label: str
    owner: Owner
    buffer: int
    encoder: int
    committed: int
    processed: int
    ready: int
    held: int = 0
    merged: int = 1


class Buffer(NamedTuple):
    """The life of a command buffer."""

    number: int
    created: int
    committed: int
    encoder_time: int
    encoders: int
    driver_start: int
    driver_end: int
    gpu_start: int
    gpu_end: int
    completed: int
    owner: Owner


class Encoder(NamedTuple):
    """The host's writing of one encoder."""

    start: int
    end: int
    label: str
    buffer: int
    number: int


class Step(NamedTuple):
    """One step by the program's own marks."""

    start: int
    submitted: int
    completed: int
    phase: str


class Busy(NamedTuple):
    """What the host's thread did for a while: build, encode, compile, wait, read, wire."""

    start: int
    end: int
    kind: str


class Compile(NamedTuple):
    """A pipeline that was made."""

    start: int
    end: int
    owner: Owner
    name: str


class Level(NamedTuple):
    """A stretch at one performance level; `ratio` of the full clock."""

    start: int
    end: int
    ratio: float


class Allocation(NamedTuple):
    """A buffer that was allocated."""

    time: int
    size: int
    label: str


class Prefill(NamedTuple):
    """A prompt that was prefilled, alone or not."""

    start: int
    end: int
    alone: bool


@dataclass
class World:
    """Everything that happened while one trace was recorded."""

    setup: Setup
    intervals: list[Interval] = field(default_factory=list[Interval])
    others: list[Interval] = field(default_factory=list[Interval])
    buffers: list[Buffer] = field(default_factory=list[Buffer])
    encoders: list[Encoder] = field(default_factory=list[Encoder])
    steps: list[Step] = field(default_factory=list[Step])
    host: list[Busy] = field(default_factory=list[Busy])
    compiles: list[Compile] = field(default_factory=list[Compile])
    allocations: list[Allocation] = field(default_factory=list[Allocation])
    levels: list[Level] = field(default_factory=list[Level])
    memory: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    prefills: list[Prefill] = field(default_factory=list[Prefill])
    end: int = 0

    @property
    def steady(self) -> tuple[int, int]:
        """Start and end of the steady phase."""
        inside = [step for step in self.steps if step.phase == "steady"]
        return inside[0].start, inside[-1].completed
