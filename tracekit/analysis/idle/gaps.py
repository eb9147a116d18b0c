"""The tables `loaded` and `gaps`: when there was work to do, and why it was not done."""

import numpy as np
import pandas as pd

from tracekit.analysis.idle.pieces import attributed
from tracekit.analysis.idle.stretches import Stretches, covered
from tracekit.analysis.idle.surroundings import surroundings, without_load
from tracekit.analysis.idle.work import work_of, written
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import gaps as between
from tracekit.analysis.steady import window_of_target
from tracekit.analysis.target import of_target

SHORTEST = 10_000
"""Gaps shorter than this, in ns, are no gaps: a device needs some time between two pieces."""


def loaded_table(
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    spans: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return the table `loaded`: the stretches of the steady window in which there was load.

    Time in which a server says, by spans `idle`, that it had no request to serve is left out, and
    so is time in which the worker timed its reference work.

    Raises:
        Unavailable: The target is not known or has no rows, the window has no length, or there
            was no load in all of it.
    """
    window = window_of_target(gpu_intervals, targets, phases)
    waits = without_load(spans)
    starts, ends = between(waits.starts, waits.ends, window.start, window.end)
    if not starts.size:
        raise Unavailable(f"there was no load in {window.name}.")
    return pd.DataFrame({"start": starts, "duration": ends - starts})


def gaps_table(  # noqa: PLR0917  a derived table's sources are its parameters
    loaded: pd.DataFrame,
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    spans: pd.DataFrame | None,
    commits: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    encoders: pd.DataFrame | None,
    completions: pd.DataFrame | None,
    driver_intervals: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    gpu_performance_states: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return the table `gaps`: pieces of the loaded time in which no work of the target ran.

    Gaps below `SHORTEST` are left out. A gap is cut into pieces so that each has one cause; the
    pieces of a gap are disjoint and cover it. Columns: `start`, `duration` (ns), `gap` (the
    number of the gap), `cause` (see `Cause`), `drained` (whether the queue ran empty because
    the host waited for all its work: yes, no, unknown), `during` (what the host did meanwhile:
    encoding, driver, compiler, waiting, or the name of a span that the workload told; "" where
    nothing is known).

    Raises:
        Unavailable: As for `loaded`.
    """
    own = of_target(gpu_intervals, targets)
    work = work_of(own, commits, submissions, encoders, completions)
    around = surroundings(
        written(encoders, submissions),
        _rivals(gpu_intervals, own),
        driver_intervals,
        compiler_activity,
        gpu_performance_states,
        spans,
        driver_events,
    )
    return attributed(_long_gaps(own, loaded), work, around)


def _rivals(gpu_intervals: pd.DataFrame, own: pd.DataFrame) -> pd.DataFrame:
    """Return the work of other processes on the target's channels.

    Channels run beside each other, so that work on another one keeps nothing from starting.
    """
    others = gpu_intervals[~gpu_intervals["target"]]
    return others[others["channel"].isin(own["channel"].unique())]


def _long_gaps(own: pd.DataFrame, loaded: pd.DataFrame) -> Stretches:
    """Return the parts of the loaded time that no interval covers, without the shortest."""
    load, ran = covered(loaded), covered(own)
    first, last = int(load.starts[0]), int(load.ends[-1])
    absent = between(load.starts, load.ends, first, last)
    starts = np.concatenate((ran.starts, absent[0]))
    ends = np.concatenate((ran.ends, absent[1]))
    starts, ends = between(starts, ends, first, last)
    long = ends - starts >= SHORTEST
    return Stretches(starts[long], ends[long])
