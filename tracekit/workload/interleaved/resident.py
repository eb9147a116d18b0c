"""A workload that stays: prepared once, stepped on request, with fixed calibration work."""

import gc
import importlib
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tracekit.base import InputError, ToolError
from tracekit.workload.interleaved.protocol import (
    Calibrate,
    Calibrated,
    ChildAnswer,
    ChildRequest,
    Finished,
    Prepare,
    Ready,
    RunSteps,
    StepTimes,
)
from tracekit.workload.worker.loop import NEVER, SECOND, StepLoop, reference
from tracekit.workload.worker.notes import Notes
from tracekit.workload.worker.phases import calm_down, loaded_mlx
from tracekit.workload.worker.stopping import Stop
from tracekit.workload.workload import IDLE, Measured, Step, find, normalize_results

SIDE = 2048
"""Rows and columns of the matrices of half precision that a GPU multiplies: 17 GFLOP."""
_LEAST = 5

Work = Callable[[], None]


def work_of(calibration: Calibrate) -> Work:
    """Return the work of a kind.

    On a GPU it is a product of two matrices. On a CPU it is the reference work of workers, by MLX
    or by Python.
    """
    if calibration.device == "cpu" and not calibration.mlx:
        return reference().work
    try:
        core: Any = importlib.import_module("mlx.core")
        if calibration.device == "cpu":
            return reference().work
        return _product(core)
    except (ImportError, RuntimeError, ValueError) as error:
        raise ToolError(f"The machine's pace cannot be measured by MLX: {error}.") from error


def calibrate(work: Work, calibration: Calibrate) -> Calibrated:
    """Repeat the work, and return its median time."""
    _repeat(work, calibration.wake, 1)
    times = _repeat(work, calibration.seconds, _LEAST)
    return Calibrated(round(statistics.median(times)), len(times))


def _repeat(work: Work, seconds: float, min_count: int) -> list[int]:
    times: list[int] = []
    end = time.monotonic_ns() + round(seconds * SECOND)
    while len(times) < min_count or time.monotonic_ns() < end:
        start = time.monotonic_ns()
        work()
        times.append(time.monotonic_ns() - start)
    return times


def _product(core: Any) -> Work:
    with core.stream(core.gpu):
        counted = core.arange(SIDE * SIDE)
        numbers = counted.reshape(SIDE, SIDE)
        left = (numbers % 7 / 7).astype(core.float16)
        right = (numbers % 5 / 5).astype(core.float16)
        core.eval(left, right)

    def work() -> None:
        with core.stream(core.gpu):
            core.eval(left @ right)

    return work


_UNITS = 500  # of planted work, that are timed together
_TRIES = 5


def _planted_unit() -> None:
    sum(range(100))


def _time_unit() -> float:
    """Return the least time of a unit of planted work, in ns."""
    times: list[int] = []
    for _ in range(_TRIES):
        start = time.monotonic_ns()
        for _ in range(_UNITS):
            _planted_unit()
        times.append(time.monotonic_ns() - start)
    return min(times) / _UNITS


def with_planted(step: Step, planted: float) -> Step:
    """Return a step with `planted` ns of additional work: the same unit, repeated."""
    units = max(1, round(planted / _time_unit()))

    def wait(submitted: Any) -> None:
        step.wait(submitted)
        for _ in range(units):
            _planted_unit()

    return replace(step, wait=wait)


@dataclass
class Resident:
    """The child's state: nothing at first, a step once it is prepared."""

    stop: Stop
    notes: Notes = field(default_factory=Notes)
    results: dict[str, Measured] = field(default_factory=dict[str, Measured])
    _loop: StepLoop | None = None
    _has_begun: bool = False
    _calibration: Work | None = None

    def answer(self, request: ChildRequest) -> ChildAnswer:
        """Answer a request; whatever a workload raises passes through."""
        if request.prepare is not None:
            return ChildAnswer(ready=self._prepare(request.prepare))
        if request.steps is not None:
            return ChildAnswer(steps=self._run(request.steps))
        if request.calibration is not None:
            self._calibration = self._calibration or work_of(request.calibration)
            return ChildAnswer(calibration=calibrate(self._calibration, request.calibration))
        return ChildAnswer(finished=self._finish())

    def _prepare(self, preparation: Prepare) -> Ready:
        workload = find(preparation.name, preparation.workloads)
        step = workload.make(preparation.parameters)
        loop = StepLoop(step, self.notes, self.stop)
        self._loop = loop
        self.results |= normalize_results(step.results)
        loop.look()
        calm_down(loop, preparation.warmup)
        warmup_steps = len(self.notes.steps)
        warnings = tuple(self.notes.warnings)
        self.notes.clear()
        gc.collect()
        gc.freeze()
        version, device = loaded_mlx()
        return Ready(
            backend=step.backend,
            mlx=version,
            device=device,
            tokens=step.tokens,
            steps=warmup_steps,
            last=loop.last_step_time,
            warnings=warnings,
        )

    def _run(self, run_request: RunSteps) -> StepTimes:
        loop = self._loop
        if loop is None:
            raise InputError("Steps were asked of a child that nothing was prepared in.")
        prepared_step = loop.step
        if run_request.planted > 0:
            loop.step = with_planted(prepared_step, run_request.planted)
        try:
            return self._run_steps(run_request, loop)
        finally:
            loop.step = prepared_step

    def _run_steps(self, run_request: RunSteps, loop: StepLoop) -> StepTimes:
        if run_request.wake > 0:
            wake_time = round(run_request.wake * SECOND)
            awake = time.monotonic_ns() + wake_time
            loop.run("wake-up", NEVER, awake, 1)
        self.notes.clear()
        if not self._has_begun:
            loop.step.begin()
            self._has_begun = True
        run_time = round(run_request.seconds * SECOND)
        end = time.monotonic_ns() + run_time
        loop.run("steady", NEVER, end, run_request.least)
        return step_times(self.notes, loop.step)

    def _finish(self) -> Finished:
        if self._loop is not None:
            self.results |= normalize_results(self._loop.step.finish())
            self._loop.step.leave()
        return Finished(dict(self.results))


def step_times(notes: Notes, step: Step) -> StepTimes:
    """Return the times and circumstances of the steps since the last run."""
    steps = notes.steps
    times: list[int] = []
    tokens = 0
    variants: set[str] = set()
    for mark in steps:
        variant = mark.get("variant")
        if variant == IDLE:
            continue
        times.append(mark["completed"] - mark["start"])
        tokens += _tokens(mark, step)
        if variant:
            variants.add(variant)
    length = 0
    if steps:
        first_start = steps[0]["start"]
        length = steps[-1]["completed"] - first_start
    idle = len(steps) - len(times)
    specializations = tuple(notes.pipelines)
    exhausted = step.exhausted()
    return StepTimes(
        times=tuple(times),
        idle=idle,
        tokens=tokens,
        length=length,
        variants=tuple(sorted(variants)),
        specializations=specializations,
        exhausted=exhausted,
    )


def _tokens(mark: dict[str, Any], step: Step) -> int:
    """Return a step's own tokens, else those of its variant, else those of every step."""
    step_tokens = mark.get("tokens")
    if step_tokens is not None:
        return step_tokens
    return step.variants.get(mark.get("variant", ""), step).tokens
