"""What the steady steps moved while the GPU ran, against what the chip's memory delivers."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window, busy, clip, spans
from tracekit.analysis.machine import chip_of
from tracekit.analysis.metrics.steps import bytes_moved, step_model
from tracekit.analysis.scope import of_target, on_gpu, require_seen, steady_steps
from tracekit.machine import Chip, Reached, intensity, reached, ridge_of

ATTAINABLE = 0.80
"""Share of the stated bandwidth that can be had: 317 of 409 GB/s on an M1 Max (llama.cpp #1642)."""
LEAST_RIDGE = 20.0
"""Operations a byte below which memory is the limit of every chip whose ridge is known."""

_SECOND = 1e9


@dataclass(frozen=True)
class Roof:
    """All steady steps: the bytes they must move, and the time in which the GPU ran for them.

    Attributes:
        window: From the first steady step's start to the last one's end.
        moved: Bytes that memory must move for the steps, each counted once.
        per_step: The same for one step.
        ran: Nanoseconds in which an interval of the target ran.
        intensity: Operations for each byte; None where the workload tells no operations.
        bandwidth: Bytes per second that the chip's memory delivers.
        reached: What was reached of it.
        chip: The chip.
    """

    window: Window
    moved: int
    per_step: int
    ran: int
    intensity: float | None
    bandwidth: float
    reached: Reached
    chip: Chip

    @property
    def by_memory(self) -> bool | None:
        """Tell whether memory bounds such steps at best; None without their operations."""
        if self.intensity is None:
            return None
        return self.intensity < (ridge_of(self.chip).value or LEAST_RIDGE)

    @property
    def least(self) -> int:
        """Nanoseconds that the bytes take at what can be had of the bandwidth."""
        return int(self.moved / (ATTAINABLE * self.bandwidth) * _SECOND)


def roof(
    steps: pd.DataFrame | None,
    step_models: pd.DataFrame | None,
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    machine: pd.DataFrame,
) -> Roof:
    """Return what the steady steps reached of the roof.

    Raises:
        Unavailable: A CPU did the work, the workload tells no bytes, the chip is not known, or
            steps have no interval, so that bytes and time would be of different things.
    """
    own = of_target(on_gpu(gpu_intervals), targets)
    if steps is None or step_models is None:
        raise Unavailable("the recording has no marks of a workload that says what a step does.")
    model = step_model(step_models)
    chip = chip_of(machine)
    if chip.bandwidth.value is None:
        raise Unavailable(chip.bandwidth.reason)
    steady = steady_steps(steps)
    starts, ends = spans(steady)
    require_seen(steady, own)
    window = Window(int(starts.min()), int(ends.max()), "the steady steps")
    ran = busy(*clip(*spans(own), window.start, window.end))
    per_step = bytes_moved(model)
    moved = per_step * starts.size
    return Roof(
        window,
        moved,
        per_step,
        ran,
        _intensity(model),
        chip.bandwidth.value,
        reached(moved, ran / _SECOND, bandwidth=chip.bandwidth.value),
        chip,
    )


def _intensity(model: "pd.Series[Any]") -> float | None:
    flops = int(model["flops"])
    return intensity(flops, bytes_moved(model)) if flops > 0 else None


def known_roof(
    steps: pd.DataFrame | None,
    step_models: pd.DataFrame | None,
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    machine: pd.DataFrame,
) -> Roof | None:
    """Return the same; None where it is not known."""
    try:
        return roof(steps, step_models, gpu_intervals, targets, machine)
    except Unavailable:
        return None
