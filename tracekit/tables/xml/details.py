"""The reader of a track's details, such as the list of allocations.

Instruments names the attributes of a track's details after columns that people see. A letter
that no name may hold is written, on its way to the parser, as one from a plane that nobody
uses; `original` writes it back. Only names are touched, and only in the tags of rows: a value
keeps its `%`.

Such an export has no header: the values of a row are its attributes, and no row needs to have
them all. A row may hold a stack as well. So a detail is one piece, whose columns are known at its
end. The table is called by its place: "track[1]/detail[2]".
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.tables.drift import DamagedExportError
from tracekit.tables.values import texts_of
from tracekit.tables.xml.definitions import Definitions
from tracekit.tables.xml.node import STACK_TYPES, ColumnCells, ExportColumn, Node, Symbols
from tracekit.tables.xml.source import MalformedError, batches, head, whole_tags

_VALUE = rb"(?:\"[^\"<]*\"|'[^'<]*')"
_ROW = re.compile(rb"<row(?:\s+[^\s=\"'<>]+\s*=\s*" + _VALUE + rb")+\s*/?>")
_ATTRIBUTE = re.compile(rb"(\s)([^\s=\"'<>]+)(\s*=\s*" + _VALUE + rb")")
_LEGAL = re.compile(rb"[A-Za-z_\x80-\xff][A-Za-z0-9_.\x80-\xff-]*+")
_FOREIGN = re.compile(rb"[^A-Za-z0-9_.\x80-\xff-]|\A[0-9.-]")
_SUSPECT = re.compile(
    rb"(?<![^\s=\"'<>])(?!" + _LEGAL.pattern + rb"\s*+=)[^\s=\"'<>]++\s*+=\s*+[\"']"
)
_PLANE = 0xE0100
_OURS = re.compile(f"[{chr(_PLANE)}-{chr(_PLANE + 0x7F)}]")


def repaired(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the blocks of a file with names in the tags of its rows that XML allows."""
    return map(_repaired, whole_tags(blocks))


def original(name: str) -> str:
    """Return the name as the file has it."""
    return _OURS.sub(lambda found: chr(ord(found[0]) - _PLANE), name)


def _repaired(text: bytes) -> bytes:
    return _ROW.sub(_repaired_row, text) if _SUSPECT.search(text) else text


def _repaired_row(row: re.Match[bytes]) -> bytes:
    return _ATTRIBUTE.sub(_repaired_attribute, row[0])


def _repaired_attribute(found: re.Match[bytes]) -> bytes:
    if _LEGAL.fullmatch(found[2]):
        return found[0]
    name = _FOREIGN.sub(lambda letter: chr(_PLANE + letter[0][0]).encode(), found[2])
    return found[1] + name + found[3]


_MOST_DETAILS = 10_000
_MOST_COLUMNS = 1000


def _owner(element: Element) -> Element | None:
    """Return the node of a row, or a node itself; None for the root."""
    parent = element.getparent()
    if parent is None:
        return None
    node = parent if element.tag == "row" else element
    above = node.getparent()
    if node.tag != "node" or above is None or above.getparent() is not None:
        raise MalformedError(f"a <{element.tag}> stands where none belongs among details")
    return node


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
    """Tell by its beginning whether an export holds a track's details."""
    beginning = _COMMENT.sub(b"", head(path))
    first = _FIRST.search(beginning)
    above = beginning[: first.start()] if first else beginning
    return _OF_DETAIL.search(above) is not None or bool(first and first[1])


class DetailReader:
    """A reader of track details; of damaged ones the rows before the damage."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._definitions = Definitions()

    def pieces(self) -> Iterator[Node]:
        """Yield the details of the file.

        Raises:
            InputError: The file cannot be opened, or is damaged before its first row.
        """
        detail: _Detail | None = None
        node: Element | None = None
        damage = ""
        try:
            for batch in batches(self._path, repaired):
                for element in batch:
                    owner = _owner(element)
                    if owner is not None and owner is not node:
                        coming = _behind(detail, owner, self._definitions)
                        if detail is not None:
                            yield detail.table()
                        node, detail = owner, coming
                    if detail is not None and element.tag == "row":
                        detail.add(element)
        except MalformedError as error:
            damage = str(error).rstrip(".")
            if detail is None:
                raise DamagedExportError(
                    f"{self._path} is damaged before its first row: {damage}.",
                    hint="Export it again.",
                ) from error
        if detail is not None:
            yield detail.table(damage)

    def symbols(self) -> Symbols:
        """Return the stacks that the pieces have named so far."""
        return self._definitions.stacks.symbols()


class _Column:
    """The cells of a column that some rows lack."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._chunks: list[pa.Array] = []
        self._done = 0
        self._cells: list[Any] = []

    def put(self, row: int, cell: object) -> None:
        self._cells += [None] * (row - self._done - len(self._cells))
        self._cells.append(cell)
        if len(self._cells) >= _BATCH:
            self._flush()

    def array(self, rows: int) -> pa.ChunkedArray:
        self._cells += [None] * (rows - self._done - len(self._cells))
        self._flush()
        return pa.chunked_array(self._chunks, self._kind)

    def _flush(self) -> None:
        texts = pa.types.is_string(self._kind)
        cells = texts_of(self._cells) if texts else pa.chunked_array([self._cells], self._kind)
        self._chunks += cells.chunks
        self._done += len(self._cells)
        self._cells = []


class _Detail:
    """One detail while it is read."""

    def __init__(self, number: int, xpath: str, definitions: Definitions) -> None:
        self.number = number
        self._xpath = xpath
        self._definitions = definitions
        self._rows = 0
        self._attributes: dict[str, _Column] = {}
        self._stacks: dict[str, tuple[_Column, _Column]] = {}  # texts and numbers
        self._others: dict[str, None] = {}

    def add(self, row: Element) -> None:
        """Take a row; raise MalformedError if it breaks the grammar, and take no value of it."""
        names = list(map(str, row.keys()))
        if len({*self._attributes, *names}) > _MOST_COLUMNS:
            raise MalformedError(f"there are more than {_MOST_COLUMNS} columns")
        found: dict[str, Element] = {}
        for child in row:
            if child.tag in STACK_TYPES:
                found.setdefault(child.tag, child)
            else:
                self._others[str(child.tag)] = None
        tags = [tag for tag in {**self._stacks, **found} if tag in found]
        stacks = self._definitions.stacks
        sizes = stacks.sizes()
        try:
            values = self._definitions.values([found[tag] for tag in tags], tags)
        except MalformedError as error:
            stacks.cut(sizes)
            raise MalformedError(f"{error}, line {row.sourceline}") from error
        for name in names:
            column = self._attributes.setdefault(name, _Column(pa.string()))
            column.put(self._rows, row.get(name))
        for tag, (_, text, link) in zip(tags, values, strict=True):
            both = self._stacks.setdefault(tag, (_Column(pa.string()), _Column(pa.int64())))
            for column, cell in zip(both, (text, link), strict=True):
                column.put(self._rows, cell)
        self._rows += 1

    def table(self, damage: str = "") -> Node:
        """Return the detail as far as it was read."""
        attributes = [
            ColumnCells(_column(name, _WORD), column.array(self._rows))
            for name, column in self._attributes.items()
        ]
        stacks = [
            ColumnCells(_column(tag, tag), texts.array(self._rows), stacks=links.array(self._rows))
            for tag, (texts, links) in self._stacks.items()
        ]
        strange = [name for name in map(original, self._attributes) if name not in self._attributes]
        notes = {
            "attributes whose names XML does not allow are read all the same": strange,
            "elements that tracekit does not know are left out": self._others,
        }
        return Node(
            schema=detail_name(self._xpath) or _NAMELESS,
            xpath=self._xpath,
            columns=(*attributes, *stacks),
            rows=self._rows,
            damage=damage,
            number=self.number,
            notes=tuple(f"{words}: {', '.join(all_)}" for words, all_ in notes.items() if all_),
        )


def _behind(last: _Detail | None, node: Element, definitions: Definitions) -> _Detail:
    number = 1 if last is None else last.number + 1
    if number > _MOST_DETAILS:
        raise MalformedError(f"there are more than {_MOST_DETAILS} details")
    return _Detail(number, node.get("xpath", ""), definitions)


def _column(name: str, engineering_type: str) -> ExportColumn:
    return ExportColumn(original(name), original(name), engineering_type)
