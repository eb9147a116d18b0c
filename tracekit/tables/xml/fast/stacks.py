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
from tracekit.tables.xml.fast.tokens import DEEPEST, Flags, Positions
from tracekit.tables.xml.symbols import STACK_TYPES, STACKS, Symbols, no_symbols

_STACK_LEVEL = 1
_NOTHING = ""
_ASTRAY = "a stack within a value"


class Stacks:
    """The stacks and frames of an export."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Begin with none."""
        self.frames = Frames(vocabulary)
        self._frame = vocabulary.code("frame")
        self._stacks = vocabulary.codes(STACK_TYPES - {"kperf-bt"})
        self._parts = vocabulary.codes(("frame", "binary", SOURCE))
        self._width = vocabulary.lengths.size
        self._allowed = np.zeros((DEEPEST + 1, self._width), np.bool_)
        for level, names in enumerate((("frame",), ("binary", SOURCE), ("path",))):
            self._allowed[_STACK_LEVEL + 1 + level] = vocabulary.codes(names)
        self._members = Growing(np.int64)
        self._worded, self._numbers = Growing(np.int64), Growing(np.int64)
        self._offsets = Growing(np.int64)
        self._offsets.extend(np.zeros(1, np.int64))

    def add(self, block: Block, elements: Elements, definitions: Definitions) -> int:
        """Add those that a block defines; return how many quotes their tags have beside ids.

        Raises:
            IrregularError: A stack or a frame is not built as in an export of today.
        """
        codes, tokens, places = elements.codes, elements.tokens, elements.places
        is_stack = self._stacks.take(codes.take(elements.definitions))
        stacks = elements.definitions[is_stack]
        names = codes.take(places)
        parts = self._parts.take(names)
        if not stacks.size:
            demand(not parts.any(), "a frame without a stack")
            return 0
        worded = tokens.ends.take(stacks) > elements.attributes[is_stack] + 1
        wrapping = self._stacks.take(codes.take(stacks + 1)) & ~tokens.closing.take(stacks + 1)
        levels = self._unwrapped_levels(elements, stacks[wrapping])
        top = (levels == _STACK_LEVEL) & tokens.opening.take(places)
        owners = np.cumsum(top) - 1
        within = self._stacks.take(names[top])
        demand(np.count_nonzero(within) == stacks.size - np.count_nonzero(wrapping), _ASTRAY)
        in_stack = np.append(within, np.False_).take(owners) & (levels > _STACK_LEVEL)
        allowed = self._allowed.take(levels * np.int64(self._width) + names)
        demand((np.where(in_stack, allowed, ~parts)).all(), "a stack of other parts")
        frames = np.flatnonzero(names == self._frame)
        counts = np.bincount(owners.take(frames), minlength=within.size)[within]
        demand((counts > 0).all(), "a stack without frames")
        quotes = self.frames.add(block, elements, places[parts], definitions)
        ids = elements.ids.take(places.take(frames))
        members = definitions.values.array.take(ids)
        numbers = np.arange(counts.size) + self._offsets.size - 1
        self._offsets.extend(np.cumsum(counts) + self._members.size)
        self._members.extend(members)
        self._number(elements, stacks, (worded, wrapping, numbers), definitions)
        return quotes

    def _number(
        self,
        elements: Elements,
        stacks: Positions,
        known: tuple[Flags, Flags, NDArray[np.int64]],
        definitions: Definitions,
    ) -> None:
        """Give stacks their numbers; the value of one that has words of its own stays its text.

        A stack that wraps another has the number of that one, which has no words of its own.
        """
        worded, wrapping, own = known
        ids, values = elements.ids, definitions.values.array
        numbers = np.zeros(stacks.size, np.int64)
        numbers[~wrapping] = own
        bare = ~worded & ~wrapping
        values[ids.take(stacks[bare])] = numbers[bare]
        wrapped = ids.take(stacks[wrapping] + 1)
        self._worded.extend(ids.take(stacks[worded]))
        demand(not np.isin(wrapped, self._worded.array).any(), "a stack that wraps a wrapper")
        wrappers = ids.take(stacks[wrapping])
        demand(not np.isin(wrapped, wrappers).any(), "a stack that wraps a wrapper")
        numbers[wrapping] = values.take(wrapped)
        others = wrapping & ~worded
        values[ids.take(stacks[others])] = numbers[others]
        self._numbers.extend(numbers[worded])

    def _unwrapped_levels(self, elements: Elements, wrappers: Positions) -> NDArray[np.int8]:
        """Return how deep tags stand, as if there were no stacks that wrap another."""
        tokens, places = elements.tokens, elements.places
        levels = tokens.levels.take(places)
        if not wrappers.size:
            return levels
        demand((tokens.levels.take(wrappers) == _STACK_LEVEL).all(), _ASTRAY)
        top = (levels == _STACK_LEVEL) & tokens.opening.take(places)
        tops = places[top]
        wraps = np.zeros(tops.size, np.bool_)
        wraps[np.searchsorted(tops, wrappers)] = True
        inside = wraps.take(np.cumsum(top) - 1) & (levels > _STACK_LEVEL)
        children = places[inside & (levels == _STACK_LEVEL + 1)]
        demand(np.array_equal(children, wrappers + 1), "a stack of other parts")
        demand((elements.ids.take(children) > 0).all(), "a stack of other parts")
        levels[inside] -= 1
        levels[np.searchsorted(places, wrappers)] = 0
        return levels

    def cells(
        self, ids: NDArray[np.int64], nulls: Flags | None, definitions: Definitions
    ) -> tuple[pa.Array, pa.Array]:
        """Return stacks in words and by their numbers; null where `nulls` is set.

        Args:
            ids: The ids of stacks, 0 for null.
            nulls: Where there is none; None where there is one everywhere.
            definitions: What was defined.
        """
        numbers = definitions.values.array.take(ids)
        if not self._worded.size:
            return self._words(numbers, nulls, definitions), pa.array(numbers, mask=nulls)
        places = np.minimum(np.searchsorted(self._worded.array, ids), self._worded.size - 1)
        worded = self._worded.array.take(places) == ids
        texts = definitions.texts.take(pa.array(np.where(worded, numbers, 0), mask=~worded))
        numbers = np.where(worded, self._numbers.array.take(places), numbers)
        without = worded if nulls is None else worded | nulls
        words = self._words(numbers, without, definitions)
        together = pc.call_function("coalesce", [texts, words])
        return together, pa.array(numbers, mask=nulls)

    def _words(
        self, numbers: NDArray[np.int64], nulls: Flags | None, definitions: Definitions
    ) -> pa.Array:
        """Word stacks as Instruments does."""
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
