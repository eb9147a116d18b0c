"""What samples of the target's threads say of its CPU time."""

import pandas as pd

from tracekit.analysis.inject import Unavailable, metric
from tracekit.analysis.profile import sampled_weight
from tracekit.analysis.scope import of_target


@metric("ns")
def cpu_time(cpu_profile: pd.DataFrame, targets: pd.DataFrame) -> int:
    """CPU time of the target's threads: what the samples of Time Profiler stand for, in sum."""
    return sampled_weight(of_target(cpu_profile, targets))


@metric("ratio")
def cpu_utilization(
    cpu_profile: pd.DataFrame, targets: pd.DataFrame, capture: pd.DataFrame
) -> float:
    """CPU time of the target over the time recorded; above 100 % where several threads ran."""
    duration = capture["duration"].iloc[0]
    if pd.isna(duration) or duration <= 0:
        raise Unavailable("how long was recorded is not known.")
    return sampled_weight(of_target(cpu_profile, targets)) / int(duration)
