"""A workload that stays: prepared once, stepped in turns, beside fixed calibration work."""

import gc
import importlib
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from os import getpid
from typing import Any

from tracekit.base import InputError, ToolError
from tracekit.workload.turns.protocol import (
    PROTOCOL,
    Answer,
    Canary,
    Finished,
    Hello,
    Paced,
    Prepare,
    Ready,
    Turn,
    Turned,
    TurnRequest,
)
from tracekit.workload.worker.loop import Loop, Stop, reference
from tracekit.workload.worker.phases import calm_down, loaded_mlx
from tracekit.workload.workload import IDLE, Measured, Step, find, measured

SIDE = 2048
"""Rows and columns of the matrices of half precision that a GPU multiplies: 17 GFLOP."""
_LEAST = 5
_SECOND = 1e9

Work = Callable[[], None]


def work_of(canary: Canary) -> Work:
    """Return the work of a kind.

    On a GPU it is a product of two matrices. On a CPU it is the reference work of workers, by MLX
    or by Python.

    Raises:
        ToolError: It needs an MLX that is not there, or has no such device.
    """
    if canary.device == "cpu" and not canary.mlx:
        return reference().work
    try:
        core: Any = importlib.import_module("mlx.core")
        return reference().work if canary.device == "cpu" else _product(core)
    except (ImportError, RuntimeError, ValueError) as error:
        raise ToolError(f"The machine's pace cannot be told by MLX: {error}.") from error


def pace(work: Work, canary: Canary) -> Paced:
    """Repeat the work, and return its median time."""
    _repeat(work, canary.wake, 1)
    times = _repeat(work, canary.seconds, _LEAST)
    return Paced(round(statistics.median(times)), len(times))


def _repeat(work: Work, seconds: float, least: int) -> list[int]:
    times: list[int] = []
    end = time.monotonic_ns() + round(seconds * _SECOND)
    while len(times) < least or time.monotonic_ns() < end:
        start = time.monotonic_ns()
        work()
        times.append(time.monotonic_ns() - start)
    return times


def _product(core: Any) -> Work:
    with core.stream(core.gpu):
        left = (core.arange(SIDE * SIDE).reshape(SIDE, SIDE) % 7 / 7).astype(core.float16)
        right = (core.arange(SIDE * SIDE).reshape(SIDE, SIDE) % 5 / 5).astype(core.float16)
        core.eval(left, right)

    def work() -> None:
        with core.stream(core.gpu):
            core.eval(left @ right)

    return work


_NEVER = 2**63 - 1
_SECOND_RESIDENT = 1_000_000_000


@dataclass
class Notes:
    """What the loop tells, kept in memory until it is asked for."""

    steps: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    made: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])
    warmed: int = 0

    def mark(self, kind: str, **values: Any) -> None:
        """Keep a step, the name of a pipeline or a warning; nobody asks for the rest."""
        if kind == "step":
            self.steps.append(values)
        elif kind == "specialization":
            self.made.append(values["name"])
        elif kind == "warning":
            self.warnings.append(values["text"])

    def enter(self, phase: str, state: str) -> None:
        """Hear of a phase."""

    def clear(self) -> None:
        """Forget the steps and pipelines so far."""
        self.steps.clear()
        self.made.clear()


@dataclass
class Resident:
    """The child's state: nothing at first, a step once it is prepared."""

    stop: Stop
    notes: Notes = field(default_factory=Notes)
    results: dict[str, Measured] = field(default_factory=dict[str, Measured])
    _loop: Loop | None = None
    _begun: bool = False
    _canary: Work | None = None

    def heed(self, request: TurnRequest) -> Answer:
        """Do what is asked; whatever a workload raises passes through."""
        if request.prepare is not None:
            return Answer(ready=self._prepare(request.prepare))
        if request.turn is not None:
            return Answer(turn=self._turn(self._prepared, request.turn))
        if request.canary is not None:
            return Answer(canary=self._sing(request.canary))
        return Answer(finished=self._finish())

    @property
    def _prepared(self) -> Loop:
        if self._loop is None:
            raise InputError("A turn was asked of a child that nothing was prepared in.")
        return self._loop

    def _prepare(self, asked: Prepare) -> Ready:
        step = find(asked.name, asked.workloads).make(asked.parameters)
        loop = self._loop = Loop(step, self.notes, self.stop)
        self.results |= measured(step.results)
        loop.look()
        calm_down(loop, asked.warmup)
        made, warnings = len(self.notes.steps), tuple(self.notes.warnings)
        self.notes.clear()
        gc.collect()
        gc.freeze()
        loaded, device = loaded_mlx()
        return Ready(step.backend, loaded, device, step.tokens, made, loop.last, warnings)

    def _turn(self, loop: Loop, asked: Turn) -> Turned:
        if asked.wake > 0:
            loop.run(
                "wake-up", _NEVER, time.monotonic_ns() + round(asked.wake * _SECOND_RESIDENT), 1
            )
        self.notes.clear()
        if not self._begun:
            loop.step.begin()
            self._begun = True
        end = time.monotonic_ns() + round(asked.seconds * _SECOND_RESIDENT)
        loop.run("steady", _NEVER, end, asked.least)
        return turned(self.notes, loop.step)

    def _sing(self, asked: Canary) -> Any:
        self._canary = self._canary or work_of(asked)
        return pace(self._canary, asked)

    def _finish(self) -> Finished:
        if self._loop is not None:
            self.results |= measured(self._loop.step.finish())
            self._loop.step.leave()
        return Finished(dict(self.results))


def turned(notes: Notes, step: Step) -> Turned:
    """Return what the steps since the last turn were."""
    steps = notes.steps
    busy = [one for one in steps if one.get("variant") != IDLE]
    return Turned(
        times=tuple(one["completed"] - one["start"] for one in busy),
        idle=len(steps) - len(busy),
        tokens=sum(_tokens(one, step) for one in busy),
        length=steps[-1]["completed"] - steps[0]["start"] if steps else 0,
        variants=tuple(sorted({one["variant"] for one in busy if one.get("variant")})),
        specializations=tuple(notes.made),
        exhausted=step.exhausted(),
    )


def hello() -> Hello:
    """Say what this child is."""
    return Hello(
        PROTOCOL, _installed("tracekit"), platform.python_version(), _installed("mlx"), getpid()
    )


def _tokens(told: dict[str, Any], step: Step) -> int:
    """Return a step's own tokens, else those of its variant, else those of every step."""
    if told.get("tokens") is not None:
        return int(told["tokens"])
    work = step.variants.get(told.get("variant", ""))
    return step.tokens if work is None else work.tokens


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
