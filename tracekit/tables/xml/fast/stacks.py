"""Stacks: their frames, and the binary and the source line of each."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lxml import etree
from numpy.typing import NDArray

from tracekit.tables.xml.fast.definitions import FastDefinitions, Growing
from tracekit.tables.xml.fast.elements import DIGITS, SOURCE, Elements, cast, consists_of, octets_of
from tracekit.tables.xml.fast.tokens import (
    DEEPEST,
    Flags,
    IrregularError,
    Positions,
    RowBlock,
    Spans,
    Vocabulary,
    demand,
)
from tracekit.tables.xml.node import FRAMES, STACK_TYPES, STACKS, Symbols, no_symbols

_NAME = np.uint64(int.from_bytes(b' name="', "little"))
_ADDRESS = np.uint64(int.from_bytes(b' addr="', "little"))
_LINE = np.uint64(int.from_bytes(b' line="', "little"))
_ATTRIBUTE_MASK = np.uint64(0xFF_FFFF_FFFF_FFFF)
_ATTRIBUTE_LENGTH = 7
_QUOTE = ord('"')
# The quotes of an element, without those of its id.
_FRAME_QUOTES = 4
_BINARY_QUOTES = 10
_SOURCE_QUOTES = 2
_BINARY = re.compile(
    rb'<binary id="[0-9]+" name="[^"]*" UUID="[^"]*" arch="[^"]*" '
    rb'load-addr="0x[0-9a-f]{1,16}" path="[^"]*"/>'
)
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True)
_HEXADECIMAL = np.zeros(256, np.bool_)
_HEXADECIMAL[list(b"0123456789abcdef")] = True
_SHORTEST_ADDRESS = len("0x0")
_LONGEST_ADDRESS = len("0x0123456789abcdef")

Ids = NDArray[np.int64]


class Frames:
    """The frames of an export, and their binaries; numbered from 0."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._frame = vocabulary.code("frame")
        self._binary = vocabulary.code("binary")
        self._source = vocabulary.code(SOURCE)
        self._path = vocabulary.code("path")
        self.names = Growing(np.int64)
        self._addresses = Growing(np.uint64)
        self._binaries = Growing(np.int64)
        self._sources = Growing(np.int64)
        self._lines = Growing(np.int64)
        self._binary_rows: list[tuple[str, str, str, int, str]] = []

    def add(self, elements: Elements, parts: Positions, definitions: FastDefinitions) -> int:
        """Add the frames among parts of stacks; return the count of quotes without those of ids."""
        kinds = elements.codes.take(parts)
        owned = parts[kinds == self._binary]
        sources = parts[kinds == self._source]
        defined = elements.codes.take(elements.definitions)
        binaries = elements.definitions[defined == self._binary]
        frames = elements.definitions[defined == self._frame]
        self._add_binaries(elements, binaries, definitions)
        if frames.size:
            self._add_names(elements, frames, definitions)
            self._add_parts(elements, frames, owned, sources, definitions)
        quotes = _FRAME_QUOTES * frames.size
        quotes += _BINARY_QUOTES * binaries.size
        quotes += _SOURCE_QUOTES * sources.size
        return quotes

    def _add_binaries(
        self, elements: Elements, places: Positions, definitions: FastDefinitions
    ) -> None:
        block = elements.block
        tokens = elements.tokens
        values = definitions.values.array
        for place in places.tolist():
            tag_octets = block.octets[tokens.starts[place] : tokens.ends[place] + 1]
            tag = tag_octets.tobytes()
            demand(_BINARY.fullmatch(tag), "a binary with other attributes")
            _, name, uuid, arch, address, path = _values(tag)
            values[elements.ids[place]] = len(self._binary_rows)
            binary_row = (name, uuid, arch, int(address, 16), path)
            self._binary_rows.append(binary_row)

    def _add_names(
        self, elements: Elements, frames: Positions, definitions: FastDefinitions
    ) -> None:
        names, addresses = _attributes(elements, frames, self._frame)
        numbers = np.arange(frames.size) + self.names.size
        frame_ids = elements.ids.take(frames)
        definitions.values.array[frame_ids] = numbers
        name_numbers = np.arange(frames.size) + len(definitions.texts)
        self.names.extend(name_numbers)
        definitions.texts.extend(names)
        self._addresses.extend(addresses)

    def _add_parts(
        self,
        elements: Elements,
        frames: Positions,
        owned: Positions,
        sources: Positions,
        definitions: FastDefinitions,
    ) -> None:
        values = definitions.values.array
        ids = elements.ids
        is_opened = elements.tokens.opening.take(frames)
        opened = np.flatnonzero(is_opened)
        binaries, paths, lines = np.full((3, frames.size), -1)
        owners = _parents(frames, opened, owned)
        owned_binaries = values.take(ids.take(owned))
        binaries[owners] = owned_binaries
        if sources.size:
            of_paths, numbers = self._sources_of(elements, sources)
            parents = _parents(frames, opened, sources)
            paths[parents] = values.take(of_paths)
            lines[parents] = numbers
        self._binaries.extend(binaries)
        self._sources.extend(paths)
        self._lines.extend(lines)

    def _sources_of(self, elements: Elements, places: Positions) -> tuple[Ids, Ids]:
        """Return the ids of the paths of sources, and their lines."""
        block = elements.block
        tokens = elements.tokens
        starts = tokens.starts.take(places) + 1 + len(SOURCE)
        demand(tokens.opening.take(places).all(), "a source without a path")
        attribute_words = block.words[starts] & _ATTRIBUTE_MASK
        has_line = attribute_words == _LINE
        demand(has_line.all(), "a source without a line")
        ends = tokens.ends.take(places) - 1
        end_octets = block.octets.take(ends)
        demand((end_octets == _QUOTE).all(), "a source with other attributes")
        spans = Spans(block, starts + _ATTRIBUTE_LENGTH, ends)
        texts = spans.texts(np.arange(places.size))
        last_place = elements.codes.size - 1
        inner = np.minimum(places + 1, last_place)
        ids = elements.ids.take(inner)
        has_path_code = elements.codes.take(inner) == self._path
        is_path = has_path_code & ~tokens.closing.take(inner)
        demand((is_path & (ids > 0)).all(), "a source without a path")
        return ids, _lines(texts)

    def table(self, definitions: FastDefinitions) -> pa.Table:
        """Return all frames with the columns of `FRAMES`."""
        numbers = np.arange(self.names.size)
        binaries = _optional(self._binaries.array)
        binary_fields = ("binary", "uuid", "arch", "load_address", "path")
        columns = list(zip(*self._binary_rows, strict=True)) or [()] * len(binary_fields)
        binary_columns: list[pa.Array] = []
        for name, values in zip(binary_fields, columns, strict=True):
            distinct_cells = pa.array(values, FRAMES.field(name).type)
            binary_columns.append(distinct_cells.take(binaries))
        name_numbers = pa.array(self.names.array)
        names = definitions.texts.take(name_numbers)
        addresses = pa.array(self._addresses.array.copy())
        source_numbers = _optional(self._sources.array)
        sources = definitions.texts.take(source_numbers)
        has_no_source = self._sources.array < 0
        lines = pa.array(self._lines.array.copy(), mask=has_no_source)
        arrays = [pa.array(numbers), names, addresses, *binary_columns, sources, lines]
        return pa.Table.from_arrays(arrays, schema=FRAMES)


def _values(tag: bytes) -> list[str]:
    """Return the values of the attributes of a tag, by the rules of XML."""
    try:
        element = etree.fromstring(tag, _PARSER)
        return [str(value) for value in element.values()]
    except etree.XMLSyntaxError as error:
        raise IrregularError("a tag that is not XML") from error


def _optional(numbers: Ids) -> pa.Array:
    return pa.array(numbers.copy(), mask=numbers < 0)


def _attributes(
    elements: Elements, places: Positions, frame: int
) -> tuple[pa.Array, NDArray[np.uint64]]:
    block = elements.block
    tokens = elements.tokens
    words = elements.block.words
    defined_codes = elements.codes.take(elements.definitions)
    behind = elements.attributes[defined_codes == frame]
    is_leaf = ~tokens.opening.take(places)
    address_end = tokens.ends.take(places) - 1 - is_leaf
    demand((block.octets.take(address_end) == _QUOTE).all(), "a frame with other attributes")
    address = _opening_quotes(block, address_end) + 1
    name = behind + 1 + _ATTRIBUTE_LENGTH
    name_end = address - 1 - _ATTRIBUTE_LENGTH
    demand((name_end > name).all(), "a frame without a name")
    end_octets = block.octets.take(name_end)
    demand((end_octets == _QUOTE).all(), "a frame with other attributes")
    name_words = words[behind + 1] & _ATTRIBUTE_MASK
    demand((name_words == _NAME).all(), "a frame without a name")
    address_words = words[name_end + 1] & _ATTRIBUTE_MASK
    has_address = address_words == _ADDRESS
    demand(has_address.all(), "a frame without an address")
    indices = np.arange(places.size)
    names = Spans(block, name, name_end).texts(indices)
    addresses = Spans(block, address, address_end).texts(indices)
    return names, _addresses(addresses)


def _opening_quotes(block: RowBlock, ends: Positions) -> Positions:
    """Return the positions of the quotes that open the short values that end at `ends`."""
    quotes = np.zeros(ends.size, np.int64)
    pending_rows = np.arange(ends.size)
    for length in range(_SHORTEST_ADDRESS, _LONGEST_ADDRESS + 1):
        places = ends.take(pending_rows) - length - 1
        has_quote = block.octets.take(places) == _QUOTE
        quotes[pending_rows[has_quote]] = places[has_quote]
        pending_rows = pending_rows[~has_quote]
        if not pending_rows.size:
            break
    demand(not pending_rows.size, "an address in other words")
    return quotes


def _addresses(texts: pa.Array) -> NDArray[np.uint64]:
    offsets, octets = octets_of(texts)
    prefix = np.zeros(octets.size, np.bool_)
    prefix[offsets[:-1] + 1] = True
    demand((octets[prefix] == ord("x")).all(), "an address in other words")
    first_octets = octets.take(offsets[:-1])
    demand((first_octets == ord("0")).all(), "an address in other words")
    is_allowed = _HEXADECIMAL.take(octets) | prefix
    demand(is_allowed[: offsets[-1]].all(), "an address in other words")
    return cast(texts, pa.uint64()).to_numpy()


def _lines(texts: pa.Array) -> Ids:
    demand(consists_of(texts, DIGITS), "a line that is not a number")
    return cast(texts, pa.int64()).to_numpy()


def _parents(frames: Positions, opened: Positions, parts: Positions) -> Positions:
    """Return the frame of each part, by its place; `opened` are the frames that have any part."""
    demand(opened.size >= parts.size, "a frame with two parts of a kind")
    next_parents = np.searchsorted(frames.take(opened), parts)
    parents = next_parents - 1
    demand((np.diff(parents) > 0).all(), "a frame with two parts of a kind")
    return opened.take(parents)


_STACK_LEVEL = 1
_NOTHING = ""
_ASTRAY = "a stack within a value"


class ExportStacks:
    """The stacks and frames of an export."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.frames = Frames(vocabulary)
        self._frame = vocabulary.code("frame")
        self._stacks = vocabulary.codes(STACK_TYPES - {"kperf-bt"})
        self._parts = vocabulary.codes(("frame", "binary", SOURCE))
        self._width = vocabulary.lengths.size
        self._allowed = np.zeros((DEEPEST + 1, self._width), np.bool_)
        names_by_level = enumerate((("frame",), ("binary", SOURCE), ("path",)))
        for level, names in names_by_level:
            self._allowed[_STACK_LEVEL + 1 + level] = vocabulary.codes(names)
        self._members = Growing(np.int64)
        self._worded = Growing(np.int64)
        self._numbers = Growing(np.int64)
        self._offsets = Growing(np.int64)
        self._offsets.extend(np.zeros(1, np.int64))

    def add(self, elements: Elements, definitions: FastDefinitions) -> int:
        """Add the stacks that a block defines; return the count of quotes without those of ids."""
        codes = elements.codes
        tokens = elements.tokens
        places = elements.places
        defined_codes = codes.take(elements.definitions)
        is_stack = self._stacks.take(defined_codes)
        stacks = elements.definitions[is_stack]
        names = codes.take(places)
        parts = self._parts.take(names)
        if not stacks.size:
            demand(not parts.any(), "a frame without a stack")
            return 0
        stack_ends = tokens.ends.take(stacks)
        worded = stack_ends > elements.attributes[is_stack] + 1
        next_codes = codes.take(stacks + 1)
        is_next_closing = tokens.closing.take(stacks + 1)
        wrapping = self._stacks.take(next_codes) & ~is_next_closing
        levels = self._unwrapped_levels(elements, stacks[wrapping])
        is_top_level = levels == _STACK_LEVEL
        top = is_top_level & tokens.opening.take(places)
        owners = np.cumsum(top) - 1
        is_top_stack = self._stacks.take(names[top])
        unwrapped_count = stacks.size - np.count_nonzero(wrapping)
        demand(np.count_nonzero(is_top_stack) == unwrapped_count, _ASTRAY)
        owner_flags = np.append(is_top_stack, np.False_)
        has_stack_owner = owner_flags.take(owners)
        in_stack = has_stack_owner & (levels > _STACK_LEVEL)
        level_codes = levels * np.int64(self._width) + names
        allowed = self._allowed.take(level_codes)
        is_in_place = np.where(in_stack, allowed, ~parts)
        demand(is_in_place.all(), "a stack of other parts")
        frames = np.flatnonzero(names == self._frame)
        frame_owners = owners.take(frames)
        frame_counts = np.bincount(frame_owners, minlength=is_top_stack.size)
        counts = frame_counts[is_top_stack]
        demand((counts > 0).all(), "a stack without frames")
        part_places = places[parts]
        quotes = self.frames.add(elements, part_places, definitions)
        ids = elements.ids.take(places.take(frames))
        members = definitions.values.array.take(ids)
        numbers = np.arange(counts.size) + self._offsets.size - 1
        ends_of_stacks = np.cumsum(counts) + self._members.size
        self._offsets.extend(ends_of_stacks)
        self._members.extend(members)
        self._number(elements, stacks, (worded, wrapping, numbers), definitions)
        return quotes

    def _number(
        self,
        elements: Elements,
        stacks: Positions,
        stack_traits: tuple[Flags, Flags, NDArray[np.int64]],
        definitions: FastDefinitions,
    ) -> None:
        """Give stacks their numbers; the value of one with a text of its own stays its text.

        A stack that wraps another has the number of that one, which has no text of its own.
        """
        worded, wrapping, own_numbers = stack_traits
        ids = elements.ids
        values = definitions.values.array
        numbers = np.zeros(stacks.size, np.int64)
        numbers[~wrapping] = own_numbers
        is_plain = ~worded & ~wrapping
        plain_ids = ids.take(stacks[is_plain])
        values[plain_ids] = numbers[is_plain]
        wrapped = ids.take(stacks[wrapping] + 1)
        worded_ids = ids.take(stacks[worded])
        self._worded.extend(worded_ids)
        wraps_worded = np.isin(wrapped, self._worded.array)
        demand(not wraps_worded.any(), "a stack that wraps a wrapper")
        wrappers = ids.take(stacks[wrapping])
        wraps_wrapper = np.isin(wrapped, wrappers)
        demand(not wraps_wrapper.any(), "a stack that wraps a wrapper")
        numbers[wrapping] = values.take(wrapped)
        is_silent_wrapper = wrapping & ~worded
        silent_ids = ids.take(stacks[is_silent_wrapper])
        values[silent_ids] = numbers[is_silent_wrapper]
        self._numbers.extend(numbers[worded])

    def _unwrapped_levels(self, elements: Elements, wrappers: Positions) -> NDArray[np.int8]:
        """Return the levels of tags as if there were no stacks that wrap another."""
        tokens = elements.tokens
        places = elements.places
        levels = tokens.levels.take(places)
        if not wrappers.size:
            return levels
        wrapper_levels = tokens.levels.take(wrappers)
        demand((wrapper_levels == _STACK_LEVEL).all(), _ASTRAY)
        is_top_level = levels == _STACK_LEVEL
        top = is_top_level & tokens.opening.take(places)
        tops = places[top]
        wraps = np.zeros(tops.size, np.bool_)
        wraps[np.searchsorted(tops, wrappers)] = True
        top_numbers = np.cumsum(top) - 1
        is_inside = wraps.take(top_numbers) & (levels > _STACK_LEVEL)
        is_child = is_inside & (levels == _STACK_LEVEL + 1)
        children = places[is_child]
        demand(np.array_equal(children, wrappers + 1), "a stack of other parts")
        child_ids = elements.ids.take(children)
        demand((child_ids > 0).all(), "a stack of other parts")
        levels[is_inside] -= 1
        levels[np.searchsorted(places, wrappers)] = 0
        return levels

    def cells(
        self, ids: NDArray[np.int64], nulls: Flags | None, definitions: FastDefinitions
    ) -> tuple[pa.Array, pa.Array]:
        """Return the texts of stacks and their numbers; `nulls`, if there are any, are null."""
        numbers = definitions.values.array.take(ids)
        if not self._worded.size:
            return self._words(numbers, nulls, definitions), pa.array(numbers, mask=nulls)
        worded_ids = self._worded.array
        word_places = np.searchsorted(worded_ids, ids)
        places = np.minimum(word_places, worded_ids.size - 1)
        worded = worded_ids.take(places) == ids
        text_numbers = np.where(worded, numbers, 0)
        text_places = pa.array(text_numbers, mask=~worded)
        texts = definitions.texts.take(text_places)
        worded_numbers = self._numbers.array.take(places)
        numbers = np.where(worded, worded_numbers, numbers)
        without = worded if nulls is None else worded | nulls
        words = self._words(numbers, without, definitions)
        all_words = pc.call_function("coalesce", [texts, words])
        return all_words, pa.array(numbers, mask=nulls)

    def _words(
        self, numbers: NDArray[np.int64], nulls: Flags | None, definitions: FastDefinitions
    ) -> pa.Array:
        """Return the texts of stacks as in Instruments."""
        if self._offsets.size == 1:
            return pa.nulls(numbers.size, pa.string())
        offsets = self._offsets.array
        starts = offsets.take(numbers)
        depth = offsets.take(numbers + 1) - starts
        first_frames = self._members.array.take(starts)
        leaves = self.frames.names.array.take(first_frames)
        leaf_numbers = pa.array(leaves, mask=nulls)
        names = definitions.texts.take(leaf_numbers)
        deepest = int(depth.max(initial=1))
        counts = [f" ← ({count} other frames)" for count in range(deepest)]
        depths = pa.array(depth - 1)
        cell_counts = pa.array(counts).take(depths)
        parts = [names, cell_counts, _NOTHING]
        return pc.call_function("binary_join_element_wise", parts)

    def symbols(self, definitions: FastDefinitions) -> Symbols:
        """Return the stacks and frames that were read so far."""
        if self._offsets.size == 1:
            return no_symbols()
        offset_numbers = self._offsets.array.astype(np.int32)
        offsets = pa.array(offset_numbers)
        member_numbers = pa.array(self._members.array.copy())
        members = pa.ListArray.from_arrays(offsets, member_numbers)
        numbers = pa.array(np.arange(len(members)))
        stacks = pa.Table.from_arrays([numbers, members], schema=STACKS)
        return Symbols(self.frames.table(definitions), stacks)
