"""The reader of a track's details, such as the list of allocations.

Instruments names the attributes of a track's details after columns that people see. A letter
that no name may hold is written, on its way to the parser, as one from a plane that nobody
uses; `original` writes it back. Only names are touched, and only in the tags of rows: a value
keeps its `%`.

Such an export has no header: the values of a row are its attributes, and no row needs to have
them all. A row may hold a stack as well. So the file is read twice: for the names of its
columns, and for its rows. The table is called by its place: "track[1]/detail[2]".
"""

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.tables.drift import DamagedExportError
from tracekit.tables.values import texts_of
from tracekit.tables.xml.definitions import NULL, Definitions, Value
from tracekit.tables.xml.node import STACK_TYPES, ColumnCells, ExportColumn, Node, Symbols
from tracekit.tables.xml.source import MalformedError, batches, head

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
_LONGEST_TAG = 1 << 20


def repaired(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the blocks of a file with names in the tags of its rows that XML allows."""
    rest = b""
    for block in blocks:
        text = rest + block
        end = text.rfind(b"<")
        if end < 0 or len(text) - end > _LONGEST_TAG:
            end = len(text)
        yield _repaired(text[:end])
        rest = text[end:]
    yield _repaired(rest)


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


@dataclass
class Detail:
    """One detail of a file, and what its rows hold, in the order in which it first comes."""

    number: int
    xpath: str
    attributes: dict[str, None] = field(default_factory=dict[str, None])
    stacks: dict[str, None] = field(default_factory=dict[str, None])
    others: dict[str, None] = field(default_factory=dict[str, None])

    def look(self, rows: Sequence[Element]) -> None:
        """Note what more rows hold."""
        for row in rows:
            own = len(row.attrib)
            names = [] if own > _MOST_COLUMNS else list(map(str, row.attrib))
            new = dict.fromkeys(name for name in names if name not in self.attributes)
            if max(own, len(self.attributes) + len(new)) > _MOST_COLUMNS:
                raise MalformedError(f"there are more than {_MOST_COLUMNS} columns")
            self.attributes |= new
            for child in row:
                kind = self.stacks if child.tag in STACK_TYPES else self.others
                kind[str(child.tag)] = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of it."""
        strange = [name for name in map(original, self.attributes) if name not in self.attributes]
        notes = {
            "attributes whose names XML does not allow are read all the same": strange,
            "elements that tracekit does not know are left out": self.others,
        }
        return tuple(f"{words}: {', '.join(names)}" for words, names in notes.items() if names)


def details(path: Path) -> tuple[list[Detail], str]:
    """Find what the details of a file hold, up to its damage if it has any."""
    details: list[Detail] = []
    try:
        for number, xpath, rows in rows_of_details(path):
            if len(details) < number:
                details.append(Detail(number, xpath))
            if rows:
                details[-1].look(rows)
    except MalformedError as error:
        return details, str(error)
    return details, ""


def rows_of_details(path: Path) -> Iterator[tuple[int, str, list[Element]]]:
    """Yield rows as they come, with number and xpath of their detail, first of all no rows."""
    number, node, xpath = 0, None, ""
    for batch in batches(path, repaired):
        rows: list[Element] = []
        for element in batch:
            try:
                owner = _owner(element)
            except MalformedError:
                yield number, xpath, rows
                raise
            if owner is not None and owner is not node:
                yield number, xpath, rows
                number, node, xpath = number + 1, owner, owner.get("xpath", "")
                if number > _MOST_DETAILS:
                    raise MalformedError(f"there are more than {_MOST_DETAILS} details")
                rows = []
                yield number, xpath, rows
            if element.tag == "row":
                rows.append(element)
        yield number, xpath, rows


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
        self._held: Node | None = None

    def pieces(self) -> Iterator[Node]:
        """Yield the details of the file, each in pieces of some rows."""
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
        return self._definitions.stacks.symbols()

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
        stacks = self._definitions.stacks
        for row in rows:
            if len(row.attrib) > most or not known >= set(row.keys()):
                raise MalformedError(self._end)
            sizes = stacks.sizes()
            try:
                values = self._values(row)
            except MalformedError as error:
                stacks.cut(sizes)
                raise MalformedError(f"{error}, line {row.sourceline}") from error
            for name, texts in self._texts.items():
                texts.append(row.get(name))
            for column, value in zip(self._cells, values, strict=True):
                column.append(value)
            self._rows += 1

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
        self._cells: list[list[Value]] = [[] for _ in self._stacks]

    def _values(self, row: Element) -> list[Value]:
        """Return the stacks of a row, the first of each type."""
        found = {child.tag: child for child in reversed(row)}
        there = [tag for tag in self._stacks if tag in found]
        values = self._definitions.values([found[tag] for tag in there], there)
        by_tag = dict(zip(there, values, strict=True))
        return [by_tag.get(tag, NULL) for tag in self._stacks]

    def _piece(self) -> Node:
        detail = self._detail
        attributes = [
            ColumnCells(_column(name, _WORD), texts_of(texts))
            for name, texts in self._texts.items()
        ]
        stacks = [
            ColumnCells(
                _column(tag, tag),
                texts_of([text for _, text, _ in cells]),
                stacks=pa.chunked_array([[link for _, _, link in cells]], pa.int64()),
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
