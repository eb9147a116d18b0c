"""How even the steps are, and what they cost in submissions and waits."""

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window
from tracekit.analysis.metric import metric
from tracekit.analysis.result import Better
from tracekit.analysis.rhythm.beats import Beats, beats, spikes
from tracekit.analysis.steady import window_of_target
from tracekit.analysis.steps import require_seen, steady_steps, steady_tokens, variants
from tracekit.analysis.submission.flights import flights
from tracekit.analysis.submission.launches import Launches, launches
from tracekit.analysis.submission.readbacks import per_step
from tracekit.analysis.target import of_target, on_gpu


@metric("ratio", Better.LOWER)
def step_variation(
    steps: pd.DataFrame, requests: pd.DataFrame | None, spans: pd.DataFrame | None
) -> float:
    """How much one steady step differs from the next: a robust coefficient of variation.

    From start to start; the median absolute difference of neighbours, scaled to a standard
    deviation of normal noise, over the median. Drift and single outliers add nothing.
    """
    return float(_alike(steps, requests, spans).variation)


@metric("ratio", Better.LOWER)
def step_spike_share(
    steps: pd.DataFrame, requests: pd.DataFrame | None, spans: pd.DataFrame | None
) -> float:
    """Share of the steady steps' time that spikes take beyond the steps around them.

    Spikes are steps 8 robust standard deviations and 50 % beyond their neighbours' median.
    """
    one = _alike(steps, requests, spans)
    found = spikes(one)
    return float(found.excess[found.chosen].sum() / one.times.sum())


@metric("count", Better.LOWER)
def command_buffers_per_step(
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    steps: pd.DataFrame,
) -> float:
    """Command buffers of the target with work in the steady window, over its steps."""
    return _buffers(gpu_intervals, targets, phases, steps) / len(steady_steps(steps))


@metric("count", Better.LOWER)
def command_buffers_per_token(
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    steps: pd.DataFrame,
) -> float:
    """Command buffers of the target with work in the steady window, over its tokens."""
    return _buffers(gpu_intervals, targets, phases, steps) / steady_tokens(steps)


@metric("count", Better.LOWER)
def intervals_per_token(
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    steps: pd.DataFrame,
) -> float:
    """Device intervals of the target that start in the steady window, over its tokens."""
    tokens = steady_tokens(steps)
    return _launches(gpu_intervals, targets, phases, steps).starts.size / tokens


@metric("count")
def queue_depth_mean(
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    submissions: pd.DataFrame,
    completions: pd.DataFrame,
) -> float:
    """Command buffers of the target that are committed and not complete, the mean over the time."""
    window = _window(gpu_intervals, targets, phases)
    return flights(submissions, completions, None, targets).depths(window).mean


@metric("count", Better.LOWER)
def readbacks_per_step(  # noqa: PLR0917  it asks for these tables
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    steps: pd.DataFrame,
    submissions: pd.DataFrame,
    completions: pd.DataFrame,
    encoders: pd.DataFrame | None,
) -> float:
    """Waits for the device in a steady step, the mean; of several variants the one with most.

    A wait is a moment at which all command buffers of the target were complete before it began
    to encode the next.
    """
    window = _window(gpu_intervals, targets, phases)
    waits = flights(submissions, completions, encoders, targets).waits(window)
    return per_step(waits, steady_steps(steps))


RHYTHM_METRICS = (
    step_variation,
    step_spike_share,
    command_buffers_per_step,
    command_buffers_per_token,
    intervals_per_token,
    queue_depth_mean,
    readbacks_per_step,
)


def _alike(steps: pd.DataFrame, requests: pd.DataFrame | None, told: pd.DataFrame | None) -> Beats:
    names = variants(steady_steps(steps))
    if len(names) > 1:
        raise Unavailable(f"steps are of several variants ({', '.join(names)}), of unlike work.")
    return beats(steps, requests, told)[0]


def _window(
    gpu_intervals: pd.DataFrame, targets: pd.DataFrame, phases: pd.DataFrame | None
) -> Window:
    return window_of_target(on_gpu(gpu_intervals), targets, phases)


def _launches(
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    steps: pd.DataFrame,
) -> Launches:
    window = _window(gpu_intervals, targets, phases)
    own = of_target(gpu_intervals, targets)
    require_seen(steady_steps(steps), own)
    return launches(own, window)


def _buffers(
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    steps: pd.DataFrame,
) -> int:
    found = _launches(gpu_intervals, targets, phases, steps).buffers
    if found == 0:
        raise Unavailable("the trace does not say to which command buffers the work belongs.")
    return found
