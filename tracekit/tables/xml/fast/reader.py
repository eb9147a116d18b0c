"""Read an export that is written exactly as xctrace writes plain tables.

The grammar of a table is so regular that a few passes over the bytes of a block decode it,
with no loop over its cells: the positions of `<` and `>` give the tags, definitions have the
ids 1, 2, 3 … in order, and the cells of a row are as many as the columns. Wherever a byte is
not the one expected, the reader gives up: it never guesses.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from tracekit.base.files import open_input, unreadable
from tracekit.tables.values import FORMS
from tracekit.tables.xml.fast.ahead import ahead
from tracekit.tables.xml.fast.blocks import Block, blocks
from tracekit.tables.xml.fast.columns import ColumnBuilder
from tracekit.tables.xml.fast.definitions import Definitions
from tracekit.tables.xml.fast.elements import (
    ROW,
    SENTINEL,
    SOURCE,
    Elements,
    Prepared,
    check_closing,
    count,
    prepare,
)
from tracekit.tables.xml.fast.identities import Identities
from tracekit.tables.xml.fast.irregular import demand
from tracekit.tables.xml.fast.names import Vocabulary
from tracekit.tables.xml.fast.opening import Opening, read_opening
from tracekit.tables.xml.fast.repeats import check_repeats
from tracekit.tables.xml.fast.spans import check_entities
from tracekit.tables.xml.fast.stacks import Stacks
from tracekit.tables.xml.fast.tokens import Tokens, check_characters, tokenize
from tracekit.tables.xml.node import Node
from tracekit.tables.xml.symbols import Symbols, no_symbols

_ROWS_IN_A_PIECE = 1 << 16
_QUOTE = ord('"')


class FastReader:
    """A reader of one file; what it yielded before an IrregularError is void."""

    def __init__(self, path: Path) -> None:
        """Take the file, without opening it."""
        self._path = path
        self._table: _Table | None = None

    def pieces(self) -> Iterator[Node]:
        """Yield the file's one table, piece by piece.

        Raises:
            IrregularError: The file is not plain, which may show only at its end.
            InputError: The file cannot be opened.
        """
        with open_input(self._path) as file:
            try:
                yield from self._pieces(file)
            except OSError as error:
                raise unreadable(self._path, error) from error

    def symbols(self) -> Symbols:
        """Return the stacks that the pieces have named so far."""
        return no_symbols() if self._table is None else self._table.symbols()

    def _pieces(self, file: BinaryIO) -> Iterator[Node]:
        size = os.fstat(file.fileno()).st_size
        self._table = table = _Table(read_opening(file), size)
        for prepared in ahead(table.prepare, blocks(file)):
            table.add(prepared)
            if table.rows >= _ROWS_IN_A_PIECE:
                yield table.piece()
        if table.rows or not table.begun:
            yield table.piece()


class _Table:
    """The table while it is read."""

    def __init__(self, opening: Opening, size: int) -> None:
        self.rows = 0
        self.begun = False
        self._opening = opening
        types = [column.engineering_type for column in opening.header.columns]
        self._vocabulary = Vocabulary((ROW, SENTINEL, SOURCE, "frame", "binary", *FORMS, *types))
        self._types = np.array([self._vocabulary.code(one) for one in types], np.int16)
        self._definitions = Definitions(self._vocabulary, types, size)
        self._identities = Identities(self._vocabulary)
        self._stacks = Stacks(self._vocabulary)
        self._columns = [ColumnBuilder(column) for column in opening.header.columns]

    def prepare(self, block: Block) -> Prepared:
        check_characters(block)
        check_entities(block)
        return prepare(block, tokenize(block), self._vocabulary, self._types)

    def add(self, prepared: Prepared) -> None:
        block, tokens = prepared.named.block, prepared.named.tokens
        check_closing(prepared.named)
        elements = count(prepared, len(self._definitions))
        quotes = self._definitions.add(block, elements) + 2 * elements.references.size
        quotes += self._stacks.add(block, elements, self._definitions)
        _check_quotes(block, tokens, quotes)
        check_repeats(elements, self._definitions)
        self._identities.add(elements, self._definitions)
        self._gather(elements)

    def piece(self) -> Node:
        columns = tuple(
            column.build(self._definitions, self._identities, self._stacks)
            for column in self._columns
        )
        piece = Node(self._opening.header.schema, self._opening.xpath, columns, self.rows)
        self.rows, self.begun = 0, True
        return piece

    def symbols(self) -> Symbols:
        return self._stacks.symbols(self._definitions)

    def _gather(self, elements: Elements) -> None:
        ids = elements.ids[elements.cells.T]
        for column, cells in zip(self._columns, ids, strict=True):
            column.add(cells)
        self.rows += ids.shape[1]


def _check_quotes(block: Block, tokens: Tokens, expected: int) -> None:
    """Tags have the quotes that were found in them, and no others; texts may have more."""
    if np.count_nonzero(block.octets == _QUOTE) == expected:
        return
    quotes = np.flatnonzero(block.octets == _QUOTE)
    places = np.searchsorted(tokens.starts, quotes) - 1
    inside = np.count_nonzero(quotes < tokens.ends.take(places))
    demand(inside == expected, "a tag with other attributes")
