"""The reader of the details of a track, such as the list of allocations.

Instruments names the attributes of the details of a track after columns that people see, such as
`resident-%`, which is not a valid name in XML. On the way to the parser, the percent sign of a
`-%="` is replaced by a code point that is not a character, which is replaced again in names and
values.

Such an export has no header: the values of a row are its attributes, and no row needs to have
them all. A row may hold a stack as well. So a detail is one piece, whose columns are known at its
end. The name of the table is its place: "track[1]/detail[2]".
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.tables.drift import DamagedExportError
from tracekit.tables.losses import Flaw, Loss
from tracekit.tables.values import texts_of
from tracekit.tables.xml.definitions import NULL, Definitions, Value
from tracekit.tables.xml.node import STACK_TYPES, ColumnCells, ExportColumn, Node, Symbols
from tracekit.tables.xml.source import MalformedError, batches, head, node_of, whole_tags

_PERCENT = "\U000dffff"  # XML allows it in names; Unicode will never assign it


def repair_tags(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the blocks of a file with names in the tags of its rows that XML allows."""
    replacement = f'-{_PERCENT}="'.encode()
    for text in whole_tags(blocks):
        yield text.replace(b'-%="', replacement)


def original(text: str) -> str:
    """Return a name or a value as the file has it."""
    return text.replace(_PERCENT, "%")


_MOST_DETAILS = 10_000
_MOST_COLUMNS = 1000
_WORD = "attribute"
_NAMELESS = "details"
_T = TypeVar("_T")
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_FIRST = re.compile(rb"<(?:schema\b|row\b(\s+[^\s=\"'<>/])?)")
_OF_DETAIL = re.compile(rb"<node\b[^<>]*/detail\[")
_PLACE = re.compile(r"/(track\[\d+\])/details(?:\[1\])?/(detail\[\d+\])")


def detail_name(xpath: str) -> str:
    """Return the name of the table of a detail, by the xpath above it; "" for other tables."""
    place = _PLACE.search(xpath)
    if place:
        return "/".join(place.groups())
    return ""


def holds_details(path: Path) -> bool:
    """Return whether an export holds the details of a track, judged by its beginning."""
    beginning = _COMMENT.sub(b"", head(path))
    first_match = _FIRST.search(beginning)
    if first_match is None:
        return _OF_DETAIL.search(beginning) is not None
    if first_match[1]:
        return True
    preamble = beginning[: first_match.start()]
    return _OF_DETAIL.search(preamble) is not None


class DetailReader:
    """A reader of track details; of damaged ones the rows before the damage."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._definitions = Definitions()

    def pieces(self) -> Iterator[Node]:
        """Yield the details of the file; raise InputError if it is damaged before its first row."""
        detail: _OpenDetail | None = None
        node: Element | None = None
        damage = ""
        try:
            for element in chain.from_iterable(batches(self._path, repair_tags)):
                owner = node_of(element)
                if owner is not None and owner is not node:
                    number = 1
                    if detail is not None:
                        number = detail.number + 1
                    coming = _OpenDetail(number, owner.get("xpath", ""), self._definitions)
                    if detail is not None:
                        yield detail.table()
                    node = owner
                    detail = coming
                if detail is not None and owner is not None and element is not owner:
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
        """Return the stacks that the pieces so far refer to."""
        return self._definitions.stacks.symbols()


class _OpenDetail:
    """One detail while it is read: a list for each column, with None for a row that lacks it."""

    def __init__(self, number: int, xpath: str, definitions: Definitions) -> None:
        if number > _MOST_DETAILS:
            raise MalformedError(f"there are more than {_MOST_DETAILS} details")
        self.number = number
        self._xpath = xpath
        self._definitions = definitions
        self._rows = 0
        self._texts: dict[str, list[str | None]] = {}
        self._stacks: dict[str, list[Value]] = {}
        self._others: dict[str, None] = {}

    def add(self, row: Element) -> None:
        """Take a row; raise MalformedError if it breaks the grammar, and take no value of it."""
        if row.tag != "row":
            raise MalformedError(f"a <{row.tag}> does not belong among details")
        cells: dict[str, str | None] = {}
        for name, text in row.items():
            cells[original(str(name))] = original(str(text))
        if len(self._texts.keys() | cells.keys()) > _MOST_COLUMNS:
            raise MalformedError(f"there are more than {_MOST_COLUMNS} columns")
        stack_elements: dict[str, Element] = {}
        for child in row:
            if child.tag in STACK_TYPES:
                stack_elements.setdefault(str(child.tag), child)
            else:
                self._others[str(child.tag)] = None
        # The columns that are already there come first, in their order.
        all_tags = dict.fromkeys([*self._stacks, *stack_elements])
        tags = [tag for tag in all_tags if tag in stack_elements]
        stacks = [stack_elements[tag] for tag in tags]
        values = self._definitions.values(row, stacks, tags)
        _extend(self._texts, cells, self._rows, None)
        _extend(self._stacks, dict(zip(tags, values, strict=True)), self._rows, NULL)
        self._rows += 1

    def table(self, damage: str = "") -> Node:
        """Return the detail as far as it was read."""
        columns: list[ColumnCells] = []
        for name, texts in self._texts.items():
            column = ExportColumn(name, name, _WORD)
            columns.append(ColumnCells(column, texts_of(texts)))
        for tag, values in self._stacks.items():
            column = ExportColumn(tag, tag, tag)
            texts = texts_of([text for _, text, _ in values])
            stacks = pa.chunked_array([[link for _, _, link in values]], pa.int64())
            columns.append(ColumnCells(column, texts, stacks=stacks))
        schema = detail_name(self._xpath) or _NAMELESS
        return Node(
            schema=schema,
            xpath=self._xpath,
            columns=tuple(columns),
            rows=self._rows,
            damage=damage,
            number=self.number,
            losses=tuple(self._losses(schema)),
        )

    def _losses(self, schema: str) -> Iterator[Loss]:
        strange_names = [name for name in self._texts if "%" in name]
        if strange_names:
            words = "attributes whose names XML does not allow are read all the same"
            yield Loss(Flaw.UNKNOWN, f"{words}: {', '.join(strange_names)}", schema=schema)
        if self._others:
            words = "elements that tracekit does not know are left out"
            yield Loss(Flaw.UNKNOWN, f"{words}: {', '.join(self._others)}", schema=schema)


def _extend(columns: dict[str, list[_T]], cells: Mapping[str, _T], rows: int, missing: _T) -> None:
    """Add the cells of a row to columns that have a number of `rows`."""
    for name in cells:
        columns.setdefault(name, [missing] * rows)
    for name, column in columns.items():
        column.append(cells.get(name, missing))
