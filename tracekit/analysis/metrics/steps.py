"""The speed of the workload, the evenness of its steps, and their cost in submissions."""

from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from tracekit.analysis.beats import Beats, beats, spikes
from tracekit.analysis.completeness import Completeness, require_rows
from tracekit.analysis.idle.sums import gaps_of_waits
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.iterations import Loop, steady_iterations
from tracekit.analysis.scope import (
    Device,
    reference_time,
    require_alike,
    require_seen,
    steady_steps,
    steady_tokens,
)
from tracekit.analysis.serving import limit, parts, steady_phase
from tracekit.analysis.submission import in_flight, per_iteration, require_buffers, require_lives


def step_rate(
    steps: pd.DataFrame, spans: pd.DataFrame | None, completeness: Completeness | None
) -> float:
    """Steps per second, from the start of the first steady step to the end of the last.

    A step that only waited for load does not count, but its time does. Time in which the worker
    timed its reference work is left out.
    """
    require_rows(completeness)
    return len(steady_steps(steps)) / _seconds(steps, spans)


def tokens_per_second(
    steps: pd.DataFrame, spans: pd.DataFrame | None, completeness: Completeness | None
) -> float:
    """Tokens of the steady steps per second, over the same time as `step_rate`."""
    require_rows(completeness)
    require_alike(steady_steps(steps))
    return steady_tokens(steps) / _seconds(steps, spans)


def step_p50(steps: pd.DataFrame) -> float:
    """Median duration of a steady step, from building it until it was seen complete."""
    return float(np.median(step_times(steps)))


def step_p99(steps: pd.DataFrame) -> float:
    """99th percentile of that duration, linear between ranks."""
    return float(np.quantile(step_times(steps), 0.99))


def memory_bandwidth(steps: pd.DataFrame, step_models: pd.DataFrame) -> float:
    """Bytes that a step must move, each read once, over the median step: a model, not a counter."""
    moved = bytes_moved(step_model(step_models))
    median_time = float(np.median(step_times(steps)))
    return moved / (median_time / 1e9)


def step_model(step_models: pd.DataFrame) -> "pd.Series[Any]":
    """Return the model of a step; raise Unavailable if it is not known, or steps are unlike."""
    if step_models.empty:
        raise Unavailable("the workload does not describe its steps.")
    if len(step_models) > 1:
        raise Unavailable("steps are of several variants, each of which moves its own bytes.")
    return step_models.iloc[0]


def bytes_moved(model: "pd.Series[Any]") -> int:
    """Return the bytes that memory must move for a step, or raise Unavailable."""
    unique_bytes = int(model["bytes_unique"])
    written_bytes = int(model["bytes_written"])
    moved = unique_bytes + written_bytes
    if moved == 0:
        raise Unavailable("the workload does not say how many bytes a step moves.")
    return moved


def _seconds(steps: pd.DataFrame, annotations: pd.DataFrame | None) -> float:
    """Return how long the steady phase took, waits for load included."""
    window = steady_phase(steps)
    length = window.length - reference_time(annotations, window)
    if length <= 0:
        raise Unavailable("the steady steps have no length.")
    return length / 1e9


def step_times(steps: pd.DataFrame) -> np.ndarray:
    """Return how long each steady step took, in ns; raise Unavailable if they are unlike."""
    steady = steady_steps(steps)
    require_alike(steady)
    starts, ends = bounds(steady)
    return ends - starts


_TENTHS = 10
_LEAST_OF_TENTH = 5  # steps


def rate_droop(
    steps: pd.DataFrame,
    gauges: pd.DataFrame | None,
    requests: pd.DataFrame | None,
) -> float:
    """Share of the rate that the steady phase lost from its first tenth of steps to its last.

    Rates are tokens, else steps, over the time of those steps; below 0 the last tenth was faster.
    Of a server, only the part between ramp and tail counts.
    """
    steady = steady_steps(steps).sort_values("start", kind="stable")
    require_alike(steady)
    if gauges is not None and limit(gauges, "active_sequences") is not None:
        with suppress(Unavailable):
            steady = parts(steps, gauges)["steady"].window.rows(steady)
    elif requests is not None and not requests.empty:
        raise Unavailable(
            "the workload serves requests and does not tell how many at a time, so its ramp and "
            "its tail are not known."
        )
    count = len(steady) // _TENTHS
    if count < _LEAST_OF_TENTH:
        raise Unavailable(f"a tenth of {len(steady)} steady steps is too few.")
    outputs = steady["tokens"].fillna(0)
    if not outputs.any():
        outputs = outputs + 1
    rates: list[float] = []
    for place in (slice(count), slice(-count, None)):
        starts, ends = bounds(steady.iloc[place])
        length = int((ends - starts).sum())
        if length == 0:
            raise Unavailable("the steady steps have no length.")
        rates.append(float(outputs.iloc[place].sum()) / length)
    first_rate, last_rate = rates
    if first_rate == 0:
        raise Unavailable("the first steps have no tokens.")
    return 1 - last_rate / first_rate


def step_variation(
    steps: pd.DataFrame, requests: pd.DataFrame | None, spans: pd.DataFrame | None
) -> float:
    """Variation from one steady step to the next: a robust coefficient of variation.

    Steps are measured from start to start. It is the median absolute difference of neighbours,
    scaled to a standard deviation of normal noise, over the median. Drift and single outliers add
    nothing.
    """
    return float(_require_alike_beats(steps, requests, spans).variation)


def step_spike_share(
    steps: pd.DataFrame, requests: pd.DataFrame | None, spans: pd.DataFrame | None
) -> float:
    """Share of the steady steps' time by which spikes exceed the steps around them.

    Spikes are steps 8 robust standard deviations and 50 % above their neighbours' median.
    """
    row = _require_alike_beats(steps, requests, spans)
    chosen, excess = spikes(row)
    lost_time = excess[chosen].sum()
    return float(lost_time / row.times.sum())


def command_buffers_per_step(
    gpu: Device, loop: Loop, timeline: pd.DataFrame, steps: pd.DataFrame
) -> float:
    """Command buffers of the target with work in the steady window, over its steps."""
    buffer_count = _buffers(gpu, loop, timeline, steps)
    return buffer_count / len(steady_steps(steps))


def command_buffers_per_token(
    gpu: Device, loop: Loop, timeline: pd.DataFrame, steps: pd.DataFrame
) -> float:
    """Command buffers of the target with work in the steady window, over its tokens."""
    return _buffers(gpu, loop, timeline, steps) / steady_tokens(steps)


def intervals_per_token(gpu: Device, loop: Loop, steps: pd.DataFrame) -> float:
    """Device intervals of the target that start in the steady window, over its tokens."""
    tokens = steady_tokens(steps)
    require_seen(steady_steps(steps), gpu.target_intervals)
    intervals_in_loop = loop.rows(gpu.target_intervals[["start"]])
    return _some(len(intervals_in_loop), loop) / tokens


def queue_depth_mean(gpu: Device, loop: Loop, timeline: pd.DataFrame) -> float:
    """Command buffers of the target that are committed and not complete, the mean over the time."""
    return in_flight(timeline, loop)


def readbacks_per_step(
    gpu: Device, timeline: pd.DataFrame, gaps: pd.DataFrame, iterations: pd.DataFrame
) -> float:
    """Waits for the device in a steady iteration, the mean; of several variants the most.

    A wait is a moment at which all command buffers of the target were reported complete before it
    began to encode the next, and at which no memory was being wired.
    """
    require_lives(timeline)
    waits = gaps_of_waits(gaps, "yes", "unknown")
    return per_iteration(waits, steady_iterations(iterations))


def _require_alike_beats(
    steps: pd.DataFrame, requests: pd.DataFrame | None, annotations: pd.DataFrame | None
) -> Beats:
    require_alike(steady_steps(steps))
    return beats(steps, requests, annotations)[0]


def _buffers(gpu: Device, loop: Loop, timeline: pd.DataFrame, steps: pd.DataFrame) -> int:
    require_seen(steady_steps(steps), gpu.target_intervals)
    require_buffers(timeline)
    buffers_in_loop = loop.rows(timeline, "started")
    return _some(len(buffers_in_loop), loop)


def _some(number: int, window: Window) -> int:
    if number == 0:
        raise Unavailable(f"no work of the target starts in {window.name}.")
    return number
