"""A file of rows as blocks of whole rows, their tags, their names and their texts.

The tags come from the positions of `<` and `>` alone. That is enough for well-formed XML
without comments, CDATA and raw `>`: in all else the two do not alternate, or a tag has no
name of the vocabulary, and the reader gives up.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


class IrregularError(Exception):
    """A byte is not the one that a plain table has there; the exact reader must read the file."""


def demand(condition: object, otherwise: str) -> None:
    """Raise IrregularError unless a condition holds; `otherwise` names the actual content."""
    if not condition:
        raise IrregularError(otherwise)


MOST_IN_A_BLOCK = 1 << 21
"""Bytes that a block has at most, but for the beginning of a row that the last one left."""
_LONGEST_BLOCK = 1 << 23
_BEYOND = 64
_AMPERSAND = ord("&")
_ROW_END = b"</row>\n"
_ENDS = (b"</node></trace-query-result>\n", b"</node></trace-query-result>")

Octets = NDArray[np.uint8]
Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Some whole rows: `size` bytes, with zeros behind them.

    `words[p]` is the little-endian number of the eight bytes that begin at `p`.
    """

    octets: Octets
    words: Words
    size: int

    @cached_property
    def ampersands(self) -> NDArray[np.int64]:
        """The positions at which references to entities begin."""
        return np.flatnonzero(self.octets == _AMPERSAND)


def size_blocks(file: BinaryIO) -> int:
    """Return the bytes of a block: the most, or all of a smaller file."""
    size = os.fstat(file.fileno()).st_size
    return min(size or MOST_IN_A_BLOCK, MOST_IN_A_BLOCK)


def blocks(file: BinaryIO, block_size: int) -> Iterator[RowBlock]:
    """Yield the rows of a table, `block_size` bytes at a time, from a file at the first of them."""
    remainder = b""
    more = True
    while more:
        content = bytearray(len(remainder) + block_size + _BEYOND)
        content[: len(remainder)] = remainder
        with memoryview(content) as view:
            count = file.readinto(view[len(remainder) : -_BEYOND])  # pyright: ignore[reportAttributeAccessIssue]
        more = count > 0
        length = len(remainder) + count
        size = content.rfind(_ROW_END, 0, length) + len(_ROW_END)
        if size < len(_ROW_END):
            size = 0
        remainder = bytes(content[size:length])
        demand(len(remainder) < _LONGEST_BLOCK, "a row is longer than a block")
        if size:
            yield block(content, size)
    demand(remainder in _ENDS, "the table does not end as xctrace ends it")


def block(content: bytearray, size: int) -> RowBlock:
    """Return the first `size` bytes as a block; zeros replace some bytes after them."""
    content[size : size + _BEYOND] = bytes(_BEYOND)
    octets = np.frombuffer(content, np.uint8)
    word_count = size + _BEYOND - 8
    words = np.ndarray((word_count,), "<u8", content, strides=(1,))
    return RowBlock(octets[:size], words, size)


_LESS, _GREATER, _SLASH, _NEWLINE = b"<>/\n"
_ANGLE = np.uint8(0xFD)  # `<` and `>` differ in one bit
_SPACE = np.uint8(0x20)
DEEPEST = 8
_PRIVATE = np.uint8(0xEF)
_NONCHARACTERS = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")

Positions = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tags of a block, in order.

    `starts` are the positions of `<`, `ends` those of `>`. A tag is opening, closing, or alone
    (`<…/>`). `levels` counts from the tag of a row, 0. A leaf is an opening tag that its closing
    tag follows immediately; only a leaf has text.
    """

    starts: Positions
    ends: Positions
    opening: Flags
    closing: Flags
    leaf: Flags
    levels: NDArray[np.int8]


def tokenize(block: RowBlock) -> Tokens:
    """Find the tags of a block; raise IrregularError if they are not those of plain rows."""
    octets = block.octets
    angles = np.flatnonzero((octets & _ANGLE) == _LESS)
    demand(angles.size and not angles.size & 1, "angles that do not pair")
    starts = angles[0::2].copy()
    ends = angles[1::2].copy()
    start_octets = octets.take(starts)
    demand((start_octets == _LESS).all(), "angles that do not alternate")
    end_octets = octets.take(ends)
    demand((end_octets == _GREATER).all(), "angles that do not alternate")
    closing = octets.take(starts + 1) == _SLASH
    alone = octets.take(ends - 1) == _SLASH
    demand(not (closing & alone).any(), "a tag that closes twice")
    opening = ~(closing | alone)
    steps = opening.view(np.int8) - closing.view(np.int8)
    depth = np.cumsum(steps, dtype=np.int32)
    is_nested = depth.min() >= 0 and depth.max() <= DEEPEST and depth[-1] == 0
    demand(is_nested, "tags that do not nest")
    levels = (depth - opening).astype(np.int8)
    leaf = np.zeros(starts.size, np.bool_)
    np.logical_and(opening[:-1], closing[1:], out=leaf[:-1])
    tokens = Tokens(starts, ends, opening, closing, leaf, levels)
    _check_gaps(block, tokens)
    return tokens


def _check_gaps(block: RowBlock, tokens: Tokens) -> None:
    """Require that only leaves have text, and a newline follows each row."""
    gaps = tokens.starts[1:] - tokens.ends[:-1]
    is_row_end = tokens.closing & (tokens.levels == 0)
    row_ends = np.flatnonzero(is_row_end)
    expected = np.ones(gaps.size, np.int64)
    expected[row_ends[:-1]] = 2
    has_expected_gap = gaps == expected
    is_expected = has_expected_gap | tokens.leaf[:-1]
    demand(is_expected.all(), "text between tags")
    newlines = tokens.ends.take(row_ends) + 1
    is_filled = newlines[-1] == block.size - 1 and tokens.starts[0] == 0
    demand(is_filled, "text around the rows")
    is_newline = block.octets.take(newlines) == _NEWLINE
    demand(is_newline.all(), "no newline after a row")
    control_count = np.count_nonzero(block.octets < _SPACE)
    demand(control_count == row_ends.size, "control characters in a row")


def check_characters(block: RowBlock) -> None:
    """Raise IrregularError for bytes that are not UTF-8, or not characters of XML."""
    if block.octets.view(np.int8).min() >= 0:
        return
    bounds = np.array([0, block.size], np.int32)
    offsets_buffer = pa.py_buffer(bounds)
    text = pa.StringArray.from_buffers(1, offsets_buffer, pa.py_buffer(block.octets))
    try:
        text.validate(full=True)
    except pa.ArrowInvalid as error:
        raise IrregularError("bytes that are not UTF-8") from error
    if (block.octets == _PRIVATE).any():
        content = block.octets.tobytes()
        for noncharacter in _NONCHARACTERS:
            demand(noncharacter not in content, "a character that XML does not allow")


_NAME_END = b" />"
_LONGEST = 128
_WORD = 8
_UNKNOWN = -1

Codes = NDArray[np.int16]


@lru_cache(maxsize=64)
def make_vocabulary(names: tuple[str, ...]) -> "Vocabulary":
    """Return the vocabulary of these names; most tables of a run have the same one."""
    return Vocabulary(names)


class Vocabulary:
    """The names that a table may use, by code: the place of a name in the list."""

    def __init__(self, names: Iterable[str]) -> None:
        encoded = [name.encode() for name in names]
        self._codes = {name: code for code, name in enumerate(encoded)}
        lengths = [len(name) for name in encoded]
        self.lengths = np.array(lengths, np.int64)
        word_count = -(-max(lengths) // _WORD)
        table = bytearray()
        mask = bytearray()
        for name in encoded:
            table += name.ljust(word_count * _WORD, b"\0")
            name_mask = b"\xff" * len(name)
            mask += name_mask.ljust(word_count * _WORD, b"\0")
        # A row for each word of the names, a column for each name.
        table_words = np.frombuffer(table, "<u8").reshape(-1, word_count)
        self._words = table_words.T.copy()
        mask_words = np.frombuffer(mask, "<u8").reshape(-1, word_count)
        self._masks = mask_words.T.copy()

    def code(self, name: str) -> int:
        """Return the code of a name that is in the vocabulary."""
        return self._codes[name.encode()]

    def codes(self, names: Iterable[str]) -> Flags:
        """Return, for every code, whether its name is one of `names`."""
        chosen = np.zeros(self.lengths.size, np.bool_)
        for name in names:
            code = self._codes.get(name.encode())
            if code is not None:
                chosen[code] = True
        return chosen

    def match(self, block: RowBlock, places: Positions, codes: Codes) -> Flags:
        """Return whether, at each place, the bytes are those of the name that has the code there.

        `places` may have more dimensions than `codes`, which is then the same for every row.
        """
        first_masks = self._masks[0].take(codes)
        first_words = block.words[places] & first_masks
        first_codes = self._words[0].take(codes)
        matches = first_words == first_codes
        lengths = self.lengths.take(codes)
        for word in range(1, len(self._words)):
            longer = np.flatnonzero(lengths > _WORD * word)
            if not longer.size:
                break
            longer_codes = codes.take(longer)
            word_places = places[..., longer] + _WORD * word
            words = block.words[word_places]
            words &= self._masks[word].take(longer_codes)
            matches_word = words == self._words[word].take(longer_codes)
            matches[..., longer] &= matches_word
        return matches

    def identify(self, block: RowBlock, places: Positions) -> Codes:
        """Return the codes of the names at some places."""
        codes = np.full(places.size, _UNKNOWN, np.int16)
        beginnings = block.words[places]
        pending_rows = np.arange(places.size)
        while pending_rows.size:
            first_pending = int(places[pending_rows[0]])
            code = self._code_at(block, first_pending)
            pending_words = beginnings.take(pending_rows)
            first_words = pending_words & self._masks[0][code]
            is_matching = first_words == self._words[0][code]
            matching_rows = pending_rows[is_matching]
            is_whole_match = self._is(block, places.take(matching_rows), code)
            matching_rows = matching_rows[is_whole_match]
            codes[matching_rows] = code
            pending_rows = pending_rows[codes.take(pending_rows) == _UNKNOWN]
        return codes

    def _is(self, block: RowBlock, places: Positions, code: int) -> Flags:
        """Return whether the bytes after the first word of a name match, and the name ends."""
        length = int(self.lengths[code])
        next_bytes = block.octets.take(places + length)
        matches = next_bytes == _NAME_END[0]
        matches |= next_bytes == _NAME_END[1]
        matches |= next_bytes == _NAME_END[2]
        for word in range(1, -(-length // _WORD)):
            words = block.words[places + _WORD * word]
            masked_words = words & self._masks[word][code]
            matches &= masked_words == self._words[word][code]
        return matches

    def _code_at(self, block: RowBlock, place: int) -> int:
        text = block.octets[place : place + _LONGEST].tobytes()
        ends = [text.find(end) for end in (b" ", b"/", b">")]
        known_ends = [end for end in ends if end >= 0]
        length = min(known_ends, default=0)
        name = text[:length]
        code = self._codes.get(name)
        if code is None:
            raise IrregularError(f"<{name.decode(errors='replace')}> in a row")
        return code


# The ampersand comes last, so that "&amp;lt;" becomes "&lt;" and no more.
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&amp;", "&"))


class Spans:
    """Pieces of a block that do not overlap, in order."""

    def __init__(self, block: RowBlock, starts: Positions, ends: Positions) -> None:
        self.block = block
        self._escapes = block.ampersands
        self._starts = starts
        self._ends = ends
        # The boundaries cut the block into pieces and the gaps between them, without a copy.
        boundaries = np.empty(2 * starts.size, np.int32)
        boundaries[0::2] = starts
        boundaries[1::2] = ends
        piece_count = max(2 * starts.size - 1, 0)
        self._pieces = pa.StringArray.from_buffers(
            piece_count, pa.py_buffer(boundaries), pa.py_buffer(block.octets)
        )

    def bounds(self, chosen: Positions) -> tuple[Positions, Positions]:
        """Return the starts and the ends of the chosen pieces."""
        return self._starts.take(chosen), self._ends.take(chosen)

    def texts(self, chosen: Positions) -> pa.Array:
        """Return the chosen pieces, with their entities replaced."""
        texts = self._pieces.take(pa.array(2 * chosen))
        if not self._escapes.size:
            return texts
        escaped = self._find_escaped().take(chosen)
        if escaped.any():
            return _unescape_texts(texts, escaped)
        return texts

    def _find_escaped(self) -> NDArray[np.bool_]:
        first_escapes = np.searchsorted(self._escapes, self._starts)
        return np.searchsorted(self._escapes, self._ends) > first_escapes


def _unescape_texts(texts: pa.Array, escaped: NDArray[np.bool_]) -> pa.Array:
    escaped_places = np.flatnonzero(escaped)
    changed = texts.take(pa.array(escaped_places))
    for entity, character in _ENTITIES:
        options = pc.ReplaceSubstringOptions(entity, character)
        changed = pc.call_function("replace_substring", [changed], options)
    mask = pa.array(escaped)
    return pc.call_function("replace_with_mask", [texts, mask, changed])


def check_entities(block: RowBlock) -> None:
    """Raise IrregularError if an ampersand begins anything but a known entity."""
    words = block.words[block.ampersands]
    is_known = np.zeros(words.size, np.bool_)
    for entity, _ in _ENTITIES:
        bit_count = 8 * len(entity)
        mask = np.uint64((1 << bit_count) - 1)
        letters = int.from_bytes(entity.encode(), "little")
        word = np.uint64(letters)
        is_known |= (words & mask) == word
    demand(is_known.all(), "an entity that xctrace does not write")
