"""Sums over the tables `gaps` and `loaded`."""

import pandas as pd

from tracekit.analysis.idle.cause import Cause


def idle_time(gaps: pd.DataFrame) -> int:
    """Return all idle time, in ns."""
    return int(gaps["duration"].sum())


def loaded_time(loaded: pd.DataFrame) -> int:
    """Return how long there was work to do in the steady window, in ns."""
    return int(loaded["duration"].sum())


def by_cause(gaps: pd.DataFrame) -> dict[Cause, int]:
    """Return the idle time of each cause, in ns, of those without any too; the sum is all of it."""
    sums = gaps.groupby("cause", observed=False)["duration"].sum()
    return {cause: int(sums.get(cause, 0)) for cause in Cause}
