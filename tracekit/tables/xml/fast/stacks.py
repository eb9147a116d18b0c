"""Stacks: their frames, and the binaries and sources of those."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tracekit.tables.xml.fast.blocks import Block
from tracekit.tables.xml.fast.definitions import Definitions
from tracekit.tables.xml.fast.elements import SOURCE, Elements
from tracekit.tables.xml.fast.frames import Frames
from tracekit.tables.xml.fast.heap import Growing
from tracekit.tables.xml.fast.irregular import demand
from tracekit.tables.xml.fast.names import Vocabulary
from tracekit.tables.xml.fast.tokens import DEEPEST, Flags
from tracekit.tables.xml.symbols import STACKS, Symbols, no_symbols

_STACK_LEVEL = 1
_NOTHING = ""


class Stacks:
    """The stacks and frames of an export."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Begin with none."""
        self.frames = Frames(vocabulary)
        self._frame = vocabulary.code("frame")
        self._stacks = vocabulary.codes(("backtrace", "tagged-backtrace", "text-backtrace"))
        self._parts = vocabulary.codes(("frame", "binary", SOURCE))
        self._width = vocabulary.lengths.size
        self._allowed = np.zeros((DEEPEST + 1, self._width), np.bool_)
        for level, names in enumerate((("frame",), ("binary", SOURCE), ("path",))):
            self._allowed[_STACK_LEVEL + 1 + level] = vocabulary.codes(names)
        self._members = Growing(np.int64)
        self._offsets = Growing(np.int64)
        self._offsets.extend(np.zeros(1, np.int64))

    def add(self, block: Block, elements: Elements, definitions: Definitions) -> int:
        """Add those that a block defines; return how many quotes their tags have beside ids.

        Raises:
            IrregularError: A stack or a frame is not built as in an export of today.
        """
        codes, tokens, places = elements.codes, elements.tokens, elements.places
        stacks = elements.definitions[self._stacks.take(codes.take(elements.definitions))]
        names = codes.take(places)
        parts = self._parts.take(names)
        if not stacks.size:
            demand(not parts.any(), "a frame without a stack")
            return 0
        levels = tokens.levels.take(places)
        top = (levels == _STACK_LEVEL) & tokens.opening.take(places)
        owners = np.cumsum(top) - 1
        within = self._stacks.take(names[top])
        demand(np.count_nonzero(within) == stacks.size, "a stack within a value")
        in_stack = within.take(owners) & (levels > _STACK_LEVEL)
        allowed = self._allowed.take(levels * np.int64(self._width) + names)
        demand((np.where(in_stack, allowed, ~parts)).all(), "a stack of other parts")
        frames = np.flatnonzero(names == self._frame)
        counts = np.bincount(owners.take(frames), minlength=within.size)[within]
        demand((counts > 0).all(), "a stack without frames")
        quotes = self.frames.add(block, elements, places[parts], definitions)
        numbers = np.arange(stacks.size) + self._offsets.size - 1
        definitions.values.array[elements.ids.take(stacks)] = numbers
        self._offsets.extend(np.cumsum(counts) + self._members.size)
        ids = elements.ids.take(places.take(frames))
        self._members.extend(definitions.values.array.take(ids))
        return quotes

    def words(
        self, numbers: NDArray[np.int64], nulls: Flags | None, definitions: Definitions
    ) -> pa.Array:
        """Return stacks in words, as Instruments shows them; null where `nulls` is set."""
        if self._offsets.size == 1:
            return pa.nulls(numbers.size, pa.string())
        first = self._offsets.array.take(numbers)
        depth = self._offsets.array.take(numbers + 1) - first
        leaves = self.frames.names.array.take(self._members.array.take(first))
        names = definitions.texts.take(pa.array(leaves, mask=nulls))
        counts = [f" ← ({others} other frames)" for others in range(int(depth.max(initial=1)))]
        parts = [names, pa.array(counts).take(pa.array(depth - 1)), _NOTHING]
        return pc.call_function("binary_join_element_wise", parts)

    def symbols(self, definitions: Definitions) -> Symbols:
        """Return the symbol table of what was read so far."""
        if self._offsets.size == 1:
            return no_symbols()
        offsets = pa.array(self._offsets.array.astype(np.int32))
        members = pa.ListArray.from_arrays(offsets, pa.array(self._members.array.copy()))
        numbers = pa.array(np.arange(len(members)))
        stacks = pa.Table.from_arrays([numbers, members], schema=STACKS)
        return Symbols(self.frames.table(definitions), stacks)
