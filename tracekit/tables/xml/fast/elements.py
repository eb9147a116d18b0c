"""What each tag of a block is: its name, and the id that it defines or repeats."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.xml.fast.tokens import (
    Block,
    Codes,
    Flags,
    IrregularError,
    Positions,
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
_FOLDS = tuple(
    (np.uint64(ten), np.uint64(shift), np.uint64(mask))
    for ten, shift, mask in (
        (10, 8, 0x00FF00FF00FF00FF),
        (100, 16, 0x0000FFFF0000FFFF),
        (10_000, 32, 0x00000000FFFFFFFF),
    )
)
_WORD = 8

Counts = NDArray[np.int64]
_NONE = np.zeros(0, np.int64)


def ids(block: Block, ends: Positions, digits: Counts) -> NDArray[np.int64]:
    """Return the ids whose last digits stand before `ends`."""
    if not ends.size:
        return np.zeros(0, np.int64)
    demand(digits.min() >= 1 and digits.max() <= MOST_DIGITS, "an id of no length, or a long one")
    demand((block.octets.take(ends - digits) != ord("0")).all(), "an id with a leading zero")
    numbers, valid = naturals(block, ends, digits)
    demand(valid.all(), "an id that is no number")
    return numbers


def naturals(block: Block, ends: Positions, digits: Counts) -> tuple[NDArray[np.int64], Flags]:
    """Return the numbers of 1 to 16 digits that end before `ends`, and which are digits all."""
    long = np.flatnonzero(digits > _WORD) if digits.max() > _WORD else _NONE
    numbers, bad = _folded(block.words[ends - _WORD], np.minimum(digits, _WORD))
    if long.size:
        words = block.words[ends.take(long) - 2 * _WORD]
        high, more_bad = _folded(words, digits.take(long) - _WORD)
        numbers[long] += high * np.uint64(10**_WORD)
        bad[long] |= more_bad
    return numbers.view(np.int64), bad == 0


def _folded(words: Words, digits: Counts) -> tuple[Words, Words]:
    """Return the numbers, and 0 where all digits were digits."""
    foreign = ((_WORD - digits) << 3).view(np.uint64)
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
        return _checked(spans.texts(chosen), kind)
    starts, ends = spans.bounds(chosen)
    digits = ends - starts
    short = (digits >= 1) & (digits <= MOST_DIGITS)
    if not short.all():
        digits = np.clip(digits, 1, MOST_DIGITS)
    found, valid = naturals(spans.block, ends, digits)
    others = np.flatnonzero(~(valid & short))
    if others.size:
        texts = spans.texts(chosen.take(others))
        found[others] = _checked(texts, kind).view(np.int64)
    return found.view(np.uint64) if pa.types.is_uint64(kind) else found


def octets_of(texts: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return the offsets and the bytes of an array of strings without nulls."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :][: len(texts) + 1]
    return offsets, np.frombuffer(texts.buffers()[2] or b"", np.uint8)


def consists_of(texts: pa.Array, allowed: Flags) -> bool:
    """Tell whether texts have no other bytes than those allowed."""
    offsets, octets = octets_of(texts)
    return bool(allowed.take(octets[offsets[0] : offsets[-1]]).all())


def cast(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert texts as Arrow does, or give up."""
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid as error:
        raise IrregularError(str(error)) from error


def _checked(texts: pa.Array, kind: pa.DataType) -> Numbers:
    floating = pa.types.is_floating(kind)
    demand(consists_of(texts, _FLOATING if floating else _SIGNED), "a number in other words")
    if floating:
        _check_first_digits(texts)
    return cast(texts, kind).to_numpy()


def _check_first_digits(texts: pa.Array) -> None:
    """Arrow reads ".5" too, which is no number of an export."""
    offsets, octets = octets_of(texts)
    demand((offsets[1:] > offsets[:-1]).all(), "a number without digits")
    first = offsets[:-1] + (octets.take(offsets[:-1]) == ord("-"))
    demand((first < offsets[1:]).all(), "a number without digits")
    demand(DIGITS.take(octets.take(first)).all(), "a number without digits")


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
_ID_LENGTH, _REF_LENGTH = 5, 6
_QUOTE = ord('"')
_POWERS = 10 ** np.arange(1, 17, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Elements:
    """The elements of a block; places are indices into its tokens.

    `codes` and `ids` are those of all tokens, an id 0 where an element has none. `places` are
    the tokens that do not close. `cells` has a row for each row of the table. `attributes` are
    the positions behind the ids of definitions; as long as these are not counted, behind their
    names. `repeated` are the ids that repeats name; `before` says for each of them how many
    definitions of the block stand before it.
    """

    block: Block
    tokens: Tokens
    vocabulary: Vocabulary
    codes: Codes
    ids: NDArray[np.int64]
    places: Positions
    cells: Positions
    definitions: Positions
    attributes: Positions
    references: Positions
    repeated: NDArray[np.int64]
    before: NDArray[np.int64]


def prepare(block: Block, tokens: Tokens, vocabulary: Vocabulary, columns: Codes) -> Elements:
    """Name the elements of a block of rows, which needs nothing of other blocks.

    `columns` are the codes of the columns' types.
    """
    codes = np.zeros(tokens.starts.size, np.int16)
    places = np.flatnonzero(~tokens.closing)
    levels = tokens.levels.take(places)
    rows = places[levels == 0]
    codes[rows] = vocabulary.code(ROW)
    demand(
        (tokens.ends.take(rows) - tokens.starts.take(rows) == len(ROW) + 1).all(),
        "a row with attributes",
    )
    demand(
        ((block.words[tokens.starts.take(rows)] & _ROW_MASK) == _ROW).all(),
        "something else than a row",
    )
    cells = _table(places[levels == 1], rows, columns.size)
    inner = places[levels > 1]
    codes[inner] = parts = vocabulary.identify(block, tokens.starts.take(inner) + 1)
    demand((parts != vocabulary.code(ROW)).all(), "a row within a value")
    _name_cells(block, tokens, vocabulary, codes, (cells, columns))
    behind = tokens.starts.take(places) + 1 + vocabulary.lengths.take(codes.take(places))
    attribute = block.words[behind]
    definition, reference = (attribute & _ID_MASK) == _ID, (attribute & _REF_MASK) == _REF
    _check_without_id(tokens, vocabulary, codes, places[~(definition | reference)])
    references = places[reference]
    return Elements(
        block=block,
        tokens=tokens,
        vocabulary=vocabulary,
        codes=codes,
        ids=np.zeros(codes.size, np.int64),
        places=places,
        cells=cells,
        definitions=places[definition],
        attributes=behind[definition],
        references=references,
        repeated=_repeated(block, tokens, references, behind[reference]),
        before=np.cumsum(definition)[reference],
    )


def count(elements: Elements, defined: int) -> Elements:
    """Give the definitions of a block the ids that are next, behind those `defined` before it."""
    definitions = elements.definitions
    demand((elements.repeated - defined <= elements.before).all(), "a repeat of what comes later")
    numbers = np.arange(defined + 1, defined + 1 + definitions.size)
    elements.ids[elements.references] = elements.repeated
    elements.ids[definitions] = numbers
    ends = _check_order(elements.block, numbers, elements.attributes)
    return replace(elements, attributes=ends)


def _table(cells: Positions, rows: Positions, columns: int) -> Positions:
    """Return the tokens of the cells, a row for each row."""
    demand(cells.size == rows.size * columns, "a row of another length")
    table = cells.reshape(rows.size, columns)
    demand((table[:, 0] > rows).all(), "a row of another length")
    demand((table[:-1, -1] < rows[1:]).all(), "a row of another length")
    return table


def _name_cells(
    block: Block,
    tokens: Tokens,
    vocabulary: Vocabulary,
    codes: Codes,
    table: tuple[Positions, Codes],
) -> None:
    """Name the cells by their columns, or sentinels where they are null."""
    cells, columns = table
    places = tokens.starts.take(cells) + 1
    other = ~vocabulary.match(block, places, columns)
    codes[cells] = columns
    nulls = cells[other]
    sentinels = np.full(nulls.size, vocabulary.code(SENTINEL), np.int16)
    codes[nulls] = sentinels
    demand(vocabulary.match(block, places[other], sentinels).all(), "a cell of another type")


def _check_without_id(
    tokens: Tokens, vocabulary: Vocabulary, codes: Codes, places: Positions
) -> None:
    """Only rows, sentinels and sources have no id; the latter are checked with their frames."""
    sentinel = codes.take(places) == vocabulary.code(SENTINEL)
    others = vocabulary.codes((ROW, SOURCE)).take(codes.take(places))
    demand((sentinel | others).all(), "an element without an id")
    nulls = places[sentinel]
    lengths = tokens.ends.take(nulls) - tokens.starts.take(nulls)
    demand((lengths == len(SENTINEL) + 2).all(), "a sentinel with attributes")
    demand(not tokens.opening.take(nulls).any(), "a sentinel with content")


def check_closing(elements: Elements) -> None:
    """Raise IrregularError where a closing tag has another name than the tag that it closes."""
    tokens, codes = elements.tokens, elements.codes
    leaves = np.flatnonzero(tokens.leaf)
    _check_names(elements, leaves + 1, codes.take(leaves))
    behind_leaf = np.zeros(tokens.leaf.size, np.bool_)
    behind_leaf[1:] = tokens.leaf[:-1]
    opening = np.flatnonzero(tokens.opening & ~tokens.leaf)
    closing = np.flatnonzero(tokens.closing & ~behind_leaf)
    opening_levels, closing_levels = tokens.levels.take(opening), tokens.levels.take(closing)
    rows = elements.block.words[tokens.starts.take(closing[closing_levels == 0])]
    demand(((rows & _ROW_END_MASK) == _ROW_END).all(), "tags that do not match")
    for level in range(1, int(opening_levels.max(initial=0)) + 1):
        expected = codes.take(opening[opening_levels == level])
        _check_names(elements, closing[closing_levels == level], expected)


def _check_names(elements: Elements, closing: Positions, expected: Codes) -> None:
    tokens, vocabulary = elements.tokens, elements.vocabulary
    places = tokens.starts.take(closing) + 2
    right = tokens.ends.take(closing) - places == vocabulary.lengths.take(expected)
    demand(right.all(), "tags that do not match")
    demand(vocabulary.match(elements.block, places, expected).all(), "tags that do not match")


def _check_order(block: Block, numbers: NDArray[np.int64], places: Positions) -> Positions:
    """Check that definitions have the ids that are next; return where those end."""
    digits = np.searchsorted(_POWERS, numbers, side="right") + 1
    ends = places + _ID_LENGTH + digits
    demand((block.octets.take(ends) == _QUOTE).all(), "an id out of order")
    demand((ids(block, ends, digits) == numbers).all(), "an id out of order")
    return ends


def _repeated(
    block: Block, tokens: Tokens, references: Positions, places: Positions
) -> NDArray[np.int64]:
    """Return the ids that repeats name."""
    ends = tokens.ends.take(references) - 2
    demand(not tokens.opening.take(references).any(), "a repeat with content")
    demand((block.octets.take(ends) == _QUOTE).all(), "a repeat with other attributes")
    return ids(block, ends, ends - places - _REF_LENGTH)
