"""The limits that the chip sets for a step, and the share that was reached: a model over time.

Bytes are those that a step must move by the workload's own count, each counted once. The formulae
are in `tracekit.machine.roofline`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tracekit.analysis.inject import NotApplicable, Unavailable
from tracekit.analysis.intervals import Window, spans
from tracekit.analysis.machine import Machine, chip_of
from tracekit.analysis.metrics.steps import bytes_moved, step_model, step_times
from tracekit.analysis.scope import Device, require_seen, steady_steps
from tracekit.machine import chips, roofline

ATTAINABLE = 0.80
"""Share of the stated bandwidth that can be had: 317 of 409 GB/s on an M1 Max (llama.cpp #1642)."""
LEAST_RIDGE = 20.0
"""Operations a byte below which memory is the limit of every chip whose ridge is known."""

_SECOND = 1e9


def step_intensity(step_models: pd.DataFrame) -> float:
    """Floating-point operations of a step for each byte that memory must move for it."""
    model = step_model(step_models)
    flops = int(model["flops"])
    if flops < 1:
        raise Unavailable("the workload does not say how many operations a step takes.")
    return roofline.intensity(flops, bytes_moved(model))


def step_bound(step_models: pd.DataFrame, machine: Machine) -> float:
    """Least time of a step by the limits of the chip's memory and, if known, its arithmetic.

    The rate of arithmetic counts only if it is known to be the same for all types (M1 and M2).
    """
    model = step_model(step_models)
    chip = _gpu_of(model, machine)
    flops = int(model["flops"])
    moved = bytes_moved(model)
    bandwidth = _bandwidth(chip)
    lower_bound = roofline.bound(flops, moved, bandwidth=bandwidth, rate=chip.fp16.value)
    return lower_bound.seconds * _SECOND


def bandwidth_share(steps: pd.DataFrame, step_models: pd.DataFrame, machine: Machine) -> float:
    """Share of the chip's memory bandwidth that the median step reached, waiting included."""
    model = step_model(step_models)
    chip = _gpu_of(model, machine)
    moved = bytes_moved(model)
    time = float(np.median(step_times(steps)))
    bandwidth = _bandwidth(chip)
    if time <= 0:
        raise Unavailable("the steady steps have no length.")
    reached = roofline.compute_reached(moved, time / _SECOND, bandwidth=bandwidth)
    return _share(reached, bandwidth)


def bandwidth_share_busy(
    steps: pd.DataFrame, step_models: pd.DataFrame, steady_roof: "Roof"
) -> float:
    """Share of the chip's memory bandwidth that was reached while the GPU ran for the target.

    Bytes of all steady steps over the time in which an interval of the target ran, from the first
    steady step's start to the last one's end.
    """
    return _share(steady_roof.reached, steady_roof.bandwidth)


def _gpu_of(model: "pd.Series[Any]", machine: Machine) -> chips.Chip:
    if model["backend"] == "cpu":
        raise Unavailable(
            "the steps ran on the CPU, and no bandwidth of a CPU is published; "
            "`tracekit bench chip --measure` measures it here."
        )
    return chip_of(machine)


def _bandwidth(chip: chips.Chip) -> float:
    if chip.bandwidth.value is None:
        raise Unavailable(chip.bandwidth.reason)
    return chip.bandwidth.value


def _share(throughput: roofline.Reached, bandwidth: float) -> float:
    if throughput.share is None:
        raise Unavailable(
            f"the data are cache-resident: {throughput.bandwidth / 1e9:,.0f} GB/s is more than the "
            f"{bandwidth / 1e9:g} GB/s that memory delivers."
        )
    return throughput.share


@dataclass(frozen=True)
class Roof:
    """All steady steps: the bytes they must move, and the time in which the GPU ran for them.

    `moved` are bytes, each counted once, `busy_time` is in ns; `intensity`, operations for each
    byte, is None if the workload does not count them; `bandwidth` is that of the chip's memory, in
    bytes per second, `reached` the part of it that was reached.
    """

    window: Window
    moved: int
    per_step: int
    busy_time: int
    intensity: float | None
    bandwidth: float
    reached: roofline.Reached
    chip: chips.Chip

    @property
    def by_memory(self) -> bool | None:
        """Whether memory bounds such steps at best; None without their operations."""
        if self.intensity is None:
            return None
        ridge = roofline.ridge_of(self.chip).value or LEAST_RIDGE
        return self.intensity < ridge

    @property
    def least_time(self) -> int:
        """The time that the bytes take at the attainable share of the bandwidth, in ns."""
        return int(self.moved / (ATTAINABLE * self.bandwidth) * _SECOND)


def roof_of(
    steps: pd.DataFrame | None, step_models: pd.DataFrame | None, gpu: Device, machine: Machine
) -> Roof:
    """Return the roof of the steady steps, and the part of it that they reached."""
    if steps is None or step_models is None:
        raise NotApplicable("the recording has no marks of a workload that describes its steps.")
    model = step_model(step_models)
    chip = _gpu_of(model, machine)
    bandwidth = _bandwidth(chip)
    steady = steady_steps(steps)
    starts, ends = spans(steady)
    require_seen(steady, gpu.target_intervals)
    begin = int(starts.min())
    end = int(ends.max())
    window = Window(begin, end, "the steady steps")
    busy_time = gpu.measure_work(window)
    if busy_time == 0:
        raise Unavailable("no interval of the target ran during the steady steps.")
    per_step = bytes_moved(model)
    moved = per_step * starts.size
    flops = int(model["flops"])
    flops_per_byte = None
    if flops > 0:
        flops_per_byte = roofline.intensity(flops, per_step)
    reached = roofline.compute_reached(moved, busy_time / _SECOND, bandwidth=bandwidth)
    return Roof(
        window=window,
        moved=moved,
        per_step=per_step,
        busy_time=busy_time,
        intensity=flops_per_byte,
        bandwidth=bandwidth,
        reached=reached,
        chip=chip,
    )
