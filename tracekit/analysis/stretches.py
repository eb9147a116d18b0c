"""Groups of command buffers between distinct pauses of the host, whether they repeat or not.

A loop is the repetition with most of the device's time. Short work that is more frequent, such as
the tokens between the chunks of long prompts, does not belong to it, but has a rhythm as well.
"""

import numpy as np
import pandas as pd

from tracekit.analysis.beats import FEWEST, Beats
from tracekit.analysis.intervals import NEVER
from tracekit.analysis.structure import begins_of

_BRIEF = 10_000  # ns: shorter pauses count as none
_APART = 8.0  # ratio of the shortest pause that separates groups to the longest that does not


def group_beats(timeline: pd.DataFrame) -> Beats | None:
    """Return the rhythm of the groups; None without groups of several command buffers.

    A beat is the time from the device's end of one group to its end of the next.
    """
    if len(timeline) < FEWEST:
        return None
    committed = timeline["committed"].to_numpy(dtype=np.int64, na_value=NEVER)
    ended, busy, pieces = (
        timeline[name].to_numpy(dtype=np.int64) for name in ("ended", "busy", "encoders")
    )
    handed_over = np.where(committed == NEVER, ended, committed)
    pauses = np.maximum(begins_of(timeline)[1:] - handed_over[:-1], 0) + _BRIEF
    ordered = np.sort(pauses)
    ratios = (ordered[1:] / ordered[:-1])[: max(0, ordered.size - FEWEST)]
    distinct = np.flatnonzero(ratios >= _APART)
    if not distinct.size:
        return None
    first_rows = np.append(0, np.flatnonzero(pauses > ordered[distinct[0]]) + 1)
    ends = np.maximum.accumulate(np.maximum.reduceat(ended, first_rows))
    if first_rows.size <= FEWEST or (np.diff(ends) <= 0).any():
        return None
    work, numbers = (np.add.reduceat(column, first_rows) for column in (busy, pieces))
    return Beats(
        "", ends[:-1], ends[1:], work[1:].astype(np.float64), numbers[1:].astype(np.float64)
    )
