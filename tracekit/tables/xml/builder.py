"""Gather the rows of one table: a few thousand as objects, all before them as packed text."""

from collections.abc import Iterable, Sequence

import pyarrow as pa
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.tables.xml.cells import SENTINEL, Definitions, Entry, Identity, MalformedError
from tracekit.tables.xml.node import ColumnCells, ExportColumn, Header, Node

_BATCH = 1 << 13
_IDENTITIES = frozenset({"process", "thread"})


class NodeBuilder:
    """One table while it is read."""

    def __init__(self, header: Header, xpath: str) -> None:
        self.header = header
        self.rows = 0
        self._xpath = xpath
        self._columns = [_ColumnBuilder(column) for column in header.columns]
        self._batch: list[list[Entry]] = []

    def add(self, row: Element, definitions: Definitions) -> None:
        """Take a row, whole or not at all.

        Raises:
            MalformedError: It has too few cells, too many, or one that is no value.
        """
        cells = definitions.entries(row)
        if len(cells) != len(self._columns):
            raise MalformedError(f"a row has {len(cells)} cells for {len(self._columns)} columns")
        self._batch.append(cells)
        self.rows += 1
        if len(self._batch) == _BATCH:
            self._pack()

    def build(self, damage: str = "") -> Node:
        """Return the table as far as it was read; `damage` says why it stops there."""
        self._pack()
        columns = tuple(column.build() for column in self._columns)
        return Node(self.header.schema, self._xpath, columns, self.rows, damage)

    def _pack(self) -> None:
        for column, cells in zip(self._columns, zip(*self._batch, strict=True), strict=False):
            column.add(cells)
        self._batch.clear()


class _ColumnBuilder:
    def __init__(self, column: ExportColumn) -> None:
        self._column = column
        self._type = column.engineering_type
        self._foreign: set[str] = set()
        self._texts: list[pa.Array] = []
        self._pids: list[pa.Array] = []
        self._tids: list[pa.Array] = []

    def add(self, entries: Sequence[Entry]) -> None:
        self._foreign |= {tag for tag, _ in entries} - {self._type, SENTINEL}
        cells = [cell for _, cell in entries]
        if not _IDENTITIES.isdisjoint((self._type, *self._foreign)):
            known = [cell if isinstance(cell, Identity) else Identity(cell) for cell in cells]
            cells = [identity.text for identity in known]
            self._pids.append(_packed(identity.pid for identity in known))
            self._tids.append(_packed(identity.tid for identity in known))
        self._texts.append(_packed(cells))

    def build(self) -> ColumnCells:
        return ColumnCells(
            column=self._column,
            cells=_chunked(self._texts),
            foreign=frozenset(self._foreign),
            pids=_chunked(self._pids) if self._type in _IDENTITIES else None,
            tids=_chunked(self._tids) if self._type == "thread" else None,
        )


def _packed(cells: Iterable[object]) -> pa.Array:
    return pa.array(cells, type=pa.string())


def _chunked(arrays: list[pa.Array]) -> pa.ChunkedArray:
    return pa.chunked_array(arrays, type=pa.string())
