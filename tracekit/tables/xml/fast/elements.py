"""The names of the tags of a block, and the ids that they define or repeat."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.xml.fast.tokens import (
    Codes,
    Flags,
    IrregularError,
    Positions,
    RowBlock,
    Spans,
    Tokens,
    Vocabulary,
    Words,
    demand,
)

MOST_DIGITS = 16
_ZEROS = np.uint64(0x3030303030303030)
_CARRY = np.uint64(0x7676767676767676)
_HIGH_BITS = np.uint64(0x8080808080808080)
_FOLDS = (
    (np.uint64(10), np.uint64(8), np.uint64(0x00FF00FF00FF00FF)),
    (np.uint64(100), np.uint64(16), np.uint64(0x0000FFFF0000FFFF)),
    (np.uint64(10_000), np.uint64(32), np.uint64(0x00000000FFFFFFFF)),
)
_WORD = 8

Counts = NDArray[np.int64]
_NONE = np.zeros(0, np.int64)


def ids(block: RowBlock, ends: Positions, digits: Counts) -> NDArray[np.int64]:
    """Return the ids whose last digits are before `ends`."""
    if not ends.size:
        return np.zeros(0, np.int64)
    are_short = digits.min() >= 1 and digits.max() <= MOST_DIGITS
    demand(are_short, "an id of no length, or a long one")
    first_octets = block.octets.take(ends - digits)
    demand((first_octets != ord("0")).all(), "an id with a leading zero")
    numbers, valid = naturals(block, ends, digits)
    demand(valid.all(), "an id that is not a number")
    return numbers


def naturals(block: RowBlock, ends: Positions, digits: Counts) -> tuple[NDArray[np.int64], Flags]:
    """Return the numbers of 1 to 16 digits that end before `ends`, and a mask of valid ones."""
    long = _NONE
    if digits.max() > _WORD:
        long = np.flatnonzero(digits > _WORD)
    numbers, bad = _fold_digits(block.words[ends - _WORD], np.minimum(digits, _WORD))
    if long.size:
        long_ends = ends.take(long)
        words = block.words[long_ends - 2 * _WORD]
        high_digits = digits.take(long) - _WORD
        high_part, more_bad = _fold_digits(words, high_digits)
        numbers[long] += high_part * np.uint64(10**_WORD)
        bad[long] |= more_bad
    return numbers.view(np.int64), bad == 0


def _fold_digits(words: Words, digits: Counts) -> tuple[Words, Words]:
    """Return the numbers, and for each 0 if all its bytes are digits."""
    foreign_bits = (_WORD - digits) << 3
    foreign = foreign_bits.view(np.uint64)
    words ^= _ZEROS
    words >>= foreign
    words <<= foreign
    bad = words + _CARRY
    bad |= words
    bad &= _HIGH_BITS
    for ten, shift, mask in _FOLDS:
        tens = words * ten
        words >>= shift
        words += tens
        words &= mask
    return words, bad


DIGITS = np.zeros(256, np.bool_)
DIGITS[list(b"0123456789")] = True
_SIGNED = DIGITS.copy()
_SIGNED[ord("-")] = True
_FLOATING = _SIGNED.copy()
_FLOATING[list(b".eE+")] = True

Numbers = NDArray[np.int64] | NDArray[np.uint64] | NDArray[np.float64]


def numbers(spans: Spans, chosen: Positions, kind: pa.DataType) -> Numbers:
    """Return the chosen pieces as numbers of a kind: int64, uint64 or float64."""
    if pa.types.is_floating(kind):
        return _parse_numbers(spans.texts(chosen), kind)
    starts, ends = spans.bounds(chosen)
    digits = ends - starts
    short = (digits >= 1) & (digits <= MOST_DIGITS)
    if not short.all():
        digits = np.clip(digits, 1, MOST_DIGITS)
    values, valid = naturals(spans.block, ends, digits)
    odd_places = np.flatnonzero(~(valid & short))
    if odd_places.size:
        texts = spans.texts(chosen.take(odd_places))
        parsed_numbers = _parse_numbers(texts, kind)
        values[odd_places] = parsed_numbers.view(np.int64)
    if pa.types.is_uint64(kind):
        return values.view(np.uint64)
    return values


def octets_of(texts: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return the offsets and the bytes of an array of strings without nulls."""
    all_offsets = np.frombuffer(texts.buffers()[1], np.int32)
    offsets = all_offsets[texts.offset :][: len(texts) + 1]
    return offsets, np.frombuffer(texts.buffers()[2] or b"", np.uint8)


def consists_of(texts: pa.Array, allowed: Flags) -> bool:
    """Return whether texts have no other bytes than those allowed."""
    offsets, octets = octets_of(texts)
    text_octets = octets[offsets[0] : offsets[-1]]
    return bool(allowed.take(text_octets).all())


def cast(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert texts as Arrow does; raise IrregularError if it cannot."""
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid as error:
        raise IrregularError(str(error)) from error


def _parse_numbers(texts: pa.Array, kind: pa.DataType) -> Numbers:
    floating = pa.types.is_floating(kind)
    allowed = _FLOATING if floating else _SIGNED
    demand(consists_of(texts, allowed), "a number in other words")
    if floating:
        _check_first_digits(texts)
    return cast(texts, kind).to_numpy()


def _check_first_digits(texts: pa.Array) -> None:
    """Require a digit at the start: Arrow reads ".5" too, which is not a number of an export."""
    offsets, octets = octets_of(texts)
    demand((offsets[1:] > offsets[:-1]).all(), "a number without digits")
    is_negative = octets.take(offsets[:-1]) == ord("-")
    first_digits = offsets[:-1] + is_negative
    demand((first_digits < offsets[1:]).all(), "a number without digits")
    first_octets = octets.take(first_digits)
    demand(DIGITS.take(first_octets).all(), "a number without digits")


ROW = "row"
SENTINEL = "sentinel"
SOURCE = "source"

_ID = np.uint64(int.from_bytes(b' id="', "little"))
_ID_MASK = np.uint64(0xFF_FFFF_FFFF)
_REF = np.uint64(int.from_bytes(b' ref="', "little"))
_REF_MASK = np.uint64(0xFFFF_FFFF_FFFF)
_ROW = np.uint64(int.from_bytes(b"<row>", "little"))
_ROW_MASK = _ID_MASK
_ROW_END = np.uint64(int.from_bytes(b"</row>", "little"))
_ROW_END_MASK = _REF_MASK
_ID_LENGTH = 5
_REF_LENGTH = 6
_QUOTE = ord('"')
_POWERS = 10 ** np.arange(1, 17, dtype=np.int64)


class Elements:
    """The elements of a block; places are indices into its tokens.

    `codes` and `ids` are those of all tokens; an element without an id has 0. `places` are the
    tokens that do not close. `cells` has a row for each row of the table. `attributes` are the
    positions after the ids of definitions; as long as these are not counted, after their names.
    """

    def __init__(
        self, block: RowBlock, tokens: Tokens, vocabulary: Vocabulary, columns: Codes
    ) -> None:
        """Name the elements of a block of rows, without the need for other blocks.

        `columns` are the codes of the types of the columns.
        """
        self.block = block
        self.tokens = tokens
        self.vocabulary = vocabulary
        self.codes = np.zeros(tokens.starts.size, np.int16)
        self.ids = np.zeros(tokens.starts.size, np.int64)
        places = np.flatnonzero(~tokens.closing)
        self.places = places
        levels = tokens.levels.take(places)
        row_places = places[levels == 0]
        cell_places = places[levels == 1]
        self.cells = self._cells(row_places, cell_places, columns)
        inner = places[levels > 1]
        name_starts = tokens.starts.take(inner) + 1
        parts = vocabulary.identify(block, name_starts)
        self.codes[inner] = parts
        demand((parts != vocabulary.code(ROW)).all(), "a row within a value")
        place_codes = self.codes.take(places)
        name_lengths = vocabulary.lengths.take(place_codes)
        behind = tokens.starts.take(places) + 1 + name_lengths
        attribute = block.words[behind]
        definition = (attribute & _ID_MASK) == _ID
        reference = (attribute & _REF_MASK) == _REF
        self._check_without_id(places[~(definition | reference)])
        self.definitions = places[definition]
        self.attributes = behind[definition]
        self.references = places[reference]
        # The ids that repeats name, and the count of definitions of the block before each.
        self._repeated = self._repeats(behind[reference])
        self._before = np.cumsum(definition)[reference]

    def count(self, defined: int) -> None:
        """Give the definitions the next ids, after those `defined` before the block."""
        demand((self._repeated - defined <= self._before).all(), "a repeat of a later definition")
        numbers = np.arange(defined + 1, defined + 1 + self.definitions.size)
        self.ids[self.references] = self._repeated
        self.ids[self.definitions] = numbers
        digits = np.searchsorted(_POWERS, numbers, side="right") + 1
        ends = self.attributes + _ID_LENGTH + digits
        self.attributes = ends
        end_octets = self.block.octets.take(ends)
        demand((end_octets == _QUOTE).all(), "an id out of order")
        written_ids = ids(self.block, ends, digits)
        demand((written_ids == numbers).all(), "an id out of order")

    def check_closing(self) -> None:
        """Raise IrregularError if a closing tag has another name than the one it closes."""
        tokens = self.tokens
        leaves = np.flatnonzero(tokens.leaf)
        self._check_names(leaves + 1, leaves)
        behind_leaf = np.zeros(tokens.leaf.size, np.bool_)
        behind_leaf[1:] = tokens.leaf[:-1]
        has_content = tokens.opening & ~tokens.leaf
        opening = np.flatnonzero(has_content)
        closing = np.flatnonzero(tokens.closing & ~behind_leaf)
        opening_levels = tokens.levels.take(opening)
        closing_levels = tokens.levels.take(closing)
        row_ends = closing[closing_levels == 0]
        row_starts = tokens.starts.take(row_ends)
        words = self.block.words[row_starts]
        demand(((words & _ROW_END_MASK) == _ROW_END).all(), "tags that do not match")
        deepest = int(opening_levels.max(initial=0))
        for level in range(1, deepest + 1):
            level_closing = closing[closing_levels == level]
            level_opening = opening[opening_levels == level]
            self._check_names(level_closing, level_opening)

    def _cells(self, rows: Positions, cells: Positions, columns: Codes) -> Positions:
        """Name the cells by their columns, or null ones as sentinels; return a row for each row."""
        starts = self.tokens.starts
        vocabulary = self.vocabulary
        lengths = self.tokens.ends.take(rows) - starts.take(rows)
        demand((lengths == len(ROW) + 1).all(), "a row with attributes")
        row_words = self.block.words[starts.take(rows)]
        is_row = (row_words & _ROW_MASK) == _ROW
        demand(is_row.all(), "something else than a row")
        self.codes[rows] = vocabulary.code(ROW)
        demand(cells.size == rows.size * columns.size, "a row of another length")
        table = cells.reshape(rows.size, columns.size)
        demand((table[:, 0] > rows).all(), "a row of another length")
        demand((table[:-1, -1] < rows[1:]).all(), "a row of another length")
        names = starts.take(table) + 1
        is_sentinel = ~vocabulary.match(self.block, names, columns)
        self.codes[table] = columns
        sentinel_count = np.count_nonzero(is_sentinel)
        sentinel_code = vocabulary.code(SENTINEL)
        sentinels = np.full(sentinel_count, sentinel_code, np.int16)
        self.codes[table[is_sentinel]] = sentinels
        is_match = vocabulary.match(self.block, names[is_sentinel], sentinels)
        demand(is_match.all(), "a cell of another type")
        return table

    def _check_without_id(self, places: Positions) -> None:
        """Require an id of all but rows, sentinels and sources, which frames check."""
        codes = self.codes.take(places)
        tokens = self.tokens
        sentinel = codes == self.vocabulary.code(SENTINEL)
        allowed_codes = self.vocabulary.codes((ROW, SOURCE))
        is_allowed = allowed_codes.take(codes)
        demand((sentinel | is_allowed).all(), "an element without an id")
        nulls = places[sentinel]
        null_ends = tokens.ends.take(nulls)
        lengths = null_ends - tokens.starts.take(nulls)
        demand((lengths == len(SENTINEL) + 2).all(), "a sentinel with attributes")
        demand(not tokens.opening.take(nulls).any(), "a sentinel with content")

    def _check_names(self, closing: Positions, opening: Positions) -> None:
        expected = self.codes.take(opening)
        vocabulary = self.vocabulary
        names = self.tokens.starts.take(closing) + 2
        lengths = self.tokens.ends.take(closing) - names
        has_length = lengths == vocabulary.lengths.take(expected)
        demand(has_length.all(), "tags that do not match")
        is_match = vocabulary.match(self.block, names, expected)
        demand(is_match.all(), "tags that do not match")

    def _repeats(self, attributes: Positions) -> NDArray[np.int64]:
        """Return the ids that repeats name."""
        reference_ends = self.tokens.ends.take(self.references)
        ends = reference_ends - 2
        has_content = self.tokens.opening.take(self.references)
        demand(not has_content.any(), "a repeat with content")
        last_octets = self.block.octets.take(ends)
        demand((last_octets == _QUOTE).all(), "a repeat with other attributes")
        digits = ends - attributes - _REF_LENGTH
        return ids(self.block, ends, digits)
