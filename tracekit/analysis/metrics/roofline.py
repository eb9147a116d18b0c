"""What the chip allows a step, and what share of it was reached: a model over measured time.

Bytes are those that the workload says a step must move, each counted once.
"""

from typing import Any

import numpy as np
import pandas as pd

from tracekit.analysis.inject import Unavailable, metric
from tracekit.analysis.intervals import busy, clip, spans
from tracekit.analysis.machine import chip_of
from tracekit.analysis.metrics.steps import bytes_moved, step_model, step_times
from tracekit.analysis.result import Better
from tracekit.analysis.scope import of_target, on_gpu, require_seen, steady_steps
from tracekit.machine import Chip, bound, intensity, reached

_SECOND = 1e9


@metric("flop/byte")
def step_intensity(step_models: pd.DataFrame) -> float:
    """Floating-point operations of a step for each byte that memory must move for it."""
    model = step_model(step_models)
    return intensity(_operations(model), bytes_moved(model))


@metric("ns", Better.LOWER)
def step_bound(step_models: pd.DataFrame, machine: pd.DataFrame) -> float:
    """Least time that the chip's memory, and its arithmetic where its rate is known, allow a step.

    The rate of arithmetic counts where it is known to be the same for all types (M1 and M2).
    """
    model = step_model(step_models)
    chip = _gpu_of(model, machine)
    least = bound(
        _operations(model, least=0),
        bytes_moved(model),
        bandwidth=_bandwidth(chip),
        rate=chip.fp16.value,
    )
    return least.seconds * _SECOND


@metric("ratio", Better.HIGHER)
def bandwidth_share(steps: pd.DataFrame, step_models: pd.DataFrame, machine: pd.DataFrame) -> float:
    """Share of the chip's memory bandwidth that the median step reached, waiting included."""
    model = step_model(step_models)
    chip = _gpu_of(model, machine)
    return _share(bytes_moved(model), float(np.median(step_times(steps))), chip)


@metric("ratio", Better.HIGHER)
def bandwidth_share_busy(
    steps: pd.DataFrame,
    step_models: pd.DataFrame,
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    machine: pd.DataFrame,
) -> float:
    """Share of the chip's memory bandwidth that was reached while the GPU ran for the target.

    Bytes of all steady steps over the time in which an interval of the target ran, from the first
    steady step's start to the last one's end.
    """
    own = of_target(on_gpu(gpu_intervals), targets)
    model = step_model(step_models)
    chip = _gpu_of(model, machine)
    steady = steady_steps(steps)
    require_seen(steady, own)
    starts, ends = spans(steady)
    ran = busy(*clip(*spans(own), int(starts.min()), int(ends.max())))
    if ran == 0:
        raise Unavailable("no interval of the target ran during the steady steps.")
    return _share(bytes_moved(model) * starts.size, ran, chip)


def _operations(model: "pd.Series[Any]", least: int = 1) -> int:
    flops = int(model["flops"])
    if flops < least:
        raise Unavailable("the workload does not say how many operations a step takes.")
    return flops


def _gpu_of(model: "pd.Series[Any]", machine: pd.DataFrame) -> Chip:
    if model["backend"] == "cpu":
        raise Unavailable(
            "the steps ran on the CPU, and what bandwidth a CPU reaches nobody publishes; "
            "`tracekit chip --measure` measures it here."
        )
    return chip_of(machine)


def _bandwidth(chip: Chip) -> float:
    if chip.bandwidth.value is None:
        raise Unavailable(chip.bandwidth.reason)
    return chip.bandwidth.value


def _share(moved: int, nanoseconds: float, chip: Chip) -> float:
    bandwidth = _bandwidth(chip)
    if nanoseconds <= 0:
        raise Unavailable("the steady steps have no length.")
    found = reached(moved, nanoseconds / _SECOND, bandwidth=bandwidth)
    if found.share is None:
        raise Unavailable(
            f"the data are cache-resident: {found.bandwidth / 1e9:,.0f} GB/s is more than the "
            f"{bandwidth / 1e9:g} GB/s that memory delivers."
        )
    return found.share
