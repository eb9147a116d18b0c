"""What each tag of a block is: its name, and the id that it defines or repeats."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.tables.xml.fast.numbers import ids as parsed
from tracekit.tables.xml.fast.tokens import Block, Codes, Positions, Tokens, Vocabulary, demand

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
class Named:
    """The tags of a block with their names, as codes of a vocabulary."""

    block: Block
    tokens: Tokens
    vocabulary: Vocabulary
    codes: Codes


@dataclass(frozen=True, eq=False)
class Elements:
    """The elements of a block; places are indices into its tokens.

    `codes` and `ids` are those of all tokens, an id 0 where an element has none. `places` are
    the tokens that do not close. `cells` has a row for each row of the table. `attributes` are
    the positions behind the ids of definitions.
    """

    tokens: Tokens
    codes: Codes
    ids: NDArray[np.int64]
    places: Positions
    cells: Positions
    definitions: Positions
    references: Positions
    attributes: Positions


@dataclass(frozen=True, eq=False)
class Prepared:
    """The elements of a block before their definitions are counted.

    `behind` are the positions behind the names of definitions; `before` says for each repeat
    how many definitions of the block stand before it.
    """

    named: Named
    places: Positions
    cells: Positions
    definitions: Positions
    behind: Positions
    references: Positions
    repeated: NDArray[np.int64]
    before: NDArray[np.int64]


def prepare(block: Block, tokens: Tokens, vocabulary: Vocabulary, columns: Codes) -> Prepared:
    """Name the elements of a block of rows, which needs nothing of other blocks.

    Args:
        block: The rows.
        tokens: Their tags.
        vocabulary: The names that may occur.
        columns: The codes of the columns' types.
    """
    named = Named(block, tokens, vocabulary, np.zeros(tokens.starts.size, np.int16))
    places = np.flatnonzero(~tokens.closing)
    levels = tokens.levels.take(places)
    rows = places[levels == 0]
    _name_rows(named, rows)
    cells = _table(places[levels == 1], rows, columns.size)
    inner = places[levels > 1]
    named.codes[inner] = parts = vocabulary.identify(block, tokens.starts.take(inner) + 1)
    demand((parts != vocabulary.code(ROW)).all(), "a row within a value")
    _name_cells(named, cells, columns)
    behind = tokens.starts.take(places) + 1 + vocabulary.lengths.take(named.codes.take(places))
    attribute = block.words[behind]
    definition, reference = (attribute & _ID_MASK) == _ID, (attribute & _REF_MASK) == _REF
    _check_without_id(named, places[~(definition | reference)])
    references = places[reference]
    return Prepared(
        named=named,
        places=places,
        cells=cells,
        definitions=places[definition],
        behind=behind[definition],
        references=references,
        repeated=_repeated(named, references, behind[reference]),
        before=np.cumsum(definition)[reference],
    )


def count(prepared: Prepared, defined: int) -> Elements:
    """Give the definitions of a block the ids that are next.

    Args:
        prepared: The elements.
        defined: How many definitions stood in the blocks before.
    """
    named, definitions = prepared.named, prepared.definitions
    demand((prepared.repeated - defined <= prepared.before).all(), "a repeat of what comes later")
    ids = np.zeros(named.codes.size, np.int64)
    ids[prepared.references] = prepared.repeated
    ids[definitions] = numbers = np.arange(defined + 1, defined + 1 + definitions.size)
    ends = _check_order(named.block, numbers, prepared.behind)
    return Elements(
        tokens=named.tokens,
        codes=named.codes,
        ids=ids,
        places=prepared.places,
        cells=prepared.cells,
        definitions=definitions,
        references=prepared.references,
        attributes=ends,
    )


def _name_rows(named: Named, rows: Positions) -> None:
    tokens = named.tokens
    named.codes[rows] = named.vocabulary.code(ROW)
    lengths = tokens.ends.take(rows) - tokens.starts.take(rows)
    demand((lengths == len(ROW) + 1).all(), "a row with attributes")
    opening = named.block.words[tokens.starts.take(rows)]
    demand(((opening & _ROW_MASK) == _ROW).all(), "something else than a row")


def _table(cells: Positions, rows: Positions, columns: int) -> Positions:
    """Return the tokens of the cells, a row for each row."""
    demand(cells.size == rows.size * columns, "a row of another length")
    table = cells.reshape(rows.size, columns)
    demand((table[:, 0] > rows).all(), "a row of another length")
    demand((table[:-1, -1] < rows[1:]).all(), "a row of another length")
    return table


def _name_cells(named: Named, cells: Positions, columns: Codes) -> None:
    """Name the cells by their columns, or sentinels where they are null."""
    places = named.tokens.starts.take(cells) + 1
    other = ~named.vocabulary.match(named.block, places, columns)
    named.codes[cells] = columns
    nulls = cells[other]
    sentinels = np.full(nulls.size, named.vocabulary.code(SENTINEL), np.int16)
    named.codes[nulls] = sentinels
    demand(
        named.vocabulary.match(named.block, places[other], sentinels).all(),
        "a cell of another type",
    )


def _check_without_id(named: Named, places: Positions) -> None:
    """Only rows, sentinels and sources have no id; the latter are checked with their frames."""
    tokens, codes = named.tokens, named.codes.take(places)
    sentinel = codes == named.vocabulary.code(SENTINEL)
    others = named.vocabulary.codes((ROW, SOURCE)).take(codes)
    demand((sentinel | others).all(), "an element without an id")
    nulls = places[sentinel]
    lengths = tokens.ends.take(nulls) - tokens.starts.take(nulls)
    demand((lengths == len(SENTINEL) + 2).all(), "a sentinel with attributes")
    demand(not tokens.opening.take(nulls).any(), "a sentinel with content")


def check_closing(named: Named) -> None:
    """Raise IrregularError where a closing tag has another name than the tag that it closes."""
    tokens, codes = named.tokens, named.codes
    leaves = np.flatnonzero(tokens.leaf)
    _check_names(named, leaves + 1, codes.take(leaves))
    behind_leaf = np.zeros(tokens.leaf.size, np.bool_)
    behind_leaf[1:] = tokens.leaf[:-1]
    opening = np.flatnonzero(tokens.opening & ~tokens.leaf)
    closing = np.flatnonzero(tokens.closing & ~behind_leaf)
    opening_levels, closing_levels = tokens.levels.take(opening), tokens.levels.take(closing)
    rows = named.block.words[tokens.starts.take(closing[closing_levels == 0])]
    demand(((rows & _ROW_END_MASK) == _ROW_END).all(), "tags that do not match")
    for level in range(1, int(opening_levels.max(initial=0)) + 1):
        expected = codes.take(opening[opening_levels == level])
        _check_names(named, closing[closing_levels == level], expected)


def _check_names(named: Named, closing: Positions, expected: Codes) -> None:
    places = named.tokens.starts.take(closing) + 2
    lengths = named.tokens.ends.take(closing) - places
    right = lengths == named.vocabulary.lengths.take(expected)
    demand(right.all(), "tags that do not match")
    demand(named.vocabulary.match(named.block, places, expected).all(), "tags that do not match")


def _check_order(block: Block, ids: NDArray[np.int64], places: Positions) -> Positions:
    """Check that definitions have the ids that are next; return where those end."""
    digits = np.searchsorted(_POWERS, ids, side="right") + 1
    ends = places + _ID_LENGTH + digits
    demand((block.octets.take(ends) == _QUOTE).all(), "an id out of order")
    demand((parsed(block, ends, digits) == ids).all(), "an id out of order")
    return ends


def _repeated(named: Named, references: Positions, places: Positions) -> NDArray[np.int64]:
    """Return the ids that repeats name."""
    ends = named.tokens.ends.take(references) - 2
    demand(not named.tokens.opening.take(references).any(), "a repeat with content")
    demand((named.block.octets.take(ends) == _QUOTE).all(), "a repeat with other attributes")
    return parsed(named.block, ends, ends - places - _REF_LENGTH)
