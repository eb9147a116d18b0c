"""Read an export that is written exactly as xctrace writes plain tables.

The grammar of a table is so regular that a few passes over the bytes of a block decode it,
with no loop over its cells: the positions of `<` and `>` give the tags, definitions have the
ids 1, 2, 3 … in order, and the cells of a row are as many as the columns. Wherever a byte is
not the one expected, the reader gives up: it never guesses.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from lxml import etree
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]
from numpy.typing import NDArray

from tracekit.base import files
from tracekit.tables.values import FORMS, Form, prefetch
from tracekit.tables.xml.fast.definitions import NUMERIC, FastDefinitions, FastIdentities
from tracekit.tables.xml.fast.elements import ROW, SENTINEL, SOURCE, Elements
from tracekit.tables.xml.fast.stacks import ExportStacks
from tracekit.tables.xml.fast.tokens import (
    DEEPEST,
    MOST_IN_A_BLOCK,
    IrregularError,
    Positions,
    RowBlock,
    blocks,
    check_characters,
    check_entities,
    demand,
    make_vocabulary,
    size_blocks,
    tokenize,
)
from tracekit.tables.xml.node import (
    STACK_TYPES,
    ColumnCells,
    ExportColumn,
    Header,
    Node,
    Symbols,
    no_symbols,
)

_AHEAD = 3  # blocks


def check_repeats(elements: Elements, definitions: FastDefinitions) -> None:
    """Raise IrregularError for a repeat of another type, or of an element that is still open."""
    places = elements.references
    codes = elements.codes.take(places)
    targets = elements.ids.take(places)
    target_codes = definitions.codes.array.take(targets)
    demand((target_codes == codes).all(), "a repeat of another type")
    tokens = elements.tokens
    is_compound = tokens.opening & ~tokens.leaf & (tokens.levels > 0)
    compounds = np.flatnonzero(is_compound)
    open_types = np.zeros((DEEPEST + 2, definitions.width), np.bool_)
    child_levels = tokens.levels.take(compounds) + 1
    compound_codes = elements.codes.take(compounds)
    open_types[child_levels, compound_codes] = True
    np.logical_or.accumulate(open_types, axis=0, out=open_types)
    levels = tokens.levels.take(places).astype(np.intp)
    type_indices = levels * definitions.width + codes
    suspicious = places[open_types.ravel().take(type_indices)]
    if suspicious.size:
        _check_ancestors(elements, suspicious)


def _check_ancestors(elements: Elements, places: Positions) -> None:
    tokens = elements.tokens
    levels = tokens.levels.take(places)
    for level in range(1, int(levels.max())):
        is_opening = tokens.opening & (tokens.levels == level)
        opening = np.flatnonzero(is_opening)
        deeper = places[levels > level]
        next_opening = np.searchsorted(opening, deeper)
        ancestors = opening.take(next_opening - 1)
        ancestor_ids = elements.ids.take(ancestors)
        is_ancestor = ancestor_ids == elements.ids.take(deeper)
        demand(not is_ancestor.any(), "a repeat of an unfinished definition")


_DTYPES = {pa.int64(): np.int64, pa.uint64(): np.uint64, pa.float64(): np.float64}

Ids = NDArray[np.int64]


def cells_of(
    column: ExportColumn,
    ids: Ids,
    definitions: FastDefinitions,
    identities: FastIdentities,
    stacks: ExportStacks,
) -> ColumnCells:
    """Return cells by the ids of their values, 0 for null."""
    is_null = ids == 0
    nulls = is_null if is_null.any() else None

    def integers(cell_numbers: NDArray[Any]) -> pa.ChunkedArray:
        return pa.chunked_array([pa.array(cell_numbers, mask=nulls)])

    values = definitions.values.array.take(ids)
    kind = column.engineering_type
    if kind in STACK_TYPES:
        texts, numbers = stacks.cells(ids, nulls, definitions)
        text_chunks = pa.chunked_array([texts])
        return ColumnCells(column, text_chunks, stacks=pa.chunked_array([numbers]))
    form = FORMS.get(kind, Form.TEXT)
    if form in NUMERIC:
        dtype = _DTYPES[NUMERIC[form]]
        return ColumnCells(column, integers(values.view(dtype)))
    text_numbers = pa.array(values, mask=nulls)
    texts = pa.chunked_array([definitions.texts.take(text_numbers)])
    if kind == "process":
        return ColumnCells(column, texts, pids=integers(identities.pids(ids)))
    if kind == "thread":
        pids = integers(identities.owners(ids))
        tids = integers(identities.tids(ids))
        return ColumnCells(column, texts, pids=pids, tids=tids)
    return ColumnCells(column, texts)


_CHUNK = 1 << 16
_LONGEST = 1 << 20
_HEADER_END = b"</schema>"
_CLOSING = b"</node></trace-query-result>"
_UNTYPED = {"any", "row", "sentinel", "source", "frame", "binary"}
_COLUMN_PARTS = ["mnemonic", "name", "engineering-type"]
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True)
_BEGINNING = re.compile(
    rb"""\A<\?xml version="1\.0"\?>\n<trace-query-result>\n<node xpath='[^'<&\x00-\x1f]*'>"""
    rb"""<schema [^<>]*>(?:<col>[^!?]*</col>)*</schema>\Z""",
    re.DOTALL,
)


def read_opening(file: BinaryIO) -> tuple[Header, str]:
    """Read up to the first row; return the header of the only table, and the xpath of its node."""
    beginning = b""
    while _HEADER_END not in beginning:
        chunk = file.read(_CHUNK)
        demand(chunk and len(beginning) < _LONGEST, "no header")
        beginning += chunk
    end = beginning.index(_HEADER_END) + len(_HEADER_END)
    opening = _parse_opening(beginning[:end])
    if beginning.startswith(b"\n", end):
        end += 1
    file.seek(end)
    return opening


@lru_cache(maxsize=128)  # the tables of a schema have the same one in each recording
def _parse_opening(beginning: bytes) -> tuple[Header, str]:
    demand(_BEGINNING.match(beginning), "another beginning")
    try:
        root = etree.fromstring(beginning + _CLOSING, _PARSER)
    except etree.XMLSyntaxError as error:
        raise IrregularError("a header that is not XML") from error
    node = root[0]
    schema = node[0]
    columns = tuple(map(_column, schema))
    name = schema.get("name", "")
    demand(name and columns, "a header that is not complete")
    for column in columns:
        demand(column.engineering_type not in _UNTYPED, "a column of any type")
    return Header(name, columns), node.get("xpath", "")


def _column(column: Element) -> ExportColumn:
    demand([part.tag for part in column] == _COLUMN_PARTS, "a column of other parts")
    texts: list[str] = []
    for part in column:
        demand(len(part) == 0, "a column of other parts")
        texts.append(part.text or "")
    mnemonic, name, engineering_type = texts
    demand(mnemonic and engineering_type, "a column without a type")
    return ExportColumn(mnemonic, name, engineering_type)


_ROWS_IN_A_PIECE = 1 << 16
_QUOTE = ord('"')


class FastReader:
    """A reader of one file; pieces that it yielded before an IrregularError are void."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._table: _FastTable | None = None

    def pieces(self) -> Iterator[Node]:
        """Yield the only table of the file, piece by piece."""
        with files.open_input(self._path) as file:
            try:
                yield from self._pieces(file)
            except OSError as error:
                raise files.unreadable(self._path, error) from error

    def symbols(self) -> Symbols:
        """Return the stacks that the pieces so far refer to."""
        if self._table is None:
            return no_symbols()
        return self._table.symbols()

    def _pieces(self, file: BinaryIO) -> Iterator[Node]:
        header, xpath = read_opening(file)
        table = _FastTable(header, xpath)
        self._table = table
        block_size = size_blocks(file)
        prepared = map(table.prepare, blocks(file, block_size))
        if block_size == MOST_IN_A_BLOCK:  # for a smaller file, a thread costs more than it saves
            prepared = prefetch(prepared, _AHEAD)
        for elements in prepared:
            table.add(elements)
            if table.rows >= _ROWS_IN_A_PIECE:
                yield table.piece()
        if table.rows or not table.is_started:
            yield table.piece()


class _FastTable:
    def __init__(self, header: Header, xpath: str) -> None:
        self.rows = 0
        self.is_started = False
        self._header = header
        self._xpath = xpath
        types = [column.engineering_type for column in header.columns]
        names = dict.fromkeys((ROW, SENTINEL, SOURCE, "frame", "binary", *FORMS, *types))
        self._vocabulary = make_vocabulary(tuple(names))
        type_codes = [self._vocabulary.code(type_) for type_ in types]
        self._types = np.array(type_codes, np.int16)
        self._definitions = FastDefinitions(self._vocabulary, types)
        self._identities = FastIdentities(self._vocabulary)
        self._stacks = ExportStacks(self._vocabulary)
        self._ids: list[Ids] = []  # of the cells that are in no piece yet, by column and row

    def prepare(self, block: RowBlock) -> Elements:
        check_characters(block)
        check_entities(block)
        return Elements(block, tokenize(block), self._vocabulary, self._types)

    def add(self, elements: Elements) -> None:
        elements.check_closing()
        elements.count(len(self._definitions))
        definition_quotes = self._definitions.add(elements)
        quotes = definition_quotes + 2 * elements.references.size
        quotes += self._stacks.add(elements, self._definitions)
        _check_quotes(elements, quotes)
        check_repeats(elements, self._definitions)
        self._identities.add(elements, self._definitions)
        self._ids.append(elements.ids[elements.cells.T])
        self.rows += self._ids[-1].shape[1]

    def piece(self) -> Node:
        lookups = self._definitions, self._identities, self._stacks
        no_ids = np.zeros((len(self._header.columns), 0), np.int64)
        ids = np.concatenate([no_ids, *self._ids], axis=1)
        cells: list[ColumnCells] = []
        for column, column_ids in zip(self._header.columns, ids, strict=True):
            cells.append(cells_of(column, column_ids, *lookups))
        piece = Node(self._header.schema, self._xpath, tuple(cells), self.rows)
        self._ids = []
        self.rows = 0
        self.is_started = True
        return piece

    def symbols(self) -> Symbols:
        return self._stacks.symbols(self._definitions)


def _check_quotes(elements: Elements, expected: int) -> None:
    """Require that tags have the `expected` count of quotes; texts may have more."""
    octets = elements.block.octets
    tokens = elements.tokens
    if np.count_nonzero(octets == _QUOTE) == expected:
        return
    quotes = np.flatnonzero(octets == _QUOTE)
    places = np.searchsorted(tokens.starts, quotes) - 1
    tag_quotes = np.count_nonzero(quotes < tokens.ends.take(places))
    demand(tag_quotes == expected, "a tag with other attributes")
