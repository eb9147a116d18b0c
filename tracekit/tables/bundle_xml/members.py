"""The arrays of a run one by one, as an export asks for them."""

from functools import lru_cache
from itertools import pairwise

import numpy as np

from tracekit.tables.bundle.container.uniquer import Arrays
from tracekit.tables.bundle.errors import DamagedCellError

_AT_ONCE = 1 << 10
_KEPT = 64  # blocks of so many arrays; what a file asks for lies close together


class Members:
    """The members of arrays by their numbers; neighbours are read together."""

    def __init__(self, arrays: Arrays) -> None:
        """Take the arrays, without reading them."""
        self._arrays = arrays
        self._block = lru_cache(_KEPT)(self._read)

    def of(self, number: int) -> tuple[int, ...]:
        """Return the members of an array.

        Raises:
            DamagedCellError: There is none of that number, or it is damaged.
        """
        block, place = divmod(number, _AT_ONCE)
        return self._block(block)[place] if number < len(self._arrays) else self._one(number)

    def of_length(self, number: int, count: int, *, longer: bool = False) -> tuple[int, ...]:
        """Return the members of an array that has `count`, or more if it may be `longer`.

        Raises:
            DamagedCellError: It has another length, or `of` raises it.
        """
        members = self.of(number)
        if len(members) != count and not (longer and len(members) > count):
            raise DamagedCellError("names an array of another length than its type has")
        return members

    def _read(self, block: int) -> list[tuple[int, ...]]:
        first = block * _AT_ONCE
        ids = np.arange(first, min(first + _AT_ONCE, len(self._arrays)), dtype=np.int64)
        found = self._arrays.take(ids)
        values, offsets = found.values.tolist(), found.offsets.tolist()
        return [tuple(values[start:end]) for start, end in pairwise(offsets)]

    def _one(self, number: int) -> tuple[int, ...]:
        ids = np.array([min(number, np.iinfo(np.int64).max)], dtype=np.int64)
        return tuple(self._arrays.take(ids).one(0).tolist())
