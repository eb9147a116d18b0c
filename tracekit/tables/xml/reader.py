"""The exact reader: every table of an export, row by row.

Cells are assigned to columns by position. Ids are valid in the whole document. A table without a
header of its own has the one that the table of contents names, or else that of the table before it.
In a damaged export the rows before the damage are read.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.base import InputError
from tracekit.tables.drift import DamagedExportError
from tracekit.tables.place import place_of, tables_at
from tracekit.tables.toc import Toc
from tracekit.tables.values import texts_of, without_collecting
from tracekit.tables.xml.definitions import IDENTITIES, SENTINEL, Definitions, Value, children
from tracekit.tables.xml.node import (
    STACK_TYPES,
    ColumnCells,
    ExportColumn,
    Header,
    Node,
    Symbols,
)
from tracekit.tables.xml.source import MalformedError, batches, node_of

_MOST_TABLES = 10_000
_MOST_COLUMNS = 20_000
_BATCH = 1 << 13


class _NodeTable:
    def __init__(self, header: Header, xpath: str, number: int, definitions: Definitions) -> None:
        self.header = header
        self._xpath = xpath
        self._number = number
        self._definitions = definitions
        self._types = [column.engineering_type for column in header.columns]
        self._begun = False
        self._clear()

    def add(self, row: Element) -> None:
        """Take a row; raise MalformedError if it breaks the grammar."""
        cells = children(row)
        if len(cells) != len(self._types):
            raise MalformedError(
                f"a row has {len(cells)} cells for {len(self._types)} columns, "
                f"line {row.sourceline}"
            )
        tags = [cell.tag for cell in cells]
        self._values.append(self._definitions.values(row, cells, tags))
        if tags != self._types:
            for tag, declared, foreign in zip(tags, self._types, self._foreign, strict=True):
                if tag not in {declared, SENTINEL}:
                    foreign.add(tag)

    @property
    def rows(self) -> int:
        """The number of rows that are in no piece yet."""
        return len(self._values)

    def iter_last_piece(self) -> Iterator[Node]:
        """Yield the rows that are in no piece yet; a table without rows is one piece too."""
        if self.rows or not self._begun:
            yield self.piece()

    def piece(self) -> Node:
        """Return the rows since the last piece."""
        by_column: Iterable[Sequence[Value]] = [()] * len(self._types)
        if self.rows:
            by_column = zip(*self._values, strict=True)
        cells: list[ColumnCells] = []
        parts = zip(self.header.columns, by_column, self._foreign, strict=True)
        for column, values, foreign in parts:
            cells.append(_cells(column, values, frozenset(foreign)))
        piece = Node(self.header.schema, self._xpath, tuple(cells), self.rows, number=self._number)
        self._begun = True
        self._clear()
        return piece

    def _clear(self) -> None:
        self._values: list[list[Value]] = []
        self._foreign: list[set[str]] = [set() for _ in self._types]


def _cells(column: ExportColumn, values: Sequence[Value], foreign: frozenset[str]) -> ColumnCells:
    texts = texts_of([text for _, text, _ in values])
    kind = column.engineering_type
    if kind in STACK_TYPES:
        stacks = [link if tag in STACK_TYPES else None for tag, _, link in values]
        return ColumnCells(column, texts, foreign, stacks=pa.chunked_array([stacks], pa.int64()))
    if kind not in IDENTITIES:
        return ColumnCells(column, texts, foreign)
    pids: list[str | None] = []
    tids: list[str | None] = []
    for tag, _, link in values:
        pid, tid = link if link and tag in IDENTITIES else (None, None)
        pids.append(pid)
        tids.append(tid)
    cells = ColumnCells(column, texts, foreign, pids=texts_of(pids))
    if kind == "process":
        return cells
    return replace(cells, tids=texts_of(tids))


class ExactReader:
    """A reader of any valid export, and of a damaged one up to the damage."""

    def __init__(self, path: Path, toc: Toc | None = None) -> None:
        self._definitions = Definitions()
        self._path = path
        self._toc = toc
        self._headers: dict[str, Header] = {}
        self._last = ""
        self._tables = 0
        self._node: Element | None = None
        self._table: _NodeTable | None = None
        self._damage = ""

    def symbols(self) -> Symbols:
        """Return the stacks that the pieces so far refer to."""
        return self._definitions.stacks.symbols()

    def pieces(self) -> Iterator[Node]:
        """Yield the tables of the file in pieces of some rows; raise InputError if it has none.

        A piece is yielded when the next one is there, because damage may still belong to it.
        """
        previous_piece: Node | None = None
        for piece in self._until_damage():
            if previous_piece is not None:
                yield previous_piece
            previous_piece = piece
        if previous_piece is not None:
            yield replace(previous_piece, damage=self._damage)
        elif self._damage:
            raise DamagedExportError(
                f"{self._path} is damaged before its first table: {self._damage}.",
                hint="Export it again.",
            )

    def _until_damage(self) -> Iterator[Node]:
        ready: list[Node] = []
        try:
            for batch in batches(self._path):
                with without_collecting():
                    for element in batch:
                        self._take(element, ready)
                if self._table is not None and self._table.rows >= _BATCH:
                    ready.append(self._table.piece())
                yield from ready
                ready.clear()
        except MalformedError as error:
            self._damage = str(error).rstrip(".")
            if self._table is not None:
                ready += self._table.iter_last_piece()
        yield from ready

    def _take(self, element: Element, ready: list[Node]) -> None:
        node = node_of(element)
        if node is None:
            return
        if self._node is not None and node is not self._node:
            raise MalformedError("a <node> is nested in another")
        self._node = node
        match element.tag:
            case "row":
                if self._table is None:
                    self._table = self._first_row(element)
                self._table.add(element)
            case "schema":
                if self._table is not None:
                    raise MalformedError("a table has a second header")
                header = _header(element)
                self._headers[header.schema] = header
                self._last = header.schema
                self._table = self._begin(header)
            case _:
                table = self._table or self._inheriting()
                ready += table.iter_last_piece()
                self._node = None
                self._table = None

    def _first_row(self, row: Element) -> _NodeTable:
        """Return the table of a row without a header above it."""
        if row.keys():
            raise InputError(
                f"{self._path} holds a track's details among its tables.",
                hint="Export details and tables apart, one --xpath for each.",
            )
        return self._inheriting()

    @property
    def _xpath(self) -> str:
        if self._node is None:
            return ""
        return self._node.get("xpath", "")

    def _inheriting(self) -> _NodeTable:
        table_nodes = tables_at(self._toc, place_of(self._xpath))
        toc_table = next(table_nodes, None)
        schema = ""
        if toc_table is not None:
            schema = toc_table.schema
        header = self._headers.get(schema or self._last)
        if header is None:
            raise MalformedError(f"the table {schema or self._xpath} has no header")
        return self._begin(header)

    def _begin(self, header: Header) -> _NodeTable:
        if self._tables == _MOST_TABLES:
            raise MalformedError(f"there are more than {_MOST_TABLES} tables")
        self._tables += 1
        return _NodeTable(header, self._xpath, self._tables, self._definitions)


def _header(schema: Element) -> Header:
    column_elements = schema.findall("col")
    if len(column_elements) > _MOST_COLUMNS:
        raise MalformedError(f"there are more than {_MOST_COLUMNS} columns")
    is_complete = True
    columns: list[ExportColumn] = []
    for element in column_elements:
        mnemonic = element.findtext("mnemonic") or ""
        engineering_type = element.findtext("engineering-type") or ""
        column = ExportColumn(
            mnemonic=mnemonic,
            name=element.findtext("name") or "",
            engineering_type=engineering_type,
        )
        if not column.mnemonic or not column.engineering_type:
            is_complete = False
        columns.append(column)
    name = schema.get("name", "")
    if not name or not columns or not is_complete:
        raise MalformedError(f"the header of the table {name!r} is not complete")
    return Header(name, tuple(columns))
