"""What the child of interleaved runs is asked, and what it answers.

Each is a line of JSON with one member, whose name says what it is. The child says `hello` before
it is asked anything, then answers in order. It ends after `finished` and after `failed`, and soon
after its standard input is closed. Times are nanoseconds of the system-wide monotonic clock,
limits are seconds. History of the protocol:

    1   first
    2   steps and calibration have these names
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
    """Step for a while; answered by `steps`.

    Attributes:
        seconds: How long, at least.
        least: How many steps, at least.
        wake: How long to step before, unmeasured: a wait lets clocks and caches go down.
    """

    seconds: float
    least: int = 5
    wake: float = 0.05


@dataclass(frozen=True)
class Finish:
    """End the work, and say what the workload measured itself; answered by `finished`."""


@dataclass(frozen=True)
class Calibrate:
    """Do fixed work that shows the machine's pace; answered by `calibration`.

    Attributes:
        device: Where: the device of MLX, or the CPU.
        mlx: Whether on the CPU MLX does it, else Python.
        seconds: How long it is repeated; the median counts.
        wake: How long it is repeated before, unmeasured.
    """

    device: Literal["cpu", "gpu"] = "cpu"
    mlx: bool = False
    seconds: float = 0.1
    wake: float = 0.05


@dataclass(frozen=True)
class ChildRequest:
    """One line to the child; one of these is given."""

    prepare: Prepare | None = None
    steps: RunSteps | None = None
    finish: Finish | None = None
    calibration: Calibrate | None = None


@dataclass(frozen=True)
class Hello:
    """The child's first words: what it is.

    Attributes:
        protocol: The version of the protocol that it speaks.
        tracekit: Its version of tracekit.
        python: Its version of Python.
        mlx: The version of MLX that it could load; empty without one.
        pid: Its process id.
    """

    protocol: int
    tracekit: str = ""
    python: str = ""
    mlx: str = ""
    pid: int = 0


@dataclass(frozen=True)
class Ready:
    """The workload is warm.

    Attributes:
        backend: As `Step.backend`.
        mlx: The version of MLX that is loaded; empty where the workload loads none.
        device: What MLX says of its device.
        tokens: Tokens of a step.
        steps: Steps of the warm-up.
        last: How long the last of them took, in ns; 0 without one.
        warnings: What is not as it should be.
    """

    backend: str
    mlx: str = ""
    device: dict[str, Any] = field(default_factory=dict[str, Any])
    tokens: int = 0
    steps: int = 0
    last: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class StepTimes:
    """What a run of steps was.

    Attributes:
        times: How long each step took, in ns; of those that did something.
        idle: How many steps only waited for load.
        tokens: Tokens of all steps.
        length: From the start of the first step to the end of the last, waits for load included.
        variants: Which of several compared things the steps were; empty where all are alike.
        specializations: Names of the pipelines that were made in it.
        exhausted: Whether there is nothing left to do.
    """

    times: tuple[int, ...] = ()
    idle: int = 0
    tokens: int = 0
    length: int = 0
    variants: tuple[str, ...] = ()
    specializations: tuple[str, ...] = ()
    exhausted: bool = False


@dataclass(frozen=True)
class Finished:
    """What the workload measured itself, in its preparation and since."""

    results: dict[str, Measured] = field(default_factory=dict[str, Measured])


@dataclass(frozen=True)
class Calibrated:
    """How long the calibration work took: the median of so many times, in ns."""

    nanoseconds: int
    times: int


@dataclass(frozen=True)
class Failed:
    """Why the child ends; `exit_code` is that of `tracekit.base.errors`."""

    message: str
    hint: str = ""
    exit_code: int = 3


@dataclass(frozen=True)
class Answer:
    """One line from the child; one of these is given."""

    hello: Hello | None = None
    ready: Ready | None = None
    steps: StepTimes | None = None
    finished: Finished | None = None
    calibration: Calibrated | None = None
    failed: Failed | None = None


def line_of(message: ChildRequest | Answer) -> bytes:
    """Return the message as a line; what is not given is left out."""
    given = {name: part for name, part in vars(message).items() if part is not None}
    return msgspec.json.encode(given, enc_hook=str) + b"\n"


def request_of(line: bytes) -> ChildRequest:
    """Read a line to the child; raise InputError where it asks nothing that is known."""
    try:
        request = msgspec.json.decode(line, type=ChildRequest, dec_hook=_build)
    except msgspec.MsgspecError as error:
        raise InputError(f"What was asked is no request: {error}.") from error
    if sum(part is not None for part in vars(request).values()) != 1:
        raise InputError("What was asked is not one request of a known kind.")
    return request


def answer_of(line: bytes) -> Answer:
    """Read a line from the child; raise InputError where it is no answer."""
    try:
        return msgspec.json.decode(line, type=Answer)
    except msgspec.MsgspecError as error:
        raise InputError(f"What was answered is no answer: {error}.") from error


def _build(kind: type, value: Any) -> Any:
    return kind(value)
