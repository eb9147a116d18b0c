"""What counters of a replayed GPU frame capture come to."""

import pandas as pd

from tracekit.analysis.inject import Unavailable, metric
from tracekit.analysis.replay import encoders, weighted
from tracekit.analysis.result import Better


@metric("ratio", Better.HIGHER)
def replay_occupancy(replay_counters: pd.DataFrame) -> float:
    """Kernel occupancy in Xcode's serialized replay at a fixed clock, weighted by cost."""
    mean = weighted(encoders(replay_counters), "occupancy")
    if mean is None:
        raise Unavailable(
            "without execution costs, which only a tab of Xcode's counters has, encoders cannot be "
            "weighed."
        )
    return mean
