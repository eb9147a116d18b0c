"""The exact reader: every table of an export, row by row.

Cells are taken by position. Ids hold for the whole document. A table without a header of its
own has the one that the table of contents names, or else that of the table before it. Of a
damaged export the rows before the damage are read.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.errors import InputError
from tracekit.tables.xml.builder import NodeBuilder
from tracekit.tables.xml.cells import Definitions, MalformedError
from tracekit.tables.xml.node import ExportColumn, Header, Node
from tracekit.tables.xml.source import elements
from tracekit.tables.xml.symbols import Symbols, no_symbols
from tracekit.toc import Toc

_MOST_TABLES = 10_000
_PLACE = re.compile(r"/run\[(\d+)\].*/table\[(\d+)\]")


class ExactReader:
    """A reader of any valid export, and of a damaged one up to the damage."""

    def __init__(self, path: Path, toc: Toc | None = None) -> None:
        """Take the file, and the table of contents that names tables without a header."""
        self._path = path
        self._toc = toc

    def pieces(self) -> Iterator[Node]:
        """Yield the tables of the file; raise InputError as `read_nodes` does."""
        yield from read_nodes(self._path, self._toc)

    def symbols(self) -> Symbols:
        """Return the stacks that the pieces have named so far."""
        return no_symbols()


def read_nodes(path: Path, toc: Toc | None = None) -> list[Node]:
    """Read every table of an export, in the order in which they stand in the file.

    Args:
        path: What `xctrace export --xpath` wrote.
        toc: The table of contents of the same trace; it names the tables without a header.

    Raises:
        InputError: The file cannot be opened, is no export of tables, or is hostile. Damage
            after the first header is no error: the last node's `damage` tells of it.
    """
    document = _Document(path, {} if toc is None else _names(toc))
    try:
        for element in elements(path):
            document.take(element)
    except MalformedError as error:
        return document.nodes_before(str(error).rstrip("."))
    return document.nodes


class _Document:
    def __init__(self, path: Path, names: dict[tuple[int, int], str]) -> None:
        self.nodes: list[Node] = []
        self._path = path
        self._names = names
        self._definitions = Definitions()
        self._headers: dict[str, Header] = {}
        self._last = ""
        self._node: Element | None = None
        self._table: NodeBuilder | None = None

    def take(self, element: Element) -> None:
        match element.tag:
            case "row":
                self._read_row(element)
            case "schema":
                self._read_header(element)
            case "node":
                self._leave_node(element)
            case _:
                pass

    def nodes_before(self, damage: str) -> list[Node]:
        if self._table is not None:
            return [*self.nodes, self._table.build(damage)]
        if not self.nodes:
            raise InputError(
                f"{self._path} is damaged before its first table: {damage}.",
                hint="Export it again.",
            )
        return [*self.nodes[:-1], replace(self.nodes[-1], damage=damage)]

    def _read_row(self, row: Element) -> None:
        if self._table is None or row.getparent() is not self._node:
            self._enter_node(row)
            self._refuse_details(row)
            self._table = self._table or self._inheriting()
        try:
            self._table.add(row, self._definitions)
        except MalformedError as error:
            raise MalformedError(f"{error}, line {row.sourceline}") from error

    def _read_header(self, schema: Element) -> None:
        self._enter_node(schema)
        if self._table is not None:
            raise MalformedError("a table has a second header")
        header = _header(schema)
        self._headers[header.schema] = header
        self._last = header.schema
        self._table = NodeBuilder(header, self._xpath)

    def _leave_node(self, node: Element) -> None:
        if self._node is None:
            self._node = node
        if node is not self._node:
            raise MalformedError("a <node> stands within another")
        if len(self.nodes) == _MOST_TABLES:
            raise MalformedError(f"there are more than {_MOST_TABLES} tables")
        self.nodes.append((self._table or self._inheriting()).build())
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
        return NodeBuilder(header, self._xpath)

    def _refuse_details(self, row: Element) -> None:
        if self._table is None and row.keys():
            raise InputError(
                f"{self._path} holds a track's details, not a table.",
                hint="Export a table: --xpath '/trace-toc/run[@number=\"1\"]/data/table[…]'.",
            )


def _header(schema: Element) -> Header:
    columns = tuple(
        ExportColumn(
            mnemonic=column.findtext("mnemonic") or "",
            name=column.findtext("name") or "",
            engineering_type=column.findtext("engineering-type") or "",
        )
        for column in schema.iterfind("col")
    )
    name = schema.get("name", "")
    if not name or not columns or not all(c.mnemonic and c.engineering_type for c in columns):
        raise MalformedError(f"the header of the table {name!r} is not complete")
    return Header(name, columns)


def _names(toc: Toc) -> dict[tuple[int, int], str]:
    return {(run.number, table.index): table.schema for run in toc.runs for table in run.tables}
