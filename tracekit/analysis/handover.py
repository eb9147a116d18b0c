"""Whether a step's work is distinguishable from its submission, if no device reports work times.

A GPU reports when it worked. For work on a CPU, and for a device that only the host observes, two
calls are known: `submit`, which hands work over, and `wait`, which blocks until it is complete.
They separate work from preparation only if some work remains when `submit` returns, and if `wait`
waits for work of the process itself. The CPU time of its threads shows this.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import IntervalSet, Times
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.scope import Device
from tracekit.base import units
from tracekit.workload import IDLE, REFERENCE, journal

_UNSURE = 0.05  # largest unclassified share of the steps' time that leaves no doubt
_ASLEEP = 0.05  # share of a core below which a waiting process is idle

Nanoseconds = NDArray[np.int64]


@dataclass(frozen=True)
class Handover:
    """The known composition of the time inside `submit`.

    `computing` is the share of the steps' time in which the calling thread computed there, which
    counts as preparation; 0 if a GPU itself reports when it worked.
    """

    computing: float = 0.0


def handover_of(device: Device, steps: pd.DataFrame | None, spans: pd.DataFrame | None) -> Handover:
    """Return the composition of `submit`; raise Unavailable if its parts are unknown."""
    if not device.on_the_host or steps is None or "submitted" not in steps:
        return Handover()
    judged = _select_working_steps(steps)
    total_time = int(judged["duration"].sum())
    if total_time == 0:
        return Handover()
    channels = device.target_intervals["channel"].astype("string").fillna("")
    on_a_cpu = bool(channels.str.startswith("CPU").any())
    unsure_times = _unsure(judged, spans, on_a_cpu=on_a_cpu)
    unsure = int(unsure_times.sum()) / total_time
    if unsure > _UNSURE:
        raise Unavailable(
            f"the step waits inside `submit`, or works there: in {units.percent(unsure)} of "
            f"its time "
            "nothing tells its work from its preparation. Let `submit` hand the work over, and "
            "`wait` block until it is complete."
        )
    waiting_times = judged["duration"] - judged["submitted"]
    remaining_time = int(waiting_times.sum())
    awake = _read_cpu_times(judged, "wait_cpu")
    if on_a_cpu and awake is not None and remaining_time > _UNSURE * total_time:
        busy = int(awake.sum()) / remaining_time
        if busy < _ASLEEP:
            raise Unavailable(
                "the step waits for something that its process does not do: while it waited, all "
                f"of its threads together computed for {units.percent(busy)} of the time."
            )
    caller = _read_cpu_times(judged, "submit_cpu")
    if caller is None:
        return Handover()
    return Handover(int(caller.sum()) / total_time)


def _select_working_steps(steps: pd.DataFrame) -> pd.DataFrame:
    """Return the steps with work of the steady phase, or of the whole run if it has none."""
    worked = steps
    if "variant" in steps:
        is_at_work = steps["variant"].fillna("") != IDLE
        worked = steps[is_at_work]
    is_timed = worked["submitted"].notna() & worked["duration"].notna()
    worked = worked[is_timed]
    steady = worked[worked["phase"] == "steady"]
    judged = worked if steady.empty else steady
    return judged.sort_values("start", kind="stable")


def _unsure(steps: pd.DataFrame, spans: pd.DataFrame | None, *, on_a_cpu: bool) -> Nanoseconds:
    """Return how much of each step's time inside `submit` may have been work or preparation.

    Time that the workload's spans assign to the host does not count.
    """
    start = steps["start"].to_numpy(dtype=np.int64)
    submitted = steps["submitted"].to_numpy(dtype=np.int64)
    durations = steps["duration"].to_numpy(dtype=np.int64)
    host = _measure_span_time(spans, start, start + submitted)
    waiting_times = durations - submitted
    undivided = waiting_times < journal.LEFT * (durations - host)
    caller = _read_cpu_times(steps, "submit_cpu")
    other_threads = _read_cpu_times(steps, "submit_other_cpu")
    if caller is None or other_threads is None:
        return np.where(undivided, submitted - host, 0)
    held_up = np.maximum(submitted - caller, 0)
    if on_a_cpu:
        limited_times = np.minimum(other_threads, held_up)
        worked = np.minimum(limited_times, submitted - host)
        return np.where(undivided, submitted - host - worked, 0)
    longer_time = np.maximum(held_up - host, 0)
    return np.where(undivided, submitted - host, longer_time)


def _measure_span_time(spans: pd.DataFrame | None, starts: Times, handed: Times) -> Nanoseconds:
    """Return the time of each `submit` in spans that end before it does; steps are in order."""
    if spans is None or not starts.size:
        return np.zeros_like(starts)
    is_other = ~spans["name"].isin([IDLE, REFERENCE])
    span_starts, span_ends = bounds(spans[is_other])
    place = np.searchsorted(starts, span_starts, side="right") - 1
    submit_ends = handed[np.maximum(place, 0)]
    in_submit = (place >= 0) & (span_ends <= submit_ends)
    submit_work = IntervalSet.from_spans(span_starts[in_submit], span_ends[in_submit])
    return submit_work.measure_within(starts, handed)


def _read_cpu_times(steps: pd.DataFrame, column: str) -> Nanoseconds | None:
    """Return a column of CPU times; None if a step has none, as in older recordings."""
    if column not in steps or steps[column].isna().any():
        return None
    return steps[column].to_numpy(dtype=np.int64)
