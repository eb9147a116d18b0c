"""Frames of stacks, with the binary and the source line of each."""

import re

import numpy as np
import pyarrow as pa
from lxml import etree
from numpy.typing import NDArray

from tracekit.tables.xml.fast.blocks import Block
from tracekit.tables.xml.fast.definitions import Definitions
from tracekit.tables.xml.fast.elements import SOURCE, Elements
from tracekit.tables.xml.fast.heap import Growing
from tracekit.tables.xml.fast.irregular import IrregularError, demand
from tracekit.tables.xml.fast.names import Vocabulary
from tracekit.tables.xml.fast.numbers import DIGITS, cast, consists_of, octets_of
from tracekit.tables.xml.fast.spans import Spans
from tracekit.tables.xml.fast.tokens import Positions
from tracekit.tables.xml.symbols import FRAMES

_NAME = np.uint64(int.from_bytes(b' name="', "little"))
_ADDRESS = np.uint64(int.from_bytes(b' addr="', "little"))
_LINE = np.uint64(int.from_bytes(b' line="', "little"))
_ATTRIBUTE_MASK = np.uint64(0xFF_FFFF_FFFF_FFFF)
_ATTRIBUTE_LENGTH = 7
_QUOTE = ord('"')
_FRAME_QUOTES, _BINARY_QUOTES, _SOURCE_QUOTES = 4, 10, 2  # without those of the id
_BINARY = re.compile(
    rb'<binary id="[0-9]+" name="[^"]*" UUID="[^"]*" arch="[^"]*" '
    rb'load-addr="0x[0-9a-f]{1,16}" path="[^"]*"/>'
)
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True)
_HEXADECIMAL = np.zeros(256, np.bool_)
_HEXADECIMAL[list(b"0123456789abcdef")] = True
_SHORTEST_ADDRESS, _LONGEST_ADDRESS = len("0x0"), len("0x0123456789abcdef")

Ids = NDArray[np.int64]


class Frames:
    """The frames of an export, and their binaries; numbered from 0."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Begin with none."""
        self._frame, self._binary = vocabulary.code("frame"), vocabulary.code("binary")
        self._source, self._path = vocabulary.code(SOURCE), vocabulary.code("path")
        self.names, self._addresses = Growing(np.int64), Growing(np.uint64)
        self._binaries, self._sources = Growing(np.int64), Growing(np.int64)
        self._lines = Growing(np.int64)
        self._binary_rows: list[tuple[str, str, str, int, str]] = []

    def add(
        self, block: Block, elements: Elements, parts: Positions, definitions: Definitions
    ) -> int:
        """Add those that a block defines.

        Args:
            block: The rows.
            elements: Their elements.
            parts: The frames, binaries and sources among them, all within stacks.
            definitions: What is defined, the texts of this block included.

        Returns:
            How many quotes the tags of the parts have, beside those of their ids.

        Raises:
            IrregularError: A frame has other attributes or parts than in an export of today.
        """
        kinds = elements.codes.take(parts)
        owned, sources = parts[kinds == self._binary], parts[kinds == self._source]
        defined = elements.codes.take(elements.definitions)
        binaries = elements.definitions[defined == self._binary]
        frames = elements.definitions[defined == self._frame]
        self._add_binaries(block, elements, binaries, definitions)
        if frames.size:
            self._add_names(block, elements, frames, definitions)
            self._add_parts(block, elements, frames, (owned, sources), definitions)
        return (
            _FRAME_QUOTES * frames.size
            + _BINARY_QUOTES * binaries.size
            + _SOURCE_QUOTES * sources.size
        )

    def _add_binaries(
        self, block: Block, elements: Elements, places: Positions, definitions: Definitions
    ) -> None:
        tokens, values = elements.tokens, definitions.values.array
        for place in places.tolist():
            tag = block.octets[tokens.starts[place] : tokens.ends[place] + 1].tobytes()
            demand(_BINARY.fullmatch(tag), "a binary with other attributes")
            _, name, uuid, arch, address, path = _values(tag)
            values[elements.ids[place]] = len(self._binary_rows)
            self._binary_rows.append((name, uuid, arch, int(address, 16), path))

    def _add_names(
        self, block: Block, elements: Elements, frames: Positions, definitions: Definitions
    ) -> None:
        names, addresses = _attributes(block, elements, frames, self._frame)
        numbers = np.arange(frames.size) + self.names.size
        definitions.values.array[elements.ids.take(frames)] = numbers
        self.names.extend(np.arange(frames.size) + len(definitions.texts))
        definitions.texts.extend(names)
        self._addresses.extend(addresses)

    def _add_parts(
        self,
        block: Block,
        elements: Elements,
        frames: Positions,
        parts: tuple[Positions, Positions],
        definitions: Definitions,
    ) -> None:
        owned, sources = parts
        values, ids = definitions.values.array, elements.ids
        opened = np.flatnonzero(elements.tokens.opening.take(frames))
        binaries, paths, lines = np.full((3, frames.size), -1)
        binaries[_parents(frames, opened, owned)] = values.take(ids.take(owned))
        if sources.size:
            of_paths, numbers = self._sources_of(block, elements, sources)
            parents = _parents(frames, opened, sources)
            paths[parents], lines[parents] = values.take(of_paths), numbers
        self._binaries.extend(binaries)
        self._sources.extend(paths)
        self._lines.extend(lines)

    def _sources_of(self, block: Block, elements: Elements, places: Positions) -> tuple[Ids, Ids]:
        """Return the ids of the paths of sources, and their lines."""
        tokens = elements.tokens
        starts = tokens.starts.take(places) + 1 + len(SOURCE)
        demand(tokens.opening.take(places).all(), "a source without a path")
        demand(((block.words[starts] & _ATTRIBUTE_MASK) == _LINE).all(), "a source without a line")
        ends = tokens.ends.take(places) - 1
        demand((block.octets.take(ends) == _QUOTE).all(), "a source with other attributes")
        texts = Spans(block, starts + _ATTRIBUTE_LENGTH, ends).texts(np.arange(places.size))
        inner = np.minimum(places + 1, elements.codes.size - 1)
        path = (elements.codes.take(inner) == self._path) & (elements.ids.take(inner) > 0)
        demand((path & ~tokens.closing.take(inner)).all(), "a source without a path")
        return elements.ids.take(inner), _lines(texts)

    def table(self, definitions: Definitions) -> pa.Table:
        """Return all frames with the columns of `FRAMES`."""
        numbers = np.arange(self.names.size)
        binaries = _optional(self._binaries.array)
        columns = list(zip(*self._binary_rows, strict=True)) or [()] * 5
        types = (pa.string(), pa.string(), pa.string(), pa.uint64(), pa.string())
        name, uuid, arch, load_address, path = (
            pa.array(values, kind).take(binaries)
            for values, kind in zip(columns, types, strict=True)
        )
        return pa.Table.from_arrays(
            [
                pa.array(numbers),
                definitions.texts.take(pa.array(self.names.array)),
                pa.array(self._addresses.array.copy()),
                name,
                uuid,
                arch,
                load_address,
                path,
                definitions.texts.take(_optional(self._sources.array)),
                pa.array(self._lines.array.copy(), mask=self._sources.array < 0),
            ],
            schema=FRAMES,
        )


def _values(tag: bytes) -> list[str]:
    """Return the values of a tag's attributes, by the rules of XML."""
    try:
        return [str(value) for value in etree.fromstring(tag, _PARSER).values()]
    except etree.XMLSyntaxError as error:
        raise IrregularError("a tag that is no XML") from error


def _optional(numbers: Ids) -> pa.Array:
    return pa.array(numbers.copy(), mask=numbers < 0)


def _attributes(
    block: Block, elements: Elements, places: Positions, frame: int
) -> tuple[pa.Array, NDArray[np.uint64]]:
    """Return the names and addresses of frames."""
    tokens, words = elements.tokens, block.words
    behind = elements.attributes[elements.codes.take(elements.definitions) == frame]
    address_end = tokens.ends.take(places) - 1 - ~tokens.opening.take(places)
    demand((block.octets.take(address_end) == _QUOTE).all(), "a frame with other attributes")
    address = _opening_quotes(block, address_end) + 1
    name, name_end = behind + 1 + _ATTRIBUTE_LENGTH, address - 1 - _ATTRIBUTE_LENGTH
    demand((name_end > name).all(), "a frame without a name")
    demand((block.octets.take(name_end) == _QUOTE).all(), "a frame with other attributes")
    demand(((words[behind + 1] & _ATTRIBUTE_MASK) == _NAME).all(), "a frame without a name")
    demand(
        ((words[name_end + 1] & _ATTRIBUTE_MASK) == _ADDRESS).all(), "a frame without an address"
    )
    every = np.arange(places.size)
    names = Spans(block, name, name_end).texts(every)
    return names, _addresses(Spans(block, address, address_end).texts(every))


def _opening_quotes(block: Block, ends: Positions) -> Positions:
    """Return where the quotes stand that open the short values that end at `ends`."""
    quotes = np.zeros(ends.size, np.int64)
    left = np.arange(ends.size)
    for length in range(_SHORTEST_ADDRESS, _LONGEST_ADDRESS + 1):
        places = ends.take(left) - length - 1
        found = block.octets.take(places) == _QUOTE
        quotes[left[found]] = places[found]
        left = left[~found]
        if not left.size:
            break
    demand(not left.size, "an address in other words")
    return quotes


def _addresses(texts: pa.Array) -> NDArray[np.uint64]:
    """Convert hexadecimal texts that begin with 0x."""
    offsets, octets = octets_of(texts)
    prefix = np.zeros(octets.size, np.bool_)
    prefix[offsets[:-1] + 1] = True
    demand((octets[prefix] == ord("x")).all(), "an address in other words")
    demand((octets.take(offsets[:-1]) == ord("0")).all(), "an address in other words")
    valid = (_HEXADECIMAL.take(octets) | prefix)[: offsets[-1]]
    demand(valid.all(), "an address in other words")
    return cast(texts, pa.uint64()).to_numpy()


def _lines(texts: pa.Array) -> Ids:
    demand(consists_of(texts, DIGITS), "a line that is no number")
    return cast(texts, pa.int64()).to_numpy()


def _parents(frames: Positions, opened: Positions, parts: Positions) -> Positions:
    """Return which frames the parts stand in; `opened` says which frames have any."""
    demand(opened.size >= parts.size, "a frame with two parts of a kind")
    parents = np.searchsorted(frames.take(opened), parts) - 1
    demand((np.diff(parents) > 0).all(), "a frame with two parts of a kind")
    return opened.take(parents)
