"""A workload that stays: prepared once, stepped in turns, asked at the end what it measured."""

import gc
import platform
import time
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from os import getpid
from typing import Any

from tracekit.base.errors import InputError
from tracekit.workload.step import Step, measured
from tracekit.workload.told import IDLE, Measured
from tracekit.workload.turns.canary import Work, pace, work_of
from tracekit.workload.turns.protocol import (
    PROTOCOL,
    Answer,
    Canary,
    Finished,
    Hello,
    Prepare,
    Ready,
    Request,
    Turn,
    Turned,
)
from tracekit.workload.worker.loop import Loop, Stop
from tracekit.workload.worker.phases import calm_down, loaded_mlx
from tracekit.workload.workload import find

_NEVER = 2**63 - 1
_SECOND = 1_000_000_000


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

    def heed(self, request: Request) -> Answer:
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
            loop.run("wake-up", _NEVER, time.monotonic_ns() + round(asked.wake * _SECOND), 1)
        self.notes.clear()
        if not self._begun:
            loop.step.begin()
            self._begun = True
        end = time.monotonic_ns() + round(asked.seconds * _SECOND)
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
