"""Whether a thread waited for a report, by samples of the CPU: a thread that waits does not run."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.idle.lives import Lives
from tracekit.analysis.idle.slopes import Wait
from tracekit.analysis.idle.threads import Thread, threads_of
from tracekit.analysis.intervals import NEVER, IntervalSet, Times

WORKS = 0.25
"""A thread that is sampled in a larger share of the time is at work."""
SLEEPS = 0.10
"""A thread that is sampled in a smaller share of the time sleeps or waits."""
MOSTLY = 0.75
"""A thread that is sampled in a larger share of the way back does not wait at the end of it."""
_SURE = 1.96  # standard errors on both sides of a 95 % interval

Waits = NDArray[np.int8]
"""For each command buffer, a member of `Wait` or the number of the report that was awaited."""


def sampled_waits(timeline: pd.DataFrame, samples: pd.DataFrame | None) -> Waits:
    """Return by samples for each command buffer whether its thread waited for the latest report.

    It is the thread's habit in all of its gaps, from the time when no other report was missing.
    """
    result = np.full(len(timeline), Wait.UNKNOWN, np.int8)
    if samples is None or "thread" not in timeline or "tid" not in samples:
        return result
    names = timeline["thread"].to_numpy(dtype=np.int64, na_value=NEVER)
    target_ids = samples.loc[samples["target"], "tid"]
    all_thread_ids = target_ids.dropna().unique().astype(np.int64)
    for thread in threads_of(timeline):
        thread_lives = Lives.from_timeline(timeline.iloc[thread.rows])
        back = _back(thread, thread_lives)
        thread_ids = np.unique(names[thread.rows])
        word = sampled_wait(back, samples, thread_ids)
        if word is Wait.YES:
            _, upper = sampled_share(back, samples, all_thread_ids)
            is_sure = upper < SLEEPS
        else:
            lower, _ = sampled_share(back, samples, thread_ids)
            is_sure = lower >= MOSTLY
        result[thread.rows] = word if is_sure else Wait.UNKNOWN
    return result


def _back(thread: Thread, lives: Lives) -> IntervalSet:
    """Return when only the latest report of a thread was missing, and it had committed no more."""
    latest = thread.report(1)
    second_latest = thread.report(2)
    until = np.minimum(latest, thread.committed)
    has_report = latest != NEVER
    one_missing = IntervalSet.from_spans(second_latest[has_report], until[has_report])
    back = lives.on_the_way_back
    several_missing = back.without(one_missing)
    back = back.without(several_missing)
    return back.without(lives.on_the_way_there).without(lives.running)


def sampled_wait(back: IntervalSet, samples: pd.DataFrame | None, threads: Times) -> Wait:
    """Return by samples whether the threads that commit waited between ends and reports.

    `back` is the time between them, `samples` the table `cpu_profile`, which has a row for each
    time that a thread was found running. UNKNOWN without samples of such a thread in the trace.
    """
    lower, upper = sampled_share(back, samples, threads)
    if upper < SLEEPS:
        return Wait.YES
    if lower > WORKS:
        return Wait.NO
    return Wait.UNKNOWN


def sampled_share(
    when: IntervalSet, samples: pd.DataFrame | None, threads: Times
) -> tuple[float, float]:
    """Return the 95 % interval of the share of a time in which these threads ran, by samples.

    It is the interval of Wilson (1927) over as many looks as samples would fit into the time;
    0 to 1 if the threads have no sample at all in the trace.
    """
    if samples is None or samples.empty or "tid" not in samples:
        return 0.0, 1.0
    is_of_threads = samples["tid"].isin(threads)
    thread_samples = samples[samples["target"] & is_of_threads]
    if thread_samples.empty:
        return 0.0, 1.0
    weight = thread_samples["weight"].median()
    if not weight > 0:
        return 0.0, 1.0
    sampled_time = (when.ends - when.starts).sum()
    looks = float(sampled_time) / float(weight)
    sample_times = thread_samples["time"].to_numpy(dtype=np.int64)
    hits = float(when.contains(sample_times).sum())
    return _wilson(min(hits, looks), looks)


def _wilson(hits: float, looks: float) -> tuple[float, float]:
    if looks < 1:
        return 0.0, 1.0
    share = hits / looks
    square = _SURE**2
    scale = 1 + square / looks
    sample_variance = share * (1 - share) / looks
    variance = sample_variance + square / (4 * looks**2)
    centre = share + square / (2 * looks)
    middle = centre / scale
    half = _SURE * np.sqrt(variance) / scale
    lower_bound = max(0.0, middle - half)
    upper_bound = min(1.0, middle + half)
    return lower_bound, upper_bound
