"""The reader of a track's details, such as the list of allocations.

Such an export has no header: the values of a row are its attributes, and no row needs to have
them all. A row may hold a stack besides. So the file is read twice: for the names of its
columns, and for its rows. The table is called by its place: "track[1]/detail[2]".
"""

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

# The classes of lxml's elements have no public name.
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.tables.drift import DamagedExportError
from tracekit.tables.xml.definitions import Definitions
from tracekit.tables.xml.detail_rows import Detail, details, rows_of_details
from tracekit.tables.xml.gather import gather
from tracekit.tables.xml.gathered import SENTINEL, Gathered
from tracekit.tables.xml.head import head
from tracekit.tables.xml.ids import Numbers
from tracekit.tables.xml.malformed import BadRowError, MalformedError
from tracekit.tables.xml.node import ColumnCells, ExportColumn, Node
from tracekit.tables.xml.repair import original
from tracekit.tables.xml.symbols import Symbols

_WORD = "attribute"
_NAMELESS = "details"
_BATCH = 1 << 13
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_FIRST = re.compile(rb"<(?:schema\b|row\b(\s+[^\s=\"'<>/])?)")
_OF_DETAIL = re.compile(rb"<node\b[^<>]*/detail\[")
_PLACE = re.compile(r"/(track\[\d+\])/details(?:\[1\])?/(detail\[\d+\])")


def detail_name(xpath: str) -> str:
    """Return what the table of a detail is called, by the xpath above it; "" for other tables."""
    place = _PLACE.search(xpath)
    return "/".join(place.groups()) if place else ""


def holds_details(path: Path) -> bool:
    """Tell by its beginning whether an export holds a track's details.

    Raises:
        InputError: The file cannot be opened.
    """
    beginning = _COMMENT.sub(b"", head(path))
    first = _FIRST.search(beginning)
    above = beginning[: first.start()] if first else beginning
    return _OF_DETAIL.search(above) is not None or bool(first and first[1])


class DetailReader:
    """A reader of track details; of damaged ones the rows before the damage."""

    def __init__(self, path: Path) -> None:
        """Take the file, without opening it."""
        self._path = path
        self._definitions = Definitions()
        self._held: Node | None = None

    def pieces(self) -> Iterator[Node]:
        """Yield the details of the file, each in pieces of some rows.

        Raises:
            InputError: The file cannot be opened, or is damaged before its first row.
        """
        found, damage = details(self._path)
        if damage and not found:
            raise DamagedExportError(
                f"{self._path} is damaged before its first row: {damage}.", hint="Export it again."
            )
        end = damage or "the file was changed while it was read"
        builders = {one.number: _Builder(one, self._definitions, end) for one in found}
        damage = yield from self._read(builders, end)
        if self._held is not None:
            yield replace(self._held, damage=damage)

    def symbols(self) -> Symbols:
        """Return the stacks that the pieces have named so far."""
        return self._definitions.symbols()

    def _read(self, builders: dict[int, "_Builder"], end: str) -> Generator[Node, None, str]:
        """Yield each piece when the next one is there; return what damaged the last.

        `end` says why there may be more in the file than the builders know of.
        """
        builder: _Builder | None = None
        damage = ""
        try:
            for number, _, rows in rows_of_details(self._path):
                if not number:
                    continue
                if builder is not None and builder is not builders.get(number):
                    yield from self._hold(builder.rest())
                    builder = None
                builder = _known(builders, number, end)
                builder.add(rows)
                yield from self._hold(builder.full())
        except MalformedError as error:
            damage = str(error).rstrip(".")
        if builder is not None:
            yield from self._hold(builder.rest())
        return damage

    def _hold(self, pieces: Iterable[Node]) -> Iterator[Node]:
        for piece in pieces:
            if self._held is not None:
                yield self._held
            self._held = piece


class _Builder:
    """One detail while it is read."""

    def __init__(self, detail: Detail, definitions: Definitions, end: str) -> None:
        self._detail = detail
        self._end = end
        self._definitions = definitions
        self._stacks = list(detail.stacks)
        self._begun = False
        self._clear()

    def add(self, rows: list[Element]) -> None:
        """Take rows; raise MalformedError at one that breaks the grammar, after those before."""
        known, most = self._texts.keys(), len(self._texts)
        strange = (
            number
            for number, row in enumerate(rows)
            if len(row.attrib) > most or not known >= set(row.keys())
        )
        first = next(strange, None)
        if first is not None:
            self.add(rows[:first])
            raise MalformedError(self._end)
        try:
            values = self._values(rows)
        except BadRowError as error:
            self.add(rows[: error.row])
            line = rows[error.row].sourceline
            raise MalformedError(f"{error}, line {line}") from error
        for name, texts in self._texts.items():
            texts += [row.get(name) for row in rows]
        for column, numbers in zip(self._cells, values, strict=True):
            column.append((self._definitions.texts(numbers), self._definitions.stacks(numbers)))
        self._rows += len(rows)

    def full(self) -> Iterator[Node]:
        """Yield a piece if there are rows enough for one."""
        if self._rows >= _BATCH:
            yield self._piece()

    def rest(self) -> Iterator[Node]:
        """Yield the rows that are in no piece yet; a detail without rows is one piece too."""
        if self._rows or not self._begun:
            yield self._piece()

    def _clear(self) -> None:
        self._rows = 0
        self._texts: dict[str, list[str | None]] = {name: [] for name in self._detail.attributes}
        self._cells: list[list[tuple[pa.Array, pa.Array]]] = [[] for _ in self._stacks]

    def _values(self, rows: list[Element]) -> Sequence[Numbers]:
        if not self._stacks or not rows:
            return [np.zeros(0, np.int64)] * len(self._stacks)
        for row in rows:
            found = {child.tag: child for child in reversed(row)}
            row[:] = [
                found[tag] if tag in found else row.makeelement(SENTINEL) for tag in self._stacks
            ]
        gathered = Gathered(self._stacks)
        gather(rows, gathered)
        return list(self._definitions.read(gathered).reshape(len(rows), -1).T)

    def _piece(self) -> Node:
        detail = self._detail
        attributes = [
            ColumnCells(_column(name, _WORD), pa.chunked_array([texts], pa.string()))
            for name, texts in self._texts.items()
        ]
        stacks = [
            ColumnCells(
                _column(tag, tag),
                pa.chunked_array([texts for texts, _ in cells], pa.string()),
                stacks=pa.chunked_array([numbers for _, numbers in cells], pa.int64()),
            )
            for tag, cells in zip(self._stacks, self._cells, strict=True)
        ]
        piece = Node(
            schema=detail_name(detail.xpath) or _NAMELESS,
            xpath=detail.xpath,
            columns=(*attributes, *stacks),
            rows=self._rows,
            number=detail.number,
            notes=detail.notes,
        )
        self._begun = True
        self._clear()
        return piece


def _known(builders: dict[int, _Builder], number: int, end: str) -> _Builder:
    if number not in builders:
        raise MalformedError(end)
    return builders[number]


def _column(name: str, engineering_type: str) -> ExportColumn:
    return ExportColumn(original(name), original(name), engineering_type)
