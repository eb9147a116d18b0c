"""What a token costs the GPU, in the steady window."""

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import busy, clip, spans
from tracekit.analysis.metric import metric
from tracekit.analysis.result import Better
from tracekit.analysis.steady import window_of_target
from tracekit.analysis.steps import require_seen, steady_steps, steady_tokens
from tracekit.analysis.target import of_target, on_gpu


@metric("ns", Better.LOWER)
def gpu_time_per_token(
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    steps: pd.DataFrame,
) -> float:
    """Time in which work of the target ran on the GPU in the steady window, over its tokens.

    The union of its intervals, not their sum: work side by side counts once.
    """
    window = window_of_target(on_gpu(gpu_intervals), targets, phases)
    tokens, own = steady_tokens(steps), of_target(gpu_intervals, targets)
    require_seen(steady_steps(steps), own)
    return busy(*clip(*spans(own), window.start, window.end)) / tokens


@metric("count", Better.LOWER)
def encoders_per_token(
    encoders: pd.DataFrame,
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    steps: pd.DataFrame,
) -> float:
    """Encoders of the target that it began to write in the steady window, over its tokens.

    An encoder may hold many dispatches; `intervals_per_token` counts what the device ran.
    """
    window = window_of_target(on_gpu(gpu_intervals), targets, phases)
    own = of_target(encoders, targets)
    require_seen(steady_steps(steps), own)
    begun = own["start"]
    inside = int(((begun >= window.start) & (begun < window.end)).sum())
    if inside == 0:
        raise Unavailable(f"no encoder of the target begins in {window.name}.")
    return inside / steady_tokens(steps)
