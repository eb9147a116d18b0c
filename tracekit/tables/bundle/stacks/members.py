"""Which frames each stack has, in the order in which stacks are numbered."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.bundle.container.uniquer import Numbers, Ragged
from tracekit.tables.bundle.errors import DamagedCellError
from tracekit.tables.xml.fast.heap import Growing
from tracekit.tables.xml.symbols import STACKS

_MOST = 1 << 26


class Members:
    """The frames of stacks, one stack after the other."""

    def __init__(self) -> None:
        """Begin without stacks."""
        self._members: Growing[np.int64] = Growing(np.int64)
        self._ends: Growing[np.int64] = Growing(np.int64)

    def __len__(self) -> int:
        """Count the stacks."""
        return self._ends.size

    def add(
        self,
        lengths: Numbers,
        numbered: NDArray[np.bool_],
        parts: Sequence[tuple[Numbers, Ragged]],
    ) -> None:
        """Add stacks.

        Args:
            lengths: How many frames each value has.
            numbered: Which of the values are stacks at all.
            parts: The numbers of some values, and their frames; those of `bare` are bare.

        Raises:
            DamagedCellError: There are more frames than any recording has.
        """
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if ends.size else 0
        if self._members.size + total > _MOST:
            raise DamagedCellError("names more frames than are read of one table")
        members = np.empty(total, np.int64)
        for of, stacks in parts:
            shift = (ends - lengths)[of] - stacks.offsets[:-1]
            places = np.arange(stacks.values.size) + np.repeat(shift, stacks.lengths)
            members[places] = stacks.values.view(np.int64)
        self._ends.extend((self._members.size + ends)[numbered])
        self._members.extend(members)

    def table(self, first_bare: int) -> pa.Table:
        """Return the stacks as `Symbols` has them, bare frames numbered from `first_bare`."""
        members = self._members.array.copy()
        members[members < 0] = first_bare - 1 - members[members < 0]
        offsets = np.concatenate(([0], self._ends.array))
        lists = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(members))
        frames = lists.cast(STACKS.field("frames").type)
        return pa.table([pa.array(np.arange(len(lists))), frames], schema=STACKS)


def bare(stacks: Ragged, numbers: Numbers) -> Ragged:
    """Return stacks of bare frames by their numbers: below zero, so that others can be told."""
    return Ragged(stacks.offsets, (-1 - numbers).view(np.uint64))
