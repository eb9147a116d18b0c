"""The definitions of an export so far, in arrays indexed by id."""

from collections.abc import Collection
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.values import FORMS, LONG, Form, require_room
from tracekit.tables.xml.fast.elements import Elements, numbers
from tracekit.tables.xml.fast.tokens import Flags, Positions, Spans, Vocabulary, demand
from tracekit.tables.xml.node import STACK_TYPES

_Number = TypeVar("_Number", bound=np.generic)
_FIRST = 1 << 12


class Growing(Generic[_Number]):
    """An array that grows at its end."""

    def __init__(self, dtype: type[_Number]) -> None:
        self.size = 0
        self._array: NDArray[_Number] = np.empty(_FIRST, dtype)

    @property
    def array(self) -> NDArray[_Number]:
        """The elements, as a view that is valid only until the next ones are added."""
        return self._array[: self.size]

    def extend(self, numbers: NDArray[_Number]) -> None:
        """Add numbers at the end."""
        end = self.size + numbers.size
        if end > self._array.size:
            # Nothing else may hold this memory: callers keep no view beyond the next call.
            grown_size = self._array.size * 9 // 8 + _FIRST
            self._array.resize(max(end, grown_size), refcheck=False)
        self._array[self.size : end] = numbers
        self.size = end


class TextHeap:
    """Texts by number, in the order in which they were added."""

    def __init__(self) -> None:
        self._bytes = Growing(np.uint8)
        self._offsets = Growing(np.int64)
        self._offsets.extend(np.zeros(1, np.int64))
        self._longest = 0

    def __len__(self) -> int:
        return self._offsets.size - 1

    def extend(self, texts: pa.Array) -> None:
        """Add texts (a string array without nulls) at the end."""
        all_offsets = np.frombuffer(texts.buffers()[1], np.int32)
        offsets = all_offsets[texts.offset :][: len(texts) + 1]
        start = int(offsets[0])
        end = int(offsets[-1])
        content = texts.buffers()[2]
        beginning = self._bytes.size
        if content is not None and end > start:
            octets = np.frombuffer(content, np.uint8)
            self._bytes.extend(octets[start:end])
        later_offsets = offsets[1:].astype(np.int64)
        self._offsets.extend(later_offsets + (beginning - start))
        longest = int(np.diff(offsets).max(initial=0))
        self._longest = max(self._longest, longest)

    def take(self, numbers: pa.Array) -> pa.Array:
        """Return the texts with these numbers; a null number gives null."""
        require_room("The export", self._long(numbers))
        offsets_buffer = pa.py_buffer(self._offsets.array)
        bytes_buffer = pa.py_buffer(self._bytes.array)
        heap = pa.LargeStringArray.from_buffers(len(self), offsets_buffer, bytes_buffer)
        return heap.take(numbers).cast(pa.string())

    def _long(self, numbers: pa.Array) -> int:
        """Count the bytes of the long texts among those with these numbers."""
        if self._longest <= LONG:
            return 0
        offsets = self._offsets.array
        present_numbers = numbers.drop_null().to_numpy()
        next_offsets = offsets.take(present_numbers + 1)
        sizes = next_offsets - offsets.take(present_numbers)
        return int(sizes[sizes > LONG].sum())


_FMT = np.uint64(int.from_bytes(b' fmt="', "little"))
_FMT_MASK = np.uint64(0xFFFF_FFFF_FFFF)
_FMT_LENGTH = 6
_QUOTE = ord('"')
_PARTS = ("pid", "tid", "path")
NUMERIC = {
    Form.INTEGER: pa.int64(),
    Form.FLAG: pa.int64(),
    Form.UNSIGNED: pa.uint64(),
    Form.NUMBER: pa.float64(),
}


class FastDefinitions:
    """The values of definitions by id: a number, or the number of a text in the heap.

    Only definitions of the types of columns have one, and those of the parts that columns need.
    """

    def __init__(self, vocabulary: Vocabulary, types: Collection[str]) -> None:
        self.width = vocabulary.lengths.size
        self.values = Growing(np.int64)
        self.codes = Growing(np.int16)
        self.texts = TextHeap()
        self.values.extend(np.zeros(1, np.int64))
        self.codes.extend(np.zeros(1, np.int16))
        self._wanted = vocabulary.codes((*types, *_PARTS))
        self._forms: list[tuple[pa.DataType, Flags]] = []
        for form, kind in NUMERIC.items():
            names = [name for name, form_of_name in FORMS.items() if form_of_name is form]
            form_codes = vocabulary.codes(names)
            self._forms.append((kind, form_codes))
        self._numeric = np.logical_or.reduce([codes for _, codes in self._forms])
        self._framed = vocabulary.codes(("frame", "binary"))
        self._stacks = vocabulary.codes(STACK_TYPES)
        self._unreadable = vocabulary.codes(STACK_TYPES - {"tagged-backtrace"})

    def __len__(self) -> int:
        return self.values.size - 1

    def add(self, elements: Elements) -> int:
        """Add the definitions of a block; return the count of quotes in their tags.

        Those of stacks, frames and binaries get their values elsewhere.
        """
        block = elements.block
        tokens = elements.tokens
        places = elements.definitions
        codes = elements.codes.take(places)
        ends = tokens.ends.take(places)
        leaf = tokens.leaf.take(places)
        behind = elements.attributes
        attribute_words = block.words[behind + 1]
        readable = (attribute_words & _FMT_MASK) == _FMT
        is_bare = ends == behind + 1
        framed = self._framed.take(codes)
        numeric = self._numeric.take(codes)
        is_stack = self._stacks.take(codes)
        stack = is_stack & is_bare & ~leaf
        valued = self._wanted.take(codes) & ~(framed | stack)
        last_octets = block.octets.take(ends - 1)
        is_long_enough = ends > behind + _FMT_LENGTH + 1
        closed = (last_octets == _QUOTE) & is_long_enough
        has_known_attributes = framed | is_bare | (readable & closed)
        demand(has_known_attributes.all(), "a definition with other attributes")
        has_content = framed | tokens.opening.take(places)
        demand(has_content.all(), "a definition without content")
        has_text = leaf | ~valued | (readable & ~numeric)
        demand(has_text.all(), "a compound without a text")
        is_readable_stack = self._unreadable.take(codes) & readable
        demand(not is_readable_stack.any(), "a stack with a text")
        chosen = np.flatnonzero(valued)
        fmt_starts = behind + 1 + _FMT_LENGTH
        starts = np.where(leaf, ends + 1, fmt_starts)
        last_place = tokens.starts.size - 1
        next_places = np.minimum(places + 1, last_place)
        following = tokens.starts.take(next_places)
        stops = np.where(leaf, following, ends - 1)
        empty = leaf & valued & (starts == stops)
        fmt_ends = behind + _FMT_LENGTH + 2
        has_empty_fmt = readable & (ends == fmt_ends)
        demand((~empty | has_empty_fmt).all(), "an empty value")
        spans = Spans(block, starts.take(chosen), stops.take(chosen))
        values = np.zeros(places.size, np.int64)
        values[chosen] = self._convert_values(spans, codes.take(chosen))
        self.values.extend(values)
        self.codes.extend(codes)
        has_fmt = readable & ~framed
        fmt_count = int(np.count_nonzero(has_fmt))
        return 2 * places.size + 2 * fmt_count

    def _convert_values(self, spans: Spans, codes: NDArray[np.int16]) -> NDArray[np.int64]:
        """Return the bits of the numbers, and for texts their places in the heap."""
        values = np.zeros(codes.size, np.int64)
        for kind, members in self._forms:
            some = np.flatnonzero(members.take(codes))
            if some.size:
                some_numbers = numbers(spans, some, kind)
                values[some] = some_numbers.view(np.int64)
        is_numeric = self._numeric.take(codes)
        some = np.flatnonzero(~is_numeric)
        if some.size:
            values[some] = np.arange(some.size) + len(self.texts)
            self.texts.extend(spans.texts(some))
        return values


Ids = NDArray[np.int64]


class FastIdentities:
    """Processes with their pids; threads with their tids and pids."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._process = vocabulary.code("process")
        self._thread = vocabulary.code("thread")
        self._pid = vocabulary.code("pid")
        self._tid = vocabulary.code("tid")
        self._processes = Growing(np.int64)
        self._pids = Growing(np.int64)
        self._threads = Growing(np.int64)
        self._tids = Growing(np.int64)
        self._owners = Growing(np.int64)

    def add(self, elements: Elements, definitions: FastDefinitions) -> None:
        """Add the processes and threads that a block defines, after its other definitions."""
        codes = elements.codes
        ids = elements.ids
        tokens = elements.tokens
        defined = codes.take(elements.definitions)
        processes = elements.definitions[defined == self._process]
        threads = elements.definitions[defined == self._thread]
        if processes.size:
            pids = self._parts(elements, processes, processes + 1, self._pid)
            self._processes.extend(ids.take(processes))
            known_pids = definitions.values.array.take(pids)
            self._pids.extend(known_pids)
        if threads.size:
            tids = self._parts(elements, threads, threads + 1, self._tid)
            # The process follows the tid, and its closing tag if it has one.
            is_leaf = tokens.leaf.take(threads + 1)
            second = threads + 2 + is_leaf
            owners = self._parts(elements, threads, second, self._process)
            self._threads.extend(ids.take(threads))
            known_tids = definitions.values.array.take(tids)
            self._tids.extend(known_tids)
            self._owners.extend(self.pids(owners))

    def pids(self, processes: Ids) -> Ids:
        """Return the pids of processes by their ids; 0 for the id 0."""
        return _looked_up(self._processes.array, self._pids.array, processes)

    def tids(self, threads: Ids) -> Ids:
        """Return the tids of threads by their ids; 0 for the id 0."""
        return _looked_up(self._threads.array, self._tids.array, threads)

    def owners(self, threads: Ids) -> Ids:
        """Return the pids of threads by their ids; 0 for the id 0."""
        return _looked_up(self._threads.array, self._owners.array, threads)

    @staticmethod
    def _parts(elements: Elements, parents: Positions, places: Positions, code: int) -> Ids:
        last_place = elements.codes.size - 1
        places = np.minimum(places, last_place)
        tokens = elements.tokens
        child_levels = tokens.levels.take(places)
        parent_levels = tokens.levels.take(parents)
        is_child = child_levels == parent_levels + 1
        has_code = elements.codes.take(places) == code
        is_kind = has_code & ~tokens.closing.take(places)
        ids = elements.ids.take(places)
        demand((is_child & is_kind & (ids > 0)).all(), "a process or a thread of other parts")
        return ids


def _looked_up(keys: Ids, numbers: Ids, ids: Ids) -> Ids:
    if not keys.size:
        return np.zeros(ids.size, np.int64)
    places = np.minimum(np.searchsorted(keys, ids), keys.size - 1)
    is_found = keys.take(places) == ids
    demand((is_found | (ids == 0)).all(), "a process or a thread without its parts")
    return np.where(is_found, numbers.take(places), 0)
