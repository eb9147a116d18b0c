"""What the machine and its memory did beside the work: clock, growth, allocations."""

import pandas as pd

from tracekit.analysis.allocations import allocations, wiring
from tracekit.analysis.intervals import busy
from tracekit.analysis.memory_trend import levels, trend
from tracekit.analysis.metric import metric
from tracekit.analysis.metrics.steps import steady_steps
from tracekit.analysis.performance_states import below_best
from tracekit.analysis.result import Better
from tracekit.analysis.steady import window_of_target
from tracekit.analysis.target import on_gpu


@metric("ratio", Better.LOWER)
def gpu_downclocked_ratio(
    gpu_performance_states: pd.DataFrame,
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
) -> float:
    """Share of the steady time awake in which the GPU was below its best performance state."""
    window = window_of_target(on_gpu(gpu_intervals), targets, phases)
    return below_best(gpu_performance_states, window).share


@metric("bytes/s", Better.LOWER)
def gpu_memory_slope(
    allocated_sizes: pd.DataFrame,
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
) -> float:
    """GPU memory that the target kept per second, by the lowest levels of the steady window.

    The median slope, by Theil and Sen, of the lowest levels of eight equal parts of it.
    """
    window = window_of_target(gpu_intervals, targets, phases)
    return trend(levels(allocated_sizes, None, targets), window).rate * 1e9


@metric("bytes/s", Better.LOWER)
def memory_slope(
    process_samples: pd.DataFrame,
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
) -> float:
    """Resident memory that the target kept per second, by the same lowest levels."""
    window = window_of_target(gpu_intervals, targets, phases)
    return trend(levels(None, process_samples, targets), window).rate * 1e9


@metric("allocations/step", Better.LOWER)
def allocations_per_step(
    resource_allocations: pd.DataFrame,
    steps: pd.DataFrame,
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
) -> float:
    """Resources of Metal that the target allocated in the steady window, for each step."""
    window = window_of_target(gpu_intervals, targets, phases)
    return len(allocations(resource_allocations, window)) / len(steady_steps(steps))


@metric("ns", Better.LOWER)
def wire_time(
    driver_events: pd.DataFrame,
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
) -> int:
    """Steady time in which the driver wired memory for the target."""
    return busy(*wiring(driver_events, window_of_target(gpu_intervals, targets, phases)))
