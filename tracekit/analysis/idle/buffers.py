"""What other tables know of a piece of work: by the id of its command buffer."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.idle.stretches import NEVER
from tracekit.analysis.intervals import Times


def first_of(work: pd.DataFrame, rows: pd.DataFrame, times: Times) -> Times:
    """Return for each piece of work the earliest time of its command buffer's rows, or NEVER.

    Args:
        work: A table with the column `command_buffer`.
        rows: Another one.
        times: A moment for each of its rows; NEVER where there is none.
    """
    return _looked_up(work, rows, times, np.minimum)


def last_of(work: pd.DataFrame, rows: pd.DataFrame, times: Times) -> Times:
    """Return for each piece of work the latest time of its command buffer's rows, or NEVER."""
    return _looked_up(work, rows, times, np.maximum)


def moments(column: pd.Series) -> Times:
    """Return a column of times, NEVER where it is null."""
    return column.to_numpy(dtype=np.int64, na_value=NEVER)


def _looked_up(work: pd.DataFrame, rows: pd.DataFrame, times: Times, best: np.ufunc) -> Times:
    named = rows["command_buffer"].notna().to_numpy(dtype=bool) & (times != NEVER)
    ids = _ids(rows["command_buffer"])[named]
    if not ids.size:
        return np.full(len(work), NEVER)
    order = np.argsort(ids, kind="stable")
    ids, times = ids[order], times[named][order]
    first = np.flatnonzero(np.append(np.array([True]), ids[1:] != ids[:-1]))
    known, values = ids[first], best.reduceat(times, first)
    wanted = _ids(work["command_buffer"])
    place = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    found = (known[place] == wanted) & work["command_buffer"].notna().to_numpy(dtype=bool)
    return np.where(found, values[place], NEVER)


def _ids(column: pd.Series) -> NDArray[np.uint64]:
    return column.to_numpy(dtype=np.uint64, na_value=0)
