"""What the CPU did, where a CPU did the work: times of the host's clock."""

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import busy, clip, steady_window
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.metric import metric
from tracekit.analysis.pace import reference_time
from tracekit.analysis.result import Better
from tracekit.analysis.target import of_target, on_host


@metric("ns")
def host_busy(gpu_intervals: pd.DataFrame, targets: pd.DataFrame) -> int:
    """Time in which work of the target was in flight on the CPU, by the host's clock."""
    return busy(*bounds(of_target(on_host(gpu_intervals), targets)))


@metric("ratio", Better.LOWER)
def host_idle_ratio(
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    spans: pd.DataFrame | None,
) -> float:
    """Share of the steady window in which no work was in flight, by the host's clock.

    Time in which the worker timed its reference work is left out.
    """
    own = of_target(on_host(gpu_intervals), targets)
    window = steady_window(phases, own)
    if window is None or window.length == 0:
        raise Unavailable("there is no steady window.")
    length = window.length - reference_time(spans, window)
    return 1 - busy(*clip(*bounds(own), window.start, window.end)) / length


@metric("ratio", Better.LOWER)
def reference_share(
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    spans: pd.DataFrame | None,
) -> float:
    """Share of the steady window in which reference work was timed, between steps.

    It tells the machine's pace, by which `tracekit compare` corrects times. No step, rate or idle
    share contains it.
    """
    own = of_target(on_host(gpu_intervals), targets)
    window = steady_window(phases, own)
    if window is None or window.length == 0:
        raise Unavailable("there is no steady window.")
    spent = reference_time(spans, window)
    if spent == 0:
        raise Unavailable("the worker did no reference work of its own.")
    return spent / window.length


@metric("cores")
def host_cpu(process_samples: pd.DataFrame, phases: pd.DataFrame | None) -> float:
    """Median of the cores that the target used in its steady phase, over all samples."""
    inside = _steady(process_samples, phases)["cpu"].dropna()
    if inside.empty:
        raise Unavailable("no sample of the target lies in the steady window.")
    return float(inside.median())


@metric("bytes", Better.LOWER)
def memory_peak(process_samples: pd.DataFrame) -> int:
    """Most resident memory of the target in any sample; peaks between samples are not seen."""
    memory = process_samples["memory"].dropna()
    if memory.empty:
        raise Unavailable("there is no sample of the target's memory.")
    return int(memory.max())


def _steady(samples: pd.DataFrame, phases: pd.DataFrame | None) -> pd.DataFrame:
    if phases is None or not (phases["name"] == "steady").any():
        return samples
    window = steady_window(phases, phases)
    assert window is not None
    return samples[(samples["time"] >= window.start) & (samples["time"] < window.end)]
