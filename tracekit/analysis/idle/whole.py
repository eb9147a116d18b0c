"""The gaps of the table `gaps`, each put together again from its pieces."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.fixed import FixedTable
from tracekit.analysis.intervals import EqualRuns, Times, heads_of


@dataclass(frozen=True, eq=False)
class WholeGaps:
    """Each gap as one: when it starts and ends, ns, and the rows of its pieces, which are in order.

    `first_rows` is the row of each gap's first piece, and `place` the number of the gap of each
    row, in their order from 0; `lengths` are those of the pieces, ns.
    """

    starts: Times
    ends: Times
    first_rows: NDArray[np.intp]
    place: NDArray[np.intp]
    lengths: Times

    def time_in(self, chosen: NDArray[np.bool_]) -> tuple[NDArray[np.intp], Times]:
        """Return the numbers of the gaps with some of the chosen pieces, and the time of these."""
        rows = np.flatnonzero(chosen)
        groups = EqualRuns.from_keys(self.place[rows])
        return groups.keys.astype(np.intp), groups.reduce(np.add, self.lengths[rows])

    def rows_of(self, number: int) -> slice:
        """Return the rows of a gap's pieces."""
        first_row = int(self.first_rows[number])
        if number + 1 == self.first_rows.size:
            return slice(first_row, None)
        return slice(first_row, int(self.first_rows[number + 1]))


class GapsTable(FixedTable):
    """The table `gaps`, which never changes: its gaps are put together once."""

    @cached_property
    def merged_gaps(self) -> WholeGaps:
        """Each gap as one."""
        return _merge_pieces(self)


def whole_gaps(gaps: pd.DataFrame) -> WholeGaps:
    """Return each gap of the table as one."""
    if isinstance(gaps, GapsTable):
        return gaps.merged_gaps
    return _merge_pieces(gaps)


def _merge_pieces(gaps: pd.DataFrame) -> WholeGaps:
    starts = gaps["start"].to_numpy(dtype=np.int64)
    lengths = gaps["duration"].to_numpy(dtype=np.int64)
    first_rows = heads_of(gaps["gap"].to_numpy(dtype=np.int64))
    last_rows = np.append(first_rows[1:], starts.size)[: first_rows.size] - 1
    ends = starts[last_rows] + lengths[last_rows]
    piece_counts = np.diff(np.append(first_rows, starts.size))
    place = np.repeat(np.arange(first_rows.size), piece_counts)
    return WholeGaps(starts[first_rows], ends, first_rows, place, lengths)
