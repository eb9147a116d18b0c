"""Ids of values, looked up all at once: a repeat means the last definition before it.

xctrace counts ids from 1, so that a plain array by id knows where each value stands. An id that
is no such number, or far greater than the number of ids so far, is kept in a dictionary.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.xml.fast.heap import Growing

Numbers = NDArray[np.int64]

UNKNOWN = -1
_ODD = 1 << 48  # above all ids that are kept in the array
_SPARSEST = 8
_ROOM = 1 << 12
_LONGEST = 12
_ZERO = ord("0")
_TEN = 10


class Ids:
    """Which value each id stands for."""

    def __init__(self) -> None:
        """Begin without ids."""
        self._dense: Growing[np.int32] = Growing(np.int32)
        self._odd: Growing[np.int32] = Growing(np.int32)
        self._slots: dict[str, int] = {}
        self._count = 0

    def resolve(
        self,
        defined: Sequence[str],
        values: Numbers,
        repeated: pa.Array,
        after: Numbers,
    ) -> tuple[Numbers, "Undo"]:
        """Learn new definitions, and look up repeats that stand among them.

        Args:
            defined: The ids of the definitions, in the order in which they end.
            values: The numbers of their values, ascending.
            repeated: The ids that repeats name.
            after: Of each repeat the number that the next value after it has.

        Returns:
            The values that are repeated, `UNKNOWN` where none was defined before; and what
            forgets the definitions again.
        """
        slots = self._defined(defined)
        wanted = self._wanted(repeated)
        before = self._known(wanted)
        undo = Undo(self, slots, self._known(slots))
        self._learn(slots, values)
        if (undo.values == UNKNOWN).all() and (self._known(slots) == values).all():
            targets = self._known(wanted)
            targets[targets >= after] = UNKNOWN
            return targets, undo
        return _in_order(slots, values, wanted, after, before), undo

    def forget(self, undo: "Undo") -> None:
        """Undo the last `resolve`."""
        self._learn(undo.slots, undo.values)

    def _defined(self, ids: Sequence[str]) -> Numbers:
        self._count += len(ids)
        texts = pa.array(ids, pa.string())
        slots = _decimals(texts)
        limit = self._count * _SPARSEST + _ROOM
        if slots is None or self._slots or int(slots.max(initial=0)) >= limit:
            slots = np.array([self._slot(text, limit) for text in ids], np.int64)
        dense = slots[slots < _ODD]
        _fill(self._dense, int(dense.max(initial=0)) + 1)
        _fill(self._odd, len(self._slots))
        return slots

    def _slot(self, text: str, limit: int) -> int:
        slot = self._slots.get(text)
        if slot is None:
            number = int(text) if _is_decimal(text) else limit
            slot = number if number < limit else _ODD + len(self._slots)
            if slot >= _ODD:
                self._slots[text] = slot
        return slot

    def _wanted(self, texts: pa.Array) -> Numbers:
        slots = None if self._slots else _decimals(texts)
        if slots is None:
            slots = np.array([self._found(text) for text in texts.to_pylist()], np.int64)
        return slots

    def _found(self, text: str) -> int:
        slot = self._slots.get(text)
        if slot is None:
            return int(text) if _is_decimal(text) else _ODD - 1
        return slot

    def _known(self, slots: Numbers) -> Numbers:
        known = np.full(slots.size, UNKNOWN, np.int64)
        dense = slots < self._dense.size
        if dense.all():
            return self._dense.array.take(slots).astype(np.int64)
        known[dense] = self._dense.array.take(slots[dense])
        odd = slots >= _ODD
        known[odd] = self._odd.array.take(slots[odd] - _ODD)
        return known

    def _learn(self, slots: Numbers, values: Numbers) -> None:
        odd = slots >= _ODD
        if not odd.any():
            self._dense.array[slots] = values
            return
        self._dense.array[slots[~odd]] = values[~odd]
        self._odd.array[slots[odd] - _ODD] = values[odd]


class Undo:
    """What ids stood for before a block defined them."""

    def __init__(self, ids: Ids, slots: Numbers, values: Numbers) -> None:
        """Take the places of the ids, and their values."""
        self._ids = ids
        self.slots = slots
        self.values = values

    def __call__(self) -> None:
        """Forget what the block defined."""
        self._ids.forget(self)


def _in_order(
    slots: Numbers, values: Numbers, wanted: Numbers, after: Numbers, before: Numbers
) -> Numbers:
    """Look repeats up among definitions that replace one another, each by the last before it."""
    different, ranks = np.unique(slots, return_inverse=True)
    span = int(max(values.max(), after.max(initial=0))) + 1
    keys = np.sort(ranks * span + values)
    rank = np.minimum(np.searchsorted(different, wanted), different.size - 1)
    place = np.searchsorted(keys, rank * span + after) - 1
    found = keys.take(np.maximum(place, 0))
    here = (place >= 0) & (different.take(rank) == wanted) & (found // span == rank)
    return np.where(here, found % span, before)


def _decimals(texts: pa.Array) -> Numbers | None:
    """Return ids as numbers, or None where one is not written as a plain number."""
    if not len(texts):
        return np.zeros(0, np.int64)
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :][: len(texts) + 1]
    lengths = np.diff(offsets)
    if not 0 < int(lengths.min()) <= int(lengths.max()) <= _LONGEST:
        return None
    octets = np.frombuffer(texts.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    digits = octets - np.uint8(_ZERO)
    leading = (digits.take(offsets[:-1] - offsets[0]) == 0) & (lengths > 1)
    if (digits >= _TEN).any() or leading.any():
        return None
    return texts.cast(pa.int64()).to_numpy()


def _is_decimal(text: str) -> bool:
    plain = text.isascii() and text.isdigit() and len(text) <= _LONGEST
    return plain and (text == "0" or text[0] != "0")


def _fill(growing: Growing[np.int32], size: int) -> None:
    if size > growing.size:
        growing.extend(np.full(size - growing.size, UNKNOWN, np.int32))
