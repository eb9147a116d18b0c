"""Pieces of a block as texts."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tracekit.tables.xml.fast.blocks import Block
from tracekit.tables.xml.fast.irregular import demand
from tracekit.tables.xml.fast.tokens import Positions

# The ampersand comes last, so that "&amp;lt;" becomes "&lt;" and no more.
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&amp;", "&"))


class Spans:
    """Pieces of a block that do not overlap, in order."""

    def __init__(self, block: Block, starts: Positions, ends: Positions) -> None:
        """Take the pieces from each start up to its end."""
        self.block = block
        self._escapes = block.ampersands
        self._starts, self._ends = starts, ends
        # The boundaries cut the block into pieces and what lies between them, without a copy.
        boundaries = np.empty(2 * starts.size, np.int32)
        boundaries[0::2], boundaries[1::2] = starts, ends
        self._pieces = pa.StringArray.from_buffers(
            max(2 * starts.size - 1, 0), pa.py_buffer(boundaries), pa.py_buffer(block.octets)
        )

    def bounds(self, chosen: Positions) -> tuple[Positions, Positions]:
        """Return where the chosen pieces begin and end."""
        return self._starts.take(chosen), self._ends.take(chosen)

    def texts(self, chosen: Positions) -> pa.Array:
        """Return the chosen pieces, with their entities replaced."""
        texts = self._pieces.take(pa.array(2 * chosen))
        escaped = self._escaped().take(chosen) if self._escapes.size else np.zeros(0, np.bool_)
        return _unescaped(texts, escaped) if escaped.any() else texts

    def _escaped(self) -> NDArray[np.bool_]:
        first = np.searchsorted(self._escapes, self._starts)
        return np.searchsorted(self._escapes, self._ends) > first


def _unescaped(texts: pa.Array, escaped: NDArray[np.bool_]) -> pa.Array:
    changed = texts.take(pa.array(np.flatnonzero(escaped)))
    for entity, character in _ENTITIES:
        changed = pc.call_function(
            "replace_substring", [changed], pc.ReplaceSubstringOptions(entity, character)
        )
    return pc.call_function("replace_with_mask", [texts, pa.array(escaped), changed])


def check_entities(block: Block) -> None:
    """Raise IrregularError where an ampersand begins something else than a known entity."""
    words = block.words[block.ampersands]
    known = np.zeros(words.size, np.bool_)
    for entity, _ in _ENTITIES:
        mask = np.uint64((1 << 8 * len(entity)) - 1)
        known |= (words & mask) == np.uint64(int.from_bytes(entity.encode(), "little"))
    demand(known.all(), "an entity that xctrace does not write")
