"""Rows of one table on their way into pieces: some ten thousand rows at most."""

import gc
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

# The classes of lxml's elements have no public name.
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.tables.xml.definitions import Definitions
from tracekit.tables.xml.gather import gather
from tracekit.tables.xml.gathered import IDENTITIES, SENTINEL, Gathered
from tracekit.tables.xml.ids import Numbers
from tracekit.tables.xml.malformed import BadRowError, MalformedError
from tracekit.tables.xml.node import ColumnCells, ExportColumn, Header, Node, alike
from tracekit.tables.xml.symbols import STACK_TYPES

_BATCH = 1 << 13
_ROWS, _CELLS = 1 << 12, 1 << 15  # that are looked up at once


@contextmanager
def _no_search_for_garbage() -> Generator[None]:
    """Elements by the thousand would start it again and again, and there are no cycles."""
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searching:
            gc.enable()


class NodeBuilder:
    """One table while it is read."""

    def __init__(self, header: Header, xpath: str, number: int, definitions: Definitions) -> None:
        """Begin a table without rows; `number` counts the tables of the file from 1."""
        self.header = header
        self._xpath = xpath
        self._number = number
        self._definitions = definitions
        self._types = [column.engineering_type for column in header.columns]
        self._columns = [_ColumnBuilder(column, definitions) for column in header.columns]
        self._gathered = Gathered(self._types)
        self._rows = 0
        self._begun = False

    def add(self, rows: Sequence[Element]) -> Iterator[Node]:
        """Take rows, and yield a piece when there are enough of them.

        Raises:
            MalformedError: A row breaks the grammar; those before it were taken.
        """
        gathered = self._gathered
        try:
            with _no_search_for_garbage():
                gather(rows, gathered)
        except BadRowError as error:
            line = gathered.lines[error.row]
            gathered.cut(error.row)
            yield from self._settle()
            raise MalformedError(f"{error}, line {line}") from error
        count = len(gathered.lines)
        if count >= _ROWS or count * len(self._types) >= _CELLS:
            yield from self._settle()

    def rest(self) -> Iterator[Node]:
        """Yield the rows that are in no piece yet; a table without rows is one piece too.

        Raises:
            MalformedError: A row breaks the grammar; call it again for those before it.
        """
        yield from self._settle()
        if self._rows or not self._begun:
            yield self._piece()

    def _settle(self) -> Iterator[Node]:
        gathered, self._gathered = self._gathered, Gathered(self._types)
        try:
            self._take(gathered)
        except BadRowError as error:
            line = gathered.lines[error.row]
            gathered.cut(error.row)
            self._take(gathered)
            raise MalformedError(f"{error}, line {line}") from error
        if self._rows >= _BATCH:
            yield self._piece()

    def _take(self, gathered: Gathered) -> None:
        if not (rows := len(gathered.lines)):
            return
        by_column = self._definitions.read(gathered).reshape(rows, -1).T
        texts = self._definitions.cells(by_column.ravel())
        together = not pa.types.is_dictionary(texts.type)
        for place, (column, numbers) in enumerate(zip(self._columns, by_column, strict=True)):
            own = texts.slice(place * rows, rows) if together else self._definitions.cells(numbers)
            column.add(own, numbers)
        width = len(self._columns)
        for cell, tag in gathered.strange:
            self._columns[cell % width].foreign.add(tag)
        self._rows += rows

    def _piece(self) -> Node:
        columns = tuple(column.build() for column in self._columns)
        rows, self._rows, self._begun = self._rows, 0, True
        return Node(self.header.schema, self._xpath, columns, rows, number=self._number)


class _ColumnBuilder:
    def __init__(self, column: ExportColumn, definitions: Definitions) -> None:
        self.foreign: set[str] = set()
        self._column = column
        self._texts: list[pa.Array] = []
        self._beside = _beside(column.engineering_type, definitions)
        self._numbers: dict[str, list[pa.Array]] = {name: [] for name in self._beside}

    def add(self, texts: pa.Array, values: Numbers) -> None:
        self._texts.append(texts)
        for name, (read, _) in self._beside.items():
            self._numbers[name].append(read(values))

    def build(self) -> ColumnCells:
        cells = ColumnCells(
            column=self._column,
            cells=alike(self._texts),
            foreign=frozenset(self.foreign - {SENTINEL}),
            **{
                name: pa.chunked_array(self._numbers[name], kind)
                for name, (_, kind) in self._beside.items()
            },
        )
        self._texts.clear()
        self.foreign.clear()
        for chunks in self._numbers.values():
            chunks.clear()
        return cells


def _beside(
    engineering_type: str, definitions: Definitions
) -> dict[str, tuple[Callable[[Numbers], pa.Array], pa.DataType]]:
    """Return what stands beside a column of that type, and how it is read."""
    if engineering_type in STACK_TYPES:
        return {"stacks": (definitions.stacks, pa.int64())}
    if engineering_type not in IDENTITIES:
        return {}
    beside = {"pids": (definitions.pids, pa.string())}
    if engineering_type == "thread":
        beside["tids"] = (definitions.tids, pa.string())
    return beside
