"""How fast the workload went, by its own marks, in the steady window."""

from typing import Any

import numpy as np
import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.metric import metric
from tracekit.analysis.pace import reference_time
from tracekit.analysis.result import Better
from tracekit.analysis.steps import steady_steps, steady_tokens, variants


@metric("steps/s", Better.HIGHER)
def step_rate(steps: pd.DataFrame, spans: pd.DataFrame | None) -> float:
    """Steps per second, from the start of the first steady step to the end of the last.

    A step that only waited for load counts for none, but its time passed. Time in which the worker
    timed its reference work is left out.
    """
    return len(steady_steps(steps)) / _seconds(steps, spans)


@metric("tokens/s", Better.HIGHER)
def tokens_per_second(steps: pd.DataFrame, spans: pd.DataFrame | None) -> float:
    """Tokens of the steady steps per second, over the same time as `step_rate`."""
    steady = steady_steps(steps)
    names = variants(steady)
    if len(names) > 1:
        told = ", ".join(names)
        raise Unavailable(
            f"steps are of several variants ({told}), which are compared, not summed."
        )
    return steady_tokens(steps) / _seconds(steps, spans)


@metric("ns", Better.LOWER)
def step_p50(steps: pd.DataFrame) -> float:
    """Median duration of a steady step, from building it until it was seen complete."""
    return float(np.median(step_times(steps)))


@metric("ns", Better.LOWER)
def step_p99(steps: pd.DataFrame) -> float:
    """99th percentile of that duration, linear between ranks."""
    return float(np.quantile(step_times(steps), 0.99))


@metric("bytes/s", Better.HIGHER)
def memory_bandwidth(steps: pd.DataFrame, step_models: pd.DataFrame) -> float:
    """Bytes that a step must move, each read once, over the median step: a model, not a counter."""
    return bytes_moved(step_model(step_models)) / (float(np.median(step_times(steps))) / 1e9)


def step_model(step_models: pd.DataFrame) -> "pd.Series[Any]":
    """Return what a step does; raise Unavailable where nobody told, or steps are unlike."""
    if step_models.empty:
        raise Unavailable("the workload does not say what a step does.")
    if len(step_models) > 1:
        raise Unavailable("steps are of several variants, each of which moves its own bytes.")
    return step_models.iloc[0]


def bytes_moved(model: "pd.Series[Any]") -> int:
    """Return the bytes that memory must move for a step; raise Unavailable where none are told."""
    moved = int(model["bytes_unique"]) + int(model["bytes_written"])
    if moved == 0:
        raise Unavailable("the workload does not say how many bytes a step moves.")
    return moved


def _seconds(steps: pd.DataFrame, told: pd.DataFrame | None) -> float:
    """Return how long the steady phase took, waits for load included."""
    starts, ends = bounds(steps[steps["phase"] == "steady"])
    window = Window(int(starts.min()), int(ends.max()))
    length = window.length - reference_time(told, window)
    if length <= 0:
        raise Unavailable("the steady steps have no length.")
    return length / 1e9


def step_times(steps: pd.DataFrame) -> np.ndarray:
    """Return how long each steady step took, in ns; raise Unavailable where they are unlike."""
    steady = steady_steps(steps)
    names = variants(steady)
    if len(names) > 1:
        raise Unavailable(f"steps are of several variants ({', '.join(names)}), of unlike work.")
    starts, ends = bounds(steady)
    return ends - starts
