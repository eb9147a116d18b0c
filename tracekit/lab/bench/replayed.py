"""Counters that Xcode exported of a subject's frame capture: how full the GPU was, and of what."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from tracekit import tables
from tracekit.analysis import replay
from tracekit.base import InputError
from tracekit.lab.bench.document import ReplayedCounters

_ALU = "ALU Utilization"
_MEMORY = "Last Level Cache Utilization"


def read_replayed(files: Sequence[str]) -> ReplayedCounters:
    """Return the means of the counters of one frame capture over its encoders, by their cost.

    `files` are a CSV of Xcode's counters, tabs of them, or both. Raises InputError for other files,
    and without the encoders' cost, by which a mean is weighted.
    """
    paths = [Path(file) for file in files]
    rows = tables.xcode_counters.read_counters(paths).rows
    encoders = replay.encoders(rows)
    if not encoders["cost"].sum() > 0:
        raise InputError(
            f"{files[0]} has no cost of its encoders, by which they are weighted.",
            hint=f"Add the text of a tab of Xcode's counters, which has {replay.COST!r}.",
        )
    return ReplayedCounters(
        files=tuple(path.name for path in paths),
        encoders=len(encoders),
        occupancy=_average(encoders, rows, replay.OCCUPANCY),
        alu=_average(encoders, rows, _ALU),
        memory=_average(encoders, rows, _MEMORY),
    )


def _average(encoders: pd.DataFrame, rows: pd.DataFrame, counter: str) -> float | None:
    """Return the mean of a counter by cost; None if no encoder has a credible value of it."""
    is_sound = rows["suspect"].isna()
    values = rows[is_sound & (rows["counter"] == counter)].set_index("place")["value"]
    return replay.average_by_cost(encoders.assign(mean=encoders["place"].map(values)), "mean")
