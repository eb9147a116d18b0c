"""What each tag of a block is: its name, and the id that it defines or repeats."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.tables.xml.fast.blocks import Block
from tracekit.tables.xml.fast.decimals import naturals
from tracekit.tables.xml.fast.irregular import demand
from tracekit.tables.xml.fast.names import Codes, Vocabulary
from tracekit.tables.xml.fast.tokens import Positions, Tokens

ROW = "row"
SENTINEL = "sentinel"
SOURCE = "source"

_ID = np.uint64(int.from_bytes(b' id="', "little"))
_ID_MASK = np.uint64(0xFF_FFFF_FFFF)
_REF = np.uint64(int.from_bytes(b' ref="', "little"))
_REF_MASK = np.uint64(0xFFFF_FFFF_FFFF)
_ID_LENGTH, _REF_LENGTH = 5, 6
_QUOTE, _GREATER = b'">'
_POWERS = 10 ** np.arange(1, 17, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Elements:
    """The elements of a block; places are indices into its tokens.

    `codes` and `ids` are those of all tokens, an id 0 where an element has none. `cells` has a
    row for each row of the table. `attributes` are the positions behind the ids of definitions.
    """

    tokens: Tokens
    codes: Codes
    ids: NDArray[np.int64]
    cells: Positions
    definitions: Positions
    references: Positions
    attributes: Positions


def identify(
    block: Block, tokens: Tokens, vocabulary: Vocabulary, columns: Codes, defined: int
) -> Elements:
    """Name the elements of a block of rows.

    Args:
        block: The rows.
        tokens: Their tags.
        vocabulary: The names that may occur.
        columns: The codes of the columns' types.
        defined: How many definitions stood in the blocks before.

    Raises:
        IrregularError: Rows differ in their cells, an element has another name or other
            attributes than it should have, or an id is not the next one.
    """
    codes = np.zeros(tokens.starts.size, np.int16)
    rows = np.flatnonzero(tokens.opening & (tokens.levels == 0))
    codes[rows] = vocabulary.code(ROW)
    cells = np.flatnonzero((tokens.levels == 1) & ~tokens.closing)
    demand(cells.size == rows.size * columns.size, "a row of another length")
    table = cells.reshape(rows.size, columns.size)
    demand((table[:, 0] > rows).all(), "a row of another length")
    demand((table[:-1, -1] < rows[1:]).all(), "a row of another length")
    inner = np.flatnonzero((tokens.levels > 1) & ~tokens.closing)
    codes[inner] = vocabulary.identify(block, tokens.starts.take(inner) + 1)
    nulls = _name_cells(block, tokens, vocabulary, cells, np.tile(columns, rows.size), codes)
    _check_closing(block, tokens, vocabulary, codes)
    kinds = _Kinds(block, tokens, vocabulary, codes)
    named = kinds.definition | kinds.reference
    plain = np.zeros(codes.size, np.bool_)
    plain[rows] = tokens.ends.take(rows) == tokens.starts.take(rows) + 1 + len(ROW)
    plain[nulls] = True
    source = vocabulary.codes((SOURCE, SENTINEL)).take(codes)
    plain[inner] |= source.take(inner) & ~named.take(inner)
    demand((plain ^ named ^ tokens.closing).all(), "an element without an id")
    return _with_ids(block, tokens, kinds, codes, table, defined)


def _name_cells(
    block: Block,
    tokens: Tokens,
    vocabulary: Vocabulary,
    cells: Positions,
    expected: Codes,
    codes: Codes,
) -> Positions:
    """Name the cells by their columns; return the tokens of those that are null."""
    places = tokens.starts.take(cells) + 1
    matches = vocabulary.match(block, places, expected)
    codes[cells] = expected
    other = np.flatnonzero(~matches)
    nulls = cells.take(other)
    sentinel = np.full(other.size, vocabulary.code(SENTINEL), np.int16)
    demand(vocabulary.match(block, places.take(other), sentinel).all(), "a cell of another type")
    alone = tokens.ends.take(nulls) - tokens.starts.take(nulls) == len(SENTINEL) + 2
    demand(alone.all() and not tokens.opening.take(nulls).any(), "a cell of another type")
    codes[nulls] = sentinel
    return nulls


def _check_closing(block: Block, tokens: Tokens, vocabulary: Vocabulary, codes: Codes) -> None:
    """Every closing tag has the name of the opening tag that it closes."""
    for level in range(int(tokens.levels.max()) + 1):
        here = tokens.levels == level
        closing = np.flatnonzero(here & tokens.closing)
        expected = codes.take(np.flatnonzero(here & tokens.opening))
        places = tokens.starts.take(closing) + 2
        lengths = tokens.ends.take(closing) - places
        demand((lengths == vocabulary.lengths.take(expected)).all(), "tags that do not match")
        demand(vocabulary.match(block, places, expected).all(), "tags that do not match")


class _Kinds:
    """Which tokens define a value and which repeat one."""

    def __init__(self, block: Block, tokens: Tokens, vocabulary: Vocabulary, codes: Codes) -> None:
        self.behind = tokens.starts + 1 + vocabulary.lengths.take(codes)
        attribute = block.words[self.behind]
        self.definition = ((attribute & _ID_MASK) == _ID) & ~tokens.closing
        self.reference = ((attribute & _REF_MASK) == _REF) & ~tokens.closing


def _with_ids(
    block: Block, tokens: Tokens, kinds: _Kinds, codes: Codes, table: Positions, defined: int
) -> Elements:
    definitions = np.flatnonzero(kinds.definition)
    references = np.flatnonzero(kinds.reference)
    ids = np.zeros(codes.size, np.int64)
    ids[definitions] = np.arange(defined + 1, defined + 1 + definitions.size)
    digits = np.searchsorted(_POWERS, ids.take(definitions), side="right") + 1
    ends = kinds.behind.take(definitions) + _ID_LENGTH + digits
    demand((block.octets.take(ends) == _QUOTE).all(), "an id out of order")
    demand((naturals(block, ends, digits) == ids.take(definitions)).all(), "an id out of order")
    starts = kinds.behind.take(references) + _REF_LENGTH
    quotes = tokens.ends.take(references) - 2
    demand(not tokens.opening.take(references).any(), "a repeat with content")
    demand((block.octets.take(quotes) == _QUOTE).all(), "a repeat with other attributes")
    ids[references] = naturals(block, quotes, quotes - starts)
    before = np.cumsum(kinds.definition).take(references) + defined
    demand((ids.take(references) <= before).all(), "a repeat of what is not defined yet")
    return Elements(tokens, codes, ids, table, definitions, references, ends)
