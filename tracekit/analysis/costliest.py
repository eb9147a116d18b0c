"""The costliest work of the target on the device, by name."""

import numpy as np
import pandas as pd

from tracekit.analysis.intervals import grouped
from tracekit.analysis.result import CostlyWork
from tracekit.analysis.scope import Device
from tracekit.analysis.work_names import is_unnamed
from tracekit.tables import families

MOST = 5
"""Names that are listed."""


def rank_work(gpu: Device, shader_runs: pd.DataFrame | None) -> tuple[CostlyWork, ...]:
    """Return the names with the most time on the device, the most first.

    These are the names of shaders if the trace has any, else the labels of the intervals.
    """
    rows = gpu.target_intervals
    labelled, names = gpu.families
    if shader_runs is not None and shader_runs["target"].any():
        rows = shader_runs[shader_runs["target"]]
        labelled, names = families(rows["name"])
    lengths = rows["duration"].dropna()
    codes = labelled.loc[lengths.index].to_numpy()
    groups = grouped(codes, lengths.to_numpy(dtype=np.int64), ())
    all_time = int(groups.totals.sum()) or 1
    most_first = np.argsort(-groups.totals, kind="stable")
    costly_work: list[CostlyWork] = []
    for place in most_first[:MOST].tolist():
        name = names[int(groups.codes[place])]
        calls = int(groups.counts[place])
        time = int(groups.totals[place])
        work = CostlyWork(name, time / all_time, calls, time / calls, time, not is_unnamed(name))
        costly_work.append(work)
    return tuple(costly_work)
