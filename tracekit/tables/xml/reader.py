"""The exact reader: every table of an export, row by row.

Cells are taken by position. Ids hold for the whole document. A table without a header of its
own has the one that the table of contents names, or else that of the table before it. Of a
damaged export the rows before the damage are read.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.base import InputError
from tracekit.tables.drift import DamagedExportError
from tracekit.tables.toc.toc import Toc
from tracekit.tables.xml.definitions import Definitions
from tracekit.tables.xml.node import ExportColumn, Header, Node, Symbols, joined
from tracekit.tables.xml.rows import NodeBuilder
from tracekit.tables.xml.source import MalformedError, batches

_MOST_TABLES = 10_000
_MOST_COLUMNS = 20_000
_PLACE = re.compile(r"/run\[(\d+)\].*/table\[(\d+)\]")


class ExactReader:
    """A reader of any valid export, and of a damaged one up to the damage."""

    def __init__(self, path: Path, toc: Toc | None = None) -> None:
        """Take the file, and the table of contents that names tables without a header."""
        self._document = _Document(path, {} if toc is None else _names(toc))

    def pieces(self) -> Iterator[Node]:
        """Yield the tables of the file in pieces of some rows; raise InputError as `read_nodes`."""
        return self._document.pieces()

    def symbols(self) -> Symbols:
        """Return the stacks that the pieces have named so far."""
        return self._document.definitions.symbols()


def read_nodes(path: Path, toc: Toc | None = None) -> list[Node]:
    """Read every table of an export, in the order in which they stand in the file.

    Args:
        path: What `xctrace export --xpath` wrote.
        toc: The table of contents of the same trace; it names the tables without a header.

    Raises:
        InputError: The file cannot be opened, is no export of tables, or is hostile. Damage
            after the first header is no error: the last node's `damage` tells of it.
    """
    pieces = ExactReader(path, toc).pieces()
    return [joined(list(table)) for _, table in groupby(pieces, attrgetter("number"))]


class _Document:
    def __init__(self, path: Path, names: dict[tuple[int, int], str]) -> None:
        self.definitions = Definitions()
        self._path = path
        self._names = names
        self._headers: dict[str, Header] = {}
        self._last = ""
        self._tables = 0
        self._node: Element | None = None
        self._table: NodeBuilder | None = None
        self._held: Node | None = None

    def pieces(self) -> Iterator[Node]:
        """Yield each piece when the next one is there: damage may still belong to it."""
        try:
            for batch in batches(self._path):
                for piece in self._take(batch):
                    if self._held is not None:
                        yield self._held
                    self._held = piece
        except MalformedError as error:
            yield from self._pieces_before(str(error).rstrip("."))
        if self._held is not None:
            yield self._held

    def _pieces_before(self, damage: str) -> Iterator[Node]:
        pieces = [] if self._held is None else [self._held]
        if self._table is not None:
            try:
                pieces += self._table.rest()
            except MalformedError as earlier:
                damage = str(earlier)
                pieces += self._table.rest()
        if not pieces:
            raise DamagedExportError(
                f"{self._path} is damaged before its first table: {damage}.",
                hint="Export it again.",
            )
        yield from pieces[:-1]
        self._held = replace(pieces[-1], damage=damage)

    def _take(self, batch: list[Element]) -> Iterator[Node]:
        rows: list[Element] = []
        for element in batch:
            if element.tag == "row":
                if self._table is None or element.getparent() is not self._node:
                    yield from self._read_rows(rows)
                    self._enter_row(element)
                rows.append(element)
                continue
            yield from self._read_rows(rows)
            if element.tag == "schema":
                self._read_header(element)
            elif element.tag == "node":
                yield from self._leave_node(element)
        yield from self._read_rows(rows)

    def _read_rows(self, rows: list[Element]) -> Iterator[Node]:
        if rows and self._table is not None:
            yield from self._table.add(rows)
        rows.clear()

    def _enter_row(self, row: Element) -> None:
        self._enter_node(row)
        if self._table is None and row.keys():
            raise InputError(
                f"{self._path} holds a track's details among its tables.",
                hint="Export details and tables apart, one --xpath for each.",
            )
        self._table = self._table or self._inheriting()

    def _read_header(self, schema: Element) -> None:
        self._enter_node(schema)
        if self._table is not None:
            raise MalformedError("a table has a second header")
        header = _header(schema)
        self._headers[header.schema] = header
        self._last = header.schema
        self._table = self._begin(header)

    def _leave_node(self, node: Element) -> Iterator[Node]:
        if self._node is None:
            self._node = node
        if node is not self._node:
            raise MalformedError("a <node> stands within another")
        yield from (self._table or self._inheriting()).rest()
        self._node = self._table = None

    def _enter_node(self, child: Element) -> None:
        node = child.getparent()
        root = None if node is None else node.getparent()
        if node is None or root is None or node.tag != "node" or root.getparent() is not None:
            raise MalformedError(f"a <{child.tag}> stands where none belongs")
        if self._node is not None and node is not self._node:
            raise MalformedError("a <node> stands within another")
        self._node = node

    @property
    def _xpath(self) -> str:
        return "" if self._node is None else self._node.get("xpath", "")

    def _inheriting(self) -> NodeBuilder:
        place = _PLACE.search(self._xpath)
        named = self._names.get((int(place[1]), int(place[2]))) if place else None
        header = self._headers.get(named or self._last)
        if header is None:
            raise MalformedError(f"the table {named or self._xpath} has no header")
        return self._begin(header)

    def _begin(self, header: Header) -> NodeBuilder:
        if self._tables == _MOST_TABLES:
            raise MalformedError(f"there are more than {_MOST_TABLES} tables")
        self._tables += 1
        return NodeBuilder(header, self._xpath, self._tables, self.definitions)


def _header(schema: Element) -> Header:
    found = schema.findall("col")
    if len(found) > _MOST_COLUMNS:
        raise MalformedError(f"there are more than {_MOST_COLUMNS} columns")
    columns = tuple(
        ExportColumn(
            mnemonic=column.findtext("mnemonic") or "",
            name=column.findtext("name") or "",
            engineering_type=column.findtext("engineering-type") or "",
        )
        for column in found
    )
    name = schema.get("name", "")
    if not name or not columns or not all(c.mnemonic and c.engineering_type for c in columns):
        raise MalformedError(f"the header of the table {name!r} is not complete")
    return Header(name, columns)


def _names(toc: Toc) -> dict[tuple[int, int], str]:
    return {(run.number, table.index): table.schema for run in toc.runs for table in run.tables}
