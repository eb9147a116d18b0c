"""What an export has defined so far, in arrays indexed by id."""

from collections.abc import Collection

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.values import FORMS, Form
from tracekit.tables.xml.fast.blocks import Block
from tracekit.tables.xml.fast.elements import Elements
from tracekit.tables.xml.fast.heap import Growing, TextHeap
from tracekit.tables.xml.fast.irregular import demand
from tracekit.tables.xml.fast.names import Vocabulary
from tracekit.tables.xml.fast.numbers import numbers
from tracekit.tables.xml.fast.spans import Spans
from tracekit.tables.xml.symbols import STACK_TYPES

_FMT = np.uint64(int.from_bytes(b' fmt="', "little"))
_FMT_MASK = np.uint64(0xFFFF_FFFF_FFFF)
_FMT_LENGTH = 6
_QUOTE = ord('"')
_SHORTEST = '<x id="1"/>'
_PARTS = ("pid", "tid", "path")
NUMERIC = {
    Form.INTEGER: pa.int64(),
    Form.FLAG: pa.int64(),
    Form.UNSIGNED: pa.uint64(),
    Form.NUMBER: pa.float64(),
}


class Definitions:
    """The values of definitions by id: a number, or the number of a text in the heap.

    Only those of the columns' types have one, and those of the parts that columns need.
    """

    def __init__(self, vocabulary: Vocabulary, types: Collection[str], size: int) -> None:
        """Begin with nothing.

        Args:
            vocabulary: The names of all elements.
            types: The columns' types.
            size: That of the file, in bytes: there cannot be more than it has room for.
        """
        most = size // len(_SHORTEST)
        self.width = vocabulary.lengths.size
        self.values = Growing(np.int64, most)
        self.codes = Growing(np.int16, most)
        self.texts = TextHeap(size, most)
        self.values.extend(np.zeros(1, np.int64))
        self.codes.extend(np.zeros(1, np.int16))
        self._wanted = vocabulary.codes((*types, *_PARTS))
        self._forms = [
            (kind, vocabulary.codes(name for name, its in FORMS.items() if its is form))
            for form, kind in NUMERIC.items()
        ]
        self._numeric = np.logical_or.reduce([codes for _, codes in self._forms])
        self._framed = vocabulary.codes(("frame", "binary"))
        self._stacks = vocabulary.codes(STACK_TYPES)
        self._unreadable = vocabulary.codes(STACK_TYPES - {"tagged-backtrace"})

    def __len__(self) -> int:
        """Count the definitions."""
        return self.values.size - 1

    def add(self, block: Block, elements: Elements) -> int:
        """Add the definitions of a block; return how many quotes their tags have.

        Those of stacks, frames and binaries get their values elsewhere.

        Raises:
            IrregularError: A definition is not written as xctrace writes those of its type.
        """
        tokens, places = elements.tokens, elements.definitions
        codes = elements.codes.take(places)
        ends, leaf = tokens.ends.take(places), tokens.leaf.take(places)
        behind = elements.attributes
        readable = (block.words[behind + 1] & _FMT_MASK) == _FMT
        bare = ends == behind + 1
        framed, numeric = self._framed.take(codes), self._numeric.take(codes)
        stack = self._stacks.take(codes) & bare & ~leaf
        valued = self._wanted.take(codes) & ~(framed | stack)
        closed = (block.octets.take(ends - 1) == _QUOTE) & (ends > behind + _FMT_LENGTH + 1)
        demand((framed | bare | (readable & closed)).all(), "a definition with other attributes")
        demand((framed | tokens.opening.take(places)).all(), "a definition without content")
        demand((leaf | ~valued | (readable & ~numeric)).all(), "a compound without a text")
        demand(not (self._unreadable.take(codes) & readable).any(), "a stack with a text")
        chosen = np.flatnonzero(valued)
        starts = np.where(leaf, ends + 1, behind + 1 + _FMT_LENGTH)
        following = tokens.starts.take(np.minimum(places + 1, tokens.starts.size - 1))
        stops = np.where(leaf, following, ends - 1)
        empty = leaf & valued & (starts == stops)
        demand((~empty | (readable & (ends == behind + _FMT_LENGTH + 2))).all(), "an empty value")
        spans = Spans(block, starts.take(chosen), stops.take(chosen))
        values = np.zeros(places.size, np.int64)
        values[chosen] = self._converted(spans, codes.take(chosen))
        self.values.extend(values)
        self.codes.extend(codes)
        return 2 * places.size + 2 * int(np.count_nonzero(readable & ~framed))

    def _converted(self, spans: Spans, codes: NDArray[np.int16]) -> NDArray[np.int64]:
        """Return the bits of the numbers, and for texts their places in the heap."""
        values = np.zeros(codes.size, np.int64)
        for kind, members in self._forms:
            some = np.flatnonzero(members.take(codes))
            if some.size:
                values[some] = numbers(spans, some, kind).view(np.int64)
        some = np.flatnonzero(~self._numeric.take(codes))
        if some.size:
            values[some] = np.arange(some.size) + len(self.texts)
            self.texts.extend(spans.texts(some))
        return values
