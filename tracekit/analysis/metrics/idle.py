"""How much of the loaded steady window the device was idle, and why: shares that sum up."""

import pandas as pd

from tracekit.analysis.idle import Cause, by_cause, idle_time, loaded_time
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.metric import metric
from tracekit.analysis.result import Better
from tracekit.analysis.target import on_gpu
from tracekit.told import COMPILE, READBACK


@metric("ratio", Better.LOWER)
def idle_ratio(gaps: pd.DataFrame, loaded: pd.DataFrame) -> float:
    """Share of the loaded steady window that lies in gaps of the target, of 10 µs and more.

    The steady window less the time in which a server had nobody to serve. The shares of the
    causes, `idle_host_late` … `idle_unattributed`, sum to this.
    """
    return idle_time(gaps) / loaded_time(loaded)


@metric("ratio", Better.LOWER)
def idle_host_late(gaps: pd.DataFrame, loaded: pd.DataFrame) -> float:
    """Share of that window in which nothing was handed over, and the host was at other things."""
    return _share(_explained(gaps), loaded, Cause.HOST_LATE)


@metric("ratio", Better.LOWER)
def idle_start_latency(
    gaps: pd.DataFrame, loaded: pd.DataFrame, gpu_intervals: pd.DataFrame
) -> float:
    """Share of that window in which work was queued, and nothing is known that held it up."""
    on_gpu(gpu_intervals)
    return _share(_explained(gaps), loaded, Cause.START_LATENCY)


@metric("ratio", Better.LOWER)
def idle_driver(gaps: pd.DataFrame, loaded: pd.DataFrame, driver_intervals: pd.DataFrame) -> float:
    """Share of that window in which the device waited for the driver of the target."""
    del driver_intervals  # without it there is no such cause to be seen
    return _share(gaps, loaded, Cause.DRIVER)


@metric("ratio", Better.LOWER)
def idle_compile(
    gaps: pd.DataFrame,
    loaded: pd.DataFrame,
    compiler_activity: pd.DataFrame | None,
    spans: pd.DataFrame | None,
) -> float:
    """Share of that window in which nothing was handed over, as a pipeline was compiled."""
    if compiler_activity is None and not _told(spans, COMPILE):
        raise Unavailable(
            "neither compiler activity (graphics-compiler-activity-intervals) was exported nor "
            f"did the workload tell spans “{COMPILE}”."
        )
    return _share(gaps, loaded, Cause.COMPILE)


@metric("ratio", Better.LOWER)
def idle_readback(
    gaps: pd.DataFrame,
    loaded: pd.DataFrame,
    completions: pd.DataFrame | None,
    spans: pd.DataFrame | None,
) -> float:
    """Share of that window in which the host waited for work that had run, or read it back."""
    if completions is None and not _told(spans, READBACK):
        raise Unavailable(
            "neither completions (metal-command-buffer-completed) were exported nor did the "
            f"workload tell spans “{READBACK}”."
        )
    return _share(_explained(gaps), loaded, Cause.READBACK)


@metric("ratio", Better.LOWER)
def idle_other_process(
    gaps: pd.DataFrame, loaded: pd.DataFrame, gpu_intervals: pd.DataFrame
) -> float:
    """Share of that window in which work was queued while another process ran on the GPU."""
    on_gpu(gpu_intervals)
    return _share(_explained(gaps), loaded, Cause.OTHER_PROCESS)


@metric("ratio", Better.LOWER)
def idle_down_clocked(
    gaps: pd.DataFrame, loaded: pd.DataFrame, gpu_performance_states: pd.DataFrame
) -> float:
    """Share of that window in which work was queued and the GPU had yet to be powered up."""
    if gpu_performance_states.empty:
        raise Unavailable("the table gpu_performance_states has no rows.")
    return _share(gaps, loaded, Cause.DOWN_CLOCKED)


@metric("ratio", Better.LOWER)
def idle_unattributed(gaps: pd.DataFrame, loaded: pd.DataFrame) -> float:
    """Share of that window that is idle for reasons that the recording does not tell."""
    return _share(gaps, loaded, Cause.UNATTRIBUTED)


def _told(spans: pd.DataFrame | None, name: str) -> bool:
    return spans is not None and bool((spans["name"] == name).any())


def _share(gaps: pd.DataFrame, loaded: pd.DataFrame, cause: Cause) -> float:
    return by_cause(gaps)[cause] / loaded_time(loaded)


def _explained(gaps: pd.DataFrame) -> pd.DataFrame:
    """Return the gaps; raise Unavailable where none of them can be explained at all."""
    idle = idle_time(gaps)
    if idle and by_cause(gaps)[Cause.UNATTRIBUTED] == idle:
        raise Unavailable("the recording does not tell when work was handed over to the device.")
    return gaps


IDLE_METRICS = (
    idle_ratio,
    idle_host_late,
    idle_start_latency,
    idle_driver,
    idle_compile,
    idle_readback,
    idle_other_process,
    idle_down_clocked,
    idle_unattributed,
)
