"""Frames of stacks, with the binary and the source line of each."""

import re
from html import unescape

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.xml.fast.blocks import Block
from tracekit.tables.xml.fast.definitions import Definitions
from tracekit.tables.xml.fast.elements import SOURCE, Elements
from tracekit.tables.xml.fast.heap import Growing
from tracekit.tables.xml.fast.irregular import IrregularError, demand
from tracekit.tables.xml.fast.names import Vocabulary
from tracekit.tables.xml.fast.numbers import consists_of, octets_of
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
    rb'<binary id="[0-9]+" name="([^"]*)" UUID="([^"]*)" arch="([^"]*)" '
    rb'load-addr="(0x[0-9a-f]{1,16})" path="([^"]*)"/>'
)
_HEXADECIMAL = np.zeros(256, np.bool_)
_HEXADECIMAL[list(b"0123456789abcdef")] = True
_DECIMAL = np.zeros(256, np.bool_)
_DECIMAL[list(b"0123456789")] = True
_SHORTEST_ADDRESS, _LONGEST_ADDRESS = len("0x0"), len("0x0123456789abcdef")
_PARENT_LEVEL, _PART_LEVEL = 2, 3

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

    def add(self, block: Block, elements: Elements, definitions: Definitions) -> int:
        """Add those that a block defines; return how many quotes their tags have beside ids.

        Raises:
            IrregularError: A frame has other attributes or parts than in an export of today.
        """
        codes, tokens = elements.codes, elements.tokens
        defined = codes.take(elements.definitions)
        binaries = elements.definitions[defined == self._binary]
        frames = elements.definitions[defined == self._frame]
        sources = np.flatnonzero((codes == self._source) & ~tokens.closing)
        self._add_binaries(block, elements, binaries, definitions)
        if frames.size:
            self._add_frames(block, elements, frames, sources, definitions)
        else:
            demand(not sources.size, "a source without a frame")
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
            found = _BINARY.fullmatch(tag)
            if found is None:
                raise IrregularError("a binary with other attributes")
            name, uuid, arch, address, path = (unescape(one.decode()) for one in found.groups())
            values[elements.ids[place]] = len(self._binary_rows)
            self._binary_rows.append((name, uuid, arch, int(address, 16), path))

    def _add_frames(
        self,
        block: Block,
        elements: Elements,
        places: Positions,
        sources: Positions,
        definitions: Definitions,
    ) -> None:
        names, addresses = _attributes(block, elements, places, self._frame)
        values, ids = definitions.values.array, elements.ids
        values[ids.take(places)] = np.arange(places.size) + self.names.size
        self.names.extend(np.arange(places.size) + len(definitions.texts))
        definitions.texts.extend(names)
        self._addresses.extend(addresses)
        owned = np.flatnonzero((elements.codes == self._binary) & ~elements.tokens.closing)
        binary = _of_parents(elements, owned, ids.take(owned)).take(places)
        self._binaries.extend(np.where(binary > 0, values.take(binary), -1))
        paths, lines = self._sources_of(block, elements, sources)
        path = _of_parents(elements, sources, paths).take(places)
        self._sources.extend(np.where(path > 0, values.take(path), -1))
        self._lines.extend(_of_parents(elements, sources, lines).take(places))

    def _sources_of(self, block: Block, elements: Elements, places: Positions) -> tuple[Ids, Ids]:
        """Return the ids of the paths of sources, and their lines."""
        if not places.size:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
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
    return _cast(texts, pa.uint64()).to_numpy()


def _lines(texts: pa.Array) -> Ids:
    demand(consists_of(texts, _DECIMAL), "a line that is no number")
    return _cast(texts, pa.int64()).to_numpy()


def _cast(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid as error:
        raise IrregularError(str(error)) from error


def _of_parents(elements: Elements, places: Positions, numbers: Ids) -> Ids:
    """Lay the numbers of parts on the tokens of the frames that they are parts of."""
    laid = np.zeros(elements.codes.size, np.int64)
    if places.size:
        tokens = elements.tokens
        demand((tokens.levels.take(places) == _PART_LEVEL).all(), "a part outside of a frame")
        open_frames = tokens.opening & (tokens.levels == _PARENT_LEVEL)
        parents = np.flatnonzero(open_frames).take(np.cumsum(open_frames).take(places) - 1)
        demand((np.diff(parents) > 0).all(), "a frame with two parts of a kind")
        laid[parents] = numbers
    return laid
