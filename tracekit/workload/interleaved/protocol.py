"""The requests to the child of interleaved runs, and its answers.

Each is a line of JSON with one member, whose name is its kind. The child sends `hello` before any
request, then answers in order. It ends after `finished` and after `failed`, and soon after its
standard input is closed. Times are nanoseconds of the system-wide monotonic clock, limits are
seconds. In protocol 1 steps and calibration had other names.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from tracekit.base import InputError
from tracekit.workload.workload import Measured

PROTOCOL = 2


@dataclass(frozen=True)
class Prepare:
    """Load a workload, prepare it and warm it up; answered by `ready`.

    A workload is named, not given as a file, so that each interpreter takes its own.
    """

    name: str
    workloads: Path | None = None
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])
    warmup: int = 5


@dataclass(frozen=True)
class RunSteps:
    """Step for a while; answered by `steps`."""

    seconds: float  # how long, at least
    least: int = 5  # how many steps, at least
    wake: float = 0.05  # how long to step before, unmeasured: a wait lets clocks and caches go down
    planted: float = 0.0  # ns of additional work in each step, as a rehearsal plants it


@dataclass(frozen=True)
class Finish:
    """End the work, and return the workload's own measurements; answered by `finished`."""


@dataclass(frozen=True)
class Calibrate:
    """Do fixed work that shows the machine's pace; answered by `calibration`."""

    device: Literal["cpu", "gpu"] = "cpu"  # where: the device of MLX, or the CPU
    mlx: bool = False  # whether on the CPU MLX does it, else Python
    seconds: float = 0.1  # how long it is repeated; the median counts
    wake: float = 0.05  # how long it is repeated before, unmeasured


@dataclass(frozen=True)
class ChildRequest:
    """One line to the child; one of these is given."""

    prepare: Prepare | None = None
    steps: RunSteps | None = None
    finish: Finish | None = None
    calibration: Calibrate | None = None


@dataclass(frozen=True)
class Hello:
    """The child's first message: its identity."""

    protocol: int  # the version of the protocol that it speaks
    tracekit: str = ""  # its version of tracekit
    python: str = ""  # its version of Python
    mlx: str = ""  # the version of MLX that it could load; empty without one
    pid: int = 0  # its process id


@dataclass(frozen=True)
class Ready:
    """The workload is warm."""

    backend: str  # as `Step.backend`
    mlx: str = ""  # the version of the loaded MLX; empty if the workload loads none
    device: dict[str, Any] = field(default_factory=dict[str, Any])  # MLX's facts about its device
    tokens: int = 0  # tokens of a step
    steps: int = 0  # steps of the warm-up
    last: int = 0  # how long the last of them took, in ns; 0 without one
    warnings: tuple[str, ...] = ()  # of the preparation


@dataclass(frozen=True)
class StepTimes:
    """The times of a run of steps, and its circumstances."""

    times: tuple[int, ...] = ()  # how long each step took, in ns; of those that did something
    idle: int = 0  # how many steps only waited for load
    tokens: int = 0  # tokens of all steps
    # from the start of the first step to the end of the last, waits for load included
    length: int = 0
    # which of several compared things the steps were; empty where all are alike
    variants: tuple[str, ...] = ()
    specializations: tuple[str, ...] = ()  # names of the pipelines that were made in it
    exhausted: bool = False  # whether there is nothing left to do


@dataclass(frozen=True)
class Finished:
    """The workload's own measurements, in its preparation and since."""

    results: dict[str, Measured] = field(default_factory=dict[str, Measured])


@dataclass(frozen=True)
class Calibrated:
    """The duration of the calibration work: the median of so many times, in ns."""

    nanoseconds: int
    times: int


@dataclass(frozen=True)
class Failed:
    """The failure that ends the child; `exit_code` is that of `tracekit.base.errors`."""

    message: str
    hint: str = ""
    exit_code: int = 3


@dataclass(frozen=True)
class ChildAnswer:
    """One line from the child; one of these is given."""

    hello: Hello | None = None
    ready: Ready | None = None
    steps: StepTimes | None = None
    finished: Finished | None = None
    calibration: Calibrated | None = None
    failed: Failed | None = None


def line_of(message: ChildRequest | ChildAnswer) -> bytes:
    """Return the message as a line, without the members that are None."""
    given_parts = {name: part for name, part in vars(message).items() if part is not None}
    return msgspec.json.encode(given_parts, enc_hook=str) + b"\n"


def request_of(line: bytes) -> ChildRequest:
    """Read a line to the child; raise InputError unless it is one known request."""
    try:
        request = msgspec.json.decode(
            line, type=ChildRequest, dec_hook=lambda kind, value: kind(value)
        )
    except msgspec.MsgspecError as error:
        raise InputError(f"The line is not a request: {error}.") from error
    given_parts = [part for part in vars(request).values() if part is not None]
    if len(given_parts) != 1:
        raise InputError("The line is not one request of a known kind.")
    return request


def answer_of(line: bytes) -> ChildAnswer:
    """Read a line from the child; raise InputError if it is not an answer."""
    try:
        return msgspec.json.decode(line, type=ChildAnswer)
    except msgspec.MsgspecError as error:
        raise InputError(f"The line is not an answer: {error}.") from error
